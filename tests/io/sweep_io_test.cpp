#include "tokenroof/io/sweep_io.hpp"

#include <fstream>
#include <sstream>

#include "catch2/catch.hpp"
#include "tokenroof/decide/estimate.hpp"
#include "tokenroof/io/answer_io.hpp"

using namespace tokenroof;
using namespace tokenroof::io;
using Catch::Matchers::Contains;
using Strings = std::vector<std::string>;

namespace {

std::string refusal(const std::string& axis) {
  try {
    return "accepted " + std::to_string(parse_axis(axis).values.size());
  } catch (const SpecError& error) {
    return error.what();
  }
}

const std::string scenario = R"({"model": "llama-3.1-8b", "accelerator": "h100-sxm-80gb",
  "precision": {"weights": "fp8"},
  "workload": {"input_tokens": 1024, "output_tokens": 256, "arrival_rate": "4 req/s"}})";

ScenarioDocument document(const std::string& text = scenario) {
  return ScenarioDocument::parse(text, "s.json");
}

std::string csv(const Grid& grid, SweepOptions options, const std::string& text = scenario) {
  if (options.metrics.empty()) options.metrics = choose_metrics({});
  std::ostringstream out;
  write_sweep_csv(document(text), Catalog(), grid, options, out);
  return out.str();
}

}  // namespace

TEST_CASE("axes: lists, ranges by factor and by step, counts, units, short names") {
  CHECK(parse_axis("workload.batch=1:512:x2").values ==
        Strings{"1", "2", "4", "8", "16", "32", "64", "128", "256", "512"});
  CHECK(parse_axis("batch=1,2,1k,4Ki").values == Strings{"1", "2", "1000", "4096"});
  CHECK(parse_axis("batch=1").key == "workload.batch");
  CHECK(parse_axis("context=1k:9k:+4k").values == Strings{"1000", "5000", "9000"});
  CHECK(parse_axis("context=1k").key == "workload.context_tokens");
  CHECK(parse_axis("price.utilization=0.1:0.5:+0.1").values ==
        Strings{"0.1", "0.2", "0.3", "0.4", "0.5"});
  CHECK(parse_axis("batch=1:100:x10").values == Strings{"1", "10", "100"});
  CHECK(parse_axis("batch=1:99:x10,200").values == Strings{"1", "10", "200"});
  const Axis bandwidth = parse_axis("accelerator.memory_bandwidth=2 TB/s:4 TB/s:+1 TB/s");
  CHECK(bandwidth.values == Strings{"2 TB/s", "3 TB/s", "4 TB/s"});
  CHECK(bandwidth.unit == "TB/s");
  CHECK(bandwidth.column() == "accelerator_memory_bandwidth_tb_per_s");
  CHECK(axis_number(bandwidth, "3 TB/s") == 3.0);
  CHECK(parse_axis("a=1 s,1 ms").unit.empty());
  CHECK(parse_axis("accelerator=h100,h200").values == Strings{"h100", "h200"});
  CHECK(parse_axis(R"(workload.lengths={"uniform": [0.8, 1]},"fixed")").values ==
        Strings{R"({"uniform": [0.8, 1]})", "\"fixed\""});
}

TEST_CASE("axes that make no sense are refused in one sentence") {
  CHECK_THAT(refusal("batch"), Contains("expected KEY=VALUES"));
  CHECK_THAT(refusal("=1"), Contains("expected KEY=VALUES"));
  CHECK_THAT(refusal("batch="), Contains("a value is missing"));
  CHECK_THAT(refusal("batch=1,,2"), Contains("a value is missing"));
  CHECK_THAT(refusal("batch=1:8"), Contains("a range is FIRST:LAST:xFACTOR"));
  CHECK_THAT(refusal("batch=1:8:2"), Contains("a range is FIRST:LAST:xFACTOR"));
  CHECK_THAT(refusal("batch=8:1:x2"), Contains("ends before it begins"));
  CHECK_THAT(refusal("batch=1:8:x1"), Contains("above 1"));
  CHECK_THAT(refusal("batch=0:8:x2"), Contains("above 0"));
  CHECK_THAT(refusal("batch=1:8:+0"), Contains("above 0"));
  CHECK_THAT(refusal("a=1 s:8 ms:+1 s"), Contains("same unit"));
  CHECK_THAT(refusal("batch=1:1000000:+1"), Contains("1000000 values or more"));
  CHECK_THAT(refusal("batch=1:1e300:+1e-300"), Contains("an axis has at most 100000"));
  for (const char* shard : {"0/0", "0/3", "4/3", "1", "1/", "/2", "a/b", "1/2x", "-1/2"})
    CHECK_THROWS_AS(parse_shard(shard), SpecError);
  CHECK(parse_shard("2/8").number == 2);
  CHECK_THROWS_WITH(choose_metrics({"decode.stp_s"}), Contains("decode.step_s"));
}

TEST_CASE("a point is the estimate of its scenario") {
  const Grid grid{{parse_axis("deployment.tensor_parallel=1,2"), parse_axis("batch=1:64:x8"),
                   parse_axis("context=100,5000")}};
  const Catalog catalog;
  SweepOptions options{.metrics = choose_metrics({}), .threads = 3};
  std::uint64_t point = 0;
  sweep(document(), catalog, grid, options, [&](const SweepRow& row) {
    ScenarioDocument direct = document();
    direct.set("workload.arrival_rate=null", catalog);
    const auto index = grid.at(point++);
    for (std::size_t i = 0; i < index.size(); ++i)
      direct.set(grid.axes[i].key + "=" + grid.axes[i].values[index[i]], catalog);
    const Answer answer =
        estimate(direct.read(catalog).scenario, Fidelity::calibrated, catalog.kernels().constants);
    for (std::size_t i = 0; i < options.metrics.size(); ++i)
      CHECK(row.numbers[i] == reported_number(answer, *options.metrics[i]));
    CHECK(row.status == answer.verdict.outcome);
    CHECK(row.decode_bound == answer.decode->bound);
  });
  CHECK(point == grid.size());
}

TEST_CASE(
    "columns: axes, metrics, bound, status, reason, schema version; empty cells have reasons") {
  SweepOptions options{.metrics = choose_metrics({"decode.step_s", "serving_ttft_s_mean"})};
  const std::string text = csv({{parse_axis("deployment.tensor_parallel=3,1"),
                                 parse_axis("batch=1,100000"), parse_axis("context=4k")}},
                               options);
  std::istringstream in(text);
  CsvReader reader(in, "sweep");
  CHECK(reader.header() == Strings{"deployment_tensor_parallel", "workload_batch",
                                   "workload_context_tokens", "decode_step_s",
                                   "serving_ttft_s_mean", "decode_bound", "status", "reason",
                                   "schema_version"});
  REQUIRE(reader.next());
  CHECK(reader.text(6) == "invalid_layout");
  CHECK_FALSE(reader.number(3).has_value());
  REQUIRE(reader.next());
  REQUIRE(reader.next());
  CHECK(reader.text(6) == "feasible");
  CHECK(reader.number(3).value() > 0);
  CHECK_FALSE(reader.number(4).has_value());
  CHECK_THAT(std::string(reader.text(7)), Contains("serving.ttft_s.mean: "));
  REQUIRE(reader.next());
  CHECK(reader.text(6) == "context_does_not_fit");
  CHECK_FALSE(reader.next());
  CHECK(text.find("nan") == std::string::npos);
}

TEST_CASE("shards one after another are the whole, whatever the number of threads") {
  const Grid grid{{parse_axis("batch=1:90:+1"), parse_axis("context=1k:3k:+1k")}};
  const std::string whole = csv(grid, {});
  for (const std::uint64_t count : {1u, 2u, 7u, 300u}) {
    std::string joined;
    for (std::uint64_t number = 1; number <= count; ++number)
      joined += csv(grid, {.shard = {number, count}, .threads = 2});
    CHECK((joined == whole));
  }
}

TEST_CASE("an axis over one kind of traffic takes the place of the others") {
  SweepOptions options{.metrics = choose_metrics({"serving.running"})};
  CHECK_THAT(csv({{parse_axis("workload.concurrency=8")}}, options), Contains("8,8,"));
  const std::string step = R"({"model": "llama-3.1-8b", "accelerator": "h100-sxm-80gb",
    "workload": {"batch": 1, "context_tokens": 100, "input_tokens": 1000, "output_tokens": 100}})";
  const std::string rates =
      csv({{parse_axis("workload.arrival_rate=1 req/s,2 req/s")}}, options, step);
  CHECK_THAT(rates, Contains("workload_arrival_rate_req_per_s,") && Contains("\r\n2,"));
}

TEST_CASE("a point that cannot be read names itself") {
  CHECK_THROWS_WITH(csv({{parse_axis("batch=0"), parse_axis("context=1k")}}, {}),
                    Contains("sweep, at workload.batch=0") && Contains("/workload/batch"));
  CHECK_THROWS_WITH(csv({{parse_axis("accelerator=h100,h1000")}}, {}), Contains("h1000"));
}

TEST_CASE("docs/csv.md is what the metric table says") {
  std::ifstream file(TOKENROOF_SOURCE_DIR "/docs/csv.md");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::string expected = csv_reference();
  if (text != expected) std::ofstream("csv.md") << expected;
  INFO("the text as it should be is in csv.md, in the working directory");
  CHECK((text == expected));
}
