// Weights that one rank of a deployment holds, by part.
//
// Tensor parallel cuts query heads, feed-forward width and vocabulary. It copies what it cannot
// cut: norms, routers, the low-rank down-projections of latent attention, indexers, and KV heads
// when there are more ranks than heads. Experts are spread over the expert-parallel groups and each
// is cut over the ranks left. Attention data parallel copies everything but the routed experts.
// The first pipeline stage has the embedding, the last one the head; a tied table is on both.
//
// Sources: vLLM and SGLang model code (ColumnParallel, RowParallel and Replicated layers);
// DeepSeek-V2 (2405.04434) for latent attention. Symbols: docs/formulas.md#memory.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "tokenroof/core/units.hpp"
#include "tokenroof/describe/deployment.hpp"
#include "tokenroof/describe/engine.hpp"
#include "tokenroof/describe/model.hpp"
#include "tokenroof/describe/precision.hpp"
#include "tokenroof/physics/layout.hpp"
#include "tokenroof/physics/parameters.hpp"

namespace tokenroof {

/// Parameters of one rank: those it shares out with the other ranks, and those every rank of its
/// tensor group has a copy of.
struct RankShare {
  double cut = 0;     ///< this rank's share
  double copied = 0;  ///< whole
  [[nodiscard]] double total() const { return cut + copied; }
};

/// Weights of the token mixing of one layer on one of `tensor_parallel` ranks, small tensors apart.
[[nodiscard]] inline RankShare attention_share(const Attention& a, double hidden,
                                               int tensor_parallel) {
  RankShare share;
  const double t = tensor_parallel;
  const bool indexed = a.index_top_k > 0 || a.index_heads > 0;
  (indexed ? share.copied : share.cut) += static_cast<double>(a.extra_weights) / (indexed ? 1 : t);
  share.cut += static_cast<double>(a.input_weights + a.output_weights) / t;
  if (a.kind == AttentionKind::none || a.kind == AttentionKind::recurrent) return share;

  const bool latent = a.kind == AttentionKind::latent;
  const double heads = a.query_heads / t;
  const double query_columns = heads * (a.key_dim + (latent ? a.rotary_dim : 0));
  const double value_columns = heads * a.value_dim;
  if (a.has_query) {
    share.copied += hidden * a.query_rank;
    share.cut += (a.query_rank > 0 ? a.query_rank : hidden) * query_columns;
    share.cut += a.output_rank > 0 ? a.output_rank * (value_columns + a.output_groups * hidden / t)
                                   : value_columns * hidden;
  }
  share.cut += hidden * a.output_gate_dim / t;
  if (latent) {
    share.copied += hidden * (a.latent_rank + a.rotary_dim);
    share.cut += a.latent_rank * heads * (a.key_dim + a.value_dim);
  } else if (a.has_kv_projection) {
    const double columns = a.key_dim + (a.values_are_keys ? 0 : a.value_dim);
    share.cut += hidden * kv_heads_per_rank(a.kv_heads, tensor_parallel) * columns;
  }
  return share;
}

/// Weights of the routed experts of one layer on one rank: experts / expert_parallel whole experts,
/// each cut over the ranks that share it; rows and columns padded as the engine stores them.
[[nodiscard]] inline double routed_experts_share(const FeedForward& f, double hidden,
                                                 const Deployment& deployment,
                                                 int hidden_multiple = 1, int width_multiple = 1) {
  if (f.kind != FeedForwardKind::mixture) return 0;
  const auto padded = [](double n, int multiple) { return std::ceil(n / multiple) * multiple; };
  const double input =
      padded(f.expert_input > 0 ? static_cast<double>(f.expert_input) : hidden, hidden_multiple);
  const double width = padded(
      static_cast<double>(f.expert_width) / expert_tensor_parallel(deployment), width_multiple);
  return f.experts / static_cast<double>(deployment.expert_parallel) * (f.gated ? 3 : 2) * input *
         width;
}

/// Weights of one rank in bytes.
struct RankWeights {
  std::array<Bytes, part_count> parts{};
  Bytes attachments;  ///< vision and audio towers; MTP layers where they are loaded
  Bytes copied;       ///< of all these: what every rank of the tensor group holds whole
  [[nodiscard]] Bytes of(Part part) const { return parts[static_cast<std::size_t>(part)]; }
  [[nodiscard]] Bytes total() const {
    Bytes sum = attachments;
    for (const Bytes& part : parts) sum += part;
    return sum;
  }
};

/// What an engine does to weights when it loads them.
struct WeightLoading {
  int expert_hidden_multiple = 1;  ///< routed experts are padded to these
  int expert_width_multiple = 1;
  bool towers = true;  ///< vision and audio towers are loaded
  bool mtp = false;    ///< layers that draft further tokens are loaded
};

/// Weights of a rank in pipeline stage `stage` (0-based). The vocabulary is cut in whole rows,
/// ceil(vocabulary / tensor_parallel); learned positions are copied.
[[nodiscard]] inline RankWeights rank_weights(const Model& model, const Precision& precision,
                                              const Deployment& deployment, int stage = 0,
                                              const WeightLoading& loading = {}) {
  RankWeights weights;
  const int t = deployment.tensor_parallel;
  const double hidden = static_cast<double>(model.hidden);
  const auto add = [&](Part part, double count, bool copied) {
    const Bytes bytes = Bytes::from_base(count * precision.of(part).bytes_per_element);
    weights.parts[static_cast<std::size_t>(part)] += bytes;
    if (copied) weights.copied += bytes;
  };

  const std::vector<int> counts = stage_group_counts(model, deployment.pipeline_parallel, stage);
  for (std::size_t g = 0; g < model.groups.size(); ++g) {
    const double n = counts[g];
    const Attention& attention = model.groups[g].attention;
    const FeedForward& network = model.groups[g].feed_forward;
    const RankShare mixing = attention_share(attention, hidden, t);
    add(Part::attention, n * mixing.cut, false);
    add(Part::attention, n * mixing.copied, true);
    add(Part::other, n * static_cast<double>(attention.small_parameters), true);
    add(Part::other, n * static_cast<double>(network.small_parameters), true);
    add(Part::dense_feed_forward,
        n * static_cast<double>(dense_feed_forward_weights(network, model.hidden)) / t, false);
    if (network.kind != FeedForwardKind::mixture) continue;

    add(Part::routed_experts,
        n * routed_experts_share(network, hidden, deployment, loading.expert_hidden_multiple,
                                 loading.expert_width_multiple),
        false);
    add(Part::shared_experts,
        n * static_cast<double>(shared_expert_weights(network, model.hidden)) / t, false);
    add(Part::router, n * static_cast<double>(network.router_weights), true);
    add(Part::other,
        n * network.experts * static_cast<double>(network.expert_small_parameters) /
            (t * deployment.attention_data_parallel),
        false);
  }

  const bool first = stage == 0;
  const bool last = stage == deployment.pipeline_parallel - 1;
  const double vocabulary = static_cast<double>(model.vocabulary);
  const double row_share = vocabulary > 0 ? std::ceil(vocabulary / t) / vocabulary : 1.0 / t;
  const double table = vocabulary * hidden;
  const double embedding = static_cast<double>(model.embedding_parameters);
  if (first) {
    const bool has_table = embedding >= table;
    add(Part::embedding, (has_table ? table : embedding) * row_share, false);
    if (has_table) add(Part::embedding, embedding - table, true);
  }
  if (last) {
    const bool needs_own_head = !model.tied_embeddings || !first;
    if (needs_own_head)
      add(Part::head, static_cast<double>(head_weights(model)) * row_share, false);
    add(Part::other, static_cast<double>(model.final_small_parameters), true);
  }
  for (const Attachment& attachment : model.attachments) {
    const bool drafts = attachment.name == "mtp";
    if (!(drafts ? loading.mtp && last : loading.towers && first)) continue;
    weights.attachments += Bytes::from_base(static_cast<double>(attachment.parameters) *
                                            attachment.bytes_per_parameter / t);
  }
  return weights;
}

/// How this version of `engine` loads weights stored at `precision`.
[[nodiscard]] inline WeightLoading weight_loading(const Engine& engine,
                                                  const Precision& precision) {
  WeightLoading loading;
  if (precision.of(Part::routed_experts) == formats::mxfp4) {
    const EngineReserve habits = reserve_of(engine);
    loading.expert_hidden_multiple = habits.expert_hidden_multiple;
    loading.expert_width_multiple = habits.expert_width_multiple;
  }
  return loading;
}

}  // namespace tokenroof
