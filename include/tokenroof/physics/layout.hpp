// How layers, heads and experts fall on the ranks of a replica, and which layouts are valid.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tokenroof/core/error.hpp"
#include "tokenroof/describe/deployment.hpp"
#include "tokenroof/describe/model.hpp"

namespace tokenroof {

/// KV heads that one rank holds: ceil(heads / tensor_parallel). With more ranks than heads every
/// rank holds one, so the cache is stored tensor_parallel / heads times.
[[nodiscard]] constexpr int kv_heads_per_rank(int kv_heads, int tensor_parallel) {
  return (kv_heads + tensor_parallel - 1) / tensor_parallel;
}

/// Ranks over which the KV heads of a sequence are cut: those of its tensor group, less the ranks
/// that cut its tokens instead (decode context parallel).
[[nodiscard]] constexpr int head_ranks(int tensor_parallel, int context_parallel) {
  return std::max(1, tensor_parallel / context_parallel);
}

/// Layers of pipeline stage `stage` of `stages`. A remainder goes to the stages before the last,
/// because the last also holds the head (vLLM's rule).
[[nodiscard]] constexpr int stage_layers(int layers, int stages, int stage) {
  const int remainder = layers % stages;
  const bool gets_one = stages - 2 - stage >= 0 ? stages - 1 - stage <= remainder : false;
  return layers / stages + (gets_one ? 1 : 0);
}

/// How many layers of each group lie in `stage`, following the order of layers.
[[nodiscard]] inline std::vector<int> stage_group_counts(const Model& model, int stages,
                                                         int stage) {
  std::vector<int> counts(model.groups.size(), 0);
  const int layers = static_cast<int>(model.order.size());
  int first = 0;
  for (int s = 0; s < stage; ++s) first += stage_layers(layers, stages, s);
  const int last = first + stage_layers(layers, stages, stage);
  for (int layer = first; layer < last; ++layer) ++counts[model.order[layer]];
  return counts;
}

/// Ranks over which one expert is cut: stage devices / expert_parallel.
[[nodiscard]] constexpr int expert_tensor_parallel(const Deployment& deployment) {
  return std::max(1, deployment.tensor_parallel * deployment.attention_data_parallel /
                         deployment.expert_parallel);
}

/// Whether the parallel degrees divide what they cut. Checked: query heads by tensor parallel; KV
/// heads by tensor parallel or the reverse; context parallel against tensor parallel; experts by
/// expert parallel; expert parallel against the ranks; layers against pipeline stages.
[[nodiscard]] inline Verdict layout_verdict(const Model& model, const Deployment& deployment) {
  const auto no = [](std::string reason, std::string remedy) {
    return Verdict{Outcome::invalid_layout, std::move(reason), std::move(remedy)};
  };
  const auto largest_divisor = [](int of, int up_to) {
    for (int d = std::min(of, up_to); d > 1; --d)
      if (of % d == 0) return d;
    return 1;
  };
  const int t = deployment.tensor_parallel;
  if (t % deployment.context_parallel != 0)
    return no(
        "context_parallel " + std::to_string(deployment.context_parallel) +
            " does not divide the " + std::to_string(t) + " ranks of a tensor group",
        "use context_parallel " + std::to_string(largest_divisor(t, deployment.context_parallel)));
  for (const LayerGroup& group : model.groups) {
    const Attention& attention = group.attention;
    if (attention.query_heads > 0 && attention.query_heads % t != 0) {
      const std::string heads = std::to_string(attention.query_heads);
      return no(
          "tensor_parallel " + std::to_string(t) + " does not divide the " + heads + " query heads",
          "use tensor_parallel " + std::to_string(largest_divisor(attention.query_heads, t)));
    }
    if (attention.kind == AttentionKind::grouped && attention.kv_heads > 0 &&
        attention.kv_heads % t != 0 && t % attention.kv_heads != 0) {
      const std::string heads = std::to_string(attention.kv_heads);
      return no("tensor_parallel " + std::to_string(t) + " and the " + heads +
                    " KV heads do not divide each other",
                "use tensor_parallel " + std::to_string(largest_divisor(attention.kv_heads, t)));
    }
    const FeedForward& network = group.feed_forward;
    if (network.kind == FeedForwardKind::mixture &&
        network.experts % deployment.expert_parallel != 0) {
      return no("expert_parallel " + std::to_string(deployment.expert_parallel) +
                    " does not divide the " + std::to_string(network.experts) + " experts",
                "use expert_parallel " +
                    std::to_string(largest_divisor(network.experts, deployment.expert_parallel)));
    }
  }
  const int ranks = t * deployment.attention_data_parallel;
  if (ranks % deployment.expert_parallel != 0)
    return no("expert_parallel " + std::to_string(deployment.expert_parallel) +
                  " does not divide the " + std::to_string(ranks) + " ranks of a stage",
              "use expert_parallel " +
                  std::to_string(largest_divisor(ranks, deployment.expert_parallel)));
  if (deployment.pipeline_parallel > model.layers())
    return no("pipeline_parallel " + std::to_string(deployment.pipeline_parallel) +
                  " exceeds the " + std::to_string(model.layers()) + " layers",
              "use pipeline_parallel " + std::to_string(model.layers()));
  return {};
}

}  // namespace tokenroof
