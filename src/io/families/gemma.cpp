// Gemma 1 to 4 and 3n: tied embeddings, windows, and in the small ones embeddings for every layer.
#include <array>

#include "io/families/families.hpp"
#include "io/families/mixture.hpp"
#include "io/families/parts.hpp"

namespace tokenroof::io {
namespace {

std::string sliding_unless(bool full) { return full ? "full_attention" : "sliding_attention"; }

/// Every `pattern`-th layer is global unless the file lists the layers.
std::vector<std::string> gemma_kinds(Config& c, int layers, std::int64_t default_pattern) {
  std::int64_t pattern = default_pattern;
  if (!c.is_list("layer_types"))
    pattern = c.size_or({"sliding_window_pattern", "_sliding_window_pattern"}, limits::layers,
                        default_pattern);
  c.harmless({"sliding_window_pattern", "_sliding_window_pattern"});
  return layer_kinds(c, layers, {"layer_types"},
                     [&](int i) { return sliding_unless((i + 1) % pattern == 0); });
}

Decoder gemma(Config& c) {
  return standard_decoder(c, {.tied = true,
                              .defaults = {.hidden = 3072,
                                           .width = 24576,
                                           .layers = 28,
                                           .heads = 16,
                                           .kv_heads = 16,
                                           .head_dim = 256,
                                           .vocabulary = 256000}});
}

Decoder gemma2(Config& c) {
  Decoder d = standard_decoder(c, {.norms = 4,
                                   .tied = true,
                                   .defaults = {.hidden = 2304,
                                                .width = 9216,
                                                .layers = 26,
                                                .heads = 8,
                                                .kv_heads = 4,
                                                .head_dim = 256,
                                                .vocabulary = 256000}});
  apply_windows(c, d, gemma_kinds(c, d.sizes.layers, 2), 4096);
  return d;
}

constexpr Defaults gemma3_sizes = {.hidden = 2304,
                                   .width = 9216,
                                   .layers = 26,
                                   .heads = 8,
                                   .kv_heads = 4,
                                   .head_dim = 256,
                                   .vocabulary = 262208};

Decoder gemma3(Config& c) {
  Decoder d = standard_decoder(
      c, {.norms = 4, .qk_norm = QueryKeyNorm::per_head, .tied = true, .defaults = gemma3_sizes});
  apply_windows(c, d, gemma_kinds(c, d.sizes.layers, 6), 4096);
  return d;
}

/// The last layers read the cache of the last earlier layer of their kind.
void share_last(Config& c, Decoder& d, bool keeps_projection) {
  const std::int64_t shared = c.count({"num_kv_shared_layers"}, limits::layers);
  if (shared >= d.sizes.layers) {
    c.fault("num_kv_shared_layers",
            std::to_string(shared) + " of " + std::to_string(d.sizes.layers) + " layers");
    return;
  }
  for (std::size_t i = static_cast<std::size_t>(d.sizes.layers - shared); i < d.layers.size();
       ++i) {
    d.layers[i].attention.stores_kv = false;
    d.layers[i].attention.has_kv_projection = keeps_projection;
    d.layers[i].name += ", shared KV";
  }
}

/// Embeddings of every token for every layer, a projection of the hidden state onto them, and in
/// each layer a gate and a projection back.
void add_layer_embeddings(Config& c, Decoder& d, std::int64_t width) {
  const std::int64_t rows =
      c.size_or({"vocab_size_per_layer_input"}, limits::vocabulary, d.sizes.vocabulary);
  if (width == 0) return;
  const std::int64_t h = d.sizes.hidden;
  d.model.embedding_parameters += rows * d.sizes.layers * width;
  d.model.final_small_parameters += width;
  for (Layer& layer : d.layers) {
    layer.feed_forward.extra_weights += 3 * h * width;
    layer.feed_forward.small_parameters += h;
  }
}

/// AltUp (four streams, one computed) and LAuReL (a low-rank residual) in every layer.
Decoder gemma3n(Config& c) {
  c.harmless({"activation_sparsity_pattern", "altup_lr_multiplier"});
  Traits traits{.norms = 4,
                .qk_norm = QueryKeyNorm::per_head,
                .tied = true,
                .defaults = {.hidden = 2048,
                             .width = 16384,
                             .layers = 35,
                             .heads = 8,
                             .kv_heads = 2,
                             .head_dim = 256,
                             .vocabulary = 262400}};
  // Released files list one width per layer.
  std::vector<std::int64_t> widths;
  if (c.is_list("intermediate_size")) {
    widths = c.per_layer({"intermediate_size"},
                         static_cast<int>(c.size({"num_hidden_layers"}, limits::layers, 35)),
                         limits::width, 16384);
  }
  Decoder d = widths.empty() ? standard_decoder(c, traits)
                             : standard_decoder_with_widths(c, traits, widths);
  const std::int64_t h = d.sizes.hidden;
  const std::int64_t streams = c.size_or({"altup_num_inputs"}, 64, 4);
  const std::int64_t rank = c.size_or({"laurel_rank"}, limits::hidden, 64);
  for (Layer& layer : d.layers) {
    layer.feed_forward.extra_weights +=
        2 * h * rank + streams * h + streams * streams * (streams + 1);
    layer.feed_forward.small_parameters += 3 * h;  // output scale, router norm, LAuReL norm
  }
  // Projections into and out of the other streams.
  d.layers.front().feed_forward.extra_weights += (streams - 1) * h * h;
  d.layers.back().feed_forward.extra_weights += (streams - 1) * h * h;
  add_layer_embeddings(c, d, c.size_or({"hidden_size_per_layer_input"}, limits::width, 256));
  apply_windows(c, d, gemma_kinds(c, d.sizes.layers, 5), 512);
  share_last(c, d, true);
  return d;
}

/// Global layers have head sizes and KV heads of their own, and may take keys for values.
void widen_global_layers(Config& c, Decoder& d, const std::vector<std::string>& kinds) {
  const bool one_projection = c.flag({"attention_k_eq_v"}, false);
  Sizes global = d.sizes;
  global.head_dim =
      static_cast<int>(c.size_or({"global_head_dim"}, limits::head_dim, d.sizes.head_dim));
  const auto kv =
      static_cast<int>(c.size_or({"num_global_key_value_heads"}, limits::heads, d.sizes.kv_heads));
  if (one_projection) global.kv_heads = kv;
  if (global.heads % global.kv_heads != 0)
    c.fault("num_global_key_value_heads", "does not divide the query heads");
  Attention attention = grouped_attention(global, d.traits);
  attention.values_are_keys = one_projection;
  attention.small_parameters += d.attention_norms();
  for (std::size_t i = 0; i < d.layers.size(); ++i)
    if (kinds[i] == "full_attention") d.layers[i].attention = attention;
}

/// A dense network runs beside the mixture; it is counted as a shared expert.
void add_gemma4_mixture(Config& c, Decoder& d) {
  const std::int64_t h = d.sizes.hidden;
  FeedForward mixture = read_mixture(c, d, {});
  mixture.shared_width = d.sizes.width;
  // Scales per channel and per expert, three further norms.
  mixture.small_parameters += d.feed_forward_norms() + h + mixture.experts + 3 * h;
  for (Layer& layer : d.layers) {
    mixture.extra_weights = layer.feed_forward.extra_weights;
    layer.feed_forward = mixture;
    layer.name = "mixture" + layer.name.substr(5);
  }
}

Decoder gemma4(Config& c) {
  c.harmless({"expert_intermediate_size", "use_bidirectional_attention"});
  Decoder d = standard_decoder(c, {.norms = 4,
                                   .qk_norm = QueryKeyNorm::per_head,
                                   .tied = true,
                                   .defaults = {.hidden = 2304,
                                                .width = 9216,
                                                .layers = 30,
                                                .heads = 8,
                                                .kv_heads = 4,
                                                .head_dim = 256,
                                                .vocabulary = 262144}});
  const auto kinds = gemma_kinds(c, d.sizes.layers, 6);
  widen_global_layers(c, d, kinds);
  apply_windows(c, d, kinds, 512);
  for (Layer& layer : d.layers) layer.feed_forward.small_parameters += 1;  // scale of the layer
  if (c.flag({"enable_moe_block"}, false)) add_gemma4_mixture(c, d);
  share_last(c, d, false);
  if (c.flag({"use_double_wide_mlp"}, false))
    for (Layer& layer : d.layers)
      if (!layer.attention.stores_kv) layer.feed_forward.width *= 2;
  add_layer_embeddings(c, d, c.count({"hidden_size_per_layer_input"}, limits::width));
  return d;
}

constexpr std::array table = {
    Family{"gemma", "gemma", "Gemma", gemma},
    Family{"gemma2", "gemma2", "Gemma2", gemma2},
    Family{"gemma3", "gemma3_text gemma3", "Gemma3 Gemma3Text", gemma3},
    Family{"gemma3n", "gemma3n_text gemma3n", "Gemma3n Gemma3nText", gemma3n},
    Family{"gemma4", "gemma4_text gemma4", "Gemma4 Gemma4Text", gemma4},
};

}  // namespace

std::span<const Family> gemma_families() { return table; }

}  // namespace tokenroof::io
