// DeepSeek V1 to V4, Kimi, and others built on latent attention.
#include <array>

#include "io/families/families.hpp"
#include "io/families/latent.hpp"
#include "io/families/mixture.hpp"
#include "io/families/parts.hpp"

namespace tokenroof::io {
namespace {

/// MTP layers of DeepSeek files: a layer, the joining projection, three norms, and copies of the
/// embedding and the head (GLM-5 files leave the copies out).
void deepseek_mtp(Config& c, Decoder& d, bool copies = true) {
  const std::int64_t h = d.sizes.hidden;
  attach_mtp(d, c.count({"num_nextn_predict_layers"}, limits::layers), d.layers.back(),
             2 * h * h + 3 * h + (copies ? 2 * d.sizes.vocabulary * h : 0));
}

/// The router has a correction bias when experts are chosen without an auxiliary loss.
bool has_router_bias(Config& c, bool fallback) {
  return c.has({"topk_method"}) ? c.text({"topk_method"}) == "noaux_tc" : fallback;
}

/// V1, and later files that turn latent attention off.
Decoder deepseek_grouped(Config& c) {
  c.harmless({"kv_lora_rank", "q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim",
              "use_mla", "rm_head", "lm_head"});
  Decoder d = standard_decoder(c);
  apply_mixture(c, d, {.router_bias = has_router_bias(c, false)});
  return d;
}

Decoder deepseek_latent(Config& c, bool router_bias, const Defaults& defaults,
                        const LatentDefaults& latent = {}) {
  Decoder d = latent_decoder(c, {.defaults = defaults}, latent);
  if (has_experts(c)) apply_mixture(c, d, {.router_bias = has_router_bias(c, router_bias)});
  deepseek_mtp(c, d);
  return d;
}

Decoder deepseek_v2(Config& c) {
  if (!c.flag({"use_mla"}, true)) return deepseek_grouped(c);
  return deepseek_latent(
      c, false, {.hidden = 4096, .width = 11008, .layers = 30, .heads = 32, .vocabulary = 102400});
}

Decoder deepseek_v3(Config& c) {
  return deepseek_latent(
      c, true, {.hidden = 7168, .width = 18432, .layers = 61, .heads = 128, .vocabulary = 129280});
}

Decoder mistral4(Config& c) {
  return deepseek_latent(
      c, false, {.hidden = 4096, .width = 12288, .layers = 36, .heads = 32, .vocabulary = 131072},
      {.query_rank = 1024, .latent_rank = 256, .rotary = 64, .key_dim = 64});
}

/// Layers that share the choice of an earlier indexer have none of their own.
void share_indexers(Config& c, Decoder& d) {
  c.harmless({"index_topk_freq", "index_skip_topk_offset", "index_topk_pattern"});
  const auto kinds = layer_kinds(c, d.sizes.layers, {"indexer_types"}, [](int) { return "full"; });
  for (std::size_t i = 0; i < d.layers.size(); ++i) {
    if (kinds[i] == "full") continue;
    if (kinds[i] != "shared") {
      c.fault("indexer_types", "unknown kind of indexer \"" + kinds[i] + "\"");
      return;
    }
    Attention& a = d.layers[i].attention;
    a.small_parameters -= 2 * a.index_dim;
    a.extra_weights = 0;
    a.index_heads = a.index_dim = 0;
    d.layers[i].name += ", shared indexer";
  }
}

Decoder glm_moe_dsa(Config& c) {
  Decoder d = latent_decoder(c, {});
  apply_mixture(c, d, {.router_bias = has_router_bias(c, true)});
  deepseek_mtp(c, d, false);
  share_indexers(c, d);
  return d;
}

/// Dense latent attention with scaled residuals.
Decoder minicpm3(Config& c) {
  c.harmless({"scale_emb", "scale_depth"});
  c.fill_in({"v_head_dim"});
  const std::int64_t hidden = c.size({"hidden_size"}, limits::hidden, 4096);
  const std::int64_t heads = c.size({"num_attention_heads"}, limits::heads, 32);
  return latent_decoder(c, {.tied = true},
                        {.rotary = 32, .key_dim = 64, .value_dim = hidden / heads});
}

/// Kimi delta attention: a gated delta net whose decay is per channel, with low-rank gates.
Attention kimi_delta(Config& c, std::int64_t hidden) {
  Attention mixer;
  mixer.kind = AttentionKind::recurrent;
  auto linear = c.object("linear_attn_config");
  if (!linear) {
    c.fault("linear_attn_config", "missing");
    return mixer;
  }
  const std::int64_t heads = linear->size({"num_heads"}, limits::heads, 32);
  const std::int64_t dim = linear->size({"head_dim"}, limits::head_dim, 128);
  const std::int64_t kernel = linear->size({"short_conv_kernel_size"}, 1024, 4);
  const bool full_gate = linear->flag({"use_full_rank_gate"}, false);
  linear->harmless({"gate_lower_bound", "full_attn_layers", "kda_layers"});
  linear->refuse_unknown(false);
  const std::int64_t wide = heads * dim;
  const std::int64_t low_rank = hidden * dim + dim * wide;
  // Queries, keys, values; decay; write strength; output gate.
  mixer.input_weights =
      3 * hidden * wide + low_rank + hidden * heads + (full_gate ? hidden * wide : low_rank);
  mixer.output_weights = wide * hidden;
  mixer.small_parameters = 3 * wide * kernel + heads + wide + dim;  // convolutions, A, dt, norm
  mixer.state_elements = heads * dim * dim;
  mixer.convolution_elements = 3 * wide * (kernel - 1);
  return mixer;
}

/// Kimi Linear and K3. The lists of layers count from 1.
Decoder kimi_linear(Config& c) {
  c.harmless({"mla_use_nope", "head_dim"});
  Decoder d = latent_decoder(
      c,
      {.defaults =
           {.hidden = 2304, .width = 9216, .layers = 27, .heads = 32, .vocabulary = 163840}},
      {.query_rank = 0});
  const std::int64_t h = d.sizes.hidden;
  std::vector<std::int64_t> linear_layers;
  if (auto linear = c.object("linear_attn_config"))
    linear_layers = linear->integers("kda_layers").value_or(linear_layers);
  Attention mixer = kimi_delta(c, h);
  mixer.small_parameters += d.attention_norms();
  for (const std::int64_t i : linear_layers) {
    if (i < 1 || i > d.sizes.layers) {
      c.fault("linear_attn_config", "kda_layers names layer " + std::to_string(i) + " of " +
                                        std::to_string(d.sizes.layers));
      break;
    }
    Layer& layer = d.layers[static_cast<std::size_t>(i - 1)];
    layer.attention = mixer;
    layer.name += ", linear attention";
  }
  apply_mixture(c, d, {.router_bias = true});
  // Latent mixture: experts read and write a narrower space.
  const std::int64_t narrow = c.count({"routed_expert_hidden_size"}, limits::hidden);
  const bool latent_norm = c.flag({"latent_moe_use_norm"}, false);
  if (c.has({"attn_res_block_size"})) {
    c.harmless({"attn_res_block_size"});
    c.note("attention residuals between blocks are not counted");
  }
  for (Layer& layer : d.layers) {
    FeedForward& f = layer.feed_forward;
    if (f.kind != FeedForwardKind::mixture || narrow == 0) continue;
    f.expert_input = narrow;
    f.extra_weights += 2 * h * narrow;
    if (latent_norm) f.small_parameters += narrow;
  }
  deepseek_mtp(c, d);
  return d;
}

constexpr std::array table = {
    Family{"deepseek", "deepseek", "Deepseek", deepseek_grouped},
    Family{"deepseek_v2", "deepseek_v2 deepseek_vl_v2", "DeepseekV2 DeepseekVLV2", deepseek_v2},
    Family{"deepseek_v3", "deepseek_v3 kimi_k2 deepseek_v32 glm4_moe_lite kimi_k25_text",
           "DeepseekV3 DeepseekV32 Glm4MoeLite KimiK2", deepseek_v3},
    Family{"mistral4", "mistral4 mistral_large_3", "Mistral4 MistralLarge3", mistral4},
    Family{"glm_moe_dsa", "glm_moe_dsa", "GlmMoeDsa", glm_moe_dsa},
    Family{"minicpm3", "minicpm3", "MiniCPM3", minicpm3},
    Family{"kimi_linear", "kimi_linear", "KimiLinear", kimi_linear},
};

}  // namespace

std::span<const Family> deepseek_families() { return table; }

}  // namespace tokenroof::io
