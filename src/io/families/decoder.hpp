// A decoder while a family reads it: like layers first, then what the family changes about them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "io/families/config.hpp"
#include "tokenroof/describe/model.hpp"

namespace tokenroof::io {

/// Sizes that a family's configuration class assumes; 0: must be stated.
struct Defaults {
  std::int64_t hidden = 0;
  std::int64_t width = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  ///< 0: as many as heads
  std::int64_t head_dim = 0;  ///< 0: hidden / heads
  std::int64_t vocabulary = 0;
  std::int64_t width_per_hidden = 0;  ///< the width where no key says, in hidden sizes
};

enum class Biases { none, qkv, all };
enum class QueryKeyNorm {
  none,
  per_head,    ///< one vector of head size for queries, one for keys
  full_width,  ///< over all heads at once, or one vector for each head
};

/// What distinguishes the families that are otherwise a stack of attention and feed-forward.
struct Traits {
  Biases attention_bias = Biases::none;  ///< where no key says
  Biases biased = Biases::all;           ///< what `attention_bias: true` adds
  bool mlp_bias = false;
  bool gated = true;
  int norms = 2;             ///< per layer
  int vectors_per_norm = 1;  ///< 2: with bias (LayerNorm); 0: no parameters
  QueryKeyNorm qk_norm = QueryKeyNorm::none;
  bool tied = false;  ///< where tie_word_embeddings is absent
  Defaults defaults = {};
};

struct Layer {
  std::string name;
  Attention attention;
  FeedForward feed_forward;
};

/// The sizes that nearly every file states.
struct Sizes {
  std::int64_t hidden = 1;
  std::int64_t width = 1;
  int layers = 1;
  int heads = 1;
  int kv_heads = 1;
  int head_dim = 1;
  std::int64_t vocabulary = 1;
};

/// Multi-token-prediction layers, `count` times a layer and `extra` parameters around it.
struct Mtp {
  std::int64_t count = 0;
  Layer layer;
  std::int64_t extra = 0;
};

/// The model in the making.
struct Decoder {
  Sizes sizes;
  Traits traits;
  Model model;
  std::vector<Layer> layers;
  std::vector<Mtp> mtp;  ///< reported apart

  [[nodiscard]] std::int64_t norm() const { return traits.vectors_per_norm * sizes.hidden; }
  [[nodiscard]] std::int64_t attention_norms() const {
    return (traits.norms - traits.norms / 2) * norm();
  }
  [[nodiscard]] std::int64_t feed_forward_norms() const { return traits.norms / 2 * norm(); }
};

/// The sizes under all their aliases, checked against each other. `width` > 0: already known.
Sizes read_sizes(Config& config, const Defaults& defaults, std::int64_t width = 0);
/// hidden, layers and vocabulary only, for families that name the rest differently.
Sizes read_outer_sizes(Config& config, const Defaults& defaults);
/// Attention with heads, from sizes and traits; biases and norms counted.
Attention grouped_attention(const Sizes& sizes, const Traits& traits);
/// A dense network, biases counted, norms not.
FeedForward dense_network(std::int64_t hidden, std::int64_t width, const Traits& traits);

/// A stack of like layers as the common keys describe it (`attention_bias`, `mlp_bias`,
/// `tie_word_embeddings`, ... override the traits).
Decoder standard_decoder(Config& config, Traits traits = {});
/// The same with a width for each layer.
Decoder standard_decoder_with_widths(Config& config, Traits traits,
                                     const std::vector<std::int64_t>& widths);
/// The same without layers, for stacks of unlike ones.
Decoder empty_decoder(Config& config, const Sizes& sizes, const Traits& traits);
/// `layers` copies of a layer.
void repeat_layer(Decoder& decoder, Layer layer);

/// The kind of every layer: from `layer_types` under any of `keys`, else from `kind_of(index)`.
std::vector<std::string> layer_kinds(Config& config, int layers, Keys keys,
                                     const std::function<std::string(int)>& kind_of);
/// Bounds the layers whose kind is sliding by `sliding_window`. Kinds that no sliding family has
/// are faults.
void apply_windows(Config& config, Decoder& decoder, const std::vector<std::string>& kinds,
                   std::int64_t default_window = 0);
/// `sliding_window` of all layers from `first` on, unless `use_sliding_window` is false.
void window_all(Config& config, Decoder& decoder, int first = 0);

/// Collapses like layers into groups.
Model finished(Decoder decoder);

}  // namespace tokenroof::io
