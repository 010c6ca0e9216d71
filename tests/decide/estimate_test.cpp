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
