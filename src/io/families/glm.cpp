// ChatGLM and GLM-4, MiniMax, MiMo-V2.
#include <array>

#include "io/families/families.hpp"
#include "io/families/mixture.hpp"
#include "io/families/parts.hpp"

namespace tokenroof::io {
namespace {

/// GLM-4 and later leave the output projection without bias.
constexpr Traits glm_traits = {.biased = Biases::qkv};

/// ChatGLM2 to GLM-4-9b: multi-query attention by groups. The first ChatGLM is of the GPT kind.
Decoder chatglm(Config& c) {
  if (c.has({"inner_hidden_size"})) {
    Traits traits{.attention_bias = Biases::all,
                  .mlp_bias = true,
                  .gated = false,
                  .vectors_per_norm = 2,
                  .defaults = {.width_per_hidden = 4}};
    c.harmless({"inner_hidden_size"});
    return standard_decoder(c, traits);
  }
  c.harmless({"multi_query_group_num", "num_layers", "interleaved_qkv"});
  const bool out = c.flag({"add_bias_linear"}, false);
  const bool qkv = c.flag({"add_qkv_bias"}, false);
  const bool rms = c.flag({"rmsnorm"}, true);
  Decoder d =
      standard_decoder(c, {.attention_bias = out ? Biases::all : (qkv ? Biases::qkv : Biases::none),
                           .mlp_bias = out,
                           .vectors_per_norm = rms ? 1 : 2});
  if (!c.flag({"post_layer_norm"}, true)) d.model.final_small_parameters = 0;
  if (c.flag({"multi_query_attention"}, false)) {
    const auto groups = static_cast<int>(c.size_or({"multi_query_group_num"}, limits::heads, 1));
    if (d.sizes.heads % groups != 0)
      c.fault("multi_query_group_num", std::to_string(d.sizes.heads) +
                                           " query heads are not a multiple of " +
                                           std::to_string(groups));
    for (Layer& layer : d.layers) {
      if (out || qkv)
        layer.attention.small_parameters -=
            2 * std::int64_t{d.sizes.kv_heads - groups} * d.sizes.head_dim;
      layer.attention.kv_heads = groups;
    }
  }
  return d;
}

Decoder glm(Config& c) { return standard_decoder(c, glm_traits); }

/// Two more norms, after attention and after the network.
Decoder glm4(Config& c) {
  Traits traits = glm_traits;
  traits.norms = 4;
  return standard_decoder(c, traits);
}

Decoder glm4_moe(Config& c) {
  Traits traits = glm_traits;
  if (c.flag({"use_qk_norm"}, false)) traits.qk_norm = QueryKeyNorm::per_head;
  Decoder d = standard_decoder(c, traits);
  apply_mixture(c, d, {.router_bias = true});
  const std::int64_t h = d.sizes.hidden;
  attach_mtp(d, c.count({"num_nextn_predict_layers"}, limits::layers), d.layers.back(),
             2 * h * h + 3 * h + 2 * d.sizes.vocabulary * h);
  return d;
}

/// Lightning attention: linear, with one matrix of state per head, a gate and a norm.
Attention lightning(const Sizes& sizes) {
  const std::int64_t wide = std::int64_t{sizes.heads} * sizes.head_dim;
  Attention mixer;
  mixer.kind = AttentionKind::recurrent;
  mixer.input_weights = sizes.hidden * 4 * wide;
  mixer.output_weights = wide * sizes.hidden;
  mixer.small_parameters = wide;
  mixer.state_elements = wide * sizes.head_dim;
  return mixer;
}

/// MiniMax-Text-01 and M1: a 0 in attn_type_list is lightning attention.
Decoder minimax(Config& c) {
  c.harmless({"postnorm", "shared_moe_mode", "linear_attn_alpha_factor", "block_size"});
  Decoder d = standard_decoder(c);
  Attention linear = lightning(d.sizes);
  linear.small_parameters += d.attention_norms();
  std::vector<std::string> kinds;
  if (c.is_list("attn_type_list")) {
    const auto types = c.integers("attn_type_list").value_or(std::vector<std::int64_t>{});
    if (types.size() != d.layers.size())
      c.fault("attn_type_list", "lists " + std::to_string(types.size()) +
                                    " layers, the model has " + std::to_string(d.sizes.layers));
    for (const std::int64_t type : types)
      kinds.push_back(type == 0 ? "linear_attention" : "full_attention");
    kinds.resize(d.layers.size(), "full_attention");
  } else {
    kinds = layer_kinds(c, d.sizes.layers, {"layer_types"}, [](int i) {
      return (i + 1) % 8 == 0 ? "full_attention" : "linear_attention";
    });
  }
  for (std::size_t i = 0; i < d.layers.size(); ++i) {
    if (kinds[i] != "linear_attention") continue;
    d.layers[i].attention = linear;
    d.layers[i].name += ", linear attention";
  }
  apply_mixture(c, d);
  return d;
}

/// M2: queries and keys are normalised over all heads at once.
Decoder minimax_m2(Config& c) {
  QueryKeyNorm norm = QueryKeyNorm::none;
  if (c.flag({"use_qk_norm"}, true)) {
    norm = c.text({"qk_norm_type"}, "per_layer") == "per_head" ? QueryKeyNorm::per_head
                                                               : QueryKeyNorm::full_width;
  }
  const bool router_bias = c.flag({"use_routing_bias"}, true);
  Decoder d = standard_decoder(c, {.qk_norm = norm});
  for (const std::int64_t type : c.integers("attn_type_list").value_or(std::vector<std::int64_t>{}))
    if (type != 1) c.fault("attn_type_list", "linear layers are unknown in this family");
  apply_mixture(c, d, {.router_bias = router_bias});
  const std::int64_t h = d.sizes.hidden;
  const std::int64_t modules = c.count({"num_mtp_modules"}, limits::layers);
  const std::int64_t each = c.size_or({"mtp_transformer_layers"}, limits::layers, 1);
  attach_mtp(d, modules * each, d.layers.back(), 2 * h * h + 3 * h);
  return d;
}

/// M3: block-sparse attention with an indexer of its own in most layers.
Decoder minimax_m3(Config& c) {
  c.harmless({"use_gemma_norm", "num_nextn_predict_layers"});
  Decoder d = minimax_m2(c);
  const std::int64_t dense = c.size_or({"dense_intermediate_size"}, limits::width, d.sizes.width);
  for (Layer& layer : d.layers)
    if (layer.feed_forward.kind == FeedForwardKind::dense) layer.feed_forward.width = dense;

  auto sparse = c.object("sparse_attention_config");
  if (!sparse || !sparse->flag({"use_sparse_attention"}, false)) return d;
  const std::int64_t dim = sparse->size({"sparse_index_dim"}, limits::head_dim, 128);
  const std::int64_t heads = sparse->size({"sparse_num_index_heads"}, limits::heads, 4);
  const std::int64_t block = sparse->size({"sparse_block_size"}, limits::width, 128);
  const std::int64_t blocks = sparse->size({"sparse_topk_blocks"}, limits::width, 16);
  const auto on = sparse->per_layer({"sparse_attention_freq"}, d.sizes.layers, 1, 1);
  sparse->harmless({"sparse_disable_index_value", "sparse_init_block", "sparse_local_block",
                    "sparse_score_type"});
  sparse->refuse_unknown(false);
  for (std::size_t i = 0; i < d.layers.size(); ++i) {
    if (on[i] == 0) continue;
    Attention& a = d.layers[i].attention;
    a.index_heads = static_cast<int>(heads);
    a.index_dim = static_cast<int>(dim);
    a.index_top_k = static_cast<int>(block * blocks);
    a.extra_weights += d.sizes.hidden * dim * (heads + 1);
    a.small_parameters += 2 * dim;
    d.layers[i].name += ", sparse attention";
  }
  return d;
}

/// MiMo-V2: windowed layers have heads, head sizes and sinks of their own.
Decoder mimo_v2(Config& c) {
  Decoder d = standard_decoder(c, {.biased = Biases::qkv});
  Sizes windowed = d.sizes;
  windowed.heads =
      static_cast<int>(c.size_or({"swa_num_attention_heads"}, limits::heads, d.sizes.heads));
  windowed.kv_heads =
      static_cast<int>(c.size_or({"swa_num_key_value_heads"}, limits::heads, d.sizes.kv_heads));
  windowed.head_dim =
      static_cast<int>(c.size_or({"swa_head_dim"}, limits::head_dim, d.sizes.head_dim));
  if (windowed.heads % windowed.kv_heads != 0)
    c.fault("swa_num_key_value_heads", "does not divide the windowed layers' query heads");
  const auto value =
      static_cast<int>(c.size_or({"v_head_dim"}, limits::head_dim, d.sizes.head_dim));
  const auto windowed_value =
      static_cast<int>(c.size_or({"swa_v_head_dim"}, limits::head_dim, value));
  const auto window =
      static_cast<int>(c.size({"sliding_window", "sliding_window_size"}, limits::context >> 10));
  c.harmless({"attention_chunk_size", "attention_value_scale", "hybrid_block_size"});
  const auto kinds = c.per_layer({"hybrid_layer_pattern"}, d.sizes.layers, 1, 0);
  const bool sinks = c.flag({"add_swa_attention_sink_bias"}, true);
  const bool full_sinks = c.flag({"add_full_attention_sink_bias"}, false);

  Attention sliding = grouped_attention(windowed, d.traits);
  sliding.window = window;
  sliding.small_parameters += d.attention_norms() + (sinks ? windowed.heads : 0);
  sliding.value_dim = windowed_value;
  for (std::size_t i = 0; i < d.layers.size(); ++i) {
    Attention& a = d.layers[i].attention;
    a.value_dim = value;
    if (full_sinks) a.small_parameters += d.sizes.heads;
    if (kinds[i] == 0) continue;
    a = sliding;
    d.layers[i].name += ", sliding";
  }
  apply_mixture(c, d, {.router_bias = true});
  const std::int64_t h = d.sizes.hidden;
  attach_mtp(d, c.count({"num_nextn_predict_layers"}, limits::layers), d.layers.back(),
             2 * h * h + 3 * h);
  return d;
}

constexpr std::array table = {
    Family{"chatglm", "chatglm", "ChatGLM", chatglm},
    Family{"glm4_moe", "glm4_moe glm4v_moe glm4v_moe_text", "Glm4Moe", glm4_moe},
    Family{"glm4", "glm4 glm4v glm4v_text", "Glm4 Glm4v", glm4},
    Family{"glm", "glm", "Glm", glm},
    Family{"minimax", "minimax minimax_text_01 minimax_m1 MiniMaxText01",
           "MiniMax MiniMaxText01 MiniMaxM1", minimax},
    Family{"minimax_m2", "minimax_m2", "MiniMaxM2", minimax_m2},
    Family{"minimax_m3", "minimax_m3", "MiniMaxM3", minimax_m3},
    Family{"mimo_v2", "mimo_v2_flash mimo_v2", "MiMoV2Flash MiMoV2", mimo_v2},
};

}  // namespace

std::span<const Family> glm_families() { return table; }

}  // namespace tokenroof::io
