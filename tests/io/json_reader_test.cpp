// Bad input, case by case: each must be refused with the file, the place and the reason.
#include "../../src/io/json_reader.hpp"

#include <array>
#include <fstream>

#include "catch2/catch.hpp"

using namespace tokenroof;
using namespace tokenroof::io;
using Catch::Matchers::Contains;
using Catch::Matchers::Equals;

namespace {

std::string refusal(std::string_view text, NonFinite non_finite = NonFinite::refuse) {
  try {
    const Json parsed = parse_json(text, "f.json", non_finite);
    return "accepted: " + parsed.dump();
  } catch (const SpecError& error) {
    return error.what();
  }
}

// Runs `read` on an object and gives the faults it left.
template <class Read>
std::string faults_of(std::string_view text, const Read& read) {
  const Json json = parse_json(text, "f.json");
  Faults faults("f.json");
  ObjectReader reader(json, "", faults);
  read(reader);
  try {
    faults.throw_if_any();
  } catch (const SpecError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a file that is missing, a directory, or empty") {
  CHECK_THROWS_WITH(read_file("/nonexistent/x.json"), "/nonexistent/x.json: no such file");
  CHECK_THROWS_WITH(read_file("/tmp"), Contains("is a directory"));
  CHECK_THROWS_WITH(read_file("/dev/zero"), Contains("is neither a file nor a pipe"));
  CHECK_THAT(refusal(""), Equals("f.json: the file is empty"));
  CHECK_THAT(refusal(" \n\t"), Contains("empty"));
  CHECK_THAT(refusal("\xEF\xBB\xBF"), Contains("empty"));
}

TEST_CASE("text that is not JSON is refused with line and column") {
  CHECK_THAT(refusal("hello"), Contains("f.json: line 1, column 1: not JSON"));
  CHECK_THAT(refusal("{\n  \"a\": 1,\n}"), Contains("line 3, column 1"));
  CHECK_THAT(refusal("{\"a\": 1} x"), Contains("text after the end of the JSON value"));
  CHECK_THAT(refusal("{\"a\": 1}{}"), Contains("column 9: text after the end"));
  CHECK_THAT(refusal("{\"a\": 1"), Contains("not JSON"));
  CHECK_THAT(refusal("{\"a\": \"\xff\"}"), Contains("not JSON"));
}

TEST_CASE("numbers that no double holds") {
  CHECK_THAT(refusal("{\"a\": 1e400}"), Contains("the number 1e400 is out of range"));
  CHECK_THAT(refusal("{\"a\": -1e400}"), Contains("out of range"));
  for (const char* text : {"[NaN]", "[nan]", "[Infinity]", "[-Infinity]", "[inf]"})
    CHECK_THAT(refusal(text), Contains("NaN and infinity are not JSON"));
  CHECK_THAT(refusal("[nul]"), Contains("not JSON"));
  const Json lenient = parse_json(R"({"a": [0.0, Infinity, -Infinity, NaN], "b": "NaN \" NaN"})",
                                  "f.json", NonFinite::read_as_null);
  CHECK(lenient["a"].dump() == "[0.0,null,null,null]");
  CHECK(lenient["b"] == "NaN \" NaN");
}

TEST_CASE("a key given twice is refused with its pointer") {
  CHECK_THAT(refusal(R"({"a": 1, "a": 2})"), Equals("f.json: /a: the key is given twice"));
  CHECK_THAT(refusal(R"({"x": [{"b": 1}, {"b": 1, "c": 2, "b": 3}]})"),
             Equals("f.json: /x/1/b: the key is given twice"));
  CHECK_THAT(refusal(R"({"a": {"b": 1}, "c": {"b": 1}})"), Contains("accepted"));
}

TEST_CASE("nesting has a limit, and large objects are read in linear time") {
  const std::string open(100000, '[');
  CHECK_THAT(refusal(open), Contains("nested deeper"));
  std::string large = "{";
  for (int i = 0; i < 50000; ++i) large += "\"key" + std::to_string(i) + "\": 1,";
  large += "\"last\": 2}";
  CHECK(parse_json(large, "f.json").size() == 50001);
}

TEST_CASE("a byte-order mark is skipped and key order is kept") {
  const Json json =
      parse_json("\xEF\xBB\xBF{\"b\": 1, \"a\": {\"z\": [1, {}, []], \"y\": null}}", "f");
  CHECK(json.dump() == R"({"b":1,"a":{"z":[1,{},[]],"y":null}})");
}

TEST_CASE("a fault is told once, and a report ends after fifty") {
  Faults faults("f.json");
  for (int i = 0; i < 60; ++i) {
    faults.add("/" + std::to_string(i), "wrong");
    faults.add("/0", "wrong");
  }
  CHECK(faults.full());
  try {
    faults.throw_if_any();
  } catch (const SpecError& error) {
    REQUIRE(error.faults().size() == 51);
    CHECK(error.faults()[1].json_pointer == "/1");
    CHECK_THAT(error.faults().back().reason, Equals("and 21 more faults"));
  }
}

TEST_CASE("numbers that only a slip gives are refused") {
  const auto read = [](ObjectReader& reader) {
    reader.number("share", Range::share());
    reader.number("any");
    reader.quantity<BytesPerSecond>("rate");
    reader.finish();
  };
  CHECK_THAT(faults_of(R"({"share": 1e-300, "any": 1e300, "rate": "1e-300 TB/s"})", read),
             Contains("/share: is out of range") && Contains("/any: is out of range") &&
                 Contains("/rate: expected a rate in bytes per second") &&
                 Contains("the number is out of range"));
  CHECK(faults_of(R"({"share": 1e-12, "any": -1e27, "rate": "1e-12 B/s"})", read).empty());
}

TEST_CASE("misspelt keys are reported with the key that was meant") {
  const auto read = [](ObjectReader& reader) {
    reader.number("memory_fraction");
    reader.integer("max_sequences");
    reader.finish();
  };
  CHECK_THAT(faults_of(R"({"memory_fracton": 0.9, "zebra": 1})", read),
             Equals("f.json: /memory_fracton: unknown key (did you mean \"memory_fraction\"?)\n"
                    "f.json: /zebra: unknown key; known here: memory_fraction, max_sequences"));
  CHECK(faults_of(R"({"memory_fraction": null})", read).empty());
}

TEST_CASE("wrong types and ranges name what was expected and what was found") {
  const auto number = [](ObjectReader& reader) { reader.number("x", Range::share()); };
  CHECK_THAT(faults_of(R"({"x": "a"})", number),
             Equals("f.json: /x: expected a number, found the text \"a\""));
  CHECK_THAT(faults_of(R"({"x": 0})", number), Contains("must be above 0 to 1, found 0"));
  CHECK_THAT(faults_of(R"({"x": 1.5})", number), Contains("found 1.5"));
  const auto whole = [](ObjectReader& reader) { reader.integer("x", Range::at_least(1)); };
  CHECK_THAT(faults_of(R"({"x": 1.5})", whole), Contains("expected a whole number, found 1.5"));
  CHECK_THAT(faults_of(R"({"x": 0})", whole), Contains("must be at least 1, found 0"));
  CHECK_THAT(faults_of(R"({"x": 1e300})", whole), Contains("out of range"));
  CHECK(faults_of(R"({"x": 4e3})", whole).empty());
  CHECK_THAT(faults_of(R"({"x": [1]})", [](ObjectReader& r) { r.text("x"); }),
             Contains("expected text, found an array"));
  CHECK_THAT(faults_of(R"({"x": 1})", [](ObjectReader& r) { r.boolean("x"); }),
             Contains("expected true or false, found 1"));
  CHECK_THAT(faults_of(R"({"x": 1})", [](ObjectReader& r) { r.object("x"); }),
             Contains("expected an object, found 1"));
  CHECK_THAT(faults_of("{}", [](ObjectReader& r) { r.required_number("x"); }),
             Equals("f.json: /x: is required and missing"));
  CHECK_THAT(faults_of(R"({"x": "fb8"})", [](ObjectReader& r) { r.format("x"); }),
             Contains("unknown number format \"fb8\" (did you mean \"fp8\"?)"));
}

TEST_CASE("quantities demand their unit, counts may go without") {
  const auto rate = [](ObjectReader& r) { r.quantity<BytesPerSecond>("x"); };
  CHECK_THAT(faults_of(R"({"x": "80GB"})", rate),
             Equals("f.json: /x: expected a rate in bytes per second such as \"3.35 TB/s\", found "
                    "\"80GB\""));
  CHECK_THAT(faults_of(R"({"x": 3.35e12})", rate), Contains("3.35 TB/s"));
  CHECK_THAT(faults_of(R"({"x": "-1 GB/s"})", rate), Contains("must not be negative"));
  CHECK_THAT(faults_of(R"({"x": "0 GB/s"})", rate), Contains("must be greater than 0"));
  const auto tokens = [](ObjectReader& r) { r.quantity<TokensPerRequest>("x"); };
  CHECK(faults_of(R"({"x": 1024})", tokens).empty());
  CHECK(faults_of(R"({"x": "8k"})", tokens).empty());
  CHECK_THAT(faults_of(R"({"x": -5})", tokens), Contains("greater than 0"));
  CHECK_THAT(faults_of(R"({"x": true})", tokens), Contains("found true"));
}

TEST_CASE("all faults of a file come in one error, arrays and pointers included") {
  const Json json =
      parse_json(R"({"a/b": [{"n": 1}, {"n": "x", "m": 2}], "l": [1, "2"]})", "f.json");
  Faults faults("f.json");
  ObjectReader reader(json, "", faults);
  for (ObjectReader& item : reader.objects("a/b")) {
    item.number("n");
    item.finish();
  }
  reader.numbers("l");
  reader.finish();
  REQUIRE(faults.size() == 3);
  try {
    faults.throw_if_any();
  } catch (const SpecError& error) {
    CHECK(error.faults()[0].json_pointer == "/a~1b/1/n");
    CHECK(error.faults()[1].json_pointer == "/a~1b/1/m");
    CHECK(error.faults()[2].json_pointer == "/l/1");
  }
}

TEST_CASE("suggestions") {
  const std::array<std::string, 4> names = {"h100-sxm-80gb", "h100-pcie-80gb", "h200-sxm-141gb",
                                            "l4"};
  CHECK(did_you_mean("h100-sxm-80bg", names) == " (did you mean \"h100-sxm-80gb\"?)");
  CHECK(did_you_mean("h100", names) == " (did you mean \"h100-sxm-80gb\" or \"h100-pcie-80gb\"?)");
  CHECK(did_you_mean("L_4", names).find("\"l4\"") != std::string::npos);
  CHECK(did_you_mean("tpu", names).empty());
  CHECK(did_you_mean("", names).empty());
  CHECK(did_you_mean(std::string(5000, 'x'), names).empty());
}
