#include "io/families/mixture.hpp"

#include <sstream>

namespace tokenroof::io {
namespace {

const Keys expert_keys = {"num_experts",     "n_routed_experts", "num_local_experts",
                          "moe_num_experts", "num_moe_experts",  "num_routed_experts"};
const Keys top_k_keys = {
    "num_experts_per_tok",   "moe_topk",          "moe_top_k",           "top_k_experts", "moe_k",
    "num_experts_per_token", "experts_per_token", "num_selected_experts"};
const Keys width_keys = {"moe_intermediate_size", "expert_intermediate_size",
                         "expert_ffn_hidden_size"};
const Keys shared_count_keys = {"n_shared_experts", "num_shared_experts", "num_shared_expert",
                                "moe_num_shared_experts"};
const Keys shared_width_keys = {"shared_expert_intermediate_size",
                                "moe_shared_expert_intermediate_size", "shared_intermediate_size",
                                "share_expert_dim"};

/// Keeps only the layers in `list`.
void keep_listed(std::vector<bool>& sparse, const std::vector<std::int64_t>& list) {
  std::vector<bool> listed(sparse.size(), false);
  for (const std::int64_t i : list)
    if (i >= 0 && i < static_cast<std::int64_t>(sparse.size()))
      listed[static_cast<std::size_t>(i)] = true;
  for (std::size_t i = 0; i < sparse.size(); ++i) sparse[i] = sparse[i] && listed[i];
}

void keep_flagged(Config& config, std::string_view key, std::vector<bool>& sparse,
                  const std::vector<bool>& flags) {
  if (flags.size() != sparse.size()) {
    config.fault(key, "lists " + std::to_string(flags.size()) + " layers, the model has " +
                          std::to_string(sparse.size()));
    return;
  }
  for (std::size_t i = 0; i < sparse.size(); ++i) sparse[i] = sparse[i] && flags[i];
}

/// Step-3 lists layers as text, "4,5,6".
std::vector<std::int64_t> numbers_in(const std::string& text) {
  std::vector<std::int64_t> numbers;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    if (part.empty() || part.size() > 6 ||
        part.find_first_not_of("0123456789 ") != std::string::npos)
      return {};
    numbers.push_back(std::stoll(part));
  }
  return numbers;
}

void keep_by_lists(Config& config, std::vector<bool>& sparse) {
  if (config.is_list("moe_layer_freq")) {
    std::vector<bool> flags;
    for (const std::int64_t on :
         config.integers("moe_layer_freq").value_or(std::vector<std::int64_t>{}))
      flags.push_back(on != 0);
    keep_flagged(config, "moe_layer_freq", sparse, flags);
  }
  if (const auto kinds = config.texts("mlp_layer_types")) {
    std::vector<bool> flags;
    for (const std::string& kind : *kinds) {
      if (kind != "sparse" && kind != "dense" && kind != "moe")
        config.fault("mlp_layer_types", "unknown kind of layer \"" + kind + "\"");
      flags.push_back(kind != "dense");
    }
    keep_flagged(config, "mlp_layer_types", sparse, flags);
  }
  if (config.is_text("moe_layers_enum"))
    keep_listed(sparse, numbers_in(config.text({"moe_layers_enum"})));
  if (const auto dense = config.integers("mlp_only_layers")) {
    for (const std::int64_t i : *dense)
      if (i >= 0 && i < static_cast<std::int64_t>(sparse.size()))
        sparse[static_cast<std::size_t>(i)] = false;
  }
}

}  // namespace

bool has_experts(Config& config) {
  return config.optional_count(expert_keys, limits::experts).value_or(0) > 1;
}

void ignore_mixture_keys(Config& config) {
  for (const Keys& keys :
       {expert_keys, top_k_keys, width_keys, shared_count_keys, shared_width_keys})
    config.harmless(keys);
  config.harmless({"first_k_dense_replace", "moe_layer_num_skipped", "num_dense_layers",
                   "moe_layer_freq", "decoder_sparse_step", "moe_layer_interval",
                   "interleave_moe_layer_step", "expert_layer_period", "expert_layer_offset",
                   "moe_layer_start_index", "moe_layer_end_index", "mlp_only_layers"});
}

std::vector<bool> mixture_layers(Config& config, int layers) {
  const std::int64_t first = config.count(
      {"first_k_dense_replace", "moe_layer_num_skipped", "num_dense_layers"}, limits::layers);
  const std::int64_t frequency =
      config.is_list("moe_layer_freq") ? 1 : config.size_or({"moe_layer_freq"}, limits::layers, 1);
  const std::int64_t step =
      config.size_or({"decoder_sparse_step", "moe_layer_interval"}, limits::layers, 1);
  const std::int64_t interleave = config.size_or({"interleave_moe_layer_step"}, limits::layers, 1);
  const std::int64_t period = config.size_or({"expert_layer_period"}, limits::layers, 1);
  const std::int64_t offset = config.count({"expert_layer_offset"}, limits::layers);
  const std::int64_t start = config.count({"moe_layer_start_index"}, limits::layers);
  // ERNIE writes -1 or the last index: to the end.
  const double end = config.number({"moe_layer_end_index"}, -1);

  std::vector<bool> sparse;
  for (std::int64_t i = 0; i < layers; ++i) {
    sparse.push_back(i >= first && i % frequency == 0 && (i + 1) % step == 0 &&
                     (i + 1) % interleave == 0 && i % period == offset % period && i >= start &&
                     (end < 0 || static_cast<double>(i) <= end));
  }
  if (const auto listed = config.integers("moe_layers"); listed && !listed->empty()) {
    sparse.assign(sparse.size(), true);
    keep_listed(sparse, *listed);
  }
  keep_by_lists(config, sparse);
  return sparse;
}

FeedForward read_mixture(Config& config, const Decoder& decoder, const MixtureTraits& traits,
                         int layer) {
  const auto at = static_cast<std::size_t>(layer);
  const int layers = decoder.sizes.layers;
  const std::int64_t hidden = decoder.sizes.hidden;

  FeedForward mixture;
  mixture.kind = FeedForwardKind::mixture;
  mixture.gated = mixture.shared_gated = traits.gated;
  mixture.experts = static_cast<int>(config.size(expert_keys, limits::experts, traits.experts));
  const std::int64_t top_k = config.has(top_k_keys) || !config.nested() || traits.top_k == 0
                                 ? config.per_layer(top_k_keys, layers, limits::experts, 0)[at]
                                 : traits.top_k;
  if (top_k < 1 || top_k > mixture.experts) {
    std::string_view key = *top_k_keys.begin();
    for (const std::string_view candidate : top_k_keys)
      if (config.has({candidate})) key = candidate;
    config.fault(key, top_k < 1 ? "missing or 0"
                                : std::to_string(top_k) + " experts per token, of " +
                                      std::to_string(mixture.experts));
  }
  mixture.top_k = static_cast<double>(top_k);

  const std::int64_t default_width = traits.width > 0 ? traits.width : decoder.sizes.width;
  mixture.expert_width = config.per_layer(width_keys, layers, limits::width, default_width)[at];
  const std::int64_t shared =
      config.per_layer(shared_count_keys, layers, limits::experts, traits.default_shared)[at];
  mixture.shared_width = config.has(shared_width_keys)
                             ? config.count(shared_width_keys, limits::width)
                             : shared * mixture.expert_width;
  if (shared == 0 && config.has(shared_count_keys)) mixture.shared_width = 0;

  mixture.router_weights = hidden * mixture.experts;
  if (traits.shared_gate && mixture.shared_width > 0) mixture.router_weights += hidden;
  if (traits.router_bias) mixture.small_parameters += mixture.experts;
  if (traits.expert_bias) {
    mixture.expert_small_parameters = (traits.gated ? 2 : 1) * mixture.expert_width + hidden;
  }
  return mixture;
}

void apply_mixture(Config& config, Decoder& decoder, const MixtureTraits& traits) {
  const std::vector<bool> sparse = mixture_layers(config, decoder.sizes.layers);
  for (std::size_t i = 0; i < sparse.size(); ++i) {
    if (!sparse[i]) continue;
    Layer& layer = decoder.layers[i];
    layer.feed_forward = read_mixture(config, decoder, traits, static_cast<int>(i));
    layer.feed_forward.small_parameters += decoder.feed_forward_norms();
    layer.name = layer.name.starts_with("dense") ? "mixture" + layer.name.substr(5) : layer.name;
  }
}

}  // namespace tokenroof::io
