// Qwen, first to 3.6, dense, mixture and with linear attention.
#include <array>

#include "io/families/families.hpp"
#include "io/families/mixture.hpp"
#include "io/families/parts.hpp"

namespace tokenroof::io {
namespace {

/// Qwen-1 states both branches of the gated network in one number, and biases queries, keys and
/// values only.
Decoder qwen(Config& c) {
  c.flag({"no_bias"}, true);
  Decoder d = standard_decoder(c, {.attention_bias = Biases::qkv});
  for (Layer& layer : d.layers) layer.feed_forward.width /= 2;
  return d;
}

constexpr Defaults qwen2_sizes = {.hidden = 4096,
                                  .width = 22016,
                                  .layers = 32,
                                  .heads = 32,
                                  .kv_heads = 32,
                                  .vocabulary = 151936};
constexpr Defaults qwen3_sizes = {.hidden = 4096,
                                  .width = 22016,
                                  .layers = 32,
                                  .heads = 32,
                                  .kv_heads = 32,
                                  .head_dim = 128,
                                  .vocabulary = 151936};

/// Layers from max_window_layers on are windowed, if use_sliding_window says so at all.
void late_windows(Config& c, Decoder& d) {
  if (!c.flag({"use_sliding_window"}, false)) {
    c.harmless({"sliding_window", "layer_types"});
    return;
  }
  const auto first = static_cast<int>(c.count({"max_window_layers"}, limits::layers, 28));
  apply_windows(
      c, d,
      layer_kinds(c, d.sizes.layers, {"layer_types"},
                  [&](int i) { return i < first ? "full_attention" : "sliding_attention"; }),
      4096);
}

Decoder qwen2(Config& c) {
  Decoder d = standard_decoder(c, {.attention_bias = Biases::qkv, .defaults = qwen2_sizes});
  late_windows(c, d);
  return d;
}

Decoder qwen2_moe(Config& c) {
  const bool bias = c.flag({"qkv_bias"}, true);
  Decoder d = standard_decoder(
      c, {.attention_bias = bias ? Biases::qkv : Biases::none, .defaults = qwen2_sizes});
  late_windows(c, d);
  apply_mixture(c, d, {.shared_gate = true, .width = 1408, .experts = 60, .top_k = 4});
  return d;
}

Decoder qwen3(Config& c) {
  Decoder d = standard_decoder(c, {.qk_norm = QueryKeyNorm::per_head, .defaults = qwen3_sizes});
  late_windows(c, d);
  return d;
}

Decoder qwen3_moe(Config& c) {
  c.harmless({"use_qk_norm", "qkv_bias"});
  Decoder d = standard_decoder(c, {.qk_norm = QueryKeyNorm::per_head,
                                   .defaults = {.hidden = 2048,
                                                .width = 6144,
                                                .layers = 24,
                                                .heads = 32,
                                                .kv_heads = 4,
                                                .vocabulary = 151936}});
  late_windows(c, d);
  apply_mixture(c, d, {.width = 768, .experts = 128, .top_k = 8});
  return d;
}

/// Three layers of gated delta net to one of gated attention; norms as in Qwen3.
Decoder delta_stack(Config& c, bool mixture) {
  Traits traits{.qk_norm = QueryKeyNorm::per_head,
                .defaults = {.hidden = mixture ? 2048 : 4096,
                             .width = mixture ? 5632 : 12288,
                             .layers = mixture ? 40 : 32,
                             .heads = 16,
                             .kv_heads = mixture ? 2 : 4,
                             .head_dim = 256,
                             .vocabulary = 248320}};
  // Files of the all-mixture models leave the dense width out.
  if (mixture) traits.defaults.width_per_hidden = 1;
  Decoder d = standard_decoder(c, traits);

  DeltaNet net;
  net.key_heads = c.size({"linear_num_key_heads"}, limits::heads, 16);
  net.value_heads = c.size({"linear_num_value_heads"}, limits::heads, 32);
  net.key_dim = c.size({"linear_key_head_dim"}, limits::head_dim, 128);
  net.value_dim = c.size({"linear_value_head_dim"}, limits::head_dim, 128);
  net.kernel = c.size({"linear_conv_kernel_dim"}, 1024, 4);
  Attention linear = delta_net(net, d.sizes.hidden);
  linear.small_parameters += d.attention_norms();

  const auto interval = static_cast<int>(c.size_or({"full_attention_interval"}, limits::layers, 4));
  const auto kinds = layer_kinds(c, d.sizes.layers, {"layer_types"}, [&](int i) {
    return (i + 1) % interval == 0 ? "full_attention" : "linear_attention";
  });
  const bool gated = c.flag({"attn_output_gate"}, true);
  for (std::size_t i = 0; i < d.layers.size(); ++i) {
    if (kinds[i] == "linear_attention") {
      d.layers[i].attention = linear;
      d.layers[i].name += ", linear attention";
    } else if (kinds[i] == "full_attention") {
      if (gated) d.layers[i].attention.output_gate_dim = d.sizes.heads * d.sizes.head_dim;
    } else {
      c.fault("layer_types", "unknown kind of layer \"" + kinds[i] + "\"");
      break;
    }
  }
  if (mixture) {
    apply_mixture(c, d, {.shared_gate = true, .width = 512, .experts = 256, .top_k = 8});
  } else {
    c.harmless({"mlp_only_layers"});
  }
  const std::int64_t h = d.sizes.hidden;
  Layer attention_layer = d.layers.back();
  for (const Layer& layer : d.layers)
    if (layer.attention.kind == AttentionKind::grouped) attention_layer = layer;
  attach_mtp(d, c.count({"mtp_num_hidden_layers", "num_nextn_predict_layers"}, limits::layers),
             attention_layer, 2 * h * h + 3 * h);
  return d;
}

Decoder qwen3_next(Config& c) { return delta_stack(c, true); }
Decoder qwen3_5_moe(Config& c) { return delta_stack(c, true); }
Decoder qwen3_5(Config& c) { return delta_stack(c, has_experts(c)); }

constexpr std::array table = {
    Family{"qwen", "qwen", "QWen", qwen},
    Family{"qwen2",
           "qwen2 qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text qwen2_5_omni_text "
           "qwen2_audio_text",
           "Qwen2 Qwen2VL Qwen2_5_VL Qwen2_5VL", qwen2},
    Family{"qwen2_moe", "qwen2_moe", "Qwen2Moe", qwen2_moe},
    Family{"qwen3", "qwen3 qwen3_vl_text qwen3_text qwen3_asr_text", "Qwen3 Qwen3VLText", qwen3},
    Family{"qwen3_moe",
           "qwen3_moe qwen3_vl_moe_text qwen3_omni_moe_text qwen3_omni_moe_thinker_text",
           "Qwen3Moe Qwen3VLMoeText", qwen3_moe},
    Family{"qwen3_next", "qwen3_next", "Qwen3Next", qwen3_next},
    Family{"qwen3_5", "qwen3_5 qwen3_5_text qwen3_6 qwen3_6_text", "Qwen3_5 Qwen3_5Text Qwen3_6",
           qwen3_5},
    Family{"qwen3_5_moe", "qwen3_5_moe qwen3_5_moe_text qwen3_6_moe qwen3_6_moe_text",
           "Qwen3_5Moe Qwen3_5MoeText Qwen3_6Moe", qwen3_5_moe},
};

}  // namespace

std::span<const Family> qwen_families() { return table; }

}  // namespace tokenroof::io
