// Crossovers: the context lengths at which the KV cache overtakes something else in decode. There
// are three, and they answer different questions, so each has its own name.
//
//   S_w   KV bytes = weight bytes            falls with the batch, any hardware
//   S_c0  KV time  = linear compute time     any batch, falls with bandwidth / peak
//   S_c1  KV time  = linear + attention compute time
//
// All assume a constant number of KV bytes per token (full attention); for windows and hybrids use
// `context_where`. Efficiencies enter through the rates of the roof: pass what is sustained.
// Source: R. Pope, lecture on inference economics, 2026 (inversion); Symbols: docs/formulas.md.
#pragma once

#include <optional>

#include "tokenroof/core/scalar.hpp"
#include "tokenroof/physics/batching.hpp"
#include "tokenroof/physics/roofline.hpp"

namespace tokenroof {

/// S_w = weights / (batch x kv), in tokens per sequence: the context at which a step reads as many
/// KV bytes as weight bytes. `weights_read` at this batch (it grows for experts); `batch` > 0 and
/// `kv` > 0, in bytes per token over all layers.
template <Scalar S>
[[nodiscard]] constexpr With<TokensPerRequest, S> kv_weights_crossover(
    const With<Bytes, S>& weights_read, const With<BytesPerToken, S>& kv,
    const With<Requests, S>& batch) {
  return weights_read / (batch * kv);
}

/// S_c0 = linear FLOPs per token / (ridge x kv), in tokens per sequence: the context at which
/// reading one sequence's cache takes as long as the linear arithmetic of its token. Independent of
/// the batch. `linear` is 2 per multiplied weight, `kv` > 0.
template <Scalar S>
[[nodiscard]] constexpr With<TokensPerRequest, S> kv_compute_crossover(
    const With<FlopsPerToken, S>& linear, const With<BytesPerToken, S>& kv, const Roof<S>& roof) {
  return linear * one_token_each / (ridge_intensity(roof) * kv);
}

/// FLOPs / bytes of decode attention: attention FLOPs per context token over KV bytes per token;
/// 2 query heads per KV head / bytes per element for grouped attention. `kv` > 0.
template <Scalar S>
[[nodiscard]] constexpr With<FlopsPerByte, S> decode_attention_intensity(
    const With<FlopsPerToken, S>& attention, const With<BytesPerToken, S>& kv) {
  return attention / kv;
}

/// S_c1 = (linear / peak) / (kv / bandwidth - attention / attention peak), in tokens per sequence:
/// as S_c0, with the arithmetic of attention counted. None when decode attention itself is compute
/// bound, for then KV time never catches up. Never below S_c0.
/// `roof` holds the peak of the linear layers, `attention` is FLOPs per context token of a query.
template <Scalar S>
[[nodiscard]] constexpr std::optional<With<TokensPerRequest, S>>
kv_compute_crossover_with_attention(const With<FlopsPerToken, S>& linear,
                                    const With<FlopsPerToken, S>& attention,
                                    const With<BytesPerToken, S>& kv, const Roof<S>& roof,
                                    const With<FlopsPerSecond, S>& attention_peak) {
  const With<SecondsPerToken, S> slack = kv / roof.memory - attention / attention_peak;
  if (slack <= With<SecondsPerToken, S>{}) return std::nullopt;
  return linear * one_token_each / roof.math / slack;
}

/// KV bytes per token that a price step at `context` implies if the step sits at S_c0:
/// linear FLOPs per token / (ridge x context). The inverse of `kv_compute_crossover`.
/// `linear` is 2 per active weight: a ridge in multiply-adds per byte must be doubled first.
template <Scalar S>
[[nodiscard]] constexpr With<BytesPerToken, S> kv_implied_by_price_step(
    const With<FlopsPerToken, S>& linear, const With<FlopsPerByte, S>& ridge,
    const With<TokensPerRequest, S>& context) {
  return linear * one_token_each / (ridge * context);
}

/// Memory / bandwidth, in seconds: the time to read all of a device's memory once, the longest
/// useful decode step. A memory full of weights and cache takes just this long, whatever the model.
template <Scalar S>
[[nodiscard]] constexpr With<Seconds, S> drain_time(const With<Bytes, S>& memory,
                                                    const With<BytesPerSecond, S>& bandwidth) {
  return memory / bandwidth;
}

/// Shortest context in [0, `longest`] at which `reached(context)` holds, by bisection; none if it
/// does not hold at `longest`. `reached` must not turn false again as the context grows.
template <class Reached>
[[nodiscard]] std::optional<TokensPerRequest> context_where(TokensPerRequest longest,
                                                            const Reached& reached) {
  if (!reached(longest)) return std::nullopt;
  TokensPerRequest low;
  TokensPerRequest high = longest;
  if (reached(low)) return low;
  for (int step = 0; step < 200; ++step) {
    const TokensPerRequest middle = 0.5 * (low + high);
    if (middle == low || middle == high) break;
    (reached(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace tokenroof
