// A fleet plan over more than 100,000 enumerated deployments. Items are deployments.
#include <benchmark/benchmark.h>

#include "tokenroof/io/fleet_io.hpp"

namespace {
using namespace tokenroof;

/// All priced accelerators at ten weight formats and two of the cache, replicas of up to 512
/// devices.
FleetRequest wide_request(const std::string& model) {
  const io::Catalog catalog = io::Catalog::open();
  const auto document = io::ScenarioDocument::parse(
      R"({"accelerator": "h100-sxm-80gb", "engine": "vllm",
          "workload": {"input_tokens": 2048, "output_tokens": 512, "arrival_rate": "20 req/s"},
          "objective": {"ttft_p95": "2 s", "tpot_mean": "50 ms"}, "model": ")" +
          model + "\"}",
      "benchmark");
  FleetRequest wanted =
      io::fleet_request(document.read(catalog), catalog,
                        {.accelerators = {},
                         .precisions = {"bf16", "fp8", "fp8_block", "mxfp8", "int8", "w8a16",
                                        "int4", "awq", "mxfp4", "nvfp4"}});
  for (std::size_t i = wanted.candidates.size(); i > 0; --i) {
    FleetCandidate narrow = wanted.candidates[i - 1];
    narrow.precision.kv_cache = formats::fp8;
    wanted.candidates.push_back(narrow);
  }
  wanted.most_devices = 512;
  return wanted;
}

void plan_100k(benchmark::State& state, const std::string& model) {
  const FleetRequest wanted = wide_request(model);
  FleetCounts counts;
  for (auto _ : state) counts = plan_fleet(wanted).counts;
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(counts.enumerated));
  state.counters["deployments"] = static_cast<double>(counts.enumerated);
  state.counters["evaluated"] = static_cast<double>(counts.evaluated);
}
BENCHMARK_CAPTURE(plan_100k, , "deepseek-v3")->Name("plan_100k")->Unit(benchmark::kMillisecond);

}  // namespace
