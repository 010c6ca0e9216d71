// The GPT generation: LayerNorm, biases, plain networks, learned positions.
#include <array>

#include "io/families/families.hpp"
#include "io/families/parts.hpp"

namespace tokenroof::io {
namespace {

constexpr Traits gpt_traits = {.attention_bias = Biases::all,
                               .mlp_bias = true,
                               .gated = false,
                               .vectors_per_norm = 2,
                               .tied = true,
                               .defaults = {.width_per_hidden = 4}};

void add_positions(Decoder& d, std::int64_t rows) {
  d.model.embedding_parameters += rows * d.sizes.hidden;
}

Decoder gpt2(Config& c) {
  Decoder d = standard_decoder(c, gpt_traits);
  add_positions(d, c.size({"n_positions", "max_position_embeddings"}, limits::context >> 16));
  return d;
}

/// All query heads read one KV head.
Decoder gpt_bigcode(Config& c) {
  Decoder d = gpt2(c);
  if (!c.flag({"multi_query"}, true)) return d;
  const std::int64_t gone = 2 * std::int64_t{d.sizes.kv_heads - 1} * d.sizes.head_dim;
  for (Layer& layer : d.layers) {
    layer.attention.kv_heads = 1;
    layer.attention.small_parameters -= gone;
  }
  return d;
}

/// Every other layer sees a window; queries, keys and values have no bias.
Decoder gpt_neo(Config& c) {
  Traits traits = gpt_traits;
  traits.attention_bias = Biases::none;
  Decoder d = standard_decoder(c, traits);
  add_positions(d, c.size({"max_position_embeddings"}, limits::context >> 16));
  const auto window = static_cast<int>(c.size_or({"window_size"}, limits::context >> 16, 256));
  c.harmless({"attention_layers", "attention_types"});
  for (std::size_t i = 0; i < d.layers.size(); ++i) {
    d.layers[i].attention.small_parameters += d.sizes.hidden;
    if (i % 2 == 1) d.layers[i].attention.window = window;
  }
  return d;
}

/// One norm before attention and network side by side; the head has a bias.
Decoder gptj(Config& c) {
  Traits traits = gpt_traits;
  traits.attention_bias = Biases::none;
  traits.norms = 1;
  traits.tied = false;
  Decoder d = standard_decoder(c, traits);
  d.model.final_small_parameters += d.sizes.vocabulary;
  return d;
}

Decoder gpt_neox(Config& c) {
  Traits traits = gpt_traits;
  traits.tied = false;
  traits.defaults.width_per_hidden = 0;
  c.harmless({"use_parallel_residual"});
  return standard_decoder(c, traits);
}

Decoder phi(Config& c) {
  Traits traits = gpt_traits;
  traits.norms = 1;
  traits.tied = false;
  if (c.flag({"qk_layernorm"}, false)) traits.qk_norm = QueryKeyNorm::per_head;
  Decoder d = standard_decoder(c, traits);
  c.harmless({"img_processor", "fused_dense"});
  // LayerNorm on queries and keys has a bias too.
  if (traits.qk_norm == QueryKeyNorm::per_head)
    for (Layer& layer : d.layers) layer.attention.small_parameters += 2 * d.sizes.head_dim;
  d.model.final_small_parameters += d.sizes.vocabulary;
  return d;
}

Decoder bloom(Config& c) {
  Decoder d = standard_decoder(c, gpt_traits);
  d.model.final_small_parameters += d.norm();  // of the embedding
  return d;
}

/// Two more positions than the file says; the smaller ones embed into a narrower space.
Decoder opt(Config& c) {
  Traits traits = gpt_traits;
  const bool bias = c.flag({"enable_bias"}, true);
  traits.attention_bias = bias ? Biases::all : Biases::none;
  traits.mlp_bias = bias;
  if (!c.flag({"layer_norm_elementwise_affine"}, true)) traits.vectors_per_norm = 0;
  Decoder d = standard_decoder(c, traits);
  add_positions(d, d.model.maximum_context + 2);
  const std::int64_t narrow = c.size_or({"word_embed_proj_dim"}, limits::hidden, d.sizes.hidden);
  if (narrow != d.sizes.hidden) {
    d.model.embedding_parameters += d.sizes.vocabulary * (narrow - d.sizes.hidden);
    d.model.head_weights = d.sizes.vocabulary * narrow;
    d.layers.front().attention.extra_weights += narrow * d.sizes.hidden;
    d.layers.back().feed_forward.extra_weights += narrow * d.sizes.hidden;
  }
  const bool before = c.flag({"do_layer_norm_before"}, true);
  if (!before || c.flag({"_remove_final_layer_norm"}, false)) d.model.final_small_parameters = 0;
  return d;
}

Decoder mpt(Config& c) {
  const bool no_bias = c.flag({"no_bias"}, true);
  Traits traits = gpt_traits;
  traits.attention_bias = no_bias ? Biases::none : Biases::all;
  traits.mlp_bias = !no_bias;
  traits.vectors_per_norm = no_bias ? 1 : 2;
  traits.defaults.width_per_hidden = c.size_or({"expansion_ratio"}, 64, 4);

  bool alibi = false;
  std::int64_t kv_heads = 0;
  bool qk_norm = false;
  if (auto attention = c.object("attn_config")) {
    alibi = attention->flag({"alibi"}, false);
    qk_norm = attention->flag({"qk_ln"}, false);
    kv_heads = attention->count({"kv_n_heads"}, limits::heads);
    const std::string type = attention->text({"attn_type"}, "multihead_attention");
    if (type == "multiquery_attention") kv_heads = 1;
    attention->harmless({"attn_impl", "attn_pdrop", "clip_qkv", "softmax_scale", "prefix_lm",
                         "attn_uses_sequence_id", "alibi_bias_max"});
    attention->refuse_unknown(false);
  }
  c.harmless({"init_config", "ffn_config", "fc_type"});
  Decoder d = standard_decoder(c, traits);
  if (!alibi && c.flag({"learned_pos_emb"}, true))
    add_positions(d, c.size({"max_seq_len"}, limits::context >> 16));
  for (Layer& layer : d.layers) {
    if (kv_heads > 0) layer.attention.kv_heads = static_cast<int>(kv_heads);
    if (qk_norm) layer.attention.small_parameters += 2 * d.norm();
  }
  if (kv_heads > 0 && d.sizes.heads % kv_heads != 0)
    c.fault("attn_config", "kv_n_heads does not divide n_heads");
  return d;
}

/// `new_decoder_architecture` states KV heads and has a norm each for attention and network;
/// otherwise `multi_query` means one KV head, and `parallel_attn` one norm.
Decoder falcon(Config& c) {
  const bool grouped = c.flag({"new_decoder_architecture"}, false);
  const bool single = c.flag({"multi_query"}, true);
  const bool parallel = c.flag({"parallel_attn"}, true);
  const bool bias = c.flag({"bias"}, false);
  const std::int64_t norms =
      grouped ? c.size_or({"num_ln_in_parallel_attn"}, 2, 2) : (parallel ? 1 : 2);
  Traits traits = gpt_traits;
  traits.attention_bias = bias ? Biases::all : Biases::none;
  traits.mlp_bias = bias;
  traits.norms = static_cast<int>(norms);

  Sizes sizes = read_outer_sizes(c, {});
  sizes.heads = static_cast<int>(c.size({"num_attention_heads", "n_head"}, limits::heads));
  sizes.head_dim = static_cast<int>(sizes.hidden / sizes.heads);
  const std::int64_t stated = c.size_or({"num_kv_heads", "n_head_kv"}, limits::heads, sizes.heads);
  sizes.kv_heads = static_cast<int>(grouped ? stated : (single ? 1 : sizes.heads));
  if (sizes.heads % sizes.kv_heads != 0)
    c.fault("num_kv_heads", std::to_string(sizes.heads) + " query heads are not a multiple of " +
                                std::to_string(sizes.kv_heads));
  sizes.width = c.size_or({"ffn_hidden_size"}, limits::width, 4 * sizes.hidden);
  Decoder d = empty_decoder(c, sizes, traits);
  repeat_layer(d, {"dense", grouped_attention(sizes, traits),
                   dense_network(sizes.hidden, sizes.width, traits)});
  return d;
}

/// GPT with rotary positions and a window.
Decoder starcoder2(Config& c) {
  const bool bias = c.flag({"use_bias"}, true);
  Traits traits = gpt_traits;
  traits.attention_bias = bias ? Biases::all : Biases::none;
  traits.mlp_bias = bias;
  traits.defaults = {};
  Decoder d = standard_decoder(c, traits);
  window_all(c, d);
  return d;
}

constexpr std::array table = {
    Family{"gpt2", "gpt2", "GPT2", gpt2},
    Family{"gpt_bigcode", "gpt_bigcode", "GPTBigCode", gpt_bigcode},
    Family{"gpt_neo", "gpt_neo", "GPTNeo", gpt_neo},
    Family{"gptj", "gptj codegen", "GPTJ CodeGen", gptj},
    Family{"gpt_neox", "gpt_neox", "GPTNeoX", gpt_neox},
    Family{"starcoder2", "starcoder2", "Starcoder2", starcoder2},
    Family{"phi", "phi phi-msft mixformer-sequential", "Phi MixFormerSequential", phi},
    Family{"bloom", "bloom", "Bloom", bloom},
    Family{"opt", "opt", "OPT", opt},
    Family{"mpt", "mpt", "Mpt MPT", mpt},
    Family{"falcon", "falcon RefinedWeb RefinedWebModel", "Falcon RW", falcon},
};

}  // namespace

std::span<const Family> classic_families() { return table; }

}  // namespace tokenroof::io
