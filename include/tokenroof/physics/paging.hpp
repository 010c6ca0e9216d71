// Paging: KV memory in blocks against one reservation of the maximum length per sequence.
//
//   sequences = pool tokens / tokens held per sequence
//
// Source: Kwon et al., arXiv 2309.06180 (20-40 % of reserved memory used before, 96 % with blocks).
// Symbols: docs/formulas.md.
#pragma once

#include <cmath>

#include "tokenroof/core/scalar.hpp"

namespace tokenroof {

/// Tokens block x ceil(live / block) that a sequence of `live` >= 0 tokens holds. `block` > 0;
/// waste is in [0, block - 1] tokens.
[[nodiscard]] inline Tokens paged_tokens(Tokens live, Tokens block) {
  return block * std::ceil(live / block);
}

/// Tokens (block - 1) / 2 wasted on average when the length is even over a block.
[[nodiscard]] constexpr Tokens mean_rounding_waste(Tokens block) { return 0.5 * (block - token); }

/// Tokens held on average, block / (1 - q^block) with q = 1 - 1/mean, when lengths are geometric on
/// 1, 2, ... with `mean` >= 1 tokens. Exact. `block` >= 1; block 1 gives the mean.
[[nodiscard]] inline Tokens mean_paged_tokens_geometric(Tokens mean, Tokens block) {
  if (mean <= token) return block;
  return block / -std::expm1(block.base() * std::log1p(-1 / mean.base()));
}

/// Share 1 - live / held of the held memory that is not used; `held` > 0.
template <Scalar S>
[[nodiscard]] constexpr S wasted_share(const With<Tokens, S>& live, const With<Tokens, S>& held) {
  return 1.0 - S(live / held);
}

/// Share live / reserved used when every sequence reserves the maximum length from the start.
template <Scalar S>
[[nodiscard]] constexpr S reserved_share_used(const With<Tokens, S>& live,
                                              const With<Tokens, S>& reserved) {
  return live / reserved;
}

/// Factor (1 - waste with blocks) / (1 - waste with reservations) more sequences in the same
/// memory. Both shares in [0, 1).
template <Scalar S>
[[nodiscard]] constexpr S paging_gain(const S& waste_paged, const S& waste_reserved) {
  return (1.0 - waste_paged) / (1.0 - waste_reserved);
}

/// Whole sequences of `each` > 0 tokens (rounding included) in a pool; 0 for an empty pool.
[[nodiscard]] inline double whole_sequences(Bytes pool, BytesPerToken kv, Tokens each) {
  if (pool <= Bytes{}) return 0;
  return std::floor(pool / (kv * each));
}

}  // namespace tokenroof
