#include "tokenroof/serving/engine_token_times.hpp"

#include <vector>

#include "properties.hpp"
#include "tokenroof/serving/engine_estimate.hpp"
#include "tokenroof/serving/simulation.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

TEST_CASE("what is left of a variance over a life", "[token_times]") {
  CHECK(detail::remaining_variance(0) == Approx(1).epsilon(0.02));  // nothing settles
  CHECK(detail::remaining_variance(1) == Approx(2 * std::exp(-1.0)));
  CHECK(detail::remaining_variance(100) == Approx(2.0 / 100).epsilon(0.02));
  property("falls", [] {
    const double x = between(0.1, 20);
    RC_ASSERT(detail::remaining_variance(x + 0.1) < detail::remaining_variance(x));
  });
}

TEST_CASE("short answers wait for the prompts behind them", "[token_times]") {
  // Geometric outputs and large chunked prompts: the mean TPOT of requests is far above that of
  // tokens, since the first gaps of all hold the prompts that came behind.
  std::vector<Seconds> steps;
  for (int n = 1; n <= 16; ++n) steps.push_back((0.01 + 0.004 * n) * second);
  LengthLaw outputs;
  outputs.kind = LengthLaw::Kind::geometric;
  PrefillLaw law;
  law.add(0.6 * second, 1);
  EngineLoad load;
  load.output = TokensPerRequest::from_base(100);
  load.output_squared_cv = outputs.squared_cv(100);
  load.mean_inverse_decodes = mean_inverse_decodes(outputs, load.output);
  load.outputs = &outputs;
  load.prefill = law.shares();
  load.prompt = TokensPerRequest::from_base(1000);
  load.token_budget = 8192 * token;
  load.arrivals = 0.7 * engine_limit(load, steps);
  const EngineEstimate closed = engine_estimate(load, steps);

  StreamLaw stream;
  stream.requests = 200000;
  stream.arrival_rate = load.arrivals;
  stream.input = load.prompt;
  stream.output = load.output;
  stream.output_law = outputs;
  SimulatedEngine engine;
  engine.max_sequences = 16;
  engine.token_budget = 8192;
  const auto step = [](const SimulatedStep& s) {
    return (0.01 + 0.004 * s.decoding + 6e-4 * s.prefill_tokens) * second;
  };
  const SimulationResult simulated = simulate(draw_requests(stream), engine, {}, step);
  CHECK(closed.tpot_request.base() > 1.1 * closed.tpot.base());
  CHECK(closed.tpot.base() == Approx(simulated.itl.mean.base()).epsilon(0.03));
  CHECK(closed.tpot_request.base() == Approx(simulated.tpot.mean.base()).epsilon(0.12));
  CHECK(closed.tpot_p95.base() == Approx(simulated.tpot.p95.base()).epsilon(0.2));
}

TEST_CASE("answers of one length without prefill differ by the batch alone", "[token_times]") {
  property("p95 above the mean, by a normal law", [] {
    std::vector<Seconds> steps;
    for (int n = 1; n <= 64; ++n) steps.push_back((0.02 + 0.0002 * n) * second);
    EngineLoad load;
    load.mode = PrefillMode::one_by_one;
    load.output = TokensPerRequest::from_base(200);
    load.arrivals = between(0.05, 0.95) * engine_limit(load, steps);
    const EngineEstimate without = engine_estimate(load, steps);
    const LengthLaw fixed;
    load.outputs = &fixed;
    const EngineEstimate with = engine_estimate(load, steps);
    RC_ASSERT(without.tpot_p95 >= without.tpot_request);
    RC_ASSERT(near(with.tpot_p95.base(), without.tpot_p95.base(), 1e-3));
  });
}
