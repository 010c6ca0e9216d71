#include "tokenroof/decide/simulated.hpp"

#include "fixtures.hpp"
#include "properties.hpp"
#include "tokenroof/decide/estimate.hpp"

namespace tokenroof {
namespace {

using namespace test;

// 8B on one device of 1e15 FLOP/s, 3 TB/s and 80 GB.
Scenario scenario_8b() {
  Scenario s;
  s.model = models::llama_31_8b();
  s.accelerator.dense_peak[static_cast<std::size_t>(DataType::bf16)] = 1e15 * flop / second;
  s.accelerator.memory_bandwidth = 3e12 * byte / second;
  s.accelerator.memory_nominal = s.accelerator.memory_visible = 80 * gigabyte;
  s.engine.reserve_auto = false;
  s.engine.constants.step = 1 * millisecond;
  s.engine.max_sequences = 64;
  s.workload.input = 1000 * token / request;
  s.workload.output = 200 * token / request;
  s.workload.traffic = OpenLoop{10 * request / second};
  return s;
}

TEST_CASE("the clock of the simulator is the step model") {
  const Replica replica = reduce(scenario_8b(), Fidelity::calibrated);
  SimulatedStep decode;
  decode.decoding = 4;
  decode.decode_context = 4 * 1000;
  CHECK(simulated_step_time(replica, decode).base() ==
        Approx(replica.decode(4, 1000).total().base()));
  // A chunk of 100 tokens after 900 cached ones: 100 x 900 + 100 x 101 / 2 pairs.
  SimulatedStep chunk;
  chunk.prefill_sequences = 1;
  chunk.prefill_tokens = 100;
  chunk.prefill_pairs = 100 * 900 + 5050;
  CHECK(simulated_step_time(replica, chunk).base() ==
        Approx(replica.prefill(100, 900).total().base()));
}

TEST_CASE("limits of the engine and its pool") {
  Scenario s = scenario_8b();
  const Replica replica = reduce(s, Fidelity::calibrated);
  const SimulatedEngine engine = simulated_engine(s, replica);
  CHECK(engine.max_sequences == 64);
  CHECK(engine.token_budget == s.engine.max_batched_tokens);
  // 0.9 x 80e9 B less 16.06e9 B of weights, 131,072 B a token, blocks of 16.
  CHECK(engine.kv_blocks == Approx((72e9 - 16.06e9) / 131072 / 16).epsilon(1e-3));
}

TEST_CASE("simulated and closed-form answers agree") {
  ScenarioRun how;
  how.requests = 4000;
  SECTION("open loop") {
    const Scenario s = scenario_8b();
    const ServingAnswer closed_form = estimate(s).serving;
    const ScenarioRunResult simulated = simulate_scenario(s, how);
    CHECK(simulated.verdict.ok());
    CHECK(simulated.stable);
    CHECK(simulated.run.completed == how.requests);
    CHECK(simulated.run.tpot.mean.base() == Approx(closed_form.tpot.mean->base()).epsilon(0.05));
    CHECK(simulated.run.mean_running.base() == Approx(closed_form.running->base()).epsilon(0.1));
  }
  SECTION("closed loop") {
    Scenario s = scenario_8b();
    s.workload.traffic = ClosedLoopTraffic{32 * request};
    s.workload.lengths = {.kind = LengthLaw::Kind::geometric};  // fixed ones march in step
    const ServingAnswer closed_form = estimate(s).serving;
    const ScenarioRunResult simulated = simulate_scenario(s, how);
    CHECK(simulated.run.request_rate.base() ==
          Approx(closed_form.request_rate->base()).epsilon(0.1));
  }
}

TEST_CASE("replicas share the arrivals, rates are of all") {
  Scenario s = scenario_8b();
  ScenarioRun how;
  how.requests = 3000;
  const ScenarioRunResult one = simulate_scenario(s, how);
  s.deployment.replicas = 2;
  s.workload.traffic = OpenLoop{20 * request / second};
  const ScenarioRunResult two = simulate_scenario(s, how);
  CHECK(two.run.ttft.mean.base() == Approx(one.run.ttft.mean.base()));
  CHECK(two.run.request_rate.base() == Approx(2 * one.run.request_rate.base()));
  how.trace = {{0 * second, 10, 5}, {1 * second, 10, 7}, {2 * second, 10, 9}};
  CHECK(simulate_scenario(s, how).run.generated_tokens == 5 + 9);
}

TEST_CASE("verdicts of a run") {
  Scenario s = scenario_8b();
  ScenarioRun how;
  how.requests = 2000;
  SECTION("a queue that grows") {
    s.workload.traffic = OpenLoop{200 * request / second};
    CHECK(simulate_scenario(s, how).verdict.outcome == Outcome::unstable);
  }
  SECTION("an objective that is missed") {
    s.objective.ttft_p95 = 1 * microsecond;
    CHECK(simulate_scenario(s, how).verdict.outcome == Outcome::objective_missed);
  }
  SECTION("a model that does not fit is not run") {
    s.accelerator.memory_visible = 10 * gigabyte;
    const ScenarioRunResult result = simulate_scenario(s, how);
    CHECK(result.verdict.outcome == Outcome::does_not_fit);
    CHECK(result.run.steps == 0);
  }
}

}  // namespace
}  // namespace tokenroof
