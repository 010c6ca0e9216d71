// The optimal batch: where arithmetic balances memory, what capacity allows, what latency allows.
//
//   step time in memory = weights / bandwidth + batch x (kv x context / bandwidth)
//
// Throughput never falls with the batch, so the best batch is the largest that fits and keeps the
// latency limit; the balance points say how much of the compute is used there.
// Sources: R. Pope, lecture 2026; JAX scaling book, chapter on inference. docs/formulas.md.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "tokenroof/core/error.hpp"
#include "tokenroof/core/scalar.hpp"
#include "tokenroof/physics/batching.hpp"

namespace tokenroof {

using SecondsPerRequest = decltype(second / request);
using BytesPerRequest = decltype(byte / request);

/// B* = (ridge x bytes per weight / 2) x resident / active, in tokens: the batch whose arithmetic
/// takes as long as reading ALL weights; "300 times the sparsity". `resident_over_active` >= 1 of
/// weights that multiply (1: dense). Good when `share_untouched` at the answer is near 0.
template <Scalar S>
[[nodiscard]] constexpr With<Tokens, S> balanced_batch(const With<FlopsPerByte, S>& ridge,
                                                       const With<Bytes, S>& bytes_per_weight,
                                                       const S& resident_over_active) {
  return critical_batch(ridge, bytes_per_weight) * resident_over_active;
}

/// Tokens (ridge x bytes per weight / 2) x E/k at which each routed expert alone sees its critical
/// batch under even routing. `per_token` k > 0.
template <Scalar S>
[[nodiscard]] constexpr With<Tokens, S> expert_balanced_batch(
    const With<FlopsPerByte, S>& ridge, const With<Bytes, S>& bytes_per_weight, double experts,
    double per_token) {
  return critical_batch(ridge, bytes_per_weight) * (experts / per_token);
}

/// Tokens batch x k/E that one routed expert gets on average.
template <Scalar S>
[[nodiscard]] constexpr With<Tokens, S> tokens_per_expert(const With<Tokens, S>& batch,
                                                          double experts, double per_token) {
  return batch * (per_token / experts);
}

/// Share (1 - k/E)^batch of experts that no token picks.
[[nodiscard]] inline double share_untouched(double experts, double per_token, Tokens batch) {
  if (per_token >= experts) return batch > Tokens{} ? 0 : 1;
  return std::exp(batch.base() * std::log1p(-per_token / experts));
}

/// B*(S) = B*(0) / (1 - context / S_c0), in sequences: the batch that balances when the KV cache is
/// read as well. `without_kv` = B*(0) at one token per sequence. None at or beyond S_c0: memory
/// bound at every batch.
template <Scalar S>
[[nodiscard]] constexpr std::optional<With<Requests, S>> balanced_batch_at_context(
    const With<Requests, S>& without_kv, const With<TokensPerRequest, S>& context,
    const With<TokensPerRequest, S>& compute_crossover) {
  if (context >= compute_crossover) return std::nullopt;
  return without_kv / (1.0 - S(context / compute_crossover));
}

/// Rate bandwidth / (kv x context), in tokens/s, that reading the KV cache allows at any batch.
/// `bandwidth` of all devices; `context` > 0.
template <Scalar S>
[[nodiscard]] constexpr With<TokensPerSecond, S> kv_rate_ceiling(
    const With<BytesPerSecond, S>& bandwidth, const With<BytesPerToken, S>& kv,
    const With<TokensPerRequest, S>& context) {
  return bandwidth / (kv * context) * one_token_each;
}

/// Sequences weights / (kv x context) at which a step reads as many KV as weight bytes, so that the
/// memory-bound rate is half of `kv_rate_ceiling`. `context` > 0.
template <Scalar S>
[[nodiscard]] constexpr With<Requests, S> half_ceiling_batch(
    const With<Bytes, S>& weights_read, const With<BytesPerToken, S>& kv,
    const With<TokensPerRequest, S>& context) {
  return weights_read / (kv * context);
}

/// Sequences half x share / (1 - share) at which the memory-bound rate is `share` in [0, 1) of the
/// KV ceiling.
template <Scalar S>
[[nodiscard]] constexpr With<Requests, S> batch_for_ceiling_share(
    const With<Requests, S>& half_ceiling, double share) {
  return half_ceiling * (share / (1 - share));
}

/// Rate batch / (fixed + batch x per_sequence), in tokens/s, of a step that takes `fixed` seconds
/// and `per_sequence` seconds more for each sequence. An empty batch has rate 0.
template <Scalar S>
[[nodiscard]] constexpr With<TokensPerSecond, S> memory_bound_rate(
    const With<Requests, S>& batch, const With<Seconds, S>& fixed,
    const With<SecondsPerRequest, S>& per_sequence) {
  if (batch <= With<Requests, S>{}) return {};
  return batch * one_token_each / (fixed + batch * per_sequence);
}

/// Whole sequences floor(pool / bytes per sequence) that fit, with the KV pool divided by its
/// replication first. 0 for a pool <= 0. `per_sequence` > 0.
[[nodiscard]] inline Requests capacity_batch(Bytes pool, BytesPerRequest per_sequence) {
  if (pool <= Bytes{}) return {};
  return std::floor((pool / per_sequence) / request) * request;
}

/// Sequences (limit - fixed) / per_sequence whose step takes just `limit` seconds while memory
/// bound; not rounded. 0 if not even an empty batch meets the limit.
template <Scalar S>
[[nodiscard]] constexpr With<Requests, S> latency_batch(
    const With<Seconds, S>& limit, const With<Seconds, S>& fixed,
    const With<SecondsPerRequest, S>& per_sequence) {
  if (limit <= fixed) return {};
  return (limit - fixed) / per_sequence;
}

/// Largest whole number in [0, `most`] for which `holds(n)` is true, by bisection; 0 if none.
/// `holds` must not turn true again as n grows. For any step model: holds = step(n) <= limit.
template <class Holds>
[[nodiscard]] std::int64_t largest_where(std::int64_t most, const Holds& holds) {
  if (most < 1) return 0;
  if (holds(most)) return most;
  std::int64_t good = 0;
  std::int64_t bad = most;
  while (bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    (holds(middle) ? good : bad) = middle;
  }
  return good;
}

/// Smallest whole batch in [1, `most`] whose rate is at least `share` of the rate at `most`: the
/// knee to report. `rate(n)` must not fall with n. 0 if `most` < 1.
template <class Rate>
[[nodiscard]] std::int64_t knee_batch(std::int64_t most, double share, const Rate& rate) {
  if (most < 1) return 0;
  const auto wanted = rate(most) * share;
  return std::min(most, largest_where(most, [&](std::int64_t n) { return rate(n) < wanted; }) + 1);
}

/// The throughput-optimal batch and what keeps it from being larger.
struct BatchLimit {
  Requests batch;
  Bound bound = Bound::none;  ///< `capacity` or `latency`
};

/// min(capacity, latency) in whole sequences: throughput never falls with the batch, so this is
/// also the cheapest batch on given hardware. Capacity is named on a tie.
[[nodiscard]] inline BatchLimit optimal_batch(Requests by_capacity, Requests by_latency) {
  const auto whole = [](Requests batch) {
    return std::floor(std::max(batch / request, 0.0)) * request;
  };
  const Requests capacity = whole(by_capacity);
  const Requests latency = whole(by_latency);
  if (latency < capacity) return {latency, Bound::latency};
  return {capacity, Bound::capacity};
}

}  // namespace tokenroof
