// Attention counted: which context tokens the queries look at, what that moves, and what it would
// cost to forget.
//
//   FLOPs = attention FLOPs per context token x pairs
//
// A pair is one query token looking at one context token, itself included; pairs are counted in
// context tokens visited. Sources: Dao et al., arXiv 2205.14135 and 2307.08691 (tiled attention);
// Agrawal et al., arXiv 2403.02310 (chunks). Symbols: docs/formulas.md.
#pragma once

#include <cmath>

#include "tokenroof/core/scalar.hpp"
#include "tokenroof/physics/roofline.hpp"

namespace tokenroof {

namespace detail {
/// 1 + 2 + ... + n, each term capped at `window` (0: no cap).
template <Scalar S>
[[nodiscard]] constexpr S visible_up_to(const S& n, double window) {
  if (window <= 0 || n <= window) return n * (n + 1.0) / 2.0;
  return window * (window + 1) / 2 + (n - window) * window;
}
}  // namespace detail

/// Pairs n C + n (n + 1) / 2 of causal attention: `fresh` n new tokens after `cached` C old ones,
/// both >= 0. 0 without new tokens.
template <Scalar S>
[[nodiscard]] constexpr With<Tokens, S> query_key_pairs(const With<Tokens, S>& fresh,
                                                        const With<Tokens, S>& cached = {}) {
  const S n = fresh.base();
  return (n * cached.base() + n * (n + 1.0) / 2.0) * token;
}

/// Pairs of a layer in which a token sees at most the last `window` tokens, itself included:
/// w (w + 1) / 2 + (N - w) w for N = fresh tokens beyond the window. `window` 0 means all.
template <Scalar S>
[[nodiscard]] constexpr With<Tokens, S> windowed_pairs(const With<Tokens, S>& fresh,
                                                       const With<Tokens, S>& cached,
                                                       Tokens window) {
  const S end = fresh.base() + cached.base();
  return (detail::visible_up_to(end, window.base()) -
          detail::visible_up_to(cached.base(), window.base())) *
         token;
}

/// Pairs n^2 of an encoder: every token sees every other.
template <Scalar S>
[[nodiscard]] constexpr With<Tokens, S> bidirectional_pairs(const With<Tokens, S>& tokens) {
  return tokens.base() * tokens;
}

/// Context tokens read from the cache, summed over chunks, when a prompt of `prompt` > 0 tokens is
/// filled in chunks of `chunk` > 0: c m (m + 1) / 2 for m equal chunks. The pairs over all chunks
/// add up to those of the whole prompt, so this re-reading is the only extra attention work.
[[nodiscard]] inline Tokens chunked_cache_reads(Tokens prompt, Tokens chunk) {
  const double whole = std::floor(prompt / chunk);
  const Tokens read = chunk * (whole * (whole + 1) / 2);
  return whole * chunk < prompt ? read + prompt : read;
}

/// Longest prompt 2 x body FLOPs per token / attention FLOPs per context token, in tokens, whose
/// causal attention needs no more FLOPs than its linear layers, to leading order.
template <Scalar S>
[[nodiscard]] constexpr With<Tokens, S> attention_equals_linear_prompt(
    const With<FlopsPerToken, S>& body, const With<FlopsPerToken, S>& attention) {
  return body / attention * 2.0 * token;
}

/// One head of self-attention over a prompt.
struct AttentionHead {
  double length = 0;         ///< tokens N
  double head_size = 0;      ///< elements d of a query, key or value
  Bytes element = 2 * byte;  ///< of every operand
  bool causal = false;       ///< halves the arithmetic and the N x N and streamed terms
};

/// FLOPs 4 N^2 d of both products of a head.
[[nodiscard]] constexpr Flops head_flops(const AttentionHead& head) {
  return (head.causal ? 2.0 : 4.0) * head.length * head.length * head.head_size * flop;
}

/// Work of a head in three kernels: 4 N d elements for Q, K, V and the output, and 4 N^2 for the
/// scores and the probabilities, each written and read back.
[[nodiscard]] constexpr Work<> naive_attention(const AttentionHead& head) {
  const double square = head.length * head.length * (head.causal ? 0.5 : 1);
  return {head_flops(head), head.element * (4 * head.length * head.head_size + 4 * square)};
}

/// Work of a head in one tiled kernel without reuse of keys between query blocks: 2 N d for Q and
/// the output, 2 N d ceil(N / block) for K and V. `block` > 0 query rows. Its intensity tends to
/// 2 block / bytes per element.
[[nodiscard]] inline Work<> tiled_attention(const AttentionHead& head, double block) {
  const double passes = std::ceil(head.length / block) * (head.causal ? 0.5 : 1);
  return {head_flops(head), head.element * (2 * head.length * head.head_size * (1 + passes))};
}

/// Work of a head that moves every operand once: 4 N d elements, what tiling tends to when the
/// cache on chip holds the keys.
[[nodiscard]] constexpr Work<> ideal_attention(const AttentionHead& head) {
  return {head_flops(head), head.element * (4 * head.length * head.head_size)};
}

/// Tokens put through the linear layers, and pairs, to generate a whole answer.
struct GenerationWork {
  Tokens tokens;
  Tokens pairs;
};

/// With a KV cache: each of the P + O - 1 tokens goes through once. `prompt` P >= 1, `output` O >=
/// 0; no output, no work.
[[nodiscard]] constexpr GenerationWork generation_with_cache(Tokens prompt, Tokens output) {
  if (output <= Tokens{}) return {};
  const Tokens all = prompt + output - token;
  return {all, query_key_pairs(all)};
}

/// Without a KV cache every step starts over: sum over x = P .. P + O - 1 of x tokens, which grows
/// as n^2, and of x (x + 1) / 2 pairs, which grows as n^3. Polynomial, not exponential.
[[nodiscard]] constexpr GenerationWork generation_without_cache(Tokens prompt, Tokens output) {
  if (output <= Tokens{}) return {};
  const double before = prompt.base() - 1;
  const double last = before + output.base();
  const auto tetrahedral = [](double n) { return n * (n + 1) * (n + 2) / 6; };
  return {(last * (last + 1) - before * (before + 1)) / 2 * token,
          (tetrahedral(last) - tetrahedral(before)) * token};
}

}  // namespace tokenroof
