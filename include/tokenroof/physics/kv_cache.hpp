// Bytes of KV cache and recurrent state: what the mathematics keeps, and what an engine reserves.
//
//   grouped   kv_heads x (key_dim + value_dim) x bytes          per token and layer
//   latent    (latent_rank + rotary_dim) x bytes, ONE copy for all heads, held by every rank
//   windowed  as above for min(context, window) tokens
//   compressed  one entry per `compress_ratio` tokens, beside a window of single ones if it has one
//   recurrent nothing per token; a state per sequence
// Sources: PagedAttention (2309.06180), DeepSeek-V2 (2405.04434) for the latent cache, FlashMLA for
// the 656-byte fp8 form (512 fp8 + 4 fp32 scales + 64 bf16), DeepSeek-V3.2 for the 132-byte index.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tokenroof/core/scalar.hpp"
#include "tokenroof/core/units.hpp"
#include "tokenroof/describe/deployment.hpp"
#include "tokenroof/describe/engine.hpp"
#include "tokenroof/describe/model.hpp"
#include "tokenroof/physics/layout.hpp"

namespace tokenroof {

/// Bytes that one rank of `tensor_parallel` keeps per token in one layer of this attention;
/// 0 for layers that keep none. With tensor_parallel 1: of the whole model.
[[nodiscard]] inline double layer_kv_bytes_per_token(const Attention& attention,
                                                     const Format& format,
                                                     int tensor_parallel = 1) {
  if (!attention.stores_kv || attention.cross_attention) return 0;
  const double bytes = format.bytes_per_element;
  switch (attention.kind) {
    case AttentionKind::grouped: {
      const int heads = kv_heads_per_rank(attention.kv_heads, tensor_parallel);
      if (!attention.one_entry_for_both)
        return heads * (attention.key_dim + attention.value_dim) * bytes;
      // One entry serves as key and value. With an fp8 cache its rotary part stays 16-bit, and each
      // 64 of the rest have a one-byte scale, padded by one (DeepSeek-V4: 448 + 2 x 64 + 8 = 584).
      if (bytes == 1) {
        const int rotary = attention.rotary_dim > 0 ? attention.rotary_dim : 64;
        return heads * (attention.key_dim + rotary + (attention.key_dim - rotary) / 64.0 + 1);
      }
      return heads * attention.key_dim * bytes;
    }
    case AttentionKind::latent: {
      // Sparse attention with an fp8 cache keeps scales and a 16-bit rotary part beside the latent.
      if (attention.index_top_k > 0 && bytes == 1)
        return attention.latent_rank + 4.0 * attention.latent_rank / 128 +
               2.0 * attention.rotary_dim;
      return (attention.latent_rank + attention.rotary_dim) * bytes;
    }
    case AttentionKind::none:
    case AttentionKind::recurrent:
      return 0;
  }
  return 0;
}

/// Bytes of the sparse indexer's own key cache per token and layer: fp8 keys with one fp32 scale
/// per 128, whatever the cache format.
[[nodiscard]] inline double layer_index_bytes_per_token(const Attention& attention) {
  return attention.index_heads > 0 ? attention.index_dim * (1 + 4.0 / 128) : 0;
}

/// Bytes of recurrent state per sequence and layer on one rank: matrix state and convolution
/// window.
[[nodiscard]] inline double layer_state_bytes(const Attention& attention, const Format& activations,
                                              int tensor_parallel = 1) {
  return (static_cast<double>(attention.state_elements) * attention.state_bytes_per_element +
          static_cast<double>(attention.convolution_elements) * activations.bytes_per_element) /
         tensor_parallel;
}

/// One kind of cache entry of a rank: `layers` layers that keep `bytes_per_token` for the last
/// `window` tokens (0: all).
struct KvEntry {
  int layers = 0;
  double bytes_per_token = 0;  ///< of one layer on one rank
  int window = 0;
  int compress_ratio = 1;
  bool index = false;  ///< the sparse indexer's own keys
  bool operator==(const KvEntry&) const = default;
};

/// The cache of one rank as a function of context: entries, and a constant per sequence.
struct KvGeometry {
  std::vector<KvEntry> entries;
  double state_bytes = 0;  ///< per sequence
  int context_parallel = 1;

  /// Tokens of a `context` that an entry keeps.
  template <Scalar S>
  [[nodiscard]] static S visible(const KvEntry& entry, const S& context) {
    if (entry.window == 0) return context * (1.0 / entry.compress_ratio);
    return min(context, S(entry.window));
  }
  /// Bytes that a sequence of `context` tokens keeps on this rank.
  template <Scalar S>
  [[nodiscard]] With<Bytes, S> bytes_at(const With<TokensPerRequest, S>& context) const {
    S sum(0);
    for (const KvEntry& entry : entries)
      sum = sum + visible(entry, context.base()) * (entry.layers * entry.bytes_per_token);
    return With<Bytes, S>::from_base(sum * (1.0 / context_parallel) + S(state_bytes));
  }
  [[nodiscard]] Bytes bytes_at(TokensPerRequest context) const { return bytes_at<double>(context); }

  /// Growth per further token of the layers that keep every token, indexer keys apart.
  [[nodiscard]] BytesPerToken growth() const {
    return sum_of([](const KvEntry& entry) { return entry.window == 0 && !entry.index; });
  }
  /// Growth as if no layer were windowed, indexer keys apart.
  [[nodiscard]] BytesPerToken growth_without_windows() const {
    return sum_of([](const KvEntry& entry) { return !entry.index; });
  }
  /// Growth of the indexer keys.
  [[nodiscard]] BytesPerToken index_growth() const {
    return sum_of([](const KvEntry& entry) { return entry.index; });
  }
  /// The longest context whose cache takes at most `memory`; 0 when not even the state fits.
  /// Windows make the cache concave, not affine, so this is a bisection to a whole token.
  [[nodiscard]] TokensPerRequest longest_context(Bytes memory) const {
    if (bytes_at(TokensPerRequest::from_base(1)) > memory) return TokensPerRequest::from_base(0);
    double low = 1, high = 2;
    const double limit = 1e12;  // a model without growing layers has no longest context
    while (high < limit && bytes_at(TokensPerRequest::from_base(high)) <= memory) high *= 2;
    if (high >= limit) return TokensPerRequest::from_base(limit);
    while (high - low > 1) {
      const double middle = std::floor(0.5 * (low + high));
      (bytes_at(TokensPerRequest::from_base(middle)) <= memory ? low : high) = middle;
    }
    return TokensPerRequest::from_base(low);
  }

 private:
  template <class Wanted>
  [[nodiscard]] BytesPerToken sum_of(Wanted wanted) const {
    double sum = 0;
    for (const KvEntry& entry : entries)
      if (wanted(entry)) sum += entry.layers * entry.bytes_per_token / entry.compress_ratio;
    return BytesPerToken::from_base(sum / context_parallel);
  }
};

/// The cache of one rank in the pipeline stage with `counts` layers of each group. Indexer caches
/// are entries of their own.
[[nodiscard]] inline KvGeometry kv_geometry(const Model& model, const std::vector<int>& counts,
                                            const Format& kv_format, const Format& activations,
                                            int tensor_parallel = 1, int context_parallel = 1) {
  KvGeometry geometry;
  geometry.context_parallel = context_parallel;
  const auto add = [&](const KvEntry& added) {
    if (added.layers == 0 || added.bytes_per_token == 0) return;
    for (KvEntry& entry : geometry.entries) {
      KvEntry like = entry;
      like.layers = added.layers;
      if (!(like == added)) continue;
      entry.layers += added.layers;
      return;
    }
    geometry.entries.push_back(added);
  };
  for (std::size_t g = 0; g < model.groups.size(); ++g) {
    const Attention& attention = model.groups[g].attention;
    const double entry = layer_kv_bytes_per_token(attention, kv_format,
                                                  head_ranks(tensor_parallel, context_parallel));
    const bool compressed = attention.compress_ratio > 1;
    if (attention.window > 0 || !compressed) add({counts[g], entry, attention.window, 1});
    if (compressed) add({counts[g], entry, 0, attention.compress_ratio});
    add({counts[g], layer_index_bytes_per_token(attention), 0, attention.compress_ratio, true});
    geometry.state_bytes += counts[g] * layer_state_bytes(attention, activations, tensor_parallel);
  }
  return geometry;
}

/// The cache of the whole model in one place.
[[nodiscard]] inline KvGeometry kv_geometry(const Model& model, const Format& kv_format,
                                            const Format& activations = formats::bf16) {
  return kv_geometry(model, stage_group_counts(model, 1, 0), kv_format, activations);
}

}  // namespace tokenroof
