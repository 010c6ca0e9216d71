// What an engine reserves for the KV cache of a model: kinds of pages, blocks per sequence, and
// with them tokens, concurrency and the longest context of a pool.
//
//   exact           pages by kind of layer, a window holds no more than its tokens
//   full_length     as exact, but windowed layers keep every token (vLLM before its hybrid cache)
//   uniform_pages   vLLM's hybrid cache: layers of a kind are cut into groups of one size, pages of
//                   all kinds are made equal, every group draws blocks from one pool
//   windowed_cells  llama.cpp: windowed layers hold window + micro-batch cells, padded to 256
//
// A model whose layers are all of one kind is the same under every policy:
// tokens = floor(pool / block bytes) x block.
// Sources: vLLM v1/core/kv_cache_utils.py (groups, page sizes, concurrency) checked against logs:
// docs/formulas.md#kv-policy; llama.cpp llama-kv-cache-iswa (cells).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "tokenroof/core/units.hpp"
#include "tokenroof/describe/engine.hpp"
#include "tokenroof/describe/model.hpp"
#include "tokenroof/physics/kv_cache.hpp"

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

/// Beyond model and engine, what decides the layout on a rank.
struct KvLayoutOptions {
  int tensor_parallel = 1;
  int context_parallel =
      1;                 ///< ranks that share a sequence: a block spans as many times its tokens
  int draft_tokens = 0;  ///< speculation keeps a state and a convolution row per draft
};

/// llama.cpp's default micro-batch, and what it pads its cells to.
inline constexpr double micro_batch_cells = 512, cell_padding = 256;

namespace detail {

/// A kind of layer before it is given pages: what it keeps per token, or per sequence.
struct LayerKind {
  double layers = 0;
  double bytes_per_token = 0;
  double window = 0;
  double state = 0;  ///< bytes per sequence of one recurrent layer
};

/// Bytes per token of a latent layer kept as keys and values per head, both padded to the next
/// power of two (vLLM before it had kernels for latents: 192 became 256).
[[nodiscard]] inline double expanded_latent_bytes(const Attention& attention, const Format& format,
                                                  int tensor_parallel) {
  const double head = std::exp2(std::ceil(std::log2(attention.key_dim + attention.rotary_dim)));
  return kv_heads_per_rank(attention.query_heads, tensor_parallel) * 2 * head *
         format.bytes_per_element;
}

/// Groups of equal size and pages of equal bytes. Windowed kinds and small kinds take as many
/// tokens per page as fill it; a recurrent state takes a page, which attention blocks grow to
/// match.
[[nodiscard]] inline KvReservation uniform_pages(const std::vector<LayerKind>& kinds, double block,
                                                 const EngineReserve& habits, int draft_tokens,
                                                 double step_tokens) {
  double fewest = kinds.front().layers, most = 0, widest = 0, state = 0;
  for (const LayerKind& kind : kinds) {
    fewest = std::min(fewest, kind.layers);
    most = std::max(most, kind.layers);
    widest = std::max(widest, kind.bytes_per_token);
    state = std::max(state, kind.state);
  }
  const double group = most < 1.25 * fewest ? most : fewest;
  if (widest > 0 && state > block * widest) block *= std::ceil(state / widest / block);
  const double page = widest > 0 ? block * widest : state;

  KvReservation reservation;
  reservation.one_pool = true;
  for (const LayerKind& kind : kinds) {
    KvPages pages;
    pages.groups = static_cast<int>(std::ceil(kind.layers / group));
    pages.block_bytes = page * group;
    pages.block_tokens = block;
    if (kind.state > 0) {
      pages.state_blocks = habits.state_blocks + draft_tokens;
    } else {
      pages.block_tokens = block * std::floor(widest / kind.bytes_per_token);
      pages.window = kind.window > 0 ? kind.window - 1 : 0;
      pages.lookahead = step_tokens;
      pages.spare_blocks = kind.window > 0 ? 1 : 0;
    }
    reservation.pages.push_back(pages);
  }
  return reservation;
}

}  // namespace detail

/// The cache of one rank that holds `counts` layers of each group, as `engine` reserves it.
[[nodiscard]] inline KvReservation kv_reservation(const Model& model, const Engine& engine,
                                                  const Precision& precision,
                                                  const std::vector<int>& counts,
                                                  const KvLayoutOptions& options = {}) {
  const EngineReserve habits = reserve_of(engine);
  const KvPolicy policy = kv_policy_of(engine);
  const double block = engine.block_tokens;

  std::vector<detail::LayerKind> kinds;
  const auto add = [&](const detail::LayerKind& added) {
    if (added.layers == 0 || (added.bytes_per_token == 0 && added.state == 0)) return;
    for (detail::LayerKind& kind : kinds)
      if (kind.bytes_per_token == added.bytes_per_token && kind.window == added.window &&
          kind.state == added.state) {
        kind.layers += added.layers;
        return;
      }
    kinds.push_back(added);
  };
  for (std::size_t g = 0; g < model.groups.size(); ++g) {
    const Attention& attention = model.groups[g].attention;
    if (habits.latent_per_head && attention.kind == AttentionKind::latent) {
      add({static_cast<double>(counts[g]),
           detail::expanded_latent_bytes(attention, precision.kv_cache, options.tensor_parallel)});
      continue;
    }
    std::vector<int> alone(counts.size(), 0);
    alone[g] = counts[g];
    for (const KvEntry& entry : kv_geometry(model, alone, precision.kv_cache, precision.activations,
                                            options.tensor_parallel)
                                    .entries)
      add({static_cast<double>(entry.layers), entry.bytes_per_token / entry.compress_ratio,
           policy == KvPolicy::full_length ? 0.0 : static_cast<double>(entry.window)});
    // Each draft adds a row to the convolution window, which is three rows wide in every model
    // seen.
    double state = layer_state_bytes(attention, precision.activations, options.tensor_parallel);
    state += static_cast<double>(attention.convolution_elements) / 3 * options.draft_tokens *
             precision.activations.bytes_per_element / options.tensor_parallel;
    add({static_cast<double>(counts[g]), 0, 0, state});
  }
  const auto bounded = [](const detail::LayerKind& k) { return k.window > 0 || k.state > 0; };
  const bool mixed = kinds.size() > 1 && std::any_of(kinds.begin(), kinds.end(), bounded);

  KvReservation reservation;
  if (policy == KvPolicy::uniform_pages && mixed) {
    reservation = detail::uniform_pages(kinds, block, habits, options.draft_tokens,
                                        engine.max_batched_tokens);
  } else {
    KvPages whole;  // the kinds that keep every token share their blocks
    whole.block_tokens = block;
    for (const detail::LayerKind& kind : kinds) {
      reservation.sequence_bytes += kind.layers * kind.state;
      if (kind.state > 0) continue;
      if (kind.window == 0) {
        whole.block_bytes += kind.layers * kind.bytes_per_token * block;
        continue;
      }
      KvPages windowed;
      windowed.block_tokens = block;
      windowed.block_bytes = kind.layers * kind.bytes_per_token * block;
      windowed.window = kind.window;
      if (policy == KvPolicy::windowed_cells)
        windowed.window =
            std::ceil((kind.window + micro_batch_cells) / cell_padding) * cell_padding;
      reservation.pages.push_back(windowed);
    }
    if (whole.block_bytes > 0) reservation.pages.insert(reservation.pages.begin(), whole);
  }
  reservation.reports_capacity = habits.reports_capacity;
  for (KvPages& pages : reservation.pages)
    if (pages.state_blocks == 0) pages.block_tokens *= options.context_parallel;
  return reservation;
}

}  // namespace tokenroof
