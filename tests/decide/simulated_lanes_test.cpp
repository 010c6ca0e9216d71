// Pipelined stages and data-parallel attention in the simulator: several prompts are under way at
// once.
#include "fixtures.hpp"
#include "properties.hpp"
#include "tokenroof/decide/estimate.hpp"
#include "tokenroof/decide/simulated.hpp"

namespace tokenroof {
namespace {

using namespace test;

// A node of eight devices of 1e15 FLOP/s, 3 TB/s, 80 GB and links of 450 GB/s.
Scenario on_eight(const Model& model, const Deployment& deployment) {
  Scenario s;
  s.model = model;
  s.accelerator.dense_peak[static_cast<std::size_t>(DataType::bf16)] = 1e15 * flop / second;
  s.accelerator.memory_bandwidth = 3e12 * byte / second;
  s.accelerator.memory_nominal = s.accelerator.memory_visible = 80 * gigabyte;
  s.accelerator.scale_up.bandwidth = 450 * gigabyte / second;
  s.accelerator.scale_up.domain_size = 8;
  s.engine.reserve_auto = false;
  s.engine.constants.step = 1 * millisecond;
  s.engine.constants.request_overhead = 20 * millisecond;
  s.engine.max_sequences = 1024;
  s.workload.input = 1024 * token / request;
  s.workload.output = 256 * token / request;
  s.workload.traffic = OpenLoop{1 * request / second};
  s.deployment = deployment;
  return s;
}
Scenario pipelined(int tensor, int stages) {
  Deployment d;
  d.tensor_parallel = tensor;
  d.pipeline_parallel = stages;
  return on_eight(models::llama_31_70b(), d);
}
Scenario spread(bool aligned) {
  Deployment d;
  d.attention_data_parallel = d.expert_parallel = 4;
  Scenario s = on_eight(models::qwen3_30b(), d);
  s.engine.aligned_prompts = aligned;
  return s;
}

SimulatedStep prompts(int count, int decoding) {
  SimulatedStep step;
  step.decoding = decoding;
  step.decode_context = decoding * 1000.0;
  step.prefill_sequences = count;
  step.prefill_tokens = count * 512;
  step.prefill_pairs = count * 512 * 513 / 2.0;
  return step;
}

TEST_CASE("prompts too few for the lanes add their share of a step that fills them") {
  struct Case {
    const char* name;
    Scenario scenario;
    int lanes;
  };
  for (const Case& c : {Case{"4 stages", pipelined(2, 4), 4}, Case{"aligned", spread(true), 4},
                        Case{"each rank delays all", spread(false), 1}}) {
    const Replica replica = reduce(c.scenario, Fidelity::calibrated);
    CAPTURE(c.name);
    for (const int decoding : {0, 64}) {
      const auto added = [&](int count) {
        return (simulated_step_time(replica, prompts(count, decoding)) -
                (decoding > 0 ? replica.decode(decoding, 1000).total() : Seconds{}))
            .base();
      };
      const double filled = added(c.lanes);
      for (int count = 1; count <= c.lanes; ++count)
        CHECK(added(count) == Approx(filled * count / c.lanes));
      CHECK(added(2 * c.lanes) > filled);
    }
    // The closed form says the same of one prompt beside decodes.
    Replica same = replica;
    same.lengths.live = 1000;
    const Seconds beside =
        simulated_step_time(replica, prompts(1, 64)) - replica.decode(64, 1000).total();
    CHECK(beside.base() == Approx(same.prefill_beside(512, 0, 64).base()));
  }
}

TEST_CASE("every micro-batch and rank has the engine's token budget") {
  for (const Scenario& s : {pipelined(2, 4), spread(true)})
    CHECK(simulated_engine(s, reduce(s, Fidelity::calibrated)).token_budget ==
          4 * s.engine.max_batched_tokens);
}

TEST_CASE("with several lanes the simulator and the closed form agree") {
  struct Case {
    const char* name;
    Scenario scenario;
  };
  Scenario first = pipelined(2, 4);  // prompts alone, before any decode
  first.engine.chunked_prefill = false;
  ScenarioRun how;
  how.requests = 4000;
  how.plan.keep_records = true;
  for (Case c : {Case{"TP2 x PP4", pipelined(2, 4)}, Case{"TP4 x PP2", pipelined(4, 2)},
                 Case{"attention DP4 x EP4", spread(true)}, Case{"prompts first", first}}) {
    const RequestsPerSecond limit = *estimate(c.scenario).serving.limit_rate;
    for (const double load : {0.3, 0.6, 0.85}) {
      c.scenario.workload.traffic = OpenLoop{load * limit};
      const ServingAnswer closed_form = estimate(c.scenario).serving;
      const ScenarioRunResult simulated = simulate_scenario(c.scenario, how);
      const SimulationResult& run = simulated.run;
      CAPTURE(c.name, load, limit.base());
      CHECK(simulated.stable);
      CHECK(run.tpot.mean.base() == Approx(closed_form.tpot.mean->base()).epsilon(0.08));
      CHECK(run.ttft.mean.base() == Approx(closed_form.ttft.mean->base()).epsilon(0.15));
      CHECK(run.completed == how.requests);
      CHECK(run.generated_tokens == static_cast<std::int64_t>(how.requests) * 256);
      CHECK(run.prefilled_tokens == static_cast<std::int64_t>(how.requests) * 1024);
      CHECK(run.system_integral == Approx(run.residence_sum));  // Little's law
    }
  }
}

TEST_CASE("a first token waits for its own prompt through all stages") {
  Scenario s = pipelined(2, 4);
  s.workload.traffic = OpenLoop{0.01 * request / second};  // one at a time
  ScenarioRun how;
  how.requests = 200;
  how.plan.keep_records = true;
  const SimulationResult run = simulate_scenario(s, how).run;
  const Replica replica = reduce(s, Fidelity::calibrated);
  const double expected = 0.020 + replica.step(prefill_load(4.0, 1024.0)).total().base();
  CHECK(run.ttft.p50.base() == Approx(expected));
  CHECK((run.records[0].first_token - run.records[0].arrival).base() == Approx(expected));
}

}  // namespace
}  // namespace tokenroof
