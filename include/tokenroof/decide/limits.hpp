// Landmarks of a model on a device: ridge, critical batch, the three named crossovers, the floor.
// From datasheet rates and the model's totals on one rank; efficiencies do not enter, but for the
// latency floor, which is a step.
#pragma once

#include <optional>

#include "tokenroof/decide/answer.hpp"
#include "tokenroof/decide/replica.hpp"
#include "tokenroof/physics/crossover.hpp"
#include "tokenroof/physics/optimal_batch.hpp"

namespace tokenroof {

namespace detail {

/// What a token and the weights ask of one rank.
struct RankTotals {
  double weights = 0;            ///< bytes of every resident weight that multiplies
  double read = 0;               ///< bytes read at the batch
  double linear_seconds = 0;     ///< FLOPs of a token over peak
  double attention_seconds = 0;  ///< per context token
  double flops = 0;
};

[[nodiscard]] inline RankTotals rank_totals(const StepModel<double>& model, double batch) {
  RankTotals totals;
  const auto one = rank_load(model.operators, decode_load(1.0, 0.0));
  const auto many = rank_load(model.operators, decode_load(batch, 0.0));
  const auto all = rank_load(model.operators, decode_load(1e12, 0.0));
  const auto add = [&](const auto& op) {
    totals.weights += cost(model.operators, op, all).weight_bytes;
    totals.read += cost(model.operators, op, many).weight_bytes;
    const auto c = cost(model.operators, op, one);
    totals.flops += c.flops;
    totals.linear_seconds += c.flops / model.machine.peak_of(op.multiply);
  };
  for (const Matmul& op : model.operators.matmuls) add(op);
  for (const Experts& op : model.operators.experts) add(op);
  for (const AttentionCore& op : model.operators.attentions) {
    if (op.window > 0 || op.top_k > 0) continue;
    totals.attention_seconds += 2 * op.query_heads * (op.score_dim + op.value_dim) * op.layers /
                                (op.context_parallel * model.machine.peak_of(op.multiply));
  }
  return totals;
}

}  // namespace detail

/// The landmarks at `batch` sequences of a replica. Crossovers are empty where no layer keeps every
/// token, and S_c1 also where decode attention itself is compute bound.
[[nodiscard]] inline LimitsAnswer limits_of(const Replica& replica, const Scenario& scenario,
                                            double batch) {
  const Machine<double>& machine = replica.model.machine;
  const detail::RankTotals totals = detail::rank_totals(replica.model, batch);
  const double bandwidth = machine.memory_bandwidth;
  LimitsAnswer limits;
  const double compute = totals.linear_seconds > 0 ? totals.flops / totals.linear_seconds : 0;
  limits.ridge = FlopsPerByte::from_base(compute / bandwidth);
  if (totals.linear_seconds > 0)
    limits.critical_batch = totals.weights / bandwidth / totals.linear_seconds * token;

  KvGeometry cache =
      kv_geometry(scenario.model, stage_group_counts(scenario.model, 1, 0),
                  scenario.precision.kv_cache, scenario.precision.activations,
                  scenario.deployment.tensor_parallel, scenario.deployment.context_parallel);
  const double growth = cache.growth().base();
  const double ranks = scenario.deployment.attention_data_parallel;
  const double parts = ranks * scenario.deployment.pipeline_parallel;
  const double rank_batch = std::max(1.0, batch / parts);  // of a micro-batch
  if (growth > 0) {
    limits.crossover_weights = totals.read / (rank_batch * growth) * token / request;
    limits.crossover_compute = totals.linear_seconds * bandwidth / growth * token / request;
    const double slack = growth / bandwidth - totals.attention_seconds;
    if (slack > 0)
      limits.crossover_compute_with_attention = totals.linear_seconds / slack * token / request;
  }
  limits.latency_floor = replica.decode(1, 0).total() / replica.tokens_per_step;
  limits.drain_time =
      drain_time(scenario.accelerator.memory_nominal, scenario.accelerator.memory_bandwidth);

  // Throughput never falls with the batch: the best is the largest that fits and is fast enough.
  std::optional<Seconds> limit = scenario.objective.tpot_mean;
  if (!limit) limit = scenario.objective.tpot_p95;
  if (scenario.objective.tokens_per_second_per_user) {
    const Seconds per_token = 1 * token / *scenario.objective.tokens_per_second_per_user;
    if (!limit || per_token < *limit) limit = per_token;
  }
  const auto most = static_cast<std::int64_t>(replica.admission);
  std::int64_t best = most;
  limits.optimal_batch_bound = Bound::capacity;
  if (limit) {
    best = largest_where(
        most, [&](std::int64_t n) { return replica.token_time(static_cast<double>(n)) <= *limit; });
    if (best < most) limits.optimal_batch_bound = Bound::latency;
  }
  limits.optimal_batch = static_cast<double>(best) * request;
  return limits;
}

}  // namespace tokenroof
