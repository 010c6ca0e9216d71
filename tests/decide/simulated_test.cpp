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

TEST_CASE("a small token budget cuts prompts into chunks that cost more") {
  Scenario s = scenario_8b();
  s.engine.max_sequences = 256;
  const double whole = estimate(s).serving.limit_rate->base();
  s.engine.max_batched_tokens = 384;
  const RequestsPerSecond limit = *estimate(s).serving.limit_rate;
  CHECK(limit.base() < 0.9 * whole);
  ScenarioRun how;
  how.requests = 20000;
  for (const double load : {0.4, 0.8}) {
    CAPTURE(load);
    s.workload.traffic = OpenLoop{load * limit};
    const ServingAnswer closed_form = estimate(s).serving;
    const ScenarioRunResult simulated = simulate_scenario(s, how);
    CHECK(simulated.run.mean_running.base() == Approx(closed_form.running->base()).epsilon(0.05));
    CHECK(simulated.run.ttft.mean.base() == Approx(closed_form.ttft.mean->base()).epsilon(0.1));
  }
  // What the engine completes when far more come.
  s.workload.traffic = OpenLoop{2 * limit};
  const SimulationResult full = simulate_scenario(s, how).run;
  CHECK(full.request_rate.base() == Approx(limit.base()).epsilon(0.05));
}

TEST_CASE("a single user waits for nobody in closed loop either") {
  Scenario s = scenario_8b();
  s.engine.constants.prompts_ahead = 1.5;
  s.workload.traffic = ClosedLoopTraffic{1 * request};
  const Seconds alone = *estimate(s).serving.ttft.mean;
  s.workload.traffic = OpenLoop{1e-9 * request / second};
  const ServingAnswer idle = estimate(s).serving;  // a step or two of its own, no other prompt
  CHECK(alone <= *idle.ttft.mean + 2.1 * *idle.tpot.mean);
  s.workload.traffic = ClosedLoopTraffic{8 * request};
  CHECK(*estimate(s).serving.ttft.mean > alone);
}

TEST_CASE("percentiles in closed form agree with the simulator") {
  const LengthLaw laws[] = {{.kind = LengthLaw::Kind::geometric},
                            {.kind = LengthLaw::Kind::lognormal, .cv = 0.8},
                            {.kind = LengthLaw::Kind::uniform, .low = 0.8, .high = 1}};
  ScenarioRun how;
  how.requests = 10000;
  for (const LengthLaw& law : laws)
    for (const double concurrency : {8.0, 64.0, 96.0, 0.0}) {
      Scenario s = scenario_8b();
      s.workload.lengths = law;
      if (concurrency > 0) s.workload.traffic = ClosedLoopTraffic{concurrency * request};
      const ServingAnswer closed_form = estimate(s).serving;
      const SimulationResult run = simulate_scenario(s, how).run;
      CAPTURE(static_cast<int>(law.kind), concurrency);
      CHECK(*closed_form.e2e.p95 / run.e2e.p95 == Approx(1).epsilon(0.08));
      CHECK(*closed_form.tpot.p95 / run.tpot.p95 == Approx(1).epsilon(0.08));
      // The mean of a closed loop is what engines were measured to do, which the simulator is not:
      // the percentile is judged against its own mean.
      CHECK(*closed_form.ttft.p95 / *closed_form.ttft.mean ==
            Approx(run.ttft.p95 / run.ttft.mean).epsilon(0.35));
    }
}

TEST_CASE("scheduling ahead delays first tokens by a step, in closed form and simulated") {
  ScenarioRun how;
  how.requests = 10000;
  Scenario s = scenario_8b();
  s.engine.constants.step = Seconds{};  // it would be hidden
  const ServingAnswer usual = estimate(s).serving;
  const SimulationResult usual_run = simulate_scenario(s, how).run;
  s.engine.async_scheduling = true;
  const ServingAnswer ahead = estimate(s).serving;
  const SimulationResult run = simulate_scenario(s, how).run;
  const double step = (*ahead.ttft.mean - *usual.ttft.mean) / *ahead.tpot.mean;
  CHECK(step == Approx(1).epsilon(0.02));
  CHECK((run.ttft.mean - usual_run.ttft.mean) / (*ahead.ttft.mean - *usual.ttft.mean) ==
        Approx(1).epsilon(0.1));
  CHECK(*ahead.ttft.p95 / run.ttft.p95 == Approx(1).epsilon(0.1));
}

TEST_CASE("the chance that live sequences outgrow the pool is the share of time they would") {
  for (const auto kind : {LengthLaw::Kind::fixed, LengthLaw::Kind::geometric})
    for (const double gigabytes : {26.0, 27.0, 28.0, 32.0}) {
      Scenario s = scenario_8b();
      s.workload.lengths.kind = kind;
      s.workload.traffic = OpenLoop{15 * request / second};
      s.accelerator.memory_visible = gigabytes * gigabyte;
      const Answer answer = estimate(s);
      if (!answer.serving.preemption_probability) continue;
      const Replica replica = reduce(s, Fidelity::calibrated);
      SimulatedEngine engine = simulated_engine(s, replica);
      const std::int64_t pool = engine.kv_blocks;
      engine.kv_blocks = 1 << 30;  // so that nothing is preempted and all of it can be seen
      engine.max_sequences = static_cast<int>(replica.admission);
      SimulationPlan plan;
      plan.sample_interval = 0.5 * second;
      const SimulationResult run =
          simulate(simulated_requests(s, 12000, 3), engine, plan,
                   [&](const SimulatedStep& step) { return simulated_step_time(replica, step); });
      double over = 0;
      for (const OccupancySample& sample : run.occupancy) over += sample.kv_blocks > pool ? 1 : 0;
      CAPTURE(gigabytes, static_cast<int>(kind), replica.admission);
      CHECK(*answer.serving.preemption_probability ==
            Approx(over / static_cast<double>(run.occupancy.size())).margin(0.05));
    }
}

TEST_CASE("conversations share their system prompts in the simulator too") {
  Scenario s = scenario_8b();
  s.workload.input = 100 * token / request;
  s.workload.sessions = Sessions{.system_prompt_tokens = 3200};
  ScenarioRun how;
  how.requests = 3000;
  const SimulationResult one = simulate_scenario(s, how).run;
  s.workload.sessions->distinct_system_prompts = 64;
  const SimulationResult many = simulate_scenario(s, how).run;
  // The first of each system prompt computes it, all others find it.
  CHECK(one.prefilled_tokens == Approx(3000 * 100 + 3200).epsilon(0.01));
  CHECK(many.prefilled_tokens == Approx(3000 * 100 + 64 * 3200).epsilon(0.05));
  // About 20 run at a time: one system prompt is held once, of 64 nearly each holds another.
  CHECK(many.mean_kv_usage > 3 * one.mean_kv_usage);
  const WorkloadLengths lengths = workload_lengths(s.workload);
  CHECK(lengths.prompt == 3300);
  CHECK(lengths.cached() == Approx(3200));
  s.workload.sessions->turns = 3;
  s.workload.sessions->multi_turn = true;
  double input = 0, cached = 0;
  for (const SimulatedRequest& r : simulated_requests(s, 20000, 5)) {
    input += r.input / 20000.0;
    cached += (r.cached > 0 ? r.cached : r.prefix_tokens) / 20000.0;
  }
  CHECK(input == Approx(workload_lengths(s.workload).prompt).epsilon(0.01));
  CHECK(cached == Approx(workload_lengths(s.workload).cached()).epsilon(0.01));
}

TEST_CASE("speculation in the simulator takes the time that the closed form says") {
  Scenario s = scenario_8b();
  s.workload.lengths.kind = LengthLaw::Kind::geometric;
  s.speculation = Speculation{3, 0.7, 0.05, {}};
  ScenarioRun how;
  how.requests = 6000;
  for (const double rate : {5.0, 15.0}) {
    s.workload.traffic = OpenLoop{rate * request / second};
    const ServingAnswer closed_form = estimate(s).serving;
    const SimulationResult run = simulate_scenario(s, how).run;
    CAPTURE(rate);
    // The closed form lets a last step yield its mean.
    CHECK(run.itl.mean.base() == Approx(closed_form.tpot.mean->base()).epsilon(0.05));
    CHECK(run.ttft.mean.base() == Approx(closed_form.ttft.mean->base()).epsilon(0.08));
    CHECK(run.e2e.mean.base() == Approx(closed_form.e2e.mean->base()).epsilon(0.08));
    CHECK(run.mean_running.base() == Approx(closed_form.running->base()).epsilon(0.08));
    CHECK(run.mean_kv_usage > 0);
  }
  // What is generated is what was asked for, and nothing accepted costs more than not drafting.
  double outputs = 0;
  for (const SimulatedRequest& r : simulated_requests(s, how.requests, how.seed))
    outputs += r.output;
  CHECK(static_cast<double>(simulate_scenario(s, how).run.generated_tokens) == outputs);
  const Seconds drafted = simulate_scenario(s, how).run.e2e.mean;
  s.speculation->acceptance = 0;
  CHECK(simulate_scenario(s, how).run.e2e.mean > 2 * drafted);
}

TEST_CASE("separate pools in the simulator agree with their closed form") {
  Scenario s = scenario_8b();
  s.workload.lengths.kind = LengthLaw::Kind::geometric;
  s.disaggregation = Disaggregation{1, 2, {}};
  s.accelerator.scale_up.bandwidth = 50 * gigabyte / second;
  ScenarioRun how;
  how.requests = 20000;
  for (const double rate : {10.0, 30.0}) {
    s.workload.traffic = OpenLoop{rate * request / second};
    const Answer closed_form = estimate(s);
    REQUIRE(closed_form.verdict.ok());
    const ServingAnswer& serving = closed_form.serving;
    const ScenarioRunResult simulated = simulate_scenario(s, how);
    const SimulationResult& run = simulated.run;
    CAPTURE(rate);
    CHECK(simulated.stable);
    CHECK(run.ttft.mean.base() == Approx(serving.ttft.mean->base()).epsilon(0.06));
    CHECK(run.ttft.p50.base() == Approx(serving.ttft.p50->base()).epsilon(0.12));
    CHECK(run.ttft.p95.base() == Approx(serving.ttft.p95->base()).epsilon(0.12));
    CHECK(run.tpot.mean.base() == Approx(serving.tpot.mean->base()).epsilon(0.05));
    CHECK(run.e2e.mean.base() == Approx(serving.e2e.mean->base()).epsilon(0.05));
    CHECK(run.e2e.p95.base() == Approx(serving.e2e.p95->base()).epsilon(0.06));
    CHECK(run.mean_running.base() == Approx(serving.running->base()).epsilon(0.1));
  }
  s.workload.traffic = OpenLoop{1.2 * *estimate(s).serving.limit_rate};
  CHECK(simulate_scenario(s, how).verdict.outcome == Outcome::unstable);
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
