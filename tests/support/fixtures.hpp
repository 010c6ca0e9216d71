// Models of the oracle tables, built from their published shapes, not from files.
#pragma once

#include "tokenroof/describe/model.hpp"

namespace tokenroof::test {

/// The sizes that make a dense or mixture model, in theory.md's order.
struct Shape {
  int layers = 0;
  std::int64_t hidden = 0;
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  std::int64_t width = 0;  ///< of the dense network, or of one expert
  std::int64_t vocabulary = 0;
  int experts = 0;
  int top_k = 0;
};

/// Which small tensors a family has.
struct Style {
  bool tied = false;
  bool gated = true;
  bool layer_norm = false;  ///< two vectors per norm
  bool all_biases = false;  ///< attention and feed-forward
  bool qkv_bias = false;
  bool qk_norm = false;
  std::int64_t positions = 0;  ///< learned position embeddings
};

/// A model of `shape.layers` like layers.
inline Model make_model(const Shape& shape, const Style& style = {}) {
  const std::int64_t d = shape.hidden;
  const std::int64_t norm = (style.layer_norm ? 2 : 1) * d;
  const std::int64_t query = std::int64_t{shape.heads} * shape.head_dim;
  const std::int64_t key = std::int64_t{shape.kv_heads} * shape.head_dim;

  LayerGroup group;
  group.name = shape.experts > 0 ? "mixture" : "dense";
  group.count = shape.layers;
  group.attention.query_heads = shape.heads;
  group.attention.kv_heads = shape.kv_heads;
  group.attention.key_dim = group.attention.value_dim = shape.head_dim;
  group.attention.small_parameters = norm;
  if (style.all_biases || style.qkv_bias) group.attention.small_parameters += query + 2 * key;
  if (style.all_biases) group.attention.small_parameters += d;
  if (style.qk_norm) group.attention.small_parameters += 2 * shape.head_dim;

  group.feed_forward.gated = style.gated;
  group.feed_forward.small_parameters = norm;
  if (shape.experts > 0) {
    group.feed_forward.kind = FeedForwardKind::mixture;
    group.feed_forward.experts = shape.experts;
    group.feed_forward.top_k = shape.top_k;
    group.feed_forward.expert_width = shape.width;
    group.feed_forward.router_weights = d * shape.experts;
  } else {
    group.feed_forward.width = shape.width;
    if (style.all_biases)
      group.feed_forward.small_parameters += (style.gated ? 2 : 1) * shape.width + d;
  }

  Model model;
  model.id = "test";
  model.hidden = d;
  model.vocabulary = shape.vocabulary;
  model.tied_embeddings = style.tied;
  model.embedding_parameters = (shape.vocabulary + style.positions) * d;
  model.final_small_parameters = norm;
  model.groups = {group};
  model.order.assign(static_cast<std::size_t>(shape.layers), 0);
  return model;
}

namespace models {

inline Model llama_2_7b() { return make_model({32, 4096, 32, 32, 128, 11008, 32000}); }
inline Model llama_2_13b() { return make_model({40, 5120, 40, 40, 128, 13824, 32000}); }
inline Model llama_2_70b() { return make_model({80, 8192, 64, 8, 128, 28672, 32000}); }
inline Model llama_31_8b() { return make_model({32, 4096, 32, 8, 128, 14336, 128256}); }
inline Model llama_31_70b() { return make_model({80, 8192, 64, 8, 128, 28672, 128256}); }
inline Model llama_31_405b() { return make_model({126, 16384, 128, 8, 128, 53248, 128256}); }
inline Model mistral_7b() { return make_model({32, 4096, 32, 8, 128, 14336, 32000}); }
inline Model mixtral_8x7b() { return make_model({32, 4096, 32, 8, 128, 14336, 32000, 8, 2}); }
inline Model qwen25_7b() {
  return make_model({28, 3584, 28, 4, 128, 18944, 152064}, {.qkv_bias = true});
}
inline Model qwen3_8b() {
  return make_model({36, 4096, 32, 8, 128, 12288, 151936}, {.qk_norm = true});
}
inline Model qwen3_30b() {
  return make_model({48, 2048, 32, 4, 128, 768, 151936, 128, 8}, {.qk_norm = true});
}
inline Model qwen3_235b() {
  return make_model({94, 4096, 64, 4, 128, 1536, 151936, 128, 8}, {.qk_norm = true});
}
inline Model gpt2_small() {
  return make_model(
      {12, 768, 12, 12, 64, 3072, 50257},
      {.tied = true, .gated = false, .layer_norm = true, .all_biases = true, .positions = 1024});
}
inline Model gpt3_175b() {
  return make_model(
      {96, 12288, 96, 96, 128, 49152, 50257},
      {.tied = true, .gated = false, .layer_norm = true, .all_biases = true, .positions = 2048});
}

/// Latent attention, three dense layers, one shared expert, a router bias.
inline Model deepseek_v3() {
  LayerGroup dense;
  dense.name = "dense";
  dense.count = 3;
  dense.attention.kind = AttentionKind::latent;
  dense.attention.query_heads = 128;
  dense.attention.kv_heads = 1;
  dense.attention.key_dim = dense.attention.value_dim = 128;
  dense.attention.query_rank = 1536;
  dense.attention.latent_rank = 512;
  dense.attention.rotary_dim = 64;
  dense.attention.small_parameters = 7168 + 1536 + 512;
  dense.feed_forward.width = 18432;
  dense.feed_forward.small_parameters = 7168;

  LayerGroup mixture = dense;
  mixture.name = "mixture";
  mixture.count = 58;
  mixture.feed_forward = {};
  mixture.feed_forward.kind = FeedForwardKind::mixture;
  mixture.feed_forward.experts = 256;
  mixture.feed_forward.top_k = 8;
  mixture.feed_forward.expert_width = 2048;
  mixture.feed_forward.shared_width = 2048;
  mixture.feed_forward.router_weights = 7168 * 256;
  mixture.feed_forward.small_parameters = 7168 + 256;

  Model model;
  model.id = "deepseek-v3";
  model.hidden = 7168;
  model.vocabulary = 129280;
  model.embedding_parameters = 129280LL * 7168;
  model.final_small_parameters = 7168;
  model.groups = {dense, mixture};
  model.order.assign(61, 1);
  model.order[0] = model.order[1] = model.order[2] = 0;
  return model;
}

}  // namespace models
}  // namespace tokenroof::test
