// Expert parallelism: each token travels to its experts and back, once per mixture layer.
//
//   bytes per token and layer = destinations x hidden x (dispatch + combine bytes per element)
//
// Destinations are experts when nothing is deduplicated, else distinct ranks or nodes. Sources:
// DeepSeek-AI, arXiv 2505.09343 and open-infra-index day 6. Symbols: docs/formulas.md.
#pragma once

#include <algorithm>

#include "tokenroof/core/scalar.hpp"
#include "tokenroof/physics/collective.hpp"

namespace tokenroof {

/// Expected distinct nodes N (1 - C(E - E/N, k) / C(E, k)) that the k experts of a token lie on
/// when they are drawn evenly without repetition. `experts` E a multiple of `nodes` N >= 1,
/// `per_token` k in [0, E]. At most min(k, N).
[[nodiscard]] constexpr double distinct_nodes(int experts, int per_token, int nodes) {
  double missed = 1;
  for (int i = 0; i < per_token; ++i)
    missed *= std::max(experts - experts / nodes - i, 0) / static_cast<double>(experts - i);
  return nodes * (1 - missed);
}

/// The same when the router may use `limit` nodes at most: an upper bound, min(distinct, limit).
[[nodiscard]] constexpr double distinct_nodes(int experts, int per_token, int nodes, int limit) {
  return std::min(distinct_nodes(experts, per_token, nodes), static_cast<double>(limit));
}

/// Share 1 - 1/ranks of destinations that are another rank under even routing.
[[nodiscard]] constexpr double remote_share(int ranks) { return ranks <= 1 ? 0 : 1 - 1.0 / ranks; }

/// Bytes destinations x hidden x (dispatch + combine) that a token sends and gets back per mixture
/// layer. `dispatch` and `combine` are bytes per element.
template <Scalar S>
[[nodiscard]] constexpr With<BytesPerToken, S> expert_exchange(const S& destinations, double hidden,
                                                               const With<Bytes, S>& dispatch,
                                                               const With<Bytes, S>& combine) {
  return destinations * hidden * (dispatch + combine) / token;
}

/// Seconds of dispatch and combine of one layer for `tokens` per device: tokens x exchange /
/// bandwidth of one device and direction, latency left out.
template <Scalar S>
[[nodiscard]] constexpr With<Seconds, S> expert_exchange_time(
    const With<Tokens, S>& tokens, const With<BytesPerToken, S>& exchange,
    const With<BytesPerSecond, S>& bandwidth) {
  return tokens * exchange / bandwidth;
}

/// Time per output token 2 x layers x exchange, in seconds, when two micro-batches alternate,
/// computing is hidden behind communication completely, and each waits for the other's exchange.
template <Scalar S>
[[nodiscard]] constexpr With<Seconds, S> exchange_bound_token_time(
    double layers, const With<Seconds, S>& exchange_time) {
  return 2.0 * layers * exchange_time;
}

}  // namespace tokenroof
