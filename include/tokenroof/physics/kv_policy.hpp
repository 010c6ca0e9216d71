// What an engine reserves for the KV cache of a model: kinds of pages, blocks per sequence, and
// with them tokens, concurrency and the longest context of a pool.
//
//   exact           pages by kind of layer, a window holds no more than its tokens
//   full_length     as exact, but windowed layers keep every token (vLLM before its hybrid cache)
//   uniform_pages   vLLM's hybrid cache: layers of a kind are cut into groups of one size, pages of
//                   all kinds are made equal, every group draws blocks from one pool; compressed
//                   layers keep pages of their own kinds, and the sums they compress
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
#include "tokenroof/physics/kv_reservation.hpp"

namespace tokenroof {

/// Beyond model and engine, what decides the layout on a rank.
struct KvLayoutOptions {
  int tensor_parallel = 1;
  /// Ranks of the tensor group that share a sequence: a block spans as many times its tokens.
  int context_parallel = 1;
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

/// Bytes per token of the running sums from which a compressed layer makes its entries: value and
/// weight of `elements` in fp32, twice where neighbouring entries overlap. They are kept in pages
/// of 64 entries of `entry_bytes`, a power of two of tokens to a page (vLLM, DeepSeek-V4).
[[nodiscard]] inline double compressor_bytes(double elements, bool overlap, double entry_bytes) {
  const double page = 64 * entry_bytes;
  const double raw = elements * 2 * 4 * (overlap ? 2 : 1);
  return page / std::exp2(std::floor(std::log2(page / raw)));
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
  bool compressed = false;
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
    if (policy == KvPolicy::uniform_pages && attention.compress_ratio > 1) {
      // The sums of a whole step stand beside those of the entry being made.
      compressed = true;
      const bool overlap = attention.index_heads > 0;
      const double layers = counts[g], window = attention.compress_ratio * (overlap ? 2 : 1);
      const double entry = layer_kv_bytes_per_token(attention, precision.kv_cache);
      add({layers, detail::compressor_bytes(attention.key_dim, overlap, entry), window});
      if (overlap)
        add({layers,
             detail::compressor_bytes(attention.index_dim, overlap,
                                      layer_index_bytes_per_token(attention)),
             window});
    }
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
  if (policy == KvPolicy::uniform_pages && mixed && !compressed) {
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
      if (compressed) {
        windowed.window -= 1;
        windowed.lookahead = engine.max_batched_tokens;
        windowed.spare_blocks = 1;
      }
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
