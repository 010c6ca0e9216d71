// The space of deployments that a plan searches, with a lower bound of cost and an upper bound of
// speed for each, from datasheet rates alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tokenroof/decide/replica.hpp"
#include "tokenroof/physics/parameters.hpp"

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
  int most_devices = 64;  ///< of one replica
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
  DollarsPerSecond least_cost;  ///< no deployment of this layout costs less
  double fastest = 0;           ///< tokens/s that no user of it exceeds
  Discard discard = Discard::none;
};

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

/// Totals of a model at a precision that bounds are made of.
struct SpaceTotals {
  double resident_bytes = 0;  ///< every weight once
  double read_bytes = 0;      ///< weights that one token multiplies
  double flops_per_token = 0;
};

[[nodiscard]] inline SpaceTotals space_totals(const Model& model, const Precision& precision) {
  const ParameterCount count = parameter_count(model);
  SpaceTotals totals;
  double narrowest = 8;
  for (const Part part : {Part::attention, Part::dense_feed_forward, Part::routed_experts,
                          Part::shared_experts, Part::head})
    narrowest = std::min(narrowest, precision.of(part).bytes_per_element);
  for (std::size_t i = 0; i < part_count; ++i) {
    const auto part = static_cast<Part>(i);
    totals.resident_bytes +=
        static_cast<double>(count.of(part)) * precision.of(part).bytes_per_element;
  }
  totals.read_bytes = static_cast<double>(count.matmul) * narrowest;
  totals.flops_per_token = 2.0 * static_cast<double>(count.matmul);
  return totals;
}

/// The fastest dense unit that this precision may use.
[[nodiscard]] inline double best_peak(const Accelerator& device, const Precision& precision) {
  double best = 0;
  for (const Part part : {Part::attention, Part::dense_feed_forward, Part::routed_experts,
                          Part::shared_experts, Part::head})
    for (const DataType wish : {precision.of(part).multiply, DataType::bf16, DataType::fp8})
      best = std::max(best, device.peak(multiply_type(device, wish)).base());
  return best;
}

/// Sets bounds, and the reason to discard where a bound already decides.
inline void bound_layout(const FleetRequest& wanted, const SpaceTotals& totals,
                         const WorkloadLengths& lengths, FleetLayout& layout) {
  const FleetCandidate& candidate = wanted.candidates[layout.candidate];
  const Accelerator& device = candidate.accelerator;
  const double stage = layout.deployment.stage_devices();
  const double devices = layout.deployment.devices_per_replica();
  const double peak = best_peak(device, candidate.precision);
  const double bandwidth = device.memory_bandwidth.base();
  const auto& open = std::get<OpenLoop>(wanted.scenario.workload.traffic);

  const double tokens = lengths.computed() + lengths.output - 1;
  const double work = open.arrival_rate.base() * tokens * totals.flops_per_token;
  const double replicas = std::max(1.0, std::ceil(work / (peak * devices) - 1e-9));
  layout.least_cost = *device.price * (devices * (replicas + wanted.spare_replicas));

  double accepted = 1;
  if (wanted.scenario.speculation) accepted = 1 + wanted.scenario.speculation->draft_tokens;
  const double step = totals.read_bytes / (bandwidth * stage);
  layout.fastest = accepted / step;

  const double fill = wanted.scenario.engine.memory_fraction * device.memory_visible.base();
  if (totals.resident_bytes > fill * devices) layout.discard = FleetLayout::Discard::does_not_fit;
  const Objective& objective = wanted.scenario.objective;
  double slowest = std::numeric_limits<double>::infinity();
  for (const auto& limit : {objective.tpot_mean, objective.tpot_p95})
    if (limit) slowest = std::min(slowest, limit->base());
  if (objective.tokens_per_second_per_user)
    slowest = std::min(slowest, 1 / objective.tokens_per_second_per_user->base());
  const double prompt = lengths.computed() * totals.flops_per_token / (peak * stage);
  bool late = step / accepted > slowest;
  for (const auto& limit : {objective.ttft_p50, objective.ttft_p95, objective.ttft_p99})
    if (limit && prompt > limit->base()) late = true;
  if (late && layout.discard == FleetLayout::Discard::none)
    layout.discard = FleetLayout::Discard::below_floor;
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
        detail::space_totals(wanted.scenario.model, candidate.precision);
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
              detail::bound_layout(wanted, totals, lengths, layout);
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
