// State-space models and hybrids: Mamba, Jamba, Falcon-H1, Granite 4, LFM2; and layers that attend
// to images.
#include <algorithm>
#include <array>

#include "io/families/families.hpp"
#include "io/families/mixture.hpp"
#include "io/families/parts.hpp"

namespace tokenroof::io {
namespace {

/// hidden * factor where the file may state a fraction.
std::int64_t scaled(std::int64_t hidden, double factor) {
  return factor > 0 && factor < 64 ? static_cast<std::int64_t>(static_cast<double>(hidden) * factor)
                                   : hidden;
}

FeedForward no_network() {
  FeedForward none;
  none.kind = FeedForwardKind::none;
  return none;
}

Decoder mamba(Config& c) {
  const Sizes sizes = read_outer_sizes(c, {});
  c.harmless({"num_attention_heads", "num_key_value_heads", "use_mambapy", "mixer_rms_eps"});
  Mamba1 m;
  m.inner = c.size_or({"intermediate_size", "d_inner"}, limits::width,
                      scaled(sizes.hidden, c.number({"expand"}, 2)));
  c.harmless({"expand"});
  m.state = c.size_or({"state_size", "d_state"}, limits::head_dim, 16);
  m.kernel = c.size_or({"conv_kernel", "d_conv"}, 1024, 4);
  m.rank = c.is_text("time_step_rank") || !c.has({"time_step_rank"})
               ? (sizes.hidden + 15) / 16
               : c.size({"time_step_rank"}, limits::hidden);
  m.convolution_bias = c.flag({"use_conv_bias"}, true);
  m.projection_bias = c.flag({"use_bias"}, false);
  Decoder d = empty_decoder(c, sizes, {.norms = 1, .tied = true});
  repeat_layer(d, {"mamba", mamba1(m, sizes.hidden), no_network()});
  return d;
}

Decoder mamba2(Config& c) {
  const Sizes sizes = read_outer_sizes(c, {});
  c.harmless({"head_dim", "num_heads"});
  Mamba2 m;
  const std::int64_t inner = scaled(sizes.hidden, c.number({"expand"}, 2));
  m.head_dim = c.size_or({"head_dim"}, limits::head_dim, 64);
  m.heads = c.size_or({"num_heads"}, limits::heads, std::max<std::int64_t>(1, inner / m.head_dim));
  if (m.heads * m.head_dim != inner)
    c.fault("num_heads", "heads x head_dim is not expand x hidden_size");
  m.state = c.size_or({"state_size"}, limits::head_dim, 128);
  m.groups = c.size_or({"n_groups"}, 1024, 8);
  m.kernel = c.size_or({"conv_kernel"}, 1024, 4);
  m.convolution_bias = c.flag({"use_conv_bias"}, true);
  m.projection_bias = c.flag({"use_bias"}, false);
  Attention mixer;
  mixer.kind = AttentionKind::recurrent;
  add_mamba2(mixer, m, sizes.hidden);
  Decoder d = empty_decoder(c, sizes, {.norms = 1});
  repeat_layer(d, {"mamba2", mixer, no_network()});
  return d;
}

/// The keys of Granite 4, Bamba and Falcon-H1.
Mamba2 read_mamba2(Config& c, std::int64_t hidden) {
  Mamba2 m;
  m.heads = c.size_or({"mamba_n_heads", "mamba_num_heads"}, limits::heads, 128);
  const std::int64_t inner =
      c.size_or({"mamba_d_ssm"}, limits::width, scaled(hidden, c.number({"mamba_expand"}, 2)));
  const std::int64_t derived = std::max<std::int64_t>(1, inner / m.heads);
  // "auto" means that the heads share the inner width.
  m.head_dim = c.is_text("mamba_d_head")
                   ? derived
                   : c.size_or({"mamba_d_head", "mamba_head_dim"}, limits::head_dim, derived);
  c.harmless({"mamba_d_head"});
  m.state = c.size_or({"mamba_d_state"}, limits::head_dim, 256);
  m.groups = c.size_or({"mamba_n_groups"}, 1024, 1);
  m.kernel = c.size_or({"mamba_d_conv"}, 1024, 4);
  m.convolution_bias = c.flag({"mamba_conv_bias"}, true);
  m.projection_bias = c.flag({"mamba_proj_bias"}, false);
  return m;
}

/// Attention and Mamba-2 side by side in every layer.
Decoder falcon_h1(Config& c) {
  c.harmless({"attn_layer_indices", "mamba_use_mlp", "projectors_bias", "mlp_expansion_factor"});
  Decoder d = standard_decoder(c);
  Mamba2 m = read_mamba2(c, d.sizes.hidden);
  m.gated_norm = c.flag({"mamba_rms_norm"}, false);
  for (Layer& layer : d.layers) {
    layer.name = "attention and mamba2";
    add_mamba2(layer.attention, m, d.sizes.hidden);
  }
  return d;
}

void replace_mixers(Config& c, Decoder& d, const std::vector<std::string>& kinds, Attention mixer,
                    const std::string& name) {
  mixer.small_parameters += d.attention_norms();
  for (std::size_t i = 0; i < d.layers.size(); ++i) {
    if (kinds[i] == "attention" || kinds[i] == "full_attention") continue;
    if (kinds[i] != name) {
      c.fault("layer_types", "unknown kind of layer \"" + kinds[i] + "\"");
      return;
    }
    d.layers[i].attention = mixer;
    d.layers[i].name += ", " + name;
  }
}

Decoder jamba(Config& c) {
  Decoder d = standard_decoder(c);
  Mamba1 m;
  m.inner = scaled(d.sizes.hidden, c.number({"mamba_expand"}, 2));
  m.state = c.size_or({"mamba_d_state"}, limits::head_dim, 16);
  m.kernel = c.size_or({"mamba_d_conv"}, 1024, 4);
  m.rank = c.is_text("mamba_dt_rank")
               ? (d.sizes.hidden + 15) / 16
               : c.size_or({"mamba_dt_rank"}, limits::hidden, (d.sizes.hidden + 15) / 16);
  m.convolution_bias = c.flag({"mamba_conv_bias"}, true);
  m.projection_bias = c.flag({"mamba_proj_bias"}, false);
  m.inner_norms = c.flag({"mamba_inner_layernorms"}, true);
  const auto period = static_cast<int>(c.size_or({"attn_layer_period"}, limits::layers, 8));
  const auto offset = static_cast<int>(c.count({"attn_layer_offset"}, limits::layers, 4));
  replace_mixers(
      c, d,
      layer_kinds(c, d.sizes.layers, {"layers_block_type"},
                  [&](int i) { return i % period == offset % period ? "attention" : "mamba"; }),
      mamba1(m, d.sizes.hidden), "mamba");
  if (has_experts(c)) {
    if (!c.has({"expert_layer_period"})) c.fault("expert_layer_period", "missing");
    apply_mixture(c, d);
  } else {
    ignore_mixture_keys(c);
  }
  return d;
}

Decoder bamba(Config& c) {
  Decoder d = standard_decoder(c);
  const auto attention = c.integers("attn_layer_indices").value_or(std::vector<std::int64_t>{});
  Attention mixer;
  mixer.kind = AttentionKind::recurrent;
  add_mamba2(mixer, read_mamba2(c, d.sizes.hidden), d.sizes.hidden);
  replace_mixers(c, d,
                 layer_kinds(c, d.sizes.layers, {"layers_block_type", "layer_types"},
                             [&](int i) {
                               for (const std::int64_t at : attention)
                                 if (at == i) return "attention";
                               return "mamba";
                             }),
                 mixer, "mamba");
  return d;
}

/// Granite 4: a shared network in every layer, beside a mixture where there is one.
Decoder granite_hybrid(Config& c) {
  c.harmless({"normalization_function", "init_method"});
  Traits traits;
  traits.defaults.width_per_hidden = 1;
  Decoder d = standard_decoder(c, traits);
  Attention mixer;
  mixer.kind = AttentionKind::recurrent;
  add_mamba2(mixer, read_mamba2(c, d.sizes.hidden), d.sizes.hidden);
  replace_mixers(c, d,
                 layer_kinds(c, d.sizes.layers, {"layer_types", "layers_block_type"},
                             [](int) { return "mamba"; }),
                 mixer, "mamba");
  const std::int64_t shared = c.count({"shared_intermediate_size"}, limits::width, 1024);
  if (has_experts(c)) {
    apply_mixture(c, d);
  } else {
    c.harmless({"num_local_experts", "num_experts_per_tok"});
    for (Layer& layer : d.layers) layer.feed_forward.width = shared;
  }
  return d;
}

/// LFM2: short convolutions with two gates, attention in the listed layers.
Decoder lfm2(Config& c) {
  c.harmless({"num_heads", "block_dim", "conv_dim", "conv_dim_out", "block_use_swiglu",
              "block_mlp_init_scale", "block_out_init_scale", "block_use_xavier_init",
              "conv_use_xavier_init", "use_pos_enc"});
  Traits traits{.qk_norm = QueryKeyNorm::per_head, .tied = true};
  if (c.has({"tie_embedding"})) traits.tied = c.flag({"tie_embedding"}, true);
  traits.defaults = {.hidden = 2560,
                     .layers = 32,
                     .heads = 32,
                     .kv_heads = 8,
                     .vocabulary = 65536,
                     .width_per_hidden = 4};
  Decoder d = standard_decoder(c, traits);
  const std::int64_t h = d.sizes.hidden;

  // The file states the width before the two-thirds of a gated network, mixtures the real one.
  std::int64_t width = c.size_or({"block_ff_dim", "intermediate_size"}, limits::width, 4 * h);
  if (c.flag({"block_auto_adjust_ff_dim"}, false)) {
    width = 2 * width / 3;
    width = scaled(width, c.number({"block_ffn_dim_multiplier"}, 1));
    const std::int64_t multiple = c.size_or({"block_multiple_of"}, limits::width, 256);
    width = (width + multiple - 1) / multiple * multiple;
  }
  c.harmless({"block_ffn_dim_multiplier", "block_multiple_of"});
  for (Layer& layer : d.layers) layer.feed_forward.width = width;

  const std::int64_t kernel = c.size_or({"conv_L_cache"}, 1024, 3);
  Attention mixer;
  mixer.kind = AttentionKind::recurrent;
  mixer.input_weights = 3 * h * h;
  mixer.output_weights = h * h;
  mixer.small_parameters = h * kernel;
  if (c.flag({"conv_bias"}, false)) mixer.small_parameters += h + 3 * h + h;
  mixer.convolution_elements = h * kernel;
  const auto listed = c.integers("full_attn_idxs").value_or(std::vector<std::int64_t>{});
  replace_mixers(c, d,
                 layer_kinds(c, d.sizes.layers, {"layer_types"},
                             [&](int i) {
                               for (const std::int64_t at : listed)
                                 if (at == i) return "full_attention";
                               return "conv";
                             }),
                 mixer, "conv");
  // The expert bias is a buffer here, no parameter.
  c.harmless({"use_expert_bias"});
  if (has_experts(c)) apply_mixture(c, d);
  return d;
}

/// Llama 3.2 Vision: the listed layers attend to the image, and text runs past them.
Decoder mllama(Config& c) {
  Decoder d = standard_decoder(c, {.defaults = {.hidden = 4096,
                                                .width = 14336,
                                                .layers = 40,
                                                .heads = 32,
                                                .kv_heads = 8,
                                                .vocabulary = 128256}});
  const std::vector<std::int64_t> standard = {3, 8, 13, 18, 23, 28, 33, 38};
  for (const std::int64_t i : c.integers("cross_attention_layers").value_or(standard)) {
    if (i < 0 || i >= d.sizes.layers) {
      c.fault("cross_attention_layers",
              "names layer " + std::to_string(i) + " of " + std::to_string(d.sizes.layers));
      break;
    }
    Layer& layer = d.layers[static_cast<std::size_t>(i)];
    layer.attention.cross_attention = true;
    layer.attention.stores_kv = false;
    layer.attention.small_parameters += 2 * d.sizes.head_dim + 2;  // norms, two gates
    layer.name += ", cross attention";
  }
  d.model.embedding_parameters += 8 * d.sizes.hidden;  // image tokens, which no head predicts
  return d;
}

constexpr std::array table = {
    Family{"mamba", "mamba ov_mamba", "Mamba", mamba},
    Family{"falcon_mamba", "falcon_mamba", "FalconMamba", mamba},
    Family{"mamba2", "mamba2", "Mamba2", mamba2},
    Family{"falcon_h1", "falcon_h1", "FalconH1", falcon_h1},
    Family{"jamba", "jamba", "Jamba", jamba},
    Family{"bamba", "bamba", "Bamba", bamba},
    Family{"granitemoehybrid", "granitemoehybrid granite_hybrid", "GraniteMoeHybrid",
           granite_hybrid},
    Family{"lfm2", "lfm2 lfm2_moe", "Lfm2 Lfm2Moe LFM2", lfm2},
    Family{"mllama", "mllama mllama_text_model", "Mllama MllamaText", mllama},
};

}  // namespace

std::span<const Family> hybrid_families() { return table; }

}  // namespace tokenroof::io
