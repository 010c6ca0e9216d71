#include "io/gguf_tensors.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "tokenroof/physics/parameters.hpp"

namespace tokenroof::io {
namespace {

Part part_of(const std::string& name) {
  const auto has = [&](std::string_view word) { return name.find(word) != std::string::npos; };
  if (has("_exps")) return Part::routed_experts;
  if (has("_shexp") || has("_chexp")) return has("gate_inp") ? Part::router : Part::shared_experts;
  if (has("ffn_gate_inp") || has("exp_probs")) return Part::router;
  if (has("ffn") || has("post_ffw")) return Part::dense_feed_forward;
  return Part::attention;
}

Format format_of(const GgmlType& type, double bytes_per_element) {
  Format result = format(type.name).value_or(formats::q4_k);
  result.name = type.name;
  result.bytes_per_element = bytes_per_element;
  return result;
}

}  // namespace

bool is_small(const GgufTensor& tensor, const std::string& name) {
  if (tensor.shape.size() == 1) return true;
  for (const std::string_view word : {"norm", "conv", "ssm_a", "ssm_d", ".bias", "sinks"})
    if (name.find(word) != std::string::npos) return true;
  return false;
}

void add_tensor(const GgufTensor& tensor, const std::string& name, Sums& sums) {
  const std::int64_t n = tensor.elements();
  const Part part = part_of(name);
  const std::int64_t rows = tensor.shape.size() > 1 ? tensor.shape[1] : 1;
  const bool small = is_small(tensor, name);
  if (part == Part::routed_experts && tensor.shape.size() == 3) {
    sums.routed += n;
    sums.experts = tensor.shape[2];
    if (name.find("down") != std::string::npos) {
      sums.expert_width = tensor.shape[0];
    } else {
      sums.expert_input = tensor.shape[0];
    }
    // Gate and up may be one tensor.
    if (name.find("gate") != std::string::npos) sums.expert_gate = true;
  } else if (part == Part::routed_experts) {
    sums.expert_small += n;
  } else if (small || part == Part::other) {
    (part == Part::attention ? sums.attention_small : sums.network_small) += n;
  } else if (part == Part::shared_experts) {
    sums.shared += n;
    if (name.find("gate") != std::string::npos) sums.shared_gate = true;
    if (name.find("down") != std::string::npos) sums.shared_width = tensor.shape[0];
  } else if (part == Part::router) {
    sums.router += n;
  } else if (part == Part::dense_feed_forward) {
    sums.dense += n;
    if (name.find("ffn_gate") != std::string::npos) sums.gate = true;
    if (name.find("ffn_down") != std::string::npos) sums.width = tensor.shape[0];
    if (name.find("ffn_up") != std::string::npos && rows == 2 * sums.width) sums.gate = true;
  } else {
    sums.attention += n;
  }
  if (name.find("attn_kv_a_mqa") != std::string::npos) sums.latent = true;
  if (name.find("ssm_") != std::string::npos || name.find("shortconv") != std::string::npos)
    sums.recurrent = true;
  if (name.find("attn_k.") != std::string::npos || name.find("attn_qkv.") != std::string::npos)
    sums.key_projection = true;
  if (name.find("attn_q") != std::string::npos) sums.query_projection = true;
}

FeedForward network_from(const Sums& sums, double top_k, std::int64_t hidden) {
  FeedForward f;
  f.small_parameters = sums.network_small;
  f.gated = sums.gate;
  f.kind = sums.dense > 0 ? FeedForwardKind::dense : FeedForwardKind::none;
  f.width = sums.width;
  if (sums.routed > 0) {
    f.kind = FeedForwardKind::mixture;
    f.gated = sums.expert_gate;
    f.experts = static_cast<int>(sums.experts);
    f.top_k = top_k;
    f.expert_width = sums.expert_width;
    f.expert_input = sums.expert_input == hidden ? 0 : sums.expert_input;
    f.shared_width = sums.shared_width;
    f.shared_gated = sums.shared_gate;
    f.router_weights = sums.router;
    f.expert_small_parameters = sums.experts > 0 ? sums.expert_small / sums.experts : 0;
    f.width = 0;
  }
  f.extra_weights = 0;
  f.extra_weights = sums.dense - dense_feed_forward_weights(f, hidden);
  if (f.kind == FeedForwardKind::mixture) {
    f.extra_weights += sums.routed - f.experts * expert_weights(f, hidden);
    f.extra_weights += sums.shared - shared_expert_weights(f, hidden);
  }
  return f;
}

std::optional<std::pair<std::size_t, std::string>> block_of(const std::string& name) {
  if (!name.starts_with("blk.")) return std::nullopt;
  std::size_t index = 0;
  std::size_t at = 4;
  for (; at < name.size() && at < 10 && name[at] >= '0' && name[at] <= '9'; ++at)
    index = 10 * index + static_cast<std::size_t>(name[at] - '0');
  if (at == 4 || at >= name.size() || name[at] != '.') return std::nullopt;
  return std::pair(index, name.substr(at + 1));
}

void set_precision(const std::vector<GgufTensor>& tensors, Model& model) {
  struct Sum {
    double elements = 0;
    double bytes = 0;
    std::map<const GgmlType*, double> by_type;
  };
  std::array<Sum, part_count> sums{};
  for (const GgufTensor& tensor : tensors) {
    const auto block = block_of(tensor.name);
    const std::string name = block ? block->second : tensor.name;
    Part part = part_of(name);
    if (!block) part = name.starts_with("output.") ? Part::head : Part::embedding;
    if (is_small(tensor, name)) part = Part::other;
    Sum& sum = sums[static_cast<std::size_t>(part)];
    const auto elements = static_cast<double>(tensor.elements());
    sum.elements += elements;
    sum.bytes += static_cast<double>(tensor.bytes());
    sum.by_type[tensor.type] += elements;
  }
  for (std::size_t i = 0; i < part_count; ++i) {
    if (sums[i].elements <= 0) continue;
    const auto most =
        std::max_element(sums[i].by_type.begin(), sums[i].by_type.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    model.checkpoint.precision.weights[i] =
        format_of(*most->first, sums[i].bytes / sums[i].elements);
  }
}

}  // namespace tokenroof::io
