// How many parameters a model has, how many a token meets, and what they weigh in bytes.
//
//   total   everything resident: the text decoder, a tied head once, no MTP layers, no towers
//   active  the same with the routed experts replaced by the top k; both embeddings included
//   matmul  what multiplies a token in decode: no embedding rows, norms, biases; the head always
//
// A token costs 2 x matmul FLOPs, plus `attention_flops_per_context_token` x visible context.
// Source: docs/formulas.md#parameters (Kaplan et al. 2020 for the 2 N rule, DeepSeek-V2/V3 reports
// for latent attention).
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "tokenroof/core/units.hpp"
#include "tokenroof/describe/model.hpp"

namespace tokenroof {

/// Matmul weights of the token mixing of one layer.
[[nodiscard]] constexpr std::int64_t attention_weights(const Attention& a, std::int64_t hidden) {
  const std::int64_t mixer = a.input_weights + a.output_weights + a.extra_weights;
  if (a.kind == AttentionKind::none || a.kind == AttentionKind::recurrent) return mixer;

  const bool latent = a.kind == AttentionKind::latent;
  const std::int64_t heads = a.query_heads;
  const std::int64_t query_columns = heads * (a.key_dim + (latent ? a.rotary_dim : 0));
  const std::int64_t value_columns = heads * a.value_dim;

  std::int64_t query = 0;
  std::int64_t output = 0;
  if (a.has_query) {
    query = a.query_rank > 0 ? a.query_rank * (hidden + query_columns) : hidden * query_columns;
    output = a.output_rank > 0
                 ? a.output_rank * (value_columns + std::int64_t{a.output_groups} * hidden)
                 : value_columns * hidden;
  }
  std::int64_t key_value = 0;
  if (latent) {
    key_value =
        hidden * (a.latent_rank + a.rotary_dim) + a.latent_rank * heads * (a.key_dim + a.value_dim);
  } else if (a.has_kv_projection) {
    key_value = hidden * a.kv_heads * (a.key_dim + (a.values_are_keys ? 0 : a.value_dim));
  }
  return query + hidden * a.output_gate_dim + key_value + output + mixer;
}

/// Weights of one routed expert.
[[nodiscard]] constexpr std::int64_t expert_weights(const FeedForward& f, std::int64_t hidden) {
  return (f.gated ? 3 : 2) * (f.expert_input > 0 ? f.expert_input : hidden) * f.expert_width;
}

/// Weights of the shared experts of one layer, together.
[[nodiscard]] constexpr std::int64_t shared_expert_weights(const FeedForward& f,
                                                           std::int64_t hidden) {
  return (f.shared_gated ? 3 : 2) * hidden * f.shared_width;
}

/// Weights of a dense feed-forward network; `extra_weights` of a layer count here too.
[[nodiscard]] constexpr std::int64_t dense_feed_forward_weights(const FeedForward& f,
                                                                std::int64_t hidden) {
  const bool dense = f.kind == FeedForwardKind::dense;
  return (dense ? (f.gated ? 3 : 2) * hidden * f.width : 0) + f.extra_weights;
}

/// Weights of the output head, whether it is stored or tied to the embedding.
[[nodiscard]] constexpr std::int64_t head_weights(const Model& model) {
  if (!model.has_head) return 0;
  return model.head_weights > 0 ? model.head_weights : model.vocabulary * model.hidden;
}

/// Exact counts by part.
struct ParameterCount {
  std::int64_t embedding = 0;
  std::int64_t attention = 0;
  std::int64_t dense_feed_forward = 0;
  std::int64_t routed_experts = 0;
  std::int64_t shared_experts = 0;
  std::int64_t router = 0;
  std::int64_t head = 0;   ///< 0 when tied: it is the embedding then
  std::int64_t other = 0;  ///< norms, biases, sinks, decays

  std::int64_t total = 0;
  std::int64_t active = 0;
  std::int64_t matmul = 0;
  std::int64_t attached = 0;  ///< MTP layers and towers, in none of the above

  [[nodiscard]] constexpr std::int64_t of(Part part) const {
    switch (part) {
      case Part::embedding:
        return embedding;
      case Part::attention:
        return attention;
      case Part::dense_feed_forward:
        return dense_feed_forward;
      case Part::routed_experts:
        return routed_experts;
      case Part::shared_experts:
        return shared_experts;
      case Part::router:
        return router;
      case Part::head:
        return head;
      case Part::other:
        return other;
    }
    return 0;
  }
};

/// Counts every parameter of `model`. A mean top k (it varies by layer) rounds to the nearest.
[[nodiscard]] inline ParameterCount parameter_count(const Model& model) {
  ParameterCount count;
  double idle = 0;         // in experts that a token does not meet
  double idle_matmul = 0;  // of which weights
  for (const LayerGroup& group : model.groups) {
    const Attention& attention = group.attention;
    const FeedForward& feed_forward = group.feed_forward;
    const std::int64_t n = group.count;
    count.attention += n * attention_weights(attention, model.hidden);
    count.dense_feed_forward += n * dense_feed_forward_weights(feed_forward, model.hidden);
    count.other += n * (attention.small_parameters + feed_forward.small_parameters);
    if (feed_forward.kind != FeedForwardKind::mixture) continue;

    const std::int64_t expert = expert_weights(feed_forward, model.hidden);
    const double unused = feed_forward.experts - feed_forward.top_k;
    count.routed_experts += n * feed_forward.experts * expert;
    count.shared_experts += n * shared_expert_weights(feed_forward, model.hidden);
    count.router += n * feed_forward.router_weights;
    count.other += n * feed_forward.experts * feed_forward.expert_small_parameters;
    idle_matmul += static_cast<double>(n * expert) * unused;
    idle += static_cast<double>(n * (expert + feed_forward.expert_small_parameters)) * unused;
  }
  count.embedding = model.embedding_parameters;
  count.head = model.tied_embeddings ? 0 : head_weights(model);
  count.other += model.final_small_parameters;

  const std::int64_t body = count.attention + count.dense_feed_forward + count.routed_experts +
                            count.shared_experts + count.router;
  count.total = count.embedding + body + count.head + count.other;
  count.active = count.total - std::llround(idle);
  count.matmul = body + head_weights(model) - std::llround(idle_matmul);
  for (const Attachment& attachment : model.attachments) count.attached += attachment.parameters;
  return count;
}

/// How latent attention is evaluated: against the latent itself (decode), or against keys and
/// values expanded per head (prefill).
enum class LatentForm { absorbed, expanded };

/// FLOPs of one layer per query token and visible context token: 2 n_h (d_qk + d_v).
[[nodiscard]] constexpr double attention_flops_per_visible_token(const Attention& a,
                                                                 LatentForm form) {
  if (a.cross_attention || !a.has_query) return 0;
  const double heads = a.query_heads;
  if (a.kind == AttentionKind::grouped) return 2 * heads * (a.key_dim + a.value_dim);
  if (a.kind != AttentionKind::latent) return 0;
  return form == LatentForm::absorbed ? 2 * heads * (2 * a.latent_rank + a.rotary_dim)
                                      : 2 * heads * (a.key_dim + a.rotary_dim + a.value_dim);
}

/// FLOPs of the indexer of one layer per query token and context token.
[[nodiscard]] constexpr double indexer_flops_per_context_token(const Attention& a) {
  return 2.0 * a.index_heads * a.index_dim / a.compress_ratio;
}

/// FLOPs per query token for each further token of a long context. Layers whose view is bounded (a
/// window, a top k) add nothing but their indexer.
[[nodiscard]] constexpr double attention_flops_per_context_token(const Attention& a,
                                                                 LatentForm form) {
  const bool bounded = a.index_top_k > 0 || (a.window > 0 && a.compress_ratio == 1);
  const double seen = bounded ? 0 : attention_flops_per_visible_token(a, form) / a.compress_ratio;
  return seen + indexer_flops_per_context_token(a);
}

/// The sum over all layers: theory's `a`.
[[nodiscard]] inline FlopsPerToken attention_flops_per_context_token(
    const Model& model, LatentForm form = LatentForm::absorbed) {
  double sum = 0;
  for (const LayerGroup& group : model.groups)
    sum += group.count * attention_flops_per_context_token(group.attention, form);
  return FlopsPerToken::from_base(sum);
}

/// Bytes of the weights by part, each in its format.
[[nodiscard]] inline std::array<Bytes, part_count> weight_bytes_by_part(
    const Model& model, const Precision& precision) {
  const ParameterCount count = parameter_count(model);
  std::array<Bytes, part_count> bytes{};
  for (std::size_t i = 0; i < part_count; ++i) {
    const Part part = static_cast<Part>(i);
    bytes[i] = Bytes::from_base(static_cast<double>(count.of(part)) *
                                precision.of(part).bytes_per_element);
  }
  return bytes;
}

/// Bytes of all weights of the text decoder, one copy.
[[nodiscard]] inline Bytes weight_bytes(const Model& model, const Precision& precision) {
  Bytes sum;
  for (const Bytes& part : weight_bytes_by_part(model, precision)) sum += part;
  return sum;
}

/// Bytes of the checkpoint as the model's own file describes it, MTP layers and towers included.
[[nodiscard]] inline Bytes checkpoint_bytes(const Model& model) {
  Bytes sum = weight_bytes(model, model.checkpoint.precision);
  for (const Attachment& attachment : model.attachments)
    sum += Bytes::from_base(static_cast<double>(attachment.parameters) *
                            attachment.bytes_per_parameter);
  return sum;
}

}  // namespace tokenroof
