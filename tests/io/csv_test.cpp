#include "tokenroof/io/csv.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <sstream>

#include "catch2/catch.hpp"
#include "tokenroof/core/error.hpp"

using namespace tokenroof;
using namespace tokenroof::io;
using Catch::Matchers::Contains;

namespace {
template <class Fill>
std::string written(const Fill& fill, CsvDialect dialect = {}) {
  std::ostringstream out;
  {
    CsvWriter writer(out, dialect);
    fill(writer);
  }
  return out.str();
}
std::string refusal(const std::string& text, std::size_t column = 0) {
  try {
    std::istringstream in(text);
    CsvReader reader(in, "f.csv");
    while (reader.next()) static_cast<void>(reader.number(column));
    return "accepted";
  } catch (const SpecError& error) {
    return error.what();
  }
}
}  // namespace

TEST_CASE("RFC 4180 cells") {
  const std::string text = written([](CsvWriter& w) {
    w.header({"a", "b", "c"});
    w.cell(0.1).cell("x,y").cell("say \"hi\"\nnow").end_row();
    w.cell(1e21).cell(std::int64_t{-7}).cell(true).end_row();
    w.cell(std::nan("")).cell(std::optional<double>{}).cell(false).end_row();
    w.cell(-0.5).end_row();
  });
  CHECK(text ==
        "a,b,c\r\n0.1,\"x,y\",\"say \"\"hi\"\"\nnow\"\r\n1e+21,-7,TRUE\r\n,,FALSE\r\n-0.5,,\r\n");
  std::ostringstream out;
  CsvWriter wide(out);
  wide.header({"a"});
  wide.cell(1).cell(2);
  CHECK_THROWS_AS(wide.end_row(), std::logic_error);
}

TEST_CASE("text that looks like a formula is disarmed, numbers are not, and both read back") {
  const std::string nul("\0x", 2);
  const std::vector<std::string> texts = {"=1+1", "+1", "-1",   "@SUM(A1)", "\tx",
                                          "\rx",  nul,  "safe", "'"};
  std::ostringstream out;
  CsvWriter writer(out);
  writer.header({"text", "number"});
  for (const std::string& text : texts) writer.cell(text).cell(-1.5).end_row();
  writer.flush();
  CHECK_THAT(out.str(), Contains("'=1+1,-1.5\r\n") && Contains("\"'\rx\",-1.5"));
  std::istringstream in(out.str());
  CsvReader reader(in, "f.csv");
  for (const std::string& text : texts) {
    REQUIRE(reader.next());
    CHECK(reader.text(0) == text);
    CHECK(reader.number(1) == -1.5);
  }
  CHECK_FALSE(reader.next());
}

TEST_CASE("values that a person wrote keep their digits") {
  const auto fill = [](CsvWriter& w) {
    w.header({"a", "b", "c", "d", "e"});
    w.value("0.90").value("-1e-3").value("3.35 TB/s").value("inf").value("").end_row();
  };
  CHECK(written(fill) == "a,b,c,d,e\r\n0.90,-1e-3,3.35 TB/s,inf,\r\n");
  CHECK(written(fill, CsvDialect::semicolon()) == "a;b;c;d;e\r\n0,90;-1e-3;3.35 TB/s;inf;\r\n");
}

TEST_CASE("the semicolon dialect and the byte-order mark") {
  CsvDialect dialect = CsvDialect::semicolon();
  dialect.byte_order_mark = true;
  const std::string text = written(
      [](CsvWriter& w) {
        w.header({"a", "b"});
        w.cell(1.5).cell("x;y,z").end_row();
      },
      dialect);
  CHECK(text ==
        "\xEF\xBB\xBF"
        "a;b\r\n1,5;\"x;y,z\"\r\n");
  std::istringstream in(text);
  CsvReader reader(in, "f.csv");
  REQUIRE(reader.next());
  CHECK(reader.required_column("a") == 0);
  CHECK(reader.number(0) == 1.5);
  CHECK(reader.text(1) == "x;y,z");
}

TEST_CASE("doubles survive the round trip, however often the buffer is flushed") {
  std::ostringstream out;
  std::vector<double> values;
  double x = 1e-300;
  for (int i = 0; i < 20000; ++i, x *= 1.071) values.push_back(i % 2 ? x : -x);
  {
    CsvWriter writer(out);
    writer.header({"x", "note"});
    for (const double value : values) writer.cell(value).cell("n\"o").end_row();
  }
  std::istringstream in(out.str());
  CsvReader reader(in, "f.csv");
  bool equal = true;
  for (const double value : values)
    equal = equal && reader.next() && reader.number(0) == value && reader.text(1) == "n\"o";
  CHECK(equal);
  CHECK_FALSE(reader.next());
}

TEST_CASE("long text outgrows the buffer") {
  const std::string text(200000, '"');
  const std::string out = written([&](CsvWriter& w) { w.cell(text).end_row(); });
  CHECK(out.size() == 2 * text.size() + 4);
}

TEST_CASE("what others write is read") {
  std::istringstream in("\xEF\xBB\xBF\"name\", x \n\nfirst,1\r\n\"two\nlines\",\n\"q\"\"q\",3");
  CsvReader reader(in, "f.csv");
  CHECK(reader.header() == std::vector<std::string>{"name", "x"});
  REQUIRE(reader.next());
  CHECK(reader.line() == 3);
  CHECK(reader.integer(1) == 1);
  REQUIRE(reader.next());
  CHECK(reader.text(0) == "two\nlines");
  CHECK_FALSE(reader.number(1).has_value());
  REQUIRE(reader.next());
  CHECK(reader.line() == 6);
  CHECK(reader.text(0) == "q\"q");
  CHECK_FALSE(reader.next());
}

TEST_CASE("faults of a CSV file name line and column") {
  CHECK_THAT(refusal(""), Contains("f.csv: the file is empty"));
  CHECK_THAT(refusal("a,b\n1\n"), Contains("f.csv: line 2: has 1 cells, the header has 2"));
  CHECK_THAT(refusal("a,b\n1,2\nx,2\n"), Contains("line 3, a: expected a number, found \"x\""));
  for (const char* bad : {"nan", "inf", "1e400", "0x10", "1 2"})
    CHECK_THAT(refusal(std::string("a\n") + bad + "\n"), Contains("expected a number"));
  CHECK_THAT(refusal("a,b\n\"1,2\n"), Contains("line 2: a quoted cell has no end"));
  CHECK_THAT(refusal("a,b\n\"1\"x,2\n"), Contains("text after the end of a quoted cell"));
  CHECK_THAT(refusal("a,a\n"), Contains("there twice"));
  std::istringstream in("tpot_ms,gpu\n1.5,x\n");
  CsvReader reader(in, "f.csv");
  CHECK_THROWS_WITH(reader.required_column("tpotms"), Contains("did you mean \"tpot_ms\""));
  REQUIRE(reader.next());
  CHECK_THROWS_WITH(reader.integer(0), Contains("whole number"));
  CHECK_THROWS_WITH(CsvReader::open("/nonexistent.csv"), Contains("no such file"));
}
