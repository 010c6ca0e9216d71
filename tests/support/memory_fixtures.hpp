// Engines, devices and models of the capacity tests, with the figures of the logs they come from.
#pragma once

#include "fixtures.hpp"
#include "tokenroof/describe/accelerator.hpp"
#include "tokenroof/describe/engine.hpp"

namespace tokenroof::test {

/// vLLM's memory habits by version, as in data/engines/vllm.json.
inline std::vector<EngineReserve> vllm_reserves() {
  EngineReserve v0;
  v0.since = "0";
  v0.activation_per_token = 3;
  v0.logit_bytes = 38.4;
  v0.kv_policy = KvPolicy::full_length;
  v0.latent_per_head = true;
  EngineReserve nccl_seen = v0;
  nccl_seen.since = "0.2.5";
  nccl_seen.collectives = 13.1 * gibibyte;
  EngineReserve late_v0 = v0;
  late_v0.since = "0.5";
  late_v0.runtime = 0.18 * gibibyte;
  late_v0.collectives = 3.4 * gibibyte;
  EngineReserve latents = late_v0;
  latents.since = "0.7.1";
  latents.latent_per_head = false;
  EngineReserve v1 = latents;
  v1.since = "0.8";
  v1.runtime = 0.16 * gibibyte;
  v1.collectives = 0.42 * gibibyte;
  EngineReserve hybrid = v1;
  hybrid.since = "0.10";
  hybrid.kv_policy.reset();
  hybrid.expert_hidden_multiple = 256;
  hybrid.expert_width_multiple = 128;
  EngineReserve lean = hybrid;
  lean.since = "0.17";
  lean.logit_bytes = 14.9;
  lean.keeps_expert_scratch = true;
  EngineReserve wide = lean;
  wide.since = "0.19";
  wide.runtime = 0.28 * gibibyte;
  wide.collectives = 1.85 * gibibyte;
  EngineReserve aligned = wide;
  aligned.since = "0.20";
  aligned.state_blocks = 2;
  EngineReserve counted = aligned;
  counted.since = "0.21";
  counted.graphs = 0.97 * gibibyte;
  counted.reports_capacity = true;
  return {v0, nccl_seen, late_v0, latents, v1, hybrid, lean, wide, aligned, counted};
}

/// vLLM on an H100-class device: 1,024 sequences and 8,192 batched tokens by default.
inline Engine vllm(const char* version) {
  Engine engine;
  engine.name = "vllm";
  engine.version = version;
  engine.max_sequences = 1024;
  engine.max_batched_tokens = 8192;
  engine.kv_policy = KvPolicy::uniform_pages;
  engine.reserves = vllm_reserves();
  return engine;
}

/// An engine that claims nothing beside weights and cache.
inline Engine bare_engine(double fraction = 0.9) {
  Engine engine;
  engine.memory_fraction = fraction;
  engine.reserve_auto = false;
  return engine;
}

inline Accelerator device(Bytes visible) {
  Accelerator accelerator;
  accelerator.memory_visible = accelerator.memory_nominal = visible;
  return accelerator;
}
inline Accelerator h100() {
  Accelerator accelerator = device(79.19 * gibibyte);
  accelerator.memory_nominal = 80 * gigabyte;
  return accelerator;
}

/// Attention of `kv_heads` heads with keys and values of size `head`.
inline Attention grouped(int kv_heads, int head, int window = 0, int query_heads = 0) {
  Attention attention;
  attention.kv_heads = kv_heads;
  attention.query_heads = query_heads > 0 ? query_heads : kv_heads;
  attention.key_dim = attention.value_dim = head;
  attention.window = window;
  return attention;
}

/// Gated delta rule (Qwen3-Next, Qwen3.5): fp32 state per value head, a convolution of width 4.
inline Attention delta_rule(int value_heads, int key_heads, int head = 128) {
  Attention attention;
  attention.kind = AttentionKind::recurrent;
  attention.state_elements = std::int64_t{value_heads} * head * head;
  attention.convolution_elements = 3LL * head * (value_heads + 2 * key_heads);
  return attention;
}

/// A model of which only the cache matters: groups of layers in blocks, order as given.
inline Model cache_only(const std::vector<std::pair<int, Attention>>& kinds) {
  Model model;
  model.hidden = 1024;
  model.vocabulary = 1024;
  model.embedding_parameters = 1024 * 1024;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    LayerGroup group;
    group.count = kinds[i].first;
    group.attention = kinds[i].second;
    group.feed_forward.width = 1024;
    model.groups.push_back(group);
    model.order.insert(model.order.end(), static_cast<std::size_t>(group.count),
                       static_cast<int>(i));
  }
  return model;
}

namespace models {

inline Model qwen3_14b() {
  return make_model({40, 5120, 40, 8, 128, 17408, 151936}, {.qk_norm = true});
}
inline Model qwen3_32b() {
  return make_model({64, 5120, 64, 8, 128, 25600, 151936}, {.qk_norm = true});
}

/// gpt-oss: every second layer windowed, experts in 4 bits.
inline Model gpt_oss(int layers, int experts) {
  Model model = make_model({layers, 2880, 64, 8, 64, 2880, 201088, experts, 4});
  model.groups[0].feed_forward.expert_small_parameters = 3 * 2880;
  model.groups.push_back(model.groups[0]);
  model.groups[0].attention.window = 128;
  for (LayerGroup& group : model.groups) group.count = layers / 2;
  for (int i = 0; i < layers; ++i) model.order[static_cast<std::size_t>(i)] = i % 2;
  return model;
}
inline Model gpt_oss_20b() { return gpt_oss(24, 32); }
inline Model gpt_oss_120b() { return gpt_oss(36, 128); }

/// Gemma-2-27b: every second layer windowed at 4,096.
inline Model gemma_2_27b() {
  Model model = make_model({46, 4608, 32, 16, 128, 36864, 256000}, {.tied = true});
  model.groups.push_back(model.groups[0]);
  model.groups[0].attention.window = 4096;
  for (LayerGroup& group : model.groups) group.count = 23;
  for (int i = 0; i < 46; ++i) model.order[static_cast<std::size_t>(i)] = i % 2;
  return model;
}

/// Gemma-4-31B's cache: 50 windowed layers of 16 x 256 and 10 global ones of 4 x 512.
inline Model gemma_4_31b_cache() {
  return cache_only({{50, grouped(16, 256, 1024)}, {10, grouped(4, 512)}});
}

}  // namespace models

/// 8-bit or 4-bit matrices; embedding and head stay 16-bit.
inline Precision narrow_weights(const Format& format) {
  Precision precision;
  for (const Part part :
       {Part::attention, Part::dense_feed_forward, Part::routed_experts, Part::shared_experts})
    precision.set(part, format);
  return precision;
}

/// Experts alone in `format`.
inline Precision narrow_experts(const Format& format) {
  Precision precision;
  precision.set(Part::routed_experts, format);
  return precision;
}

}  // namespace tokenroof::test
