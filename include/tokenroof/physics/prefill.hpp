// Prefill: FLOPs of a prompt, what a cached prefix saves, and when to fetch it or to compute it
// again.
//
//   FLOPs = body x new tokens + head x sequences + attention x pairs
//
// "Body" is 2 per weight that multiplies a token outside the output head; the head is needed for
// the last token of a sequence alone. Sources: Agrawal et al., arXiv 2403.02310; Zhong et al.,
// arXiv 2401.09670; Patel et al., arXiv 2311.18677 (hand-off). Symbols: docs/formulas.md.
#pragma once

#include "tokenroof/core/scalar.hpp"
#include "tokenroof/physics/attention.hpp"

namespace tokenroof {

/// FLOPs that a token costs in prefill.
template <Scalar S = double>
struct PrefillCost {
  With<FlopsPerToken, S> body;       ///< of each new token
  With<FlopsPerToken, S> head;       ///< of each token whose logits are needed
  With<FlopsPerToken, S> attention;  ///< of each pair, summed over layers
};

/// Tokens max(prompt - cached, 1) to compute: the last one always, for its logits.
template <Scalar S>
[[nodiscard]] constexpr With<Tokens, S> computed_tokens(const With<Tokens, S>& prompt,
                                                        const With<Tokens, S>& cached) {
  return max(prompt - cached, With<Tokens, S>(token));
}

/// FLOPs body x n + head x 1 of the linear layers for `fresh` n tokens of one sequence.
template <Scalar S>
[[nodiscard]] constexpr With<Flops, S> prefill_linear_flops(const PrefillCost<S>& cost,
                                                            const With<Tokens, S>& fresh) {
  return cost.body * fresh + cost.head * token;
}

/// FLOPs of causal attention for `fresh` tokens after `cached` ones.
template <Scalar S>
[[nodiscard]] constexpr With<Flops, S> prefill_attention_flops(const PrefillCost<S>& cost,
                                                               const With<Tokens, S>& fresh,
                                                               const With<Tokens, S>& cached = {}) {
  return cost.attention * query_key_pairs(fresh, cached);
}

/// All FLOPs of filling `fresh` tokens after `cached` ones, one sequence.
template <Scalar S>
[[nodiscard]] constexpr With<Flops, S> prefill_flops(const PrefillCost<S>& cost,
                                                     const With<Tokens, S>& fresh,
                                                     const With<Tokens, S>& cached = {}) {
  return prefill_linear_flops(cost, fresh) + prefill_attention_flops(cost, fresh, cached);
}

/// Share 1 - F(prompt - cached, cached) / F(prompt, 0) of the FLOPs that a hit of `cached` tokens
/// saves; 0 without a hit. `cached` in [0, prompt], `prompt` > 0.
template <Scalar S>
[[nodiscard]] constexpr S prefix_saving(const PrefillCost<S>& cost, const With<Tokens, S>& prompt,
                                        const With<Tokens, S>& cached) {
  return 1.0 - S(prefill_flops(cost, computed_tokens(prompt, cached), cached) /
                 prefill_flops(cost, prompt));
}

/// Bandwidth kv x rate / body, in B/s, of the tier that holds the cache, above which fetching a
/// prefix is faster than computing it. `rate`: sustained FLOP/s of all devices. Attention is left
/// out; it makes fetching better still, the more the longer the prefix.
template <Scalar S>
[[nodiscard]] constexpr With<BytesPerSecond, S> fetch_bandwidth(
    const With<BytesPerToken, S>& kv, const With<FlopsPerSecond, S>& rate,
    const With<FlopsPerToken, S>& body) {
  return kv * rate / body;
}

/// Seconds kv x tokens / bandwidth to move a prompt's cache from prefill to decode devices.
/// `bandwidth` of all links together.
template <Scalar S>
[[nodiscard]] constexpr With<Seconds, S> kv_transfer_time(
    const With<BytesPerToken, S>& kv, const With<Tokens, S>& tokens,
    const With<BytesPerSecond, S>& bandwidth) {
  return kv * tokens / bandwidth;
}

/// Seconds of that transfer that the user waits for when each of `layers` >= 1 layers is sent while
/// the next is computed: the last layer, and whatever the transfer takes longer than the prefill.
template <Scalar S>
[[nodiscard]] constexpr With<Seconds, S> exposed_transfer_time(const With<Seconds, S>& transfer,
                                                               const With<Seconds, S>& prefill,
                                                               int layers) {
  const With<Seconds, S> last = transfer / static_cast<double>(layers);
  return max(last, transfer - prefill * ((layers - 1.0) / layers));
}

}  // namespace tokenroof
