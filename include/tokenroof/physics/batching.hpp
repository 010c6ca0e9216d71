// Batching: weights are read once for the whole batch, so the rate grows with the batch until
// arithmetic takes as long as reading the weights. Weights only; the KV cache is in
// optimal_batch.hpp.
//
//   weights / bandwidth = batch x FLOPs per token / peak   at the critical batch
//
// Sources: Pope et al., arXiv 2211.05102; Austin et al., "How to Scale Your Model" (JAX scaling
// book), chapter on inference. Symbols: docs/formulas.md.
#pragma once

#include "tokenroof/core/scalar.hpp"
#include "tokenroof/physics/overlap.hpp"

namespace tokenroof {

/// Every multiplied weight costs one multiply and one add per token.
inline constexpr FlopsPerToken flops_per_weight = 2.0 * flop / token;

/// Each sequence gains one token in a decode step; with speculation it may be more.
inline constexpr TokensPerRequest one_token_each = token / request;

/// Tokens ridge x bytes per weight / 2 at which a dense layer is equally bound by arithmetic and by
/// reading its weights. `ridge` of the type the multiply runs in (8-bit weights multiplied in bf16
/// use the bf16 ridge), `bytes_per_weight` with scales.
template <Scalar S>
[[nodiscard]] constexpr With<Tokens, S> critical_batch(const With<FlopsPerByte, S>& ridge,
                                                       const With<Bytes, S>& bytes_per_weight) {
  return ridge * bytes_per_weight / flops_per_weight;
}

/// Rate peak / FLOPs per token, in tokens/s, that no batch exceeds. `peak` of all devices,
/// `flops_per_token` > 0.
template <Scalar S>
[[nodiscard]] constexpr With<TokensPerSecond, S> saturation_rate(
    const With<FlopsPerSecond, S>& peak, const With<FlopsPerToken, S>& flops_per_token) {
  return peak / flops_per_token;
}

/// Rate saturation x min(1, batch / critical), in tokens/s: straight line, then flat.
template <Scalar S>
[[nodiscard]] constexpr With<TokensPerSecond, S> batched_rate(
    const With<TokensPerSecond, S>& saturation, const With<Tokens, S>& batch,
    const With<Tokens, S>& critical) {
  return saturation * min(S(batch / critical), S(1));
}

/// Rate saturation x batch / (batch + critical), in tokens/s, when reading and arithmetic never
/// overlap: half of the saturation at the critical batch.
template <Scalar S>
[[nodiscard]] constexpr With<TokensPerSecond, S> batched_rate_without_overlap(
    const With<TokensPerSecond, S>& saturation, const With<Tokens, S>& batch,
    const With<Tokens, S>& critical) {
  return saturation * S(batch / (batch + critical));
}

/// Rate saturation x batch / (batch^p + critical^p)^(1/p), in tokens/s: 2^(-1/p) of the saturation
/// at the critical batch. `p` >= 1, infinity allowed; an empty batch has rate 0.
template <Scalar S>
[[nodiscard]] With<TokensPerSecond, S> batched_rate_p_norm(
    const With<TokensPerSecond, S>& saturation, const With<Tokens, S>& batch,
    const With<Tokens, S>& critical, double p) {
  return saturation * S(batch / p_norm(critical, batch, p));
}

/// Smallest batch whose rate without overlap reaches `share` of the saturation, in tokens:
/// critical x share / (1 - share). `share` in [0, 1).
template <Scalar S>
[[nodiscard]] constexpr With<Tokens, S> batch_for_share(const With<Tokens, S>& critical,
                                                        double share) {
  return critical * (share / (1 - share));
}

}  // namespace tokenroof
