#include "tokenroof/decide/estimate.hpp"

#include "fixtures.hpp"
#include "oracle.hpp"
#include "properties.hpp"

namespace tokenroof {
namespace {

using namespace test;
using namespace test::models;

Scenario scenario_70b() {
  Scenario s;
  s.model = llama_31_70b();
  Accelerator& a = s.accelerator;
  for (const DataType type : {DataType::bf16, DataType::fp16})
    a.dense_peak[static_cast<std::size_t>(type)] = 989e12 * flop / second;
  a.dense_peak[static_cast<std::size_t>(DataType::fp8)] = 1979e12 * flop / second;
  a.memory_bandwidth = 3.35e12 * byte / second;
  a.memory_nominal = a.memory_visible = 80 * gigabyte;
  a.scale_up = {.kind = "nvlink4",
                .bandwidth = 450 * gigabyte / second,
                .latency = {},
                .domain_size = 8,
                .switched = true};
  a.multiprocessors = 132;
  s.engine.reserve_auto = false;
  s.engine.constants.step = 0.5 * millisecond;
  s.engine.constants.per_layer = 10 * microsecond;
  s.deployment.tensor_parallel = 8;
  s.workload.input = 1024 * token / request;
  s.workload.output = 512 * token / request;
  s.workload.traffic = ClosedLoopTraffic{64 * request};
  s.price.accelerator = 2.5 * dollar / hour;
  return s;
}

TEST_CASE("landmarks of the 70B model on the textbook's H100") {
  Scenario s = scenario_70b();
  s.workload.traffic = SingleStep{1 * request, 4096 * token / request};
  const Answer answer = estimate(s, Fidelity::ideal);
  REQUIRE(answer.limits);
  CHECK(answer.limits->ridge.base() == closed_form("s1.ridge.h100.bf16"));
  CHECK(answer.limits->critical_batch.base() == closed_form("s1.bcrit.h100.w16c16"));
  CHECK(answer.limits->crossover_weights->base() == closed_form("s6.Sw.L70.bf16.B1"));
  CHECK(answer.limits->crossover_compute->base() == closed_form("s6.Sc0.L70.bf16.h100"));
  CHECK(answer.limits->crossover_compute_with_attention->base() ==
        closed_form("s6.Sc1.L70.bf16.h100"));
}

TEST_CASE("162 sequences of 8,192 fit on 8 x 80e9 bytes at 0.9 without reserve") {
  Scenario s = scenario_70b();
  s.workload.traffic = SingleStep{1 * request, 8192 * token / request};
  CHECK(estimate(s).memory.max_concurrency == 162 * request);
  s.accelerator.memory_visible = 79.15 * gibibyte;
  CHECK(estimate(s).memory.max_concurrency == 175 * request);
}

TEST_CASE("a closed loop satisfies Little's law and splits the bill exactly") {
  const Answer answer = estimate(scenario_70b());
  REQUIRE(answer.verdict.ok());
  const ServingAnswer& serving = answer.serving;
  CHECK(serving.request_rate->base() * serving.e2e.mean->base() == Approx(64).epsilon(1e-9));
  const EconomicsAnswer& bill = answer.economics;
  CHECK(1024 * bill.input->base() + 512 * bill.output->base() ==
        Approx(1536 * bill.total->base()).epsilon(1e-12));
}

TEST_CASE("an open loop near its limit waits, beyond it is unstable") {
  Scenario s = scenario_70b();
  s.workload.traffic = OpenLoop{2 * request / second};
  const Answer calm = estimate(s);
  REQUIRE(calm.serving.stable.value_or(false));
  CHECK(*calm.serving.ttft.p95 >= *calm.serving.ttft.p50);
  s.workload.traffic = OpenLoop{*calm.serving.limit_rate * 1.01};
  const Answer flooded = estimate(s);
  CHECK(flooded.verdict.outcome == Outcome::unstable);
  CHECK_FALSE(flooded.serving.stable.value_or(true));
  CHECK_FALSE(flooded.serving.ttft.mean);
}

TEST_CASE("objectives: missed, and below the floor") {
  Scenario s = scenario_70b();
  s.objective.tpot_mean = 1 * millisecond;
  CHECK(estimate(s).verdict.outcome == Outcome::below_latency_floor);
  s.objective.tpot_mean = estimate(scenario_70b()).limits->latency_floor * 1.05;
  CHECK(estimate(s).verdict.outcome == Outcome::objective_missed);
}

TEST_CASE("a model that does not fit says by how much and what helps") {
  Scenario s = scenario_70b();
  s.deployment.tensor_parallel = 1;
  const Answer answer = estimate(s);
  CHECK(answer.verdict.outcome == Outcome::does_not_fit);
  CHECK(answer.verdict.remedy.find("tensor_parallel") != std::string::npos);
  s.deployment.tensor_parallel = 3;
  CHECK(estimate(s).verdict.outcome == Outcome::invalid_layout);
  s.deployment.tensor_parallel = 128;
  CHECK(estimate(s).verdict.outcome == Outcome::invalid_layout);
}

TEST_CASE("the breakdown adds up to the step in every fidelity") {
  for (const Fidelity f : {Fidelity::ideal, Fidelity::roofline, Fidelity::calibrated}) {
    const Answer answer = estimate(scenario_70b(), f);
    Seconds sum;
    for (const OperatorTime& line : answer.breakdown) sum += line.time.total();
    CHECK(sum / answer.decode->step == Approx(1).epsilon(1e-12));
  }
}

TEST_CASE("speculation pays while memory bound and loses when compute bound") {
  Scenario s = scenario_70b();
  s.workload.traffic = ClosedLoopTraffic{1 * request};
  const TokensPerSecond plain = estimate(s).decode->per_sequence;
  s.speculation = Speculation{4, 0.8, 0.05, {}};
  const Answer drafted = estimate(s);
  CHECK(drafted.decode->per_sequence > 1.5 * plain);
  Seconds sum;
  for (const OperatorTime& line : drafted.breakdown) sum += line.time.total();
  CHECK(sum / drafted.decode->step == Approx(1).epsilon(1e-12));
}

TEST_CASE("separate pools answer, or say that they are full") {
  Scenario s = scenario_70b();
  s.workload.traffic = OpenLoop{4 * request / second};
  s.disaggregation = Disaggregation{1, 1, {}};
  const Answer answer = estimate(s);
  CHECK(answer.serving.stable.has_value());
  s.workload.traffic = OpenLoop{4000 * request / second};
  CHECK(estimate(s).verdict.outcome == Outcome::unstable);
}

TEST_CASE("the objective holds at the objective rate and fails beyond it") {
  property("one pool and two", [] {
    Scenario s = scenario_70b();
    s.engine.max_sequences = whole(8, 200);
    s.engine.chunked_prefill = whole(0, 1) == 1;
    s.workload.lengths.kind =
        whole(0, 1) == 1 ? LengthLaw::Kind::geometric : LengthLaw::Kind::fixed;
    if (whole(0, 2) == 0) s.disaggregation = Disaggregation{whole(1, 3), whole(1, 3), {}};
    s.workload.traffic = OpenLoop{0.01 * request / second};
    const ServingAnswer idle = estimate(s).serving;
    const double looser = between(1.05, 4);
    Objective& asked = s.objective;
    switch (whole(0, 4)) {
      case 0:
        asked.ttft_p95 = looser * *idle.ttft.p95;
        break;
      case 1:
        asked.ttft_p99 = looser * *idle.ttft.p99;
        break;
      case 2:
        asked.tpot_mean = looser * *idle.tpot.mean;
        break;
      case 3:
        asked.tpot_p95 = looser * *idle.tpot.p95;
        break;
      default:
        asked.e2e_p95 = looser * *idle.e2e.p95;
    }
    const RequestsPerSecond best = *estimate(s).serving.objective_rate;
    RC_ASSERT(best > RequestsPerSecond{});
    s.workload.traffic = OpenLoop{best};
    RC_ASSERT(estimate(s).verdict.ok());
    s.workload.traffic = OpenLoop{1.01 * best};
    RC_ASSERT(!estimate(s).verdict.ok());
  });
}

TEST_CASE("an objective that nothing decides is named") {
  Scenario s = scenario_70b();
  s.objective.ttft_p95 = 10 * second;
  s.objective.e2e_p95 = 100 * second;
  s.workload.traffic = SingleStep{1 * request, 4096 * token / request};
  const Answer step = estimate(s);
  CHECK(step.verdict.ok());
  CHECK(step.verdict.reason.find("ttft_p95, e2e_p95 needs traffic") == 0);
  s.workload.traffic = ClosedLoopTraffic{64 * request};
  CHECK(estimate(s).verdict.reason == "ttft_p95 is not decided in closed form: simulate");
  s.workload.lengths.kind = LengthLaw::Kind::geometric;  // equal ones march in step
  const Answer loop = estimate(s);
  CHECK(loop.verdict.ok());
  CHECK(loop.verdict.reason.empty());
  s.objective.e2e_p95 = 0.5 * *loop.serving.e2e.p95;
  CHECK(estimate(s).verdict.outcome == Outcome::objective_missed);
}

TEST_CASE("conversations that outgrow the prefix cache are noted") {
  Scenario s = scenario_70b();
  s.workload.traffic = OpenLoop{0.1 * request / second};
  s.workload.sessions = Sessions{.system_prompt_tokens = 1000,
                                 .distinct_system_prompts = 2,
                                 .users_per_system_prompt = 10,
                                 .turns = 4,
                                 .multi_turn = true};
  // Two system prompts, twenty conversations of three turns of 1,536 tokens.
  CHECK(conversation_tokens(*s.workload.sessions, s.workload) == 2000 + 20 * 3 * 1536);
  CHECK(estimate(s).notes.empty());
  s.workload.sessions->users_per_system_prompt = 1e4;
  REQUIRE(estimate(s).notes.size() == 1);
  CHECK(estimate(s).notes.front().find("92162000 tokens") != std::string::npos);
}

TEST_CASE("a system prompt that all share is held once") {
  Scenario s = scenario_70b();
  s.workload.traffic = OpenLoop{1 * request / second};
  s.workload.input = 1000 * token / request;
  s.workload.sessions = Sessions{.system_prompt_tokens = 8000};
  const double one = estimate(s).memory.max_concurrency.base();
  s.workload.sessions->distinct_system_prompts = 1e6;
  const double apart = estimate(s).memory.max_concurrency.base();
  // 9,512 tokens each, or 1,512 each beside 8,000; whole blocks of 16.
  const double tokens = estimate(s).memory.kv_tokens.base();
  CHECK(apart == std::floor(tokens / 9520));
  CHECK(one == std::floor((tokens - 8000) / 1520));
  s.workload.sessions->distinct_system_prompts = 20;
  CHECK(estimate(s).memory.max_concurrency.base() == std::floor((tokens - 160000) / 1520));
}

TEST_CASE("no answer holds a number that is not finite") {
  property("random scenarios", [] {
    Scenario s = scenario_70b();
    s.deployment.tensor_parallel = 1 << whole(0, 5);
    s.deployment.pipeline_parallel = whole(1, 4);
    s.workload.input = whole(0, 100000) * token / request;
    s.workload.output = whole(1, 5000) * token / request;
    s.workload.prefix_hit_rate = between(0, 0.9);
    const int kind = whole(0, 2);
    if (kind == 0) s.workload.traffic = OpenLoop{of_any_size(0.001, 1000) * request / second};
    if (kind == 1) s.workload.traffic = ClosedLoopTraffic{of_any_size(1, 10000) * request};
    if (kind == 2)
      s.workload.traffic =
          SingleStep{of_any_size(1, 5000) * request, of_any_size(1, 500000) * token / request};
    const Answer answer = estimate(s);
    const auto fine = [](const auto& value) {
      return !value || (std::isfinite(value->base()) && value->base() >= 0);
    };
    RC_ASSERT(fine(answer.serving.ttft.mean) && fine(answer.serving.ttft.p99) &&
              fine(answer.serving.tpot.mean) && fine(answer.serving.e2e.mean) &&
              fine(answer.serving.limit_rate) && fine(answer.serving.objective_rate));
    RC_ASSERT(fine(answer.economics.output) && fine(answer.economics.total));
    if (answer.decode) RC_ASSERT(std::isfinite(answer.decode->step.base()));
    RC_ASSERT(answer.memory.max_concurrency >= Requests{});
  });
}

}  // namespace
}  // namespace tokenroof
