// The queue of an engine in closed form, and the simulation that judges it.
#include <benchmark/benchmark.h>

#include <vector>

#include "tokenroof/serving/engine_estimate.hpp"
#include "tokenroof/serving/simulation.hpp"

namespace {
using namespace tokenroof;

/// Every number of a 512-place engine under load, prompts of lognormal length, the 95th percentile
/// end to end included. The limit: 1 ms.
void engine_closed_form_512(benchmark::State& state) {
  std::vector<Seconds> steps;
  for (int n = 1; n <= 512; ++n) steps.push_back((0.02 + 0.0001 * n) * second);
  const LengthLaw lengths{.kind = LengthLaw::Kind::lognormal, .cv = 1};
  EngineLoad load;
  load.output = TokensPerRequest::from_base(250);
  load.output_squared_cv = lengths.squared_cv(250);
  load.prompt = TokensPerRequest::from_base(1000);
  load.outputs = &lengths;
  const PrefillLaw law =
      prefill_law(lengths, load.prompt, [](double tokens) { return tokens * 1e-5 * second; });
  load.prefill = law.shares();
  load.arrivals = 0.9 * engine_limit(load, steps);
  for (auto _ : state) benchmark::DoNotOptimize(engine_estimate(load, steps));
}
BENCHMARK(engine_closed_form_512)->Unit(benchmark::kMicrosecond);

/// 9,000 requests of 250 tokens through a paged engine. The limit: 100 ms.
void simulate_9000x250(benchmark::State& state) {
  StreamLaw law;
  law.requests = 9000;
  law.arrival_rate = RequestsPerSecond::from_base(15);
  law.input = TokensPerRequest::from_base(600);
  law.output = TokensPerRequest::from_base(250);
  law.output_law.kind = LengthLaw::Kind::geometric;
  const std::vector<SimulatedRequest> requests = draw_requests(law);
  SimulatedEngine engine;
  engine.max_sequences = 256;
  engine.kv_blocks = 20000;
  const auto step = [](const SimulatedStep& s) {
    return (0.02 + 1e-4 * s.decoding + 1e-5 * s.prefill_tokens) * second;
  };
  std::int64_t steps = 0;
  for (auto _ : state) steps += simulate(requests, engine, {}, step).steps;
  state.SetItemsProcessed(steps);
}
BENCHMARK(simulate_9000x250)->Unit(benchmark::kMillisecond);

}  // namespace
