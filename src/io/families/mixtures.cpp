// Mixtures of experts over grouped attention: Mixtral and its like.
#include <array>

#include "io/families/families.hpp"
#include "io/families/mixture.hpp"
#include "io/families/parts.hpp"

namespace tokenroof::io {
namespace {

void refuse_kind(Config& c, const std::string& kind) {
  c.fault("layer_types", "unknown kind of layer \"" + kind + "\"");
}

Decoder mixtral(Config& c) {
  Decoder d = standard_decoder(c, {.defaults = {.hidden = 4096,
                                                .width = 14336,
                                                .layers = 32,
                                                .heads = 32,
                                                .kv_heads = 8,
                                                .vocabulary = 32000}});
  window_all(c, d);
  apply_mixture(c, d, {.experts = 8, .top_k = 2});
  return d;
}

Decoder phimoe(Config& c) {
  Decoder d = standard_decoder(c, {.vectors_per_norm = 2});
  window_all(c, d);
  apply_mixture(c, d);
  if (c.flag({"lm_head_bias"}, false)) d.model.final_small_parameters += d.sizes.vocabulary;
  return d;
}

Decoder olmoe(Config& c) {
  c.harmless({"clip_qkv"});
  Decoder d = standard_decoder(c, {.qk_norm = QueryKeyNorm::full_width});
  apply_mixture(c, d);
  return d;
}

/// The shared experts, where there are any, run beside the mixture in every layer.
Decoder granitemoe(Config& c) {
  Decoder d = standard_decoder(c);
  apply_mixture(c, d);
  return d;
}

/// Every other layer sees a window; sinks, and biases everywhere.
Decoder gpt_oss(Config& c) {
  Decoder d = standard_decoder(c, {.attention_bias = Biases::all,
                                   .defaults = {.hidden = 2880,
                                                .width = 2880,
                                                .layers = 36,
                                                .heads = 64,
                                                .kv_heads = 8,
                                                .head_dim = 64,
                                                .vocabulary = 201088}});
  apply_windows(
      c, d,
      layer_kinds(c, d.sizes.layers, {"layer_types"},
                  [](int i) { return i % 2 == 0 ? "sliding_attention" : "full_attention"; }),
      128);
  c.harmless({"initial_context_length"});
  for (Layer& layer : d.layers) layer.attention.small_parameters += d.sizes.heads;
  // Newer files repeat the top k under a second name.
  c.harmless({"experts_per_token"});
  apply_mixture(c, d, {.router_bias = true, .expert_bias = true, .experts = 128, .top_k = 4});
  return d;
}

/// Chunked attention but in every fourth layer; one shared expert beside each mixture.
Decoder llama4(Config& c) {
  Decoder d = standard_decoder(c, {.defaults = {.hidden = 5120,
                                                .width = 8192,
                                                .layers = 48,
                                                .heads = 40,
                                                .kv_heads = 8,
                                                .head_dim = 128,
                                                .vocabulary = 202048}});
  c.harmless({"use_qk_norm", "attn_temperature_tuning", "floor_scale", "for_llm_compressor"});
  const std::int64_t dense = c.size_or({"intermediate_size_mlp"}, limits::width, 2 * d.sizes.width);
  for (Layer& layer : d.layers) layer.feed_forward.width = dense;

  const auto chunk =
      static_cast<int>(c.size_or({"attention_chunk_size"}, limits::context >> 10, 8192));
  auto rope = c.integers("no_rope_layers");
  if (rope && rope->empty()) rope.reset();
  const auto interval = static_cast<int>(c.size_or({"no_rope_layer_interval"}, limits::layers, 4));
  const auto kinds = layer_kinds(c, d.sizes.layers, {"layer_types"}, [&](int i) {
    const auto at = static_cast<std::size_t>(i);
    const bool rotary = rope && at < rope->size() ? (*rope)[at] != 0 : (i + 1) % interval != 0;
    return rotary ? "chunked_attention" : "full_attention";
  });
  for (std::size_t i = 0; i < d.layers.size(); ++i) {
    if (kinds[i] == "chunked_attention") {
      d.layers[i].attention.window = chunk;
      d.layers[i].name += ", chunked";
    } else if (kinds[i] != "full_attention") {
      refuse_kind(c, kinds[i]);
      break;
    }
  }
  apply_mixture(c, d, {.experts = 16, .top_k = 1, .default_shared = 1});
  return d;
}

/// Sizes in objects of their own.
Decoder dbrx(Config& c) {
  Sizes sizes = read_outer_sizes(c, {});
  sizes.heads = static_cast<int>(c.size({"n_heads", "num_attention_heads"}, limits::heads));
  sizes.head_dim = static_cast<int>(sizes.hidden / sizes.heads);
  Traits traits{.tied = false};
  if (auto attention = c.object("attn_config")) {
    sizes.kv_heads = static_cast<int>(
        attention->size_or({"kv_n_heads", "num_key_value_heads"}, limits::heads, 1));
    attention->harmless({"clip_qkv", "attn_pdrop"});
    attention->refuse_unknown(false);
  } else {
    c.fault("attn_config", "missing");
  }
  if (sizes.heads % sizes.kv_heads != 0)
    c.fault("attn_config", "kv_n_heads does not divide the query heads");
  auto network = c.object("ffn_config");
  if (!network) c.fault("ffn_config", "missing");
  if (network)
    sizes.width = network->size({"ffn_hidden_size", "intermediate_size"}, limits::width, 3584);
  Decoder d = empty_decoder(c, sizes, traits);
  Layer layer{"mixture", grouped_attention(sizes, traits), {}};
  if (network) {
    layer.feed_forward = read_mixture(*network, d, {.experts = 4, .top_k = 1});
    network->harmless({"ffn_act_fn", "moe_loss_weight", "moe_normalize_expert_weights",
                       "uniform_expert_assignment"});
    network->refuse_unknown(false);
  }
  repeat_layer(d, layer);
  return d;
}

Decoder ernie4_5(Config& c) {
  const bool bias = c.flag({"use_bias"}, false);
  c.harmless({"compression_ratio"});
  Decoder d = standard_decoder(
      c, {.attention_bias = bias ? Biases::all : Biases::none, .mlp_bias = bias, .tied = true});
  if (has_experts(c)) apply_mixture(c, d, {.router_bias = true});
  const std::int64_t h = d.sizes.hidden;
  attach_mtp(d, c.count({"num_nextn_predict_layers"}, limits::layers), d.layers.back(),
             2 * h * h + 3 * h);
  return d;
}

/// Cross-layer attention: of each `cla_share_factor` layers only the first has keys and values.
void share_across_layers(Config& c, Decoder& d) {
  const std::int64_t factor = c.size_or({"cla_share_factor"}, limits::layers, 1);
  if (!c.flag({"use_cla"}, false)) return;
  for (std::size_t i = 0; i < d.layers.size(); ++i) {
    if (static_cast<std::int64_t>(i) % factor == 0) continue;
    d.layers[i].attention.stores_kv = false;
    d.layers[i].attention.has_kv_projection = false;
    d.layers[i].name += ", shared KV";
  }
}

Decoder hunyuan(Config& c) {
  const bool qk_norm = c.flag({"use_qk_norm"}, false);
  c.harmless({"head_dim", "use_mixed_mlp_moe", "moe_drop_tokens", "text_end_id"});
  Decoder d =
      standard_decoder(c, {.qk_norm = qk_norm ? QueryKeyNorm::per_head : QueryKeyNorm::none});
  if (has_experts(c)) {
    apply_mixture(c, d);
  } else {
    ignore_mixture_keys(c);
  }
  share_across_layers(c, d);
  return d;
}

/// Dense Hunyuan always normalises queries and keys.
Decoder hunyuan_dense(Config& c) {
  c.harmless({"use_qk_norm"});
  ignore_mixture_keys(c);
  Decoder d = standard_decoder(c, {.qk_norm = QueryKeyNorm::per_head});
  share_across_layers(c, d);
  return d;
}

Decoder bailing_moe(Config& c) {
  const bool qkv = c.flag({"use_qkv_bias"}, false);
  const bool out = c.flag({"use_bias"}, false);
  const bool qk_norm = c.flag({"use_qk_norm"}, false);
  const bool router_bias = c.flag({"moe_router_enable_expert_bias"}, false);
  Decoder d =
      standard_decoder(c, {.attention_bias = qkv ? Biases::qkv : Biases::none,
                           .qk_norm = qk_norm ? QueryKeyNorm::per_head : QueryKeyNorm::none});
  if (out)
    for (Layer& layer : d.layers) layer.attention.small_parameters += d.sizes.hidden;
  apply_mixture(c, d, {.router_bias = router_bias});
  const std::int64_t h = d.sizes.hidden;
  attach_mtp(d, c.count({"num_nextn_predict_layers"}, limits::layers), d.layers.back(),
             2 * h * h + 3 * h);
  return d;
}

/// Step-3.5 and 3.7: windowed layers, a router bias, one shared expert.
Decoder step3_flash(Config& c) {
  const bool router_bias = c.flag({"use_moe_router_bias"}, true);
  Decoder d = standard_decoder(c, {.qk_norm = QueryKeyNorm::per_head});
  apply_windows(c, d, layer_kinds(c, d.sizes.layers, {"layer_types"}, [](int i) {
                  return i % 4 == 0 ? "full_attention" : "sliding_attention";
                }));
  apply_mixture(c, d, {.router_bias = router_bias});
  const std::int64_t h = d.sizes.hidden;
  attach_mtp(d, c.count({"num_nextn_predict_layers"}, limits::layers), d.layers.back(),
             2 * h * h + 3 * h);
  return d;
}

/// dots.llm1: DeepSeek's mixture over grouped attention with normalised queries and keys.
Decoder dots1(Config& c) {
  Decoder d = standard_decoder(c, {.qk_norm = QueryKeyNorm::per_head});
  window_all(c, d);
  apply_mixture(c, d, {.router_bias = true});
  return d;
}

/// Step-3: queries through a shared low rank, one KV head for all.
Decoder step3(Config& c) {
  Sizes sizes = read_outer_sizes(c, {});
  sizes.heads = static_cast<int>(c.size({"num_attention_heads"}, limits::heads));
  sizes.kv_heads = static_cast<int>(c.size_or({"num_attention_groups"}, limits::heads, 1));
  sizes.head_dim = static_cast<int>(c.size({"head_dim"}, limits::head_dim));
  sizes.width = c.size({"intermediate_size"}, limits::width);
  if (sizes.heads % sizes.kv_heads != 0)
    c.fault("num_attention_groups", "does not divide the query heads");
  Decoder d = empty_decoder(c, sizes, {});
  Layer layer{"dense", grouped_attention(sizes, d.traits),
              dense_network(sizes.hidden, sizes.width, d.traits)};
  layer.attention.query_rank = static_cast<int>(c.size({"share_q_dim"}, limits::hidden));
  layer.attention.small_parameters += layer.attention.query_rank;
  repeat_layer(d, layer);
  apply_mixture(c, d);
  return d;
}

constexpr std::array table = {
    Family{"mixtral", "mixtral", "Mixtral", mixtral},
    Family{"phimoe", "phimoe", "PhiMoE Phimoe", phimoe},
    Family{"olmoe", "olmoe", "Olmoe", olmoe},
    Family{"granitemoe", "granitemoe granitemoeshared", "GraniteMoe GraniteMoeShared", granitemoe},
    Family{"gpt_oss", "gpt_oss", "GptOss", gpt_oss},
    Family{"llama4", "llama4 llama4_text", "Llama4 Llama4Text", llama4},
    Family{"dbrx", "dbrx", "Dbrx", dbrx},
    Family{"ernie4_5", "ernie4_5 ernie4_5_moe ernie4_5_text",
           "Ernie4_5 Ernie4_5_ Ernie4_5_Moe Ernie4_5Moe Ernie4_5_MoE", ernie4_5},
    Family{"hunyuan", "hunyuan hunyuan_v1_moe hunyuan_moe",
           "HunYuan HunYuanMoEV1 HunYuanMoE Hunyuan", hunyuan},
    Family{"hunyuan_dense", "hunyuan_v1_dense", "HunYuanDenseV1 HunyuanV1Dense", hunyuan_dense},
    Family{"bailing_moe", "bailing_moe bailing_moe_v2", "BailingMoe BailingMoeV2", bailing_moe},
    Family{"dots1", "dots1", "Dots1", dots1},
    Family{"step3", "step3_text step3_vl step3", "Step3Text Step3VL", step3},
    Family{"step3_flash", "step3p5 step3p7 step3p5_text",
           "Step3p5 Step3p5Flash Step3p7Flash Step3p7", step3_flash},
};

}  // namespace

std::span<const Family> mixture_families() { return table; }

}  // namespace tokenroof::io
