#include "io/hf_quantization.hpp"

#include <algorithm>
#include <array>

#include "io/hf_module_pattern.hpp"
#include "io/hf_scheme.hpp"
#include "tokenroof/physics/parameters.hpp"

namespace tokenroof::io {
namespace {

/// One matrix, or several that are treated alike, under the names that checkpoints give it.
struct Module {
  Part part = Part::other;
  double weights = 0;
  std::vector<std::string> names;
};

void add_attention_modules(const Attention& a, std::int64_t hidden, std::vector<Module>& modules) {
  const auto add = [&](std::int64_t weights, std::vector<std::string> names) {
    if (weights > 0)
      modules.push_back({Part::attention, static_cast<double>(weights), std::move(names)});
  };
  add(a.input_weights, {"linear_attn.in_proj_qkv", "mixer.in_proj", "mamba.in_proj",
                        "self_attn.q_proj", "conv.in_proj"});
  add(a.output_weights, {"linear_attn.out_proj", "mixer.out_proj", "mamba.out_proj",
                         "self_attn.o_proj", "conv.out_proj"});
  // DeepSeek-V4 keeps the compressors in 16 bits and quantises the queries of the indexer.
  const std::int64_t indexer = std::int64_t{a.query_rank} * a.index_heads * a.index_dim;
  const std::int64_t compressors = a.one_entry_for_both ? a.extra_weights - indexer : 0;
  add(a.extra_weights - compressors, {"self_attn.indexer.wq_b", "attn.indexer.wq_b"});
  if (compressors > 0) modules.push_back({Part::attention, static_cast<double>(compressors), {}});
  if (a.kind == AttentionKind::none || a.kind == AttentionKind::recurrent) return;
  const bool latent = a.kind == AttentionKind::latent;
  const std::int64_t query =
      std::int64_t{a.query_heads} * (a.key_dim + (latent ? a.rotary_dim : 0));
  const std::int64_t value = std::int64_t{a.query_heads} * a.value_dim;
  if (a.query_rank > 0) {
    add(hidden * a.query_rank, {"self_attn.q_a_proj", "attn.wq_a"});
    add(a.query_rank * query, {"self_attn.q_b_proj", "attn.wq_b"});
  } else {
    add(hidden * (query + a.output_gate_dim), {"self_attn.q_proj", "mixer.q_proj", "attn.wq"});
  }
  if (latent) {
    add(hidden * (a.latent_rank + a.rotary_dim), {"self_attn.kv_a_proj_with_mqa"});
    add(std::int64_t{a.latent_rank} * a.query_heads * (a.key_dim + a.value_dim),
        {"self_attn.kv_b_proj"});
  } else if (a.has_kv_projection) {
    add(hidden * a.kv_heads * a.key_dim, {"self_attn.k_proj", "mixer.k_proj", "attn.wkv"});
    add(a.values_are_keys ? 0 : hidden * a.kv_heads * a.value_dim,
        {"self_attn.v_proj", "mixer.v_proj"});
  }
  add(a.output_rank > 0 ? a.output_rank * (value + a.output_groups * hidden) : value * hidden,
      {"self_attn.o_proj", "mixer.o_proj", "attn.wo_b"});
}

/// Gemma-4 has its experts beside the dense network, which we count as a shared expert.
void add_network_modules(const FeedForward& f, std::int64_t hidden, bool gemma4,
                         std::vector<Module>& modules) {
  const auto add = [&](Part part, std::int64_t weights, std::vector<std::string> names) {
    if (weights > 0) modules.push_back({part, static_cast<double>(weights), std::move(names)});
  };
  add(Part::dense_feed_forward, dense_feed_forward_weights(f, hidden),
      {"mlp.up_proj", "feed_forward.up_proj", "mixer.up_proj", "ffn.w1"});
  if (f.kind != FeedForwardKind::mixture) return;
  if (gemma4) {
    add(Part::routed_experts, f.experts * expert_weights(f, hidden),
        {"experts.0.up_proj", "experts"});
    add(Part::shared_experts, shared_expert_weights(f, hidden), {"mlp.up_proj"});
    return;
  }
  add(Part::routed_experts, f.experts * expert_weights(f, hidden),
      {"mlp.experts.0.up_proj", "mlp.experts", "block_sparse_moe.experts.0.w1",
       "feed_forward.experts.0.up_proj", "mixer.experts.0.up_proj", "ffn.experts.0.w1"});
  add(Part::shared_experts, shared_expert_weights(f, hidden),
      {"mlp.shared_experts.up_proj", "mlp.shared_expert.up_proj",
       "feed_forward.shared_expert.up_proj", "mixer.shared_experts.up_proj",
       "ffn.shared_experts.w1", "shared_mlp.input_linear"});
}

std::vector<std::string> full_names(const std::vector<std::string>& names, int layer) {
  std::vector<std::string> full;
  const std::string number = "layers." + std::to_string(layer) + ".";
  for (const std::string& name : names) {
    for (const char* prefix :
         {"model.", "model.language_model.", "language_model.model.", "backbone.", ""})
      full.push_back(prefix + number + name);
  }
  return full;
}

/// The type of what is not quantised. Where a file does not say, 16 bits.
Format dtype_format(const QuantizationSources& sources, Faults& faults) {
  std::string_view dtype = sources.dtype;
  if (dtype.starts_with("torch.")) dtype.remove_prefix(6);
  if (dtype == "float16" || dtype == "half") return formats::fp16;
  if (dtype == "float32" || dtype == "float") return formats::fp32;
  if (dtype != "bfloat16" && dtype != "auto" && !dtype.empty())
    faults.add(sources.dtype_pointer,
               "expected bfloat16, float16 or float32, found \"" + sources.dtype + "\"");
  return formats::bf16;
}

bool quantised(const Scheme& scheme, Part part, bool ignored, bool targeted) {
  if (ignored || !targeted) return false;
  return !scheme.experts_only || part == Part::routed_experts;
}

/// Sets the format of every part; where layers differ, the mean, under the name of the quantised.
void set_parts(const Scheme& scheme, const Format& plain, Model& model, const std::string& pointer,
               Faults& faults) {
  struct Sum {
    double weights = 0;
    double bytes = 0;
    double quantised = 0;
  };
  std::array<Sum, part_count> sums{};
  ModulePatterns ignored(scheme.ignored);
  ModulePatterns targets(scheme.targets);
  for (std::size_t i = 0; i < model.order.size(); ++i) {
    const LayerGroup& group = model.groups[static_cast<std::size_t>(model.order[i])];
    std::vector<Module> modules;
    add_attention_modules(group.attention, model.hidden, modules);
    add_network_modules(group.feed_forward, model.hidden, model.family == "gemma4", modules);
    for (const Module& module : modules) {
      const int layer = static_cast<int>(i);
      const std::vector<std::string> names = full_names(module.names, layer);
      // A module without a name is never quantised.
      const bool targeted = !names.empty() && (targets.empty() || targets.cover(names, layer));
      const bool on = quantised(scheme, module.part, ignored.cover(names, layer), targeted);
      const Format& format = !on ? plain
                             : module.part == Part::routed_experts && scheme.expert_format
                                 ? *scheme.expert_format
                                 : scheme.format;
      Sum& sum = sums[static_cast<std::size_t>(module.part)];
      sum.weights += module.weights;
      // Matrices are about as wide as the hidden size.
      const double rows = on ? scheme.bytes_per_row / static_cast<double>(model.hidden) : 0;
      sum.bytes += module.weights * (format.bytes_per_element + rows);
      if (on) sum.quantised += module.weights;
    }
  }
  Precision& precision = model.checkpoint.precision;
  precision.weights.fill(plain);
  for (std::size_t i = 0; i < part_count; ++i) {
    if (sums[i].quantised <= 0) continue;
    const bool experts = static_cast<Part>(i) == Part::routed_experts && scheme.expert_format;
    precision.weights[i] = with_bytes(experts ? *scheme.expert_format : scheme.format,
                                      sums[i].bytes / sums[i].weights);
  }
  const std::vector<std::string> head = {"lm_head", "language_model.lm_head", "model.lm_head",
                                         "head"};
  const bool head_on = scheme.head_too && !scheme.experts_only && !model.tied_embeddings &&
                       !ignored.cover(head, -1) && (targets.empty() || targets.cover(head, -1));
  if (head_on) precision.set(Part::head, scheme.format);
  std::string& scope = model.checkpoint.scope;
  scope = "kept in " + std::string(plain.name) + ": embedding";
  for (std::size_t i = 0; i < part_count; ++i) {
    if (sums[i].weights <= 0 || sums[i].quantised >= sums[i].weights) continue;
    scope += ", " + std::string(part_names[i]) + (sums[i].quantised > 0 ? " (in part)" : "");
  }
  if (parameter_count(model).router > 0) scope += ", router";
  if (!head_on && !model.tied_embeddings) scope += ", head";
  if (ignored.exhausted() || targets.exhausted())
    faults.add(pointer, "the list of modules is too long or too entangled to follow");
}

/// MTP layers are stored like the layers they copy, what surrounds them in 16 bits.
void attach_mtp_layers(const std::vector<Mtp>& mtp, Model& model) {
  std::int64_t parameters = 0;
  double bytes = 0;
  for (const Mtp& part : mtp) {
    Model one;
    one.hidden = model.hidden;
    one.has_head = false;
    one.groups = {{part.layer.name, part.layer.attention, part.layer.feed_forward, 1}};
    parameters += part.count * (parameter_count(one).total + part.extra);
    bytes +=
        static_cast<double>(part.count) * (weight_bytes(one, model.checkpoint.precision).base() +
                                           static_cast<double>(part.extra) * 2);
  }
  if (parameters > 0)
    model.attachments.push_back({"mtp", parameters, bytes / static_cast<double>(parameters)});
}

}  // namespace

void apply_quantization(const QuantizationSources& sources, const std::vector<Mtp>& mtp,
                        Model& model, Faults& faults) {
  const Format plain = dtype_format(sources, faults);
  model.checkpoint.precision.weights.fill(plain);
  if (plain == formats::fp16) model.checkpoint.precision.activations = formats::fp16;

  std::optional<Scheme> scheme;
  if (sources.quantization != nullptr) {
    scheme = read_scheme(*sources.quantization, sources.quantization_pointer, faults);
  } else if (sources.sidecar != nullptr) {
    const auto inner = sources.sidecar->find("quantization");
    if (inner != sources.sidecar->end() && inner->is_object())
      scheme = read_sidecar(*inner, faults);
  }
  if (scheme) {
    if (sources.expert_dtype == "fp4" && !scheme->expert_format)
      scheme->expert_format = formats::mxfp4;
    model.checkpoint.method = scheme->method;
    model.checkpoint.kv_cache = scheme->kv_cache;
    if (scheme->kv_cache) model.checkpoint.precision.kv_cache = *scheme->kv_cache;
    set_parts(*scheme, plain == formats::fp32 ? formats::bf16 : plain, model,
              sources.quantization_pointer, faults);
  }
  attach_mtp_layers(mtp, model);
}

}  // namespace tokenroof::io
