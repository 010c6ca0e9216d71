// Decode steps: one call at a time, and grids over batch x context. Items are points.
#include <benchmark/benchmark.h>

#include <vector>

#include "tokenroof/analyze/decode_grid.hpp"
#include "tokenroof/io/scenario_io.hpp"

namespace {
using namespace tokenroof;

/// What ships, on eight H100.
Replica replica(const std::string& model, Fidelity fidelity) {
  const io::Catalog catalog = io::Catalog::open();
  const auto document = io::ScenarioDocument::parse(
      R"({"accelerator": "h100-sxm-80gb", "engine": "vllm", "deployment": {"tensor_parallel": 8},
          "precision": {"weights": "fp8"}, "workload": {"batch": 64, "context_tokens": 4096},
          "model": ")" +
          model + "\"}",
      "benchmark");
  return reduce(document.read(catalog).scenario, fidelity, catalog.kernels().constants);
}

/// Step times of a batch and a context that change from call to call.
void estimate_calibrated(benchmark::State& state, const std::string& model) {
  const Replica point = replica(model, Fidelity::calibrated);
  double batch = 1;
  for (auto _ : state) {
    benchmark::DoNotOptimize(point.decode(batch, 16 * batch).total());
    batch = batch < 1024 ? batch + 1 : 1;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(estimate_calibrated, , "llama-3.1-70b")->Name("estimate_calibrated_dense");
BENCHMARK_CAPTURE(estimate_calibrated, , "deepseek-v3")->Name("estimate_calibrated_moe");

/// A thousand batches times a thousand contexts, all results stored.
void sweep(benchmark::State& state, const std::string& model, Fidelity fidelity) {
  const Replica point = replica(model, fidelity);
  std::vector<double> batches, contexts;
  for (int i = 1; i <= 1000; ++i) {
    batches.push_back(i);
    contexts.push_back(128.0 * i);
  }
  DecodeGrid seconds(1000, 1000);
  for (auto _ : state) {
    fill_decode_grid(point.model, fidelity, batches, contexts, seconds);
    benchmark::DoNotOptimize(seconds.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * seconds.size());
}
BENCHMARK_CAPTURE(sweep, , "llama-3.1-70b", Fidelity::ideal)->Name("sweep_ideal");
BENCHMARK_CAPTURE(sweep, , "llama-3.1-70b", Fidelity::calibrated)->Name("sweep_calibrated");
BENCHMARK_CAPTURE(sweep, , "deepseek-v3", Fidelity::calibrated)->Name("sweep_calibrated_moe");

}  // namespace
