// What a replica can do at the very most: bounds that discard a layout before its queue is
// evaluated. They hold for any lower bound of the step time T(n) that grows with n; a plan uses
// two:
//
//   datasheet    T(n) = max(weights + cache, arithmetic) at datasheet rates, a few operations
//   calibrated   the step itself, a microsecond a call
//
// From T follow the largest rate of a replica, hence the fewest replicas and the least cost, and
// the highest speed of a user when so many replicas share the traffic.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "tokenroof/decide/replica.hpp"
#include "tokenroof/physics/parameters.hpp"

namespace tokenroof::detail {

/// The queue formulas are approximate: a bound may not lean on their last per cents.
inline constexpr double bound_slack = 0.93;

/// Numbers of a request and a replica that bounds are made of, in base units.
struct ReplicaLimits {
  double decodes = 0;  ///< steps of a request after its first token
  double places = 0;   ///< sequences that may run together, at most
  double prompt = 0;   ///< s that a prompt takes the engine, at least
  double slowest = std::numeric_limits<double>::infinity();  ///< s per token that is asked for
};

/// Seconds per token that `objective` allows at most; infinite when it says nothing.
[[nodiscard]] inline double slowest_token(const Objective& objective, double decodes) {
  double slowest = std::numeric_limits<double>::infinity();
  for (const auto& limit : {objective.tpot_mean, objective.tpot_p95})
    if (limit) slowest = std::min(slowest, limit->base());
  if (objective.tokens_per_second_per_user)
    slowest = std::min(slowest, 1 / objective.tokens_per_second_per_user->base());
  if (objective.e2e_p95 && decodes > 0)
    slowest = std::min(slowest, objective.e2e_p95->base() / decodes);
  return slowest;
}

/// Seconds to the first token that `objective` allows at most. A median says nothing about prompts
/// of the mean length unless all are alike.
[[nodiscard]] inline double slowest_first_token(const Objective& objective, const LengthLaw& law) {
  double slowest = std::numeric_limits<double>::infinity();
  for (const auto& limit : {objective.ttft_p95, objective.ttft_p99})
    if (limit) slowest = std::min(slowest, limit->base());
  if (objective.ttft_p50 && law.kind == LengthLaw::Kind::fixed)
    slowest = std::min(slowest, objective.ttft_p50->base());
  return slowest;
}

/// Requests/s that a replica with steps `step(n)` >= 0, in s, does not exceed:
/// n / (decodes T(n) + n prompt) at the largest n that fits and keeps to the objective.
template <class Step>
[[nodiscard]] double most_rate(const ReplicaLimits& replica, const Step& step) {
  const double allowed = replica.slowest / bound_slack;
  double high = std::max(1.0, replica.places);
  double time = step(high);
  if (time > allowed) {
    double low = 1;
    time = step(low);
    if (time > allowed) return 0;
    for (int i = 0; i < 7 && high > low * 1.03; ++i) {
      const double middle = std::sqrt(low * high);
      const double there = step(middle);
      if (there > allowed) {
        high = middle;
      } else {
        low = middle;
        time = there;
      }
    }
  }
  const double busy = replica.decodes * time + high * replica.prompt;
  return busy > 0 ? high / (busy * bound_slack) : std::numeric_limits<double>::infinity();
}

/// Tokens/s that no user of a replica exceeds while it takes `rate` requests/s: the batch that
/// such traffic makes, T(n) with n from Little's law, from below. Prompts need not delay anybody
/// who decodes: where there are few places or answers are short, the engine is empty meanwhile.
template <class Step>
[[nodiscard]] double fastest_user(const ReplicaLimits& replica, double rate, const Step& step) {
  if (rate * replica.prompt >= 1) return 0;
  double time = step(1.0);
  double batch = 1;
  for (int i = 0; i < 5; ++i) {
    const double next = rate * replica.decodes * time;
    if (next > replica.places / bound_slack) return 0;
    if (next < batch * 1.02) break;
    batch = next;
    time = step(batch);
  }
  return 1 / (time * bound_slack);
}

/// Totals of a model at a precision.
struct SpaceTotals {
  double resident_bytes = 0;  ///< every weight once
  double read_bytes = 0;      ///< weights that one token multiplies
  double flops_per_token = 0;
  double held_bytes = 0;   ///< cache of a sequence at its mean live length
  double cache_bytes = 0;  ///< what of that a step reads
};

[[nodiscard]] inline SpaceTotals space_totals(const Model& model, const Precision& precision,
                                              const WorkloadLengths& lengths) {
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
  totals.held_bytes = kv_geometry(model, precision.kv_cache)
                          .bytes_at(TokensPerRequest::from_base(lengths.live))
                          .base();
  const bool sparse = std::any_of(model.groups.begin(), model.groups.end(),
                                  [](const LayerGroup& g) { return g.attention.index_top_k > 0; });
  totals.cache_bytes = sparse ? 0 : totals.held_bytes;
  return totals;
}

/// The fastest dense unit that this precision may use, FLOP/s.
[[nodiscard]] inline double best_peak(const Accelerator& device, const Precision& precision) {
  double best = 0;
  for (const Part part : {Part::attention, Part::dense_feed_forward, Part::routed_experts,
                          Part::shared_experts, Part::head})
    for (const DataType wish : {precision.of(part).multiply, DataType::bf16, DataType::fp8})
      best = std::max(best, device.peak(multiply_type(device, wish)).base());
  return best;
}

/// Memory of a device that weights and cache may take at most, bytes.
[[nodiscard]] inline double most_filled(const Engine& engine, const Accelerator& device) {
  const double visible = device.memory_visible.base();
  return reserve_of(engine).fraction_of_free ? visible : engine.memory_fraction * visible;
}

/// T(n) at datasheet rates, without kernels, messages and host: never more than the calibrated one.
struct DatasheetStep {
  double weights = 0;  ///< s per step
  double cache = 0;    ///< s per sequence of the replica
  double math = 0;     ///< s per sequence of the replica
  double parts = 1;    ///< micro-batches and attention ranks: each takes at least one sequence
  double accepted = 1;
  [[nodiscard]] double operator()(double n) const {
    n = std::max(n, parts);
    return std::max(weights + cache * n, math * n) / accepted;
  }
};

/// `peak` = best_peak of the candidate.
[[nodiscard]] inline DatasheetStep datasheet_step(const SpaceTotals& totals,
                                                  const Accelerator& device, double peak,
                                                  const Deployment& layout, double accepted) {
  const double stage = layout.stage_devices(), devices = layout.devices_per_replica();
  const double bandwidth = device.memory_bandwidth.base();
  const double parts = static_cast<double>(layout.attention_data_parallel) *
                       static_cast<double>(layout.pipeline_parallel);
  return {totals.read_bytes / (bandwidth * stage), totals.cache_bytes / (bandwidth * devices),
          totals.flops_per_token / (peak * devices), parts, accepted};
}

/// A bound from above on what the datasheet lets a replica run: its places and its prompt time.
[[nodiscard]] inline ReplicaLimits datasheet_limits(const Scenario& scenario,
                                                    const SpaceTotals& totals,
                                                    const Accelerator& device, double peak,
                                                    const WorkloadLengths& lengths,
                                                    const Deployment& layout) {
  const double devices = layout.devices_per_replica();
  const double room = most_filled(scenario.engine, device) * devices - totals.resident_bytes;
  ReplicaLimits limits;
  limits.decodes = lengths.output - 1;
  limits.places = static_cast<double>(scenario.engine.max_sequences) *
                  static_cast<double>(layout.attention_data_parallel);
  if (totals.held_bytes > 0) limits.places = std::min(limits.places, room / totals.held_bytes);
  limits.prompt = lengths.computed() * totals.flops_per_token / (peak * layout.stage_devices());
  limits.slowest = slowest_token(scenario.objective, limits.decodes);
  return limits;
}

}  // namespace tokenroof::detail
