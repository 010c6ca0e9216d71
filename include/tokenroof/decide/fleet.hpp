// The inverse question: which deployment meets the objective at the least cost.
//
// Every valid layout of every candidate is enumerated; cheap bounds discard most before any queue
// is evaluated, and none of them can discard the optimum:
//   fit     all weights over all devices of a replica exceed what they may fill
//   floor   reading the multiplied weights once, or the prompt's arithmetic, at datasheet rates, is
//           already slower than the objective
//   cost    the arithmetic of the traffic at datasheet peak needs so many devices that the result
//           costs more than `cost_window` times one already found, or costs as much and is slower
// What is left is evaluated exactly: memory plan, calibrated steps, largest rate that meets the
// objective, whole replicas with headroom and spares. Tested against brute force on small spaces.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tokenroof/decide/economics.hpp"
#include "tokenroof/decide/fleet_space.hpp"
#include "tokenroof/decide/traffic.hpp"

namespace tokenroof {

/// A deployment that meets the objective.
struct PlannedDeployment {
  std::size_t candidate = 0;       ///< index into the request's candidates
  Deployment deployment;           ///< replicas included
  int prefill_replicas = 0;        ///< > 0: separate pools; the others decode
  int devices = 0;                 ///< paid for: whole nodes and spares included
  RequestsPerSecond replica_rate;  ///< largest that meets the objective
  double load = 0;                 ///< of that rate, with all but the spare replicas working
  Seconds ttft, ttft_p95, tpot;
  TokensPerSecond per_user;
  DollarsPerSecond cost;
  DollarsPerToken cost_per_token;  ///< the bill over all input and output tokens
  Bound bound = Bound::none;       ///< of the decode step
};

/// What became of the enumerated layouts.
struct FleetCounts {
  std::size_t enumerated = 0, invalid = 0, does_not_fit = 0, below_floor = 0, too_costly = 0,
              evaluated = 0, objective_missed = 0;
};

struct FleetPlan {
  std::vector<PlannedDeployment> deployments;  ///< cheapest first
  std::vector<std::size_t> pareto;  ///< into `deployments`: no other is cheaper and as fast
  FleetCounts counts;
  Verdict verdict;
};

namespace detail {

[[nodiscard]] inline bool dominated(const std::vector<PlannedDeployment>& found,
                                    DollarsPerSecond cost, double fastest, double window) {
  for (const PlannedDeployment& known : found) {
    if (cost > known.cost * window) return true;
    if (known.cost <= cost && known.per_user.base() >= fastest) return true;
  }
  return false;
}

/// Devices that are paid for `replicas` of `each` devices.
[[nodiscard]] inline int paid_devices(const FleetRequest& wanted, int each, int replicas) {
  const int devices = each * (replicas + wanted.spare_replicas);
  if (!wanted.whole_nodes) return devices;
  const int node = wanted.scenario.deployment.devices_per_node;
  return (devices + node - 1) / node * node;
}

/// Evaluates a layout exactly; false when nothing meets the objective.
[[nodiscard]] inline bool evaluate_layout(const FleetRequest& wanted, const FleetLayout& layout,
                                          const KernelConstants& kernels,
                                          PlannedDeployment& planned) {
  Scenario scenario = layout_scenario(wanted, layout);
  const auto& open = std::get<OpenLoop>(scenario.workload.traffic);
  const Replica replica = reduce(scenario, Fidelity::calibrated, kernels);
  if (!replica.memory.verdict.ok() || replica.admission < 1) return false;
  const std::vector<Seconds> steps = replica.token_times();
  EngineLoad load = engine_load(replica, scenario, open, 1);
  const PrefillLaw law =
      prompt_law(replica, scenario.workload, std::max(1.0, 0.25 * replica.admission));
  load.prefill = law.shares();
  const Seconds overhead = request_overhead(replica);
  const auto meets = [&](const EngineEstimate& e) {
    return keeps(scenario.objective, e, overhead);
  };
  planned.replica_rate = largest_rate(load, steps, meets);
  if (!(planned.replica_rate.base() > 0)) return false;
  const RequestsPerSecond needed = open.arrival_rate * (1 + wanted.headroom);
  const double replicas = std::max(1.0, std::ceil(needed / planned.replica_rate - 1e-9));
  if (replicas > wanted.most_replicas) return false;
  planned.candidate = layout.candidate;
  planned.deployment = scenario.deployment;
  planned.deployment.replicas = static_cast<int>(replicas);
  planned.devices =
      paid_devices(wanted, scenario.deployment.devices_per_replica(), planned.deployment.replicas);
  load.arrivals = open.arrival_rate / replicas;
  const EngineEstimate e = engine_estimate(load, steps);
  planned.load = e.load;
  planned.ttft = e.ttft + overhead;
  planned.ttft_p95 = e.ttft_p95 + overhead;
  planned.tpot = e.tpot * token;
  planned.per_user = 1 * token / planned.tpot;
  planned.cost = *scenario.price.accelerator * static_cast<double>(planned.devices);
  const double tokens = replica.lengths.prompt + replica.lengths.output;
  planned.cost_per_token = planned.cost / (open.arrival_rate * TokensPerRequest::from_base(tokens));
  planned.bound = replica.decode(std::max(1.0, e.running.base()), replica.lengths.live).bound();
  return true;
}

/// Separate pools on the same layout: the fewest workers whose best split carries the traffic.
inline void try_split(const FleetRequest& wanted, const FleetLayout& layout,
                      const KernelConstants& kernels, PlannedDeployment& planned) {
  Scenario scenario = layout_scenario(wanted, layout);
  const auto& open = std::get<OpenLoop>(scenario.workload.traffic);
  Replica replica = reduce(scenario, Fidelity::calibrated, kernels);
  const std::vector<Seconds> steps = replica.token_times();
  DisaggregatedLoad load;
  load.load = engine_load(replica, scenario, open, 1);
  replica.prompts_first = true;
  const PrefillLaw law = prompt_law(replica, scenario.workload, 0);
  load.load.prefill = law.shares();
  load.decode_steps = steps;
  load.transfer = cache_transfer(scenario, replica.lengths.prompt, {});
  const Seconds overhead = request_overhead(replica);
  const RequestsPerSecond needed = open.arrival_rate * (1 + wanted.headroom);
  const auto meets = [&](const DisaggregatedEstimate& e) {
    return keeps(scenario.objective, e, overhead);
  };
  for (int workers = 2; workers < planned.deployment.replicas; ++workers) {
    const PoolSplit split = best_split(load, workers, meets);
    if (split.rate < needed) continue;
    load.prefill_workers = split.prefill_workers;
    load.decode_workers = split.decode_workers;
    load.load.arrivals = open.arrival_rate;
    const DisaggregatedEstimate e = disaggregated_estimate(load);
    planned.prefill_replicas = split.prefill_workers;
    planned.deployment.replicas = workers;
    planned.devices = paid_devices(wanted, scenario.deployment.devices_per_replica(), workers);
    planned.replica_rate = split.rate / workers;
    planned.load = open.arrival_rate / split.rate;
    planned.ttft = e.ttft + overhead;
    planned.ttft_p95 = e.ttft_p95 + overhead;
    planned.tpot = e.tpot * token;
    planned.per_user = 1 * token / planned.tpot;
    planned.cost_per_token = planned.cost_per_token * (static_cast<double>(planned.devices) *
                                                       *scenario.price.accelerator / planned.cost);
    planned.cost = *scenario.price.accelerator * static_cast<double>(planned.devices);
    return;
  }
}

/// Indices of `sorted` (cheapest first) that are faster than everything before them.
[[nodiscard]] inline std::vector<std::size_t> pareto_of(
    const std::vector<PlannedDeployment>& sorted) {
  std::vector<std::size_t> set;
  double fastest = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i].per_user.base() <= fastest) continue;
    fastest = sorted[i].per_user.base();
    set.push_back(i);
  }
  return set;
}

[[nodiscard]] inline Verdict plan_verdict(const FleetPlan& plan) {
  if (!plan.deployments.empty()) return {};
  const FleetCounts& c = plan.counts;
  const auto count = [](std::size_t n, const char* what) {
    return n > 0 ? std::to_string(n) + what : std::string();
  };
  Verdict verdict{Outcome::objective_missed,
                  "none of " + std::to_string(c.enumerated) + " deployments will do: ",
                  "relax the objective, allow more devices or replicas, or narrower weights"};
  verdict.reason += count(c.invalid, " have an invalid layout, ") +
                    count(c.does_not_fit, " do not fit, ") +
                    count(c.below_floor, " cannot be fast enough at any batch, ") +
                    count(c.objective_missed, " miss the objective under load, ");
  verdict.reason.resize(verdict.reason.size() - 2);
  if (c.does_not_fit + c.invalid == c.enumerated) verdict.outcome = Outcome::does_not_fit;
  if (c.below_floor > 0 && c.objective_missed == 0) verdict.outcome = Outcome::below_latency_floor;
  return verdict;
}

}  // namespace detail

/// The deployments that meet `wanted`, cheapest first. The scenario's workload must have an
/// arrival rate, every candidate a price; `prune` = false evaluates every layout (for tests).
[[nodiscard]] inline FleetPlan plan_fleet(const FleetRequest& wanted,
                                          const KernelConstants& kernels = {}, bool prune = true) {
  FleetPlan plan;
  std::vector<FleetLayout> layouts = fleet_space(wanted);
  plan.counts.enumerated = layouts.size();
  std::stable_sort(layouts.begin(), layouts.end(), [](const FleetLayout& a, const FleetLayout& b) {
    return a.least_cost < b.least_cost;
  });
  std::vector<FleetLayout> kept;
  for (const FleetLayout& layout : layouts) {
    if (layout.discard == FleetLayout::Discard::invalid) {
      ++plan.counts.invalid;
      continue;
    }
    if (prune && layout.discard == FleetLayout::Discard::does_not_fit) {
      ++plan.counts.does_not_fit;
      continue;
    }
    if (prune && layout.discard == FleetLayout::Discard::below_floor) {
      ++plan.counts.below_floor;
      continue;
    }
    if (prune && detail::dominated(plan.deployments, layout.least_cost, layout.fastest,
                                   wanted.cost_window)) {
      ++plan.counts.too_costly;
      continue;
    }
    ++plan.counts.evaluated;
    PlannedDeployment planned;
    if (detail::evaluate_layout(wanted, layout, kernels, planned)) {
      plan.deployments.push_back(planned);
      kept.push_back(layout);
    } else {
      ++plan.counts.objective_missed;
    }
  }
  if (wanted.separate_pools) {
    for (std::size_t i = 0; i < plan.deployments.size(); ++i)
      if (plan.deployments[i].deployment.replicas > 2)
        detail::try_split(wanted, kept[i], kernels, plan.deployments[i]);
  }
  std::stable_sort(plan.deployments.begin(), plan.deployments.end(),
                   [](const PlannedDeployment& a, const PlannedDeployment& b) {
                     if (a.cost != b.cost) return a.cost < b.cost;
                     return a.per_user > b.per_user;
                   });
  plan.pareto = detail::pareto_of(plan.deployments);
  plan.verdict = detail::plan_verdict(plan);
  return plan;
}

}  // namespace tokenroof
