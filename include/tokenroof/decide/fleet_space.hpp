// The space of deployments that a plan searches, with a lower bound of cost and an upper bound of
// speed for each, from datasheet rates alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tokenroof/decide/fleet_bounds.hpp"

namespace tokenroof {

/// A device at a precision, as an alternative to rent.
struct FleetCandidate {
  Accelerator accelerator;  ///< with a price
  Precision precision;
  std::string label;  ///< of the precision, for people
};

/// What a plan is asked for.
struct FleetRequest {
  Scenario scenario;  ///< workload with an arrival rate, objective, engine, model
  std::vector<FleetCandidate> candidates;
  std::vector<std::string> unpriced;  ///< devices asked for that are none: no price is known
  int most_devices = 64;              ///< of one replica
  int most_replicas = 10000;
  double headroom = 0;     ///< extra rate that must fit, as a share
  int spare_replicas = 0;  ///< N+1: replicas beyond those needed
  bool whole_nodes = false;
  bool separate_pools = false;  ///< also try disaggregated prefill and decode
  double cost_window = 3;  ///< deployments of up to so many times the least cost are of interest
};

/// One layout of one candidate.
struct FleetLayout {
  enum class Discard { none, invalid, does_not_fit, below_floor };
  std::size_t candidate = 0;
  Deployment deployment;
  int least_replicas = 1;       ///< fewer do not carry the traffic
  DollarsPerSecond least_cost;  ///< no deployment of this layout costs less
  double fastest = 0;           ///< tokens/s that no user of it exceeds
  Discard discard = Discard::none;
  detail::ReplicaLimits limits;  ///< from the datasheet
  detail::DatasheetStep step;
};

/// Devices that are paid for `replicas` of `each` devices: spares and whole nodes included.
[[nodiscard]] inline int paid_devices(const FleetRequest& wanted, int each, int replicas) {
  const int devices = each * (replicas + wanted.spare_replicas);
  if (!wanted.whole_nodes) return devices;
  const int node = wanted.scenario.deployment.devices_per_node;
  return (devices + node - 1) / node * node;
}

/// Dollars per second of `replicas` of `layout`.
[[nodiscard]] inline DollarsPerSecond fleet_cost(const FleetRequest& wanted,
                                                 const FleetLayout& layout, int replicas) {
  return *wanted.candidates[layout.candidate].accelerator.price *
         static_cast<double>(
             paid_devices(wanted, layout.deployment.devices_per_replica(), replicas));
}

/// Requests/s that must fit: the arrivals and the headroom.
[[nodiscard]] inline RequestsPerSecond needed_rate(const FleetRequest& wanted) {
  return std::get<OpenLoop>(wanted.scenario.workload.traffic).arrival_rate * (1 + wanted.headroom);
}

/// Replicas for the needed rate when one takes `rate`; most_replicas + 1 when that is not enough.
[[nodiscard]] inline int replicas_for(const FleetRequest& wanted, double rate) {
  const double most = wanted.most_replicas + 1;
  const double replicas = std::ceil(needed_rate(wanted).base() / rate - 1e-9);
  return static_cast<int>(std::clamp(replicas, 1.0, most));
}

/// The scenario with this layout's device, precision and degrees; one replica.
[[nodiscard]] inline Scenario layout_scenario(const FleetRequest& wanted,
                                              const FleetLayout& layout) {
  Scenario scenario = wanted.scenario;
  const FleetCandidate& candidate = wanted.candidates[layout.candidate];
  scenario.accelerator = candidate.accelerator;
  scenario.precision = candidate.precision;
  scenario.deployment = layout.deployment;
  scenario.price.accelerator = candidate.accelerator.price;
  return scenario;
}

namespace detail {

/// Tightens the least replicas and cost of `layout`, of which a replica takes at most `rate`.
inline void set_least_cost(const FleetRequest& wanted, double rate, FleetLayout& layout) {
  layout.least_replicas = std::max(layout.least_replicas, replicas_for(wanted, rate));
  layout.least_cost = fleet_cost(wanted, layout, layout.least_replicas);
}

/// Sets the bounds of a layout from datasheet rates, and the reason to discard where one decides.
inline void bound_layout(const FleetRequest& wanted, const SpaceTotals& totals, double peak,
                         const WorkloadLengths& lengths, FleetLayout& layout) {
  using Discard = FleetLayout::Discard;
  const Scenario& scenario = wanted.scenario;
  const Accelerator& device = wanted.candidates[layout.candidate].accelerator;
  const double accepted = scenario.speculation ? 1 + scenario.speculation->draft_tokens : 1;
  layout.step = datasheet_step(totals, device, peak, layout.deployment, accepted);
  layout.limits = datasheet_limits(scenario, totals, device, peak, lengths, layout.deployment);
  layout.fastest = 1 / layout.step(1);
  set_least_cost(wanted, most_rate(layout.limits, layout.step), layout);
  const double most =
      most_filled(scenario.engine, device) * layout.deployment.devices_per_replica();
  const bool late =
      layout.step(1) > layout.limits.slowest ||
      layout.limits.prompt > slowest_first_token(scenario.objective, scenario.workload.lengths);
  if (totals.resident_bytes > most) {
    layout.discard = Discard::does_not_fit;
  } else if (late) {
    layout.discard = Discard::below_floor;
  }
}

}  // namespace detail

/// Every layout of every candidate up to `most_devices` a replica: tensor parallel by powers of two
/// within a node (or the fast fabric, where it is larger), pipeline stages and attention data
/// parallel by powers of two, expert parallel 1 or all ranks. Invalid ones are marked.
[[nodiscard]] inline std::vector<FleetLayout> fleet_space(const FleetRequest& wanted) {
  std::vector<FleetLayout> layouts;
  const WorkloadLengths lengths = workload_lengths(wanted.scenario.workload);
  const bool mixture = std::any_of(
      wanted.scenario.model.groups.begin(), wanted.scenario.model.groups.end(),
      [](const LayerGroup& g) { return g.feed_forward.kind == FeedForwardKind::mixture; });
  for (std::size_t c = 0; c < wanted.candidates.size(); ++c) {
    const FleetCandidate& candidate = wanted.candidates[c];
    const detail::SpaceTotals totals =
        detail::space_totals(wanted.scenario.model, candidate.precision, lengths);
    const double peak = detail::best_peak(candidate.accelerator, candidate.precision);
    const int fabric = std::max(wanted.scenario.deployment.devices_per_node,
                                candidate.accelerator.scale_up.domain_size);
    for (int tensor = 1; tensor <= std::min(fabric, wanted.most_devices); tensor *= 2) {
      for (int attention = 1; tensor * attention <= wanted.most_devices; attention *= 2) {
        if (attention > 1 && !mixture) break;  // dense layers gain nothing over replicas
        for (int stages = 1; tensor * attention * stages <= wanted.most_devices; stages *= 2) {
          for (const int experts : {1, tensor * attention}) {
            if (experts > 1 && !mixture) continue;
            FleetLayout layout;
            layout.candidate = c;
            layout.deployment = {.tensor_parallel = tensor,
                                 .pipeline_parallel = stages,
                                 .expert_parallel = experts,
                                 .attention_data_parallel = attention};
            layout.deployment.devices_per_node = wanted.scenario.deployment.devices_per_node;
            if (layout_verdict(wanted.scenario.model, layout.deployment).ok()) {
              detail::bound_layout(wanted, totals, peak, lengths, layout);
            } else {
              layout.discard = FleetLayout::Discard::invalid;
            }
            layouts.push_back(layout);
            if (tensor * attention == 1) break;
          }
        }
      }
    }
  }
  return layouts;
}

}  // namespace tokenroof
