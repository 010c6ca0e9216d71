// Peak memory of activations, as an engine meets it when it profiles a full step before it sizes
// its cache.
//
//   forward   tokens x bytes x (rows x hidden + widest row)          some layer of the stage
//   experts   tokens x top k x bytes x (max(2 width, hidden) + width)  two scratch buffers
//   sampling  sequences x vocabulary x logit bytes + tokens x hidden x bytes   last stage only
//   peak      max(forward + experts, sampling), or with scratch that stays:
//             max(forward, sampling) + experts
//
// Logits are gathered: every rank samples over the whole vocabulary, so tensor parallel does not
// lower the peak. Check (vLLM, 1,024 sequences, 8,192 tokens, H100): 38.4 bytes per logit
// give 4.76, 4.81, 5.64 and 7.41 GiB for Llama-3.1-8B, 70B, Qwen3-32B and gpt-oss-20b, where 0.11
// logged 4.76, 4.84, 5.64 and 7.38. 0.17 brought it to 14.9 bytes. Symbols:
// docs/formulas.md#memory.
#pragma once

#include <algorithm>
#include <vector>

#include "tokenroof/core/units.hpp"
#include "tokenroof/describe/deployment.hpp"
#include "tokenroof/describe/engine.hpp"
#include "tokenroof/describe/model.hpp"
#include "tokenroof/describe/precision.hpp"
#include "tokenroof/physics/layout.hpp"

namespace tokenroof {

/// Elements of the widest intermediate row of a layer on one rank: gate, up and their product of
/// the feed-forward, or queries, keys, values and output of the attention.
[[nodiscard]] inline double widest_row(const LayerGroup& layer, int tensor_parallel) {
  const Attention& a = layer.attention;
  const FeedForward& f = layer.feed_forward;
  const double t = tensor_parallel;
  const bool mixture = f.kind == FeedForwardKind::mixture;
  const double width = static_cast<double>(mixture ? f.shared_width : f.width);
  const double network = (mixture ? f.shared_gated : f.gated) ? 3 * width : 2 * width;
  const bool latent = a.kind == AttentionKind::latent;
  const double key = a.key_dim + (latent ? a.rotary_dim : 0);
  const double kv_heads = latent ? a.query_heads : a.kv_heads;
  const double mixing = a.query_heads * (key + a.value_dim) + kv_heads * (key + a.value_dim);
  return std::max(network, mixing) / t;
}

/// Elements per token of the scratch memory of routed experts on one rank.
[[nodiscard]] inline double expert_scratch_row(const FeedForward& f, double hidden,
                                               const Deployment& deployment) {
  if (f.kind != FeedForwardKind::mixture) return 0;
  const double width = static_cast<double>(f.expert_width) / expert_tensor_parallel(deployment);
  const double input = f.expert_input > 0 ? static_cast<double>(f.expert_input) : hidden;
  return f.top_k * (std::max((f.gated ? 2 : 1) * width, input) + width);
}

/// Tokens in one step when the engine profiles it: max_batched_tokens, or a whole prompt of
/// `context` tokens where prompts are not chunked.
[[nodiscard]] constexpr double profiled_tokens(const Engine& engine, double context) {
  const double limit = engine.max_batched_tokens;
  return engine.chunked_prefill ? limit : std::max(limit, context);
}

/// Peak activation bytes of one rank of pipeline stage `stage`, at a step of `tokens`.
[[nodiscard]] inline Bytes activation_peak(const Model& model, const Precision& precision,
                                           const Engine& engine, const Deployment& deployment,
                                           int stage, double tokens) {
  const EngineReserve habits = reserve_of(engine);
  const double element = precision.activations.bytes_per_element;
  const double hidden = static_cast<double>(model.hidden);
  const std::vector<int> counts = stage_group_counts(model, deployment.pipeline_parallel, stage);
  double widest = 0, scratch = 0;
  for (std::size_t g = 0; g < model.groups.size(); ++g) {
    if (counts[g] == 0) continue;
    widest = std::max(widest, widest_row(model.groups[g], deployment.tensor_parallel));
    scratch =
        std::max(scratch, expert_scratch_row(model.groups[g].feed_forward, hidden, deployment));
  }
  const double rows = habits.activation_per_token;
  const double forward = rows > 0 ? tokens * element * (rows * hidden + widest) : 0;
  const double experts = rows > 0 ? tokens * element * scratch : 0;
  double sampling = 0;
  if (stage == deployment.pipeline_parallel - 1 && model.has_head && habits.logit_bytes > 0)
    sampling = std::min<double>(engine.max_sequences, tokens) *
                   static_cast<double>(model.vocabulary) * habits.logit_bytes +
               tokens * hidden * element;
  const double peak = habits.keeps_expert_scratch ? std::max(forward, sampling) + experts
                                                  : std::max(forward + experts, sampling);
  return Bytes::from_base(peak) + habits.activation_base;
}

}  // namespace tokenroof
