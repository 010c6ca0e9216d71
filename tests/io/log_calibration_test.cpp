#include "tokenroof/io/log_calibration.hpp"

#include <sstream>

#include "catch2/catch.hpp"
#include "tokenroof/core/error.hpp"
#include "tokenroof/decide/replica.hpp"
#include "tokenroof/io/scenario_io.hpp"

using namespace tokenroof;
using namespace tokenroof::io;

namespace {

Scenario scenario(const std::string& set = {}) {
  const Catalog catalog;
  ScenarioDocument document = ScenarioDocument::parse(
      R"({"model": "llama-3.1-8b", "accelerator": "h100-sxm-80gb",
          "engine": {"name": "vllm", "version": "0.11.0", "memory_fraction": 0.95},
          "deployment": {"tensor_parallel": 2}, "workload": {"batch": 1, "context_tokens": 8192}})",
      "s.json");
  if (!set.empty()) document.set(set, catalog);
  return document.read(catalog).scenario;
}
EngineStart start(const std::string& log) {
  std::istringstream in(log);
  const EngineLog read = read_engine_log(in, "server.log");
  return last_start(read, "server.log");
}
const std::string pool =
    "Initializing a V1 LLM engine (v0.11.0) with config: model='a', tensor_parallel_size=2\n"
    "Model loading took 7.5123 GiB and 4 seconds\n"
    "Available KV cache memory: 61.90 GiB\n"
    "GPU KV cache size: 1,014,160 tokens\n"
    "Maximum concurrency for 8,192 tokens per request: 123.80x\n";

const LogComparisonLine& line(const LogComparison& comparison, const std::string& quantity) {
  for (const LogComparisonLine& each : comparison.lines)
    if (each.quantity == quantity) return each;
  FAIL("no line " << quantity);
  return comparison.lines.front();
}

}  // namespace

TEST_CASE("a log line by line against a scenario", "[log_calibration]") {
  const LogComparison comparison = compare_log(start(pool), scenario());
  const LogComparisonLine& weights = line(comparison, "weights");
  CHECK(weights.line == 2);
  CHECK(weights.logged == Approx(7.5123 * 1073741824.0));
  CHECK(std::abs(*weights.error()) < 0.005);
  CHECK(weights.wording == "Model loading took 7.5123 GiB and 4 seconds");
  // 65,536 B a token and rank, pages of 16: 61.90 GiB hold 63,385 of them.
  CHECK(*line(comparison, "kv_tokens_in_logged_pool").predicted == 1014160);
  CHECK(*line(comparison, "max_concurrency_in_logged_pool").predicted == Approx(1014160.0 / 8192));
  CHECK(line(comparison, "kv_pool").predicted);
  CHECK(comparison.differences.empty());
}

TEST_CASE("the implied reserve gives the logged pool", "[log_calibration]") {
  const LogComparison comparison = compare_log(start(pool), scenario());
  REQUIRE(comparison.reserve);
  const std::string set =
      "engine.reserve=" + std::to_string(static_cast<long long>(comparison.reserve->base())) + " B";
  const LogComparison again = compare_log(start(pool), scenario(set));
  CHECK(*line(again, "kv_pool").predicted == Approx(61.90 * 1073741824.0).margin(2));
  CHECK(*line(again, "kv_tokens").predicted == 1014160);
  CHECK(again.reserve_now == *comparison.reserve);
}

TEST_CASE("settings that differ, lines without a prediction, no reserve", "[log_calibration]") {
  const LogComparison other =
      compare_log(start("Graph capturing finished in 13 secs, took 0.55 GiB\n"
                        "'gpu_memory_utilization': 0.9, 'tensor_parallel_size': 4\n"),
                  scenario());
  REQUIRE(other.differences.size() == 2);
  CHECK(other.differences[0].key == "engine.memory_fraction");
  CHECK(other.differences[0].logged == "0.9");
  CHECK(other.differences[0].scenario == "0.95");
  CHECK(other.differences[1].key == "deployment.tensor_parallel");
  CHECK_FALSE(line(other, "graphs").predicted);
  CHECK(line(other, "graphs").reason.find("not counted") == 0);
  CHECK_FALSE(other.reserve);
  CHECK(other.reserve_reason.find("does not say") != std::string::npos);
  const LogComparison large = compare_log(start("Available KV cache memory: 75 GiB\n"), scenario());
  CHECK_FALSE(large.reserve);
  CHECK(large.reserve_reason.find("more than") != std::string::npos);
  CHECK_THROWS_WITH(start("hello\n"), Catch::Contains("server.log: no line says"));
  CHECK_THROWS_WITH(start("Available KV cache memory: 45%\n"), Catch::Contains("line 1"));
}
