// Exact evaluation of one layout of a fleet plan: memory plan, calibrated steps, the largest rate
// that meets the objective, whole replicas; and the same with separate pools.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>
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

namespace detail {

/// What an exact look at a layout gave.
enum class Evaluation { meets, misses, does_not_fit, too_costly };

/// Fills the latencies of `planned`, whose layout, replicas and rate stand.
inline void set_latencies(const Replica& replica, const EngineEstimate& e, Seconds overhead,
                          PlannedDeployment& planned) {
  planned.ttft = e.ttft + overhead;
  planned.ttft_p95 = e.ttft_p95 + overhead;
  planned.tpot = e.tpot * token;
  planned.per_user = 1 * token / planned.tpot;
  planned.bound = replica.decode(std::max(1.0, e.running.base()), replica.lengths.live).bound();
}

/// Evaluates a layout exactly: its memory plan, step times and queue. `scenario` is of this layout
/// and `replica` has its times. More than `most` $/s is not of interest.
[[nodiscard]] inline Evaluation evaluate_layout(const FleetRequest& wanted,
                                                const FleetLayout& layout, const Scenario& scenario,
                                                Replica& replica, double most,
                                                PlannedDeployment& planned) {
  MemoryPlan memory =
      memory_lines(scenario.model, scenario.accelerator, scenario.engine, scenario.precision,
                   scenario.deployment, TokensPerRequest::from_base(replica.lengths.longest),
                   memory_options(scenario));
  if (memory.deficit > Bytes{} || memory.concurrency < 1) return Evaluation::does_not_fit;
  admit(replica, scenario, std::move(memory));
  if (replica.admission < 1) return Evaluation::does_not_fit;
  const auto& open = std::get<OpenLoop>(scenario.workload.traffic);
  const std::vector<Seconds> steps = replica.token_times(64);
  EngineLoad load = engine_load(replica, scenario, open, 1);
  const PrefillLaw law = full_load_law(replica, scenario, load, steps);
  load.prefill = law.shares();
  const Seconds overhead = request_overhead(replica) + lane_time(replica);
  const auto meets = [&](const EngineEstimate& e) {
    return keeps(scenario.objective, e, overhead + scheduled_step(replica, e));
  };
  // The most replicas of interest: when they do not carry the traffic, no number does.
  const double replica_cost =
      scenario.price.accelerator->base() * scenario.deployment.devices_per_replica();
  const double affordable = std::floor(most / replica_cost + 1e-9) - wanted.spare_replicas;
  if (affordable < wanted.most_replicas) {
    if (affordable < 1) return Evaluation::too_costly;
    load.arrivals = needed_rate(wanted) / affordable;
    const EngineEstimate e = engine_estimate(load, steps);
    if (!e.stable || !meets(e)) return Evaluation::too_costly;
  }
  planned.replica_rate = largest_rate(load, steps, meets);
  if (!(planned.replica_rate.base() > 0)) return Evaluation::misses;
  // The rate rests on prompts as a full replica computes them. What users feel is checked as
  // `estimate` answers it, and a replica added where that is less.
  const ReplicaAtRate felt{replica, scenario, steps, load, law};
  const int first = replicas_for(wanted, planned.replica_rate.base());
  int replicas = first;
  for (const int last = std::min(first + first / 4 + 2, wanted.most_replicas);; ++replicas) {
    if (replicas > last) return Evaluation::misses;
    const RequestsPerSecond each = needed_rate(wanted) / static_cast<double>(replicas);
    const EngineEstimate e = felt(each);
    if (!e.stable || !meets(e)) continue;
    if (replicas > first) planned.replica_rate = each;
    break;
  }
  planned.candidate = layout.candidate;
  planned.deployment = scenario.deployment;
  planned.deployment.replicas = replicas;
  planned.devices = paid_devices(wanted, scenario.deployment.devices_per_replica(), replicas);
  planned.cost = fleet_cost(wanted, layout, replicas);
  const double tokens = replica.lengths.prompt + replica.lengths.output;
  planned.cost_per_token = planned.cost / (open.arrival_rate * TokensPerRequest::from_base(tokens) *
                                           scenario.price.utilization);
  const RequestsPerSecond each = open.arrival_rate / static_cast<double>(replicas);
  planned.load = each / felt.limit();
  const EngineEstimate e = felt(each);
  set_latencies(replica, e, overhead + scheduled_step(replica, e), planned);
  return Evaluation::meets;
}

/// Separate pools on the same layout: the fewest workers whose best split carries the traffic.
inline void try_split(const FleetRequest& wanted, const FleetLayout& layout,
                      const KernelConstants& kernels, PlannedDeployment& planned) {
  Scenario scenario = layout_scenario(wanted, layout);
  const auto& open = std::get<OpenLoop>(scenario.workload.traffic);
  Replica replica = reduce(scenario, Fidelity::calibrated, kernels);
  const std::vector<Seconds> steps = replica.token_times(64);
  DisaggregatedLoad load;
  load.load = engine_load(replica, scenario, open, 1);
  replica.prompts_first = true;
  const PrefillLaw law = prompt_law(replica, scenario.workload, 0);
  load.load.prefill = law.shares();
  load.decode_steps = steps;
  load.transfer = cache_transfer(scenario, replica.lengths.prompt, {});
  const Seconds overhead = request_overhead(replica) + lane_time(replica);
  const RequestsPerSecond needed = open.arrival_rate * (1 + wanted.headroom);
  const auto meets = [&](const DisaggregatedEstimate& e) {
    return keeps(scenario.objective, e, overhead);
  };
  // The fewest workers: one more never carries less.
  int few = 1, enough = planned.deployment.replicas - 1;
  if (enough < 2 || !some_split_carries(load, enough, needed, meets)) return;
  while (enough - few > 1) {
    const int middle = few + (enough - few) / 2;
    (some_split_carries(load, middle, needed, meets) ? enough : few) = middle;
  }
  const PoolSplit split = best_split(load, enough, meets);
  load.prefill_workers = split.prefill_workers;
  load.decode_workers = split.decode_workers;
  load.load.arrivals = open.arrival_rate;
  const DisaggregatedEstimate e = disaggregated_estimate(load);
  planned.prefill_replicas = split.prefill_workers;
  planned.deployment.replicas = enough;
  planned.devices = paid_devices(wanted, scenario.deployment.devices_per_replica(), enough);
  planned.replica_rate = split.rate / enough;
  planned.load = open.arrival_rate / split.rate;
  planned.ttft = e.ttft + overhead;
  planned.ttft_p95 = e.ttft_p95 + overhead;
  planned.tpot = e.tpot * token;
  planned.per_user = 1 * token / planned.tpot;
  planned.cost_per_token = planned.cost_per_token * (static_cast<double>(planned.devices) *
                                                     *scenario.price.accelerator / planned.cost);
  planned.cost = *scenario.price.accelerator * static_cast<double>(planned.devices);
}

}  // namespace detail
}  // namespace tokenroof
