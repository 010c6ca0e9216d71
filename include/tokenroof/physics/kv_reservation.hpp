// A KV cache as an engine reserves it on one rank: kinds of pages, and from a pool of bytes the
// blocks, tokens, concurrency and longest context. Which pages a model gets under which engine is
// in kv_policy.hpp.
//
//   bytes(S)    = sum over kinds of groups x ceil(held(S) / block tokens) x block bytes + state
//   concurrency = blocks of the pool / blocks of a sequence     (one pool), else pool / bytes(S)
//
// Any context >= 0; a pool <= 0 holds nothing. Source: PagedAttention (2309.06180); vLLM
// v1/core/kv_cache_utils.py. Symbols: docs/formulas.md#memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "tokenroof/core/units.hpp"

namespace tokenroof {

/// Layers whose cache is allocated together, on one rank.
struct KvPages {
  int groups = 1;           ///< so many like groups, each of which takes blocks for a sequence
  double block_tokens = 1;  ///< context tokens of a block
  double block_bytes = 0;   ///< of one block of one group, over the group's layers
  double window = 0;        ///< tokens kept beside those being computed; 0: all
  double lookahead = 0;     ///< tokens of a step that a window holds on top of itself
  int spare_blocks = 0;     ///< a moving window straddles one block more
  int state_blocks = 0;     ///< > 0: recurrent state, this many blocks whatever the context

  /// Blocks of one group that a sequence of `context` tokens holds.
  [[nodiscard]] double blocks(double context) const {
    if (state_blocks > 0) return context > 0 ? state_blocks : 0;
    const double held = window > 0 ? std::min(context, window + lookahead) : context;
    return std::ceil(held / block_tokens) + (context > 0 ? spare_blocks : 0);
  }
};

/// The cache of one rank as an engine lays it out.
struct KvReservation {
  std::vector<KvPages> pages;
  double sequence_bytes = 0;  ///< recurrent state kept outside the blocks, per sequence
  bool one_pool = false;      ///< all blocks are alike and any group may take any
  bool reports_capacity = false;

  /// Bytes reserved for a sequence of `context` tokens, whole blocks.
  [[nodiscard]] Bytes bytes_at(TokensPerRequest context) const {
    double sum = context.base() > 0 ? sequence_bytes : 0;
    for (const KvPages& kind : pages)
      sum += kind.groups * kind.blocks(context.base()) * kind.block_bytes;
    return Bytes::from_base(sum);
  }
  /// Blocks of a pool; 0 where kinds of pages differ and there is no such number.
  [[nodiscard]] double blocks(Bytes pool) const {
    if (pages.empty() || !(one_pool || pages.size() == 1)) return 0;
    return std::max(0.0, std::floor(pool.base() / pages.front().block_bytes));
  }
  /// Sequences of `context` tokens that the pool holds at once, as a ratio (engines print it as
  /// "Maximum concurrency ... 7.16x"). A model without a cache has no limit: 1e12.
  [[nodiscard]] double concurrency(Bytes pool, TokensPerRequest context) const {
    if (pool <= Bytes{}) return 0;
    const Bytes each = bytes_at(context);
    if (each <= Bytes{}) return unlimited;
    if (one_pool || (pages.size() == 1 && sequence_bytes == 0))
      return blocks(pool) / (each.base() / pages.front().block_bytes);
    return pool / each;
  }
  /// The longest context of a single sequence in the pool, in whole tokens; 1e12 when nothing
  /// grows.
  [[nodiscard]] TokensPerRequest longest_context(Bytes pool) const {
    const auto fits = [&](double context) {
      return concurrency(pool, TokensPerRequest::from_base(context)) >= 1;
    };
    if (!fits(1)) return {};
    double low = 1, high = 2;
    while (high < unlimited && fits(high)) high *= 2;
    if (high >= unlimited) return TokensPerRequest::from_base(unlimited);
    low = high / 2;
    while (high - low > 1) {
      const double middle = std::floor(0.5 * (low + high));
      (fits(middle) ? low : high) = middle;
    }
    return TokensPerRequest::from_base(low);
  }
  /// What the engine's log calls the size of the cache, in tokens; `context` is its maximum length.
  /// Layers of one kind: blocks x block. Several kinds: blocks / groups x block under uniform pages
  /// until the version that reports capacity, concurrency x context since and elsewhere.
  [[nodiscard]] Tokens tokens(Bytes pool, TokensPerRequest context) const {
    if (pages.empty() || pool <= Bytes{}) return {};
    int groups = 0;
    double smallest = pages.front().block_tokens;
    for (const KvPages& kind : pages) {
      groups += kind.groups;
      if (kind.state_blocks == 0) smallest = std::min(smallest, kind.block_tokens);
    }
    if (groups == 1 && sequence_bytes == 0)
      return Tokens::from_base(blocks(pool) * pages.front().block_tokens);
    if (one_pool && !(reports_capacity && context.base() > 0))
      return Tokens::from_base(std::floor(blocks(pool) / groups) * smallest);
    return Tokens::from_base(std::floor(concurrency(pool, context) * context.base()));
  }

  static constexpr double unlimited = 1e12;
};

}  // namespace tokenroof
