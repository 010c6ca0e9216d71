// Ridge, critical batch, crossovers, floor, optimal batch.
#include <fmt/format.h>

#include "explainer.hpp"

namespace tokenroof::io {
namespace {

/// Sums of one rank, as decide/limits.hpp takes them.
struct Sums {
  detail::RankTotals totals;
  double bandwidth, growth, rank_batch;
};

Sums sums_of(Explainer& to) {
  const double batch = to.answer.decode->batch;
  const Deployment& d = to.scenario.deployment;
  const KvGeometry cache =
      kv_geometry(to.scenario.model, stage_group_counts(to.scenario.model, 1, 0),
                  to.scenario.precision.kv_cache, to.scenario.precision.activations,
                  d.tensor_parallel, d.context_parallel);
  return {detail::rank_totals(to.replica.model, batch), to.replica.model.machine.memory_bandwidth,
          cache.growth().base(), std::max(1.0, batch / d.attention_data_parallel)};
}

void token_compute(Explainer& to, const Sums& s) {
  to.step(fmt::format("F_token / P: {} of a token on a rank, at the peak of each type",
                      amount(s.totals.flops, "FLOP")),
          s.totals.linear_seconds, "s");
}

}  // namespace

bool explain_limits(Explainer& to, std::string_view metric) {
  if (!metric.starts_with("limits.")) return false;
  const LimitsAnswer& limits = *to.answer.limits;
  const Sums s = sums_of(to);
  if (metric == "limits.ridge_flop_per_byte") {
    to.peaks();
    to.bandwidth();
    const double peak = limits.ridge.base() * s.bandwidth;
    to.step("P: mean peak over the linear layers of a token, by FLOP", peak, "FLOP/s");
    to.step(fmt::format("P / BW = {} / {}", amount(peak, "FLOP/s"), amount(s.bandwidth, "B/s")),
            limits.ridge.base(), "FLOP/B");
  } else if (metric == "limits.critical_batch") {
    to.peaks();
    to.bandwidth();
    to.step(fmt::format("W / BW = {} / {}: all weights that multiply",
                        amount(s.totals.weights, "B"), amount(s.bandwidth, "B/s")),
            s.totals.weights / s.bandwidth, "s");
    token_compute(to, s);
    to.step("their ratio", limits.critical_batch.base(), "token");
  } else if (metric == "limits.crossover_weights_context") {
    to.batch();
    to.cache_growth();
    to.step("W(B): weights that a step of the batch reads", s.totals.read, "B");
    to.step(fmt::format("W(B) / (B kappa) = {} / ({} x {})", amount(s.totals.read, "B"),
                        amount(s.rank_batch, "1"), amount(s.growth, "B/token")),
            limits.crossover_weights->base(), "token");
  } else if (metric.starts_with("limits.crossover_compute")) {
    to.peaks();
    to.bandwidth();
    to.cache_growth();
    token_compute(to, s);
    to.step(fmt::format("kappa / BW = {} / {}", amount(s.growth, "B/token"),
                        amount(s.bandwidth, "B/s")),
            s.growth / s.bandwidth, "s");
    if (metric == "limits.crossover_compute_context") {
      to.step("(F_token / P) / (kappa / BW)", limits.crossover_compute->base(), "token");
    } else {
      to.step("a / P_att: arithmetic of attention per context token", s.totals.attention_seconds,
              "s");
      to.step("(F_token / P) / (kappa / BW - a / P_att)",
              limits.crossover_compute_with_attention->base(), "token");
    }
  } else if (metric == "limits.latency_floor_s") {
    to.bandwidth();
    to.constants(false);
    const StepTime<double> floor = to.replica.decode(1, 0);
    const double tokens = to.replica.tokens_per_step;
    to.part("arithmetic", floor.compute / tokens, "s");
    to.part("weights and activations", floor.weights / tokens, "s");
    to.part("cache and state", floor.cache / tokens, "s");
    to.part("links", floor.network / tokens, "s");
    to.part("fixed times", floor.latency / tokens, "s");
    to.step("sum: one sequence without context, per token", limits.latency_floor.base(), "s");
  } else if (metric == "limits.drain_time_s") {
    const double memory = to.scenario.accelerator.memory_nominal.base();
    to.input("M", "memory of a device", memory, "B", to.device("memory_nominal"));
    to.bandwidth();
    to.step(fmt::format("M / BW = {} / {}", amount(memory, "B"), amount(s.bandwidth, "B/s")),
            limits.drain_time.base(), "s");
  } else {
    to.input("K", "sequences that may run together", to.replica.admission, "request",
             "explain memory.max_concurrency; " + to.stated("/engine/max_sequences"));
    const Objective& objective = to.scenario.objective;
    std::optional<Seconds> limit = objective.tpot_mean ? objective.tpot_mean : objective.tpot_p95;
    if (limit)
      to.input("T_max", "limit on time per token", limit->base(), "s",
               to.stated(objective.tpot_mean ? "/objective/tpot_mean" : "/objective/tpot_p95"));
    const double best = limits.optimal_batch.base();
    if (best > 0)
      to.step(fmt::format("T({}): time per token at it", amount(best, "1")),
              to.replica.token_time(best).base(), "s");
    to.step(limits.optimal_batch_bound == Bound::latency ? "largest B within the limit"
                                                         : "largest B that fits",
            best, "request");
  }
  return true;
}

}  // namespace tokenroof::io
