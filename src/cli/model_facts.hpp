// The numbers of `tokenroof model`, as one table: JSON, CSV and text are read from it.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "tokenroof/physics/kv_cache.hpp"
#include "tokenroof/physics/parameters.hpp"

namespace tokenroof::cli {

/// A model with what follows from it.
struct ModelFacts {
  Model model;
  Format kv_format;
  std::optional<TokensPerRequest> context;
  ParameterCount count;
  std::array<Bytes, part_count> weights;  ///< as stored in the checkpoint
  KvGeometry cache;

  /// Bytes per token of one layer of `group`: growth of the long context, windows as if full.
  [[nodiscard]] double layer_kv_bytes(const LayerGroup& group) const {
    return layer_kv_bytes_per_token(group.attention, kv_format) / group.attention.compress_ratio;
  }
  [[nodiscard]] double layer_state_bytes(const LayerGroup& group) const {
    return tokenroof::layer_state_bytes(group.attention, formats::bf16);
  }
};

[[nodiscard]] inline ModelFacts model_facts(Model model, const Format& kv_format,
                                            std::optional<TokensPerRequest> context) {
  ModelFacts facts;
  facts.kv_format = kv_format;
  facts.context = context;
  facts.count = parameter_count(model);
  facts.weights = weight_bytes_by_part(model, model.checkpoint.precision);
  facts.cache = kv_geometry(model, kv_format);
  facts.model = std::move(model);
  return facts;
}

[[nodiscard]] constexpr const char* feed_forward_name(FeedForwardKind kind) {
  switch (kind) {
    case FeedForwardKind::none:
      return "none";
    case FeedForwardKind::dense:
      return "dense";
    case FeedForwardKind::mixture:
      return "mixture";
  }
  return "unknown";
}

/// One number: its JSON key and CSV column, unit, words for people, and why it may be absent.
struct ModelNumber {
  const char* key;
  std::string_view unit, meaning;
  std::optional<double> (*value)(const ModelFacts&);
  std::string_view absent = {};
};

inline constexpr ModelNumber model_numbers[] = {
    {"total_parameters", "", "parameters, text decoder",
     [](const ModelFacts& f) { return std::optional(static_cast<double>(f.count.total)); }},
    {"active_parameters", "", "parameters a token meets",
     [](const ModelFacts& f) { return std::optional(static_cast<double>(f.count.active)); }},
    {"matmul_parameters", "", "weights that multiply a token",
     [](const ModelFacts& f) { return std::optional(static_cast<double>(f.count.matmul)); }},
    {"attached_parameters", "", "MTP layers and towers, beside these",
     [](const ModelFacts& f) { return std::optional(static_cast<double>(f.count.attached)); }},
    {"flops_per_token", "FLOP", "of those weights, per token",
     [](const ModelFacts& f) { return std::optional(2 * static_cast<double>(f.count.matmul)); }},
    {"attention_flops_per_context_token", "FLOP", "attention, per token and token of context",
     [](const ModelFacts& f) {
       return std::optional(attention_flops_per_context_token(f.model).base());
     }},
    {"weights_bytes_total", "B", "weights as stored",
     [](const ModelFacts& f) {
       return std::optional(weight_bytes(f.model, f.model.checkpoint.precision).base());
     }},
    {"checkpoint_bytes", "B", "checkpoint, MTP layers and towers included",
     [](const ModelFacts& f) { return std::optional(checkpoint_bytes(f.model).base()); }},
    {"file_bytes", "B", "checkpoint as its index states",
     [](const ModelFacts& f) {
       return f.model.file_bytes ? std::optional(static_cast<double>(*f.model.file_bytes))
                                 : std::nullopt;
     },
     "no model.safetensors.index.json or .gguf beside the configuration"},
    {"kv_bytes_per_token", "B", "KV cache per token, layers that keep every token",
     [](const ModelFacts& f) { return std::optional(f.cache.growth().base()); }},
    {"kv_bytes_per_token_all_layers", "B", "KV cache per token, as if no layer had a window",
     [](const ModelFacts& f) { return std::optional(f.cache.growth_without_windows().base()); }},
    {"indexer_bytes_per_token", "B", "keys of sparse indexers per token",
     [](const ModelFacts& f) { return std::optional(f.cache.index_growth().base()); }},
    {"state_bytes_per_sequence", "B", "recurrent state of a sequence",
     [](const ModelFacts& f) { return std::optional(f.cache.state_bytes); }},
    {"kv_bytes_at_context", "B", "cache and state of a sequence at --context",
     [](const ModelFacts& f) {
       return f.context ? std::optional(f.cache.bytes_at(*f.context).base()) : std::nullopt;
     },
     "asked for with --context"},
    {"max_context", "token", "longest context the model states",
     [](const ModelFacts& f) {
       return f.model.maximum_context > 0
                  ? std::optional(static_cast<double>(f.model.maximum_context))
                  : std::nullopt;
     },
     "the configuration does not say"},
    {"layer_count", "", "layers",
     [](const ModelFacts& f) { return std::optional(static_cast<double>(f.model.layers())); }},
};

}  // namespace tokenroof::cli
