// One table describes every number of an answer: JSON key, unit, meaning, and how to get it.
// JSON, CSV, tables, sweeps, reports and docs/csv.md are read from it. Rows are only ever added at
// the end of their block; keys are a promise to others.
#pragma once

#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tokenroof/decide/answer.hpp"

namespace tokenroof {

/// One number of an answer.
struct Metric {
  std::string_view key;   ///< path in the JSON answer: "decode.step_s"
  std::string_view unit;  ///< of the number as printed
  std::string_view meaning;
  std::optional<double> (*value)(const Answer&);

  /// Name of the CSV column: the key with underscores.
  [[nodiscard]] std::string column() const {
    std::string name(key);
    for (char& c : name)
      if (c == '.') c = '_';
    return name;
  }
};

namespace detail {

template <class Q>
[[nodiscard]] std::optional<double> base(const std::optional<Q>& quantity) {
  if (!quantity) return std::nullopt;
  if constexpr (is_quantity<Q>) {
    return quantity->base();
  } else {
    return static_cast<double>(*quantity);
  }
}
template <class Q>
[[nodiscard]] std::optional<double> base(const Q& quantity) {
  if constexpr (is_quantity<Q>) {
    return quantity.base();
  } else {
    return static_cast<double>(quantity);
  }
}
[[nodiscard]] inline std::optional<double> per_million(
    const std::optional<DollarsPerToken>& price) {
  if (!price) return std::nullopt;
  return price->base() * 1e6;
}

// A getter of `part.field` for parts that may be absent as a whole.
#define TOKENROOF_PART(part, field)                                       \
  [](const Answer& answer) -> std::optional<double> {                     \
    return answer.part ? detail::base(answer.part->field) : std::nullopt; \
  }
#define TOKENROOF_FIELD(field) \
  [](const Answer& answer) -> std::optional<double> { return detail::base(answer.field); }
#define TOKENROOF_PRICE(field) \
  [](const Answer& answer) -> std::optional<double> { return detail::per_million(answer.field); }

inline constexpr Metric metric_table[] = {
    {"memory.weights_bytes_per_device", "B", "weights of the fullest device",
     TOKENROOF_FIELD(memory.weights)},
    {"memory.kv_pool_bytes_per_device", "B", "KV cache pool of the fullest device",
     TOKENROOF_FIELD(memory.kv_pool)},
    {"memory.kv_tokens", "token", "tokens that the pools of one replica hold",
     TOKENROOF_FIELD(memory.kv_tokens)},
    {"memory.max_concurrency", "request",
     "sequences of the workload's length that one replica holds",
     TOKENROOF_FIELD(memory.max_concurrency)},
    {"memory.max_context", "token", "longest single sequence that fits",
     TOKENROOF_FIELD(memory.max_context)},
    {"decode.batch", "request", "sequences in one replica's decode step",
     TOKENROOF_PART(decode, batch)},
    {"decode.context_tokens", "token", "mean live context of those sequences",
     TOKENROOF_PART(decode, context)},
    {"decode.step_s", "s", "time of one decode step", TOKENROOF_PART(decode, step)},
    {"decode.tokens_per_s_per_sequence", "token/s", "output rate that one user sees",
     TOKENROOF_PART(decode, per_sequence)},
    {"decode.tokens_per_s_total", "token/s", "output rate of all replicas in decode steps alone",
     TOKENROOF_PART(decode, total)},
    {"decode.compute_utilization", "1", "MFU: multiplied FLOPs over dense peak",
     TOKENROOF_PART(decode, compute_utilization)},
    {"decode.bandwidth_utilization", "1", "MBU: weights and cache read over bandwidth",
     TOKENROOF_PART(decode, bandwidth_utilization)},
    {"prefill.time_s", "s", "prefill of one prompt alone", TOKENROOF_PART(prefill, time)},
    {"prefill.tokens_per_s", "token/s", "prompt tokens over that time",
     TOKENROOF_PART(prefill, rate)},
    {"serving.concurrency", "request", "requests in the system, queue included (Little's law)",
     TOKENROOF_FIELD(serving.concurrency)},
    {"serving.running", "request", "running sequences of one replica",
     TOKENROOF_FIELD(serving.running)},
    {"serving.ttft_s.mean", "s", "time to first token, mean", TOKENROOF_FIELD(serving.ttft.mean)},
    {"serving.ttft_s.p50", "s", "time to first token, median", TOKENROOF_FIELD(serving.ttft.p50)},
    {"serving.ttft_s.p95", "s", "time to first token, 95th percentile",
     TOKENROOF_FIELD(serving.ttft.p95)},
    {"serving.ttft_s.p99", "s", "time to first token, 99th percentile",
     TOKENROOF_FIELD(serving.ttft.p99)},
    {"serving.tpot_s.mean", "s", "time per output token after the first, mean over requests",
     TOKENROOF_FIELD(serving.tpot.mean)},
    {"serving.tpot_s.p95", "s", "time per output token, 95th percentile over requests",
     TOKENROOF_FIELD(serving.tpot.p95)},
    {"serving.e2e_s.mean", "s", "arrival to last token, mean", TOKENROOF_FIELD(serving.e2e.mean)},
    {"serving.e2e_s.p95", "s", "arrival to last token, 95th percentile",
     TOKENROOF_FIELD(serving.e2e.p95)},
    {"serving.worst_gap_s", "s", "longest pause between two tokens of a request",
     TOKENROOF_FIELD(serving.worst_gap)},
    {"serving.request_rate_per_s", "request/s", "completed requests",
     TOKENROOF_FIELD(serving.request_rate)},
    {"serving.limit_rate_per_s", "request/s", "largest stable arrival rate",
     TOKENROOF_FIELD(serving.limit_rate)},
    {"serving.objective_rate_per_s", "request/s", "largest arrival rate that meets the objective",
     TOKENROOF_FIELD(serving.objective_rate)},
    {"serving.utilization", "1", "offered work over what the deployment can do",
     TOKENROOF_FIELD(serving.utilization)},
    {"serving.preemption_probability", "1", "chance that live sequences outgrow the pool",
     TOKENROOF_FIELD(serving.preemption_probability)},
    {"limits.ridge_flop_per_byte", "FLOP/B", "intensity where compute and bandwidth balance",
     TOKENROOF_PART(limits, ridge)},
    {"limits.critical_batch", "token",
     "batch whose arithmetic takes as long as reading all weights",
     TOKENROOF_PART(limits, critical_batch)},
    {"limits.crossover_weights_context", "token", "context where KV bytes equal weight bytes (S_w)",
     TOKENROOF_PART(limits, crossover_weights)},
    {"limits.crossover_compute_context", "token",
     "context where KV time equals linear compute time (S_c0)",
     TOKENROOF_PART(limits, crossover_compute)},
    {"limits.crossover_compute_context_with_attention", "token",
     "the same with attention arithmetic counted (S_c1)",
     TOKENROOF_PART(limits, crossover_compute_with_attention)},
    {"limits.latency_floor_s", "s", "step of one sequence without context",
     TOKENROOF_PART(limits, latency_floor)},
    {"limits.drain_time_s", "s", "reading a device's memory once",
     TOKENROOF_PART(limits, drain_time)},
    {"limits.optimal_batch", "request", "largest batch that fits and meets the objective",
     TOKENROOF_PART(limits, optimal_batch)},
    {"economics.usd_per_mtok_input", "USD/Mtok", "resource time of a million prompt tokens",
     TOKENROOF_PRICE(economics.input)},
    {"economics.usd_per_mtok_cached", "USD/Mtok", "resource time of a million prefix-hit tokens",
     TOKENROOF_PRICE(economics.cached)},
    {"economics.usd_per_mtok_output", "USD/Mtok", "resource time of a million output tokens",
     TOKENROOF_PRICE(economics.output)},
    {"economics.usd_per_mtok_total", "USD/Mtok", "the bill over all tokens, input and output",
     TOKENROOF_PRICE(economics.total)},
    {"economics.usd_per_hour", "USD/h", "all devices, paid per hour",
     [](const Answer& answer) -> std::optional<double> {
       if (!answer.economics.deployment_price) return std::nullopt;
       return *answer.economics.deployment_price / (dollar / hour);
     }},
    {"economics.joules_per_output_token", "J/token", "board power over output rate",
     TOKENROOF_FIELD(economics.output_energy)},
};
#undef TOKENROOF_PART
#undef TOKENROOF_FIELD
#undef TOKENROOF_PRICE

}  // namespace detail

/// Every metric, in the order of columns.
[[nodiscard]] inline std::span<const Metric> metrics() { return detail::metric_table; }

/// The metric with this key or column name; nullptr if there is none.
[[nodiscard]] inline const Metric* find_metric(std::string_view name) {
  for (const Metric& metric : metrics())
    if (metric.key == name || metric.column() == name) return &metric;
  return nullptr;
}

}  // namespace tokenroof
