// The simulator against queues whose answer is known exactly.
#include <cmath>

#include "catch2/catch.hpp"
#include "tokenroof/serving/deterministic_queue.hpp"
#include "tokenroof/serving/queueing.hpp"
#include "tokenroof/serving/simulation.hpp"

using namespace tokenroof;

namespace {
// One place, answers of one token, prompt time in proportion to its length: M/G/1.
SimulationResult single_server(LengthLaw::Kind kind, double load, double mean_tokens) {
  StreamLaw law;
  law.requests = 400000;
  law.arrival_rate = RequestsPerSecond::from_base(load);
  law.input = TokensPerRequest::from_base(mean_tokens);
  law.input_law.kind = kind;
  law.seed = 11;
  SimulatedEngine engine;
  engine.max_sequences = 1;
  engine.chunked = false;
  return simulate(draw_requests(law), engine, {}, [mean_tokens](const SimulatedStep& s) {
    return s.prefill_tokens / mean_tokens * second;
  });
}
ServerQueue queue(double load, double cv2) {
  return {RequestsPerSecond::from_base(load), 1 * second, 1, cv2};
}
}  // namespace

TEST_CASE("M/M/1 within its confidence interval", "[simulation][queueing]") {
  const double load = 0.7;
  const SimulationResult r = single_server(LengthLaw::Kind::geometric, load, 20000);
  const double exact = *mmc_wait(queue(load, 1)) / second;
  CHECK(std::abs(r.admission.mean / second - exact) < 1.5 * (r.admission.mean_error / second));
  CHECK(r.utilization == Approx(load).epsilon(0.01));
  CHECK(std::abs((r.admission.p95 - *mmc_wait_quantile(queue(load, 1), 0.95)) / second) <
        1.5 * (r.admission.p95_error / second));
}

TEST_CASE("M/D/1 within its confidence interval", "[simulation][queueing]") {
  const double load = 0.8;
  const SimulationResult r = single_server(LengthLaw::Kind::fixed, load, 100);
  CHECK(std::abs((r.admission.mean - *mg1_wait(queue(load, 0))) / second) <
        1.5 * (r.admission.mean_error / second));
  const Seconds exact = md1_wait_quantile(load, 1 * second, 0.95);
  CHECK(std::abs((r.admission.p95 - exact) / second) < 1.5 * (r.admission.p95_error / second));
}

TEST_CASE("M/M/c within its confidence interval", "[simulation][queueing]") {
  // Ten places, constant steps of 1 ms, geometric answers of 1001 tokens: service 1 s. Arrivals
  // wait for the end of a step, half a step in the mean, on top.
  StreamLaw law;
  law.requests = 100000;
  law.arrival_rate = RequestsPerSecond::from_base(8);
  law.output = TokensPerRequest::from_base(1001);
  law.output_law.kind = LengthLaw::Kind::geometric;
  SimulatedEngine engine;
  engine.max_sequences = 10;
  engine.chunked = false;
  double wait = 0, running = 0, variance = 0;
  const int runs = 6;
  for (int seed = 1; seed <= runs; ++seed) {
    law.seed = static_cast<std::uint64_t>(seed);
    const SimulationResult r = simulate(draw_requests(law), engine, {}, [](const SimulatedStep& s) {
      return (s.decoding > 0 ? 1e-3 : 1e-12) * second;
    });
    wait += r.admission.mean / second / runs;
    running += r.mean_running / request / runs;
    variance += std::pow(r.admission.mean_error / second / runs, 2);
  }
  const ServerQueue exact{RequestsPerSecond::from_base(8), 1 * second, 10, 1};
  CHECK(std::abs(wait - *mmc_wait(exact) / second) < std::sqrt(variance) + 1e-3);
  CHECK(running == Approx(8).epsilon(0.005));
}

TEST_CASE("Little's law inside the engine", "[simulation][queueing]") {
  StreamLaw law;
  law.requests = 100000;
  law.arrival_rate = RequestsPerSecond::from_base(6);
  law.input = TokensPerRequest::from_base(1000);
  law.output = TokensPerRequest::from_base(200);
  law.output_law.kind = LengthLaw::Kind::geometric;
  SimulatedEngine engine;
  engine.max_sequences = 64;
  const SimulationResult r = simulate(draw_requests(law), engine, {}, [](const SimulatedStep& s) {
    return (0.02 + 2e-4 * s.decoding + 3e-5 * s.prefill_tokens) * second;
  });
  const double rate = law.arrival_rate.base();
  CHECK(r.mean_waiting / request == Approx(rate * (r.admission.mean / second)).epsilon(0.03));
  CHECK((r.mean_waiting + r.mean_admitted) / request ==
        Approx(rate * (r.e2e.mean / second)).epsilon(0.02));
  CHECK(r.mean_running / request ==
        Approx(rate * ((r.e2e.mean - r.ttft.mean) / second)).epsilon(0.02));
}
