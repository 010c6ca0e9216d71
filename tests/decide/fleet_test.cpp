#include "tokenroof/decide/fleet.hpp"

#include "fixtures.hpp"
#include "properties.hpp"

namespace tokenroof {
namespace {

using namespace test;
using namespace test::models;

Accelerator device(const char* id, double peak, double bandwidth, double memory_gb, double price) {
  Accelerator a;
  a.id = id;
  for (const DataType type : {DataType::bf16, DataType::fp16, DataType::fp8})
    a.dense_peak[static_cast<std::size_t>(type)] = peak * flop / second;
  a.memory_bandwidth = bandwidth * byte / second;
  a.memory_nominal = a.memory_visible = memory_gb * gigabyte;
  a.scale_up = {.kind = "nvlink4",
                .bandwidth = 450 * gigabyte / second,
                .latency = {},
                .domain_size = 8,
                .switched = true};
  a.multiprocessors = 132;
  a.price = price * dollar / hour;
  return a;
}

FleetRequest small_request(double rate) {
  FleetRequest wanted;
  wanted.scenario.model = llama_31_8b();
  wanted.scenario.engine.constants.step = 0.5 * millisecond;
  wanted.scenario.engine.constants.per_sequence = 5 * microsecond;
  wanted.scenario.engine.max_sequences = 64;
  wanted.scenario.workload.input = 1000 * token / request;
  wanted.scenario.workload.output = 200 * token / request;
  wanted.scenario.workload.traffic = OpenLoop{rate * request / second};
  wanted.scenario.objective.ttft_p95 = 1 * second;
  wanted.scenario.objective.tpot_mean = 40 * millisecond;
  wanted.candidates = {
      {device("new", 989e12, 3.35e12, 80, 2.5), uniform_precision(formats::bf16), "bf16"},
      {device("old", 312e12, 2.04e12, 80, 1.3), uniform_precision(formats::bf16), "bf16"}};
  wanted.most_devices = 4;
  return wanted;
}

TEST_CASE("a small load gets a small fleet") {
  const FleetPlan plan = plan_fleet(small_request(0.2));
  REQUIRE(plan.verdict.ok());
  CHECK(plan.deployments.front().devices == 1);
  CHECK(plan.deployments.front().deployment.replicas == 1);
}

/// Least $/s on `device` among `plan`'s deployments; infinite: none.
double least_cost_on(const FleetRequest& wanted, const FleetPlan& plan, const std::string& device) {
  double least = HUGE_VAL;
  for (const PlannedDeployment& d : plan.deployments)
    if (wanted.candidates[d.candidate].accelerator.id == device)
      least = std::min(least, d.cost.base());
  return least;
}

/// A question of any kind about two accelerators, one of them at two precisions.
FleetRequest any_request() {
  FleetRequest wanted = small_request(of_any_size(0.1, 200));
  Scenario& scenario = wanted.scenario;
  if (whole(0, 1) == 1) scenario.model = qwen3_30b();
  scenario.workload.input = of_any_size(50, 8000) * token / request;
  scenario.workload.output = of_any_size(2, 2000) * token / request;
  if (whole(0, 2) == 0)
    scenario.workload.lengths = {.kind = LengthLaw::Kind::lognormal, .cv = between(0.2, 1.5)};
  scenario.workload.prefix_hit_rate = whole(0, 1) * between(0, 0.9);
  scenario.engine.chunked_prefill = whole(0, 1) == 1;
  scenario.engine.max_sequences = whole(1, 64);
  scenario.objective.ttft_p95 = of_any_size(0.05, 3) * second;
  scenario.objective.tpot_mean = of_any_size(0.005, 0.1) * second;
  if (whole(0, 3) == 0) scenario.objective.e2e_p95 = of_any_size(0.5, 60) * second;
  if (whole(0, 3) == 0)
    scenario.speculation =
        Speculation{.draft_tokens = 3, .acceptance = 0.7, .draft_cost = 0.05, .draft_memory = {}};
  wanted.candidates.push_back(
      {wanted.candidates[0].accelerator, uniform_precision(formats::fp8), "fp8"});
  wanted.headroom = between(0, 0.3);
  wanted.spare_replicas = whole(0, 1);
  wanted.whole_nodes = whole(0, 3) == 0;
  wanted.cost_window = between(1, 4);
  return wanted;
}

TEST_CASE("pruning never loses an optimum or the frontier") {
  property("the cheapest, the cheapest of each accelerator, the frontier in the window", [] {
    const FleetRequest wanted = any_request();
    const FleetPlan all = plan_fleet(wanted, {}, false);
    const FleetPlan pruned = plan_fleet(wanted, {}, true);
    RC_ASSERT(all.deployments.empty() == pruned.deployments.empty());
    RC_ASSERT(all.counts.enumerated == pruned.counts.enumerated);
    if (all.deployments.empty()) return;
    RC_ASSERT(near(all.deployments.front().cost.base(), pruned.deployments.front().cost.base()));
    const double limit = all.deployments.front().cost.base() * wanted.cost_window;
    for (const std::string device : {"new", "old"}) {
      const double least = least_cost_on(wanted, all, device);
      if (least <= limit) RC_ASSERT(near(least, least_cost_on(wanted, pruned, device)));
    }
    std::vector<double> expected, found;
    for (const std::size_t i : all.pareto)
      if (all.deployments[i].cost.base() <= limit)
        expected.push_back(all.deployments[i].per_user.base());
    for (const std::size_t i : pruned.pareto)
      if (pruned.deployments[i].cost.base() <= limit)
        found.push_back(pruned.deployments[i].per_user.base());
    RC_ASSERT(expected == found);
  });
}

TEST_CASE("every layout is accounted for") {
  for (const double rate : {0.2, 20.0, 2000.0}) {
    const FleetCounts c = plan_fleet(small_request(rate)).counts;
    CHECK(c.enumerated == c.invalid + c.does_not_fit + c.below_floor + c.too_costly + c.evaluated);
    CHECK(c.evaluated < c.enumerated);
  }
}

TEST_CASE("headroom, spares and whole nodes cost what they cost") {
  FleetRequest wanted = small_request(20);
  const FleetPlan plain = plan_fleet(wanted);
  wanted.spare_replicas = 1;
  const FleetPlan spare = plan_fleet(wanted);
  CHECK(spare.deployments.front().cost > plain.deployments.front().cost);
  wanted.whole_nodes = true;
  const FleetPlan nodes = plan_fleet(wanted);
  CHECK(nodes.deployments.front().devices % 8 == 0);
}

TEST_CASE("an impossible objective names the reason") {
  FleetRequest wanted = small_request(1);
  wanted.scenario.objective.tpot_mean = 1 * microsecond;
  const FleetPlan plan = plan_fleet(wanted);
  CHECK(plan.verdict.outcome == Outcome::below_latency_floor);
  CHECK(plan.counts.below_floor > 0);
  wanted = small_request(1);
  wanted.scenario.model = llama_31_405b();
  wanted.most_devices = 2;
  CHECK(plan_fleet(wanted).verdict.outcome == Outcome::does_not_fit);
}

TEST_CASE("the frontier gets faster as it gets dearer") {
  const FleetPlan plan = plan_fleet(small_request(30));
  for (std::size_t i = 1; i < plan.pareto.size(); ++i) {
    const auto& before = plan.deployments[plan.pareto[i - 1]];
    const auto& after = plan.deployments[plan.pareto[i]];
    CHECK(after.cost >= before.cost);
    CHECK(after.per_user > before.per_user);
  }
}

}  // namespace
}  // namespace tokenroof
