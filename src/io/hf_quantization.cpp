#include "io/hf_quantization.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "io/families/parts.hpp"
#include "tokenroof/physics/parameters.hpp"

namespace tokenroof::io {
namespace {

/// What the file asks for, in one form.
struct Scheme {
  std::string method;
  Format format = formats::bf16;       ///< of what is quantised
  std::optional<Format> expert_format; ///< of routed experts, where they differ
  bool experts_only = false;
  bool head_too = false;
  std::vector<std::string> ignored;
  std::vector<std::string> targets;  ///< module patterns; empty: every linear layer
  std::optional<Format> kv_cache;
};

Format with_bytes(Format format, double bytes) {
  format.bytes_per_element = bytes;
  return format;
}

std::vector<std::string> texts_at(const Json& object, std::string_view key) {
  std::vector<std::string> texts;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return texts;
  for (const Json& item : *found)
    if (item.is_string()) texts.push_back(item.get<std::string>());
  return texts;
}

std::string text_at(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

double number_at(const Json& object, std::string_view key, double fallback) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : fallback;
}

bool flag_at(const Json& object, std::string_view key, bool fallback) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() ? found->get<bool>() : fallback;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return text;
}

/// Integer weights of `bits` with an fp16 scale, and a zero of the same bits, per group.
Format integer_format(const Format& base, double bits, double group, bool zeros) {
  const double scales = group > 0 ? (2 + (zeros ? bits / 8 : 0)) / group : 0;
  return with_bytes(base, bits / 8 + scales);
}

/// modelopt's names, which vLLM and others took over.
std::optional<Format> algorithm_format(const std::string& algorithm, double group) {
  const std::string name = upper(algorithm);
  if (name == "FP8" || name == "FP8_PER_CHANNEL_PER_TOKEN") return formats::fp8;
  if (name == "FP8_PB_WO" || name == "FP8_BLOCK_SCALES") return formats::fp8_block;
  if (name == "NVFP4" || name == "W4A4_NVFP4" || name == "NVFP4_AWQ") return formats::nvfp4;
  if (name == "W4A16_NVFP4") return formats::nvfp4;
  if (name == "MXFP4") return formats::mxfp4;
  if (name == "MXFP8") return formats::mxfp8;
  if (name == "INT8_SQ" || name == "W8A8_SQ_PER_CHANNEL" || name == "INT8") return formats::int8;
  if (name == "W8A16") return formats::int8_weight_only;
  if (name == "W4A16" || name == "W4A16_AWQ" || name == "INT4_AWQ" || name == "W4A8_AWQ")
    return integer_format(formats::int4, 4, group > 0 ? group : 128, false);
  return std::nullopt;
}

/// A `weights` object of compressed-tensors and modelopt.
std::optional<Format> weights_format(const Json& weights, bool activations) {
  const double bits = number_at(weights, "num_bits", 0);
  const double group = number_at(weights, "group_size", 0);
  const std::string type = text_at(weights, "type");
  const std::string strategy = text_at(weights, "strategy");
  if (type == "float" && bits == 8) {
    if (strategy == "block") return formats::fp8_block;
    return formats::fp8;
  }
  if (type == "float" && bits == 4) {
    const Format base = group == 32 ? formats::mxfp4 : formats::nvfp4;
    return group > 0 ? with_bytes(base, 0.5 + 1 / group) : base;
  }
  if (type != "int" && !type.empty()) return std::nullopt;
  const bool zeros = !flag_at(weights, "symmetric", true);
  if (bits == 8 && activations) return formats::int8;
  if (bits == 8) return integer_format(formats::int8_weight_only, 8, group, zeros);
  if (bits >= 2 && bits < 8)
    return integer_format(group == 32 ? formats::int4_g32 : formats::int4, bits, group, zeros);
  return std::nullopt;
}

bool is_eight_bit_float(const Json& scheme) {
  return scheme.is_object() && number_at(scheme, "num_bits", 0) == 8 &&
         text_at(scheme, "type") != "int";
}

std::optional<Format> cache_format(const Json& object) {
  for (const std::string_view key : {"kv_cache_scheme", "kv_cache_quant_algo"}) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) continue;
    if (found->is_string()) {
      const std::string name = upper(found->get<std::string>());
      if (name.starts_with("FP8")) return formats::fp8;
      if (name.starts_with("NVFP4")) return formats::nvfp4;
      if (name.starts_with("INT8")) return formats::int8;
    } else if (is_eight_bit_float(*found)) {
      return formats::fp8;
    }
  }
  return std::nullopt;
}

/// config_groups: usually one; of several, one that names experts gives the experts' format.
void read_groups(const Json& object, Scheme& scheme, const std::string& pointer, Faults& faults) {
  const auto groups = object.find("config_groups");
  if (groups == object.end() || !groups->is_object()) return;
  bool first = true;
  for (const auto& [name, group] : groups->items()) {
    if (!group.is_object() || !group.contains("weights") || !group["weights"].is_object()) continue;
    const bool activations =
        group.contains("input_activations") && group["input_activations"].is_object();
    const auto format = weights_format(group["weights"], activations);
    if (!format) {
      faults.add(join_pointer(join_pointer(pointer, "config_groups"), name),
                 "unknown format of weights " + describe(group["weights"]));
      continue;
    }
    const std::vector<std::string> targets = texts_at(group, "targets");
    const bool experts = std::any_of(targets.begin(), targets.end(), [](const std::string& t) {
      return t.find("expert") != std::string::npos && t.find("shared") == std::string::npos;
    });
    if (experts && groups->size() > 1) {
      scheme.expert_format = *format;
    } else if (first) {
      scheme.format = *format;
      for (const std::string& target : targets)
        if (target != "Linear" && !target.empty()) scheme.targets.push_back(target);
      first = false;
    }
  }
}

/// MIXED_PRECISION: a format for each listed module; the most frequent of experts and of the rest.
void read_layers(const Json& object, Scheme& scheme) {
  const auto layers = object.find("quantized_layers");
  if (layers == object.end() || !layers->is_object()) return;
  std::map<std::string, std::pair<int, Format>> experts;
  std::map<std::string, std::pair<int, Format>> others;
  for (const auto& [name, layer] : layers->items()) {
    if (!layer.is_object()) continue;
    const std::string algorithm = text_at(layer, "quant_algo");
    const auto format = algorithm_format(algorithm, number_at(layer, "group_size", 0));
    if (!format) continue;
    auto& counts = name.find(".experts") != std::string::npos ? experts : others;
    auto& entry = counts[algorithm];
    ++entry.first;
    entry.second = *format;
    scheme.targets.push_back(name);
  }
  const auto most = [](const auto& counts) {
    return std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
             return a.second.first < b.second.first;
           })->second.second;
  };
  if (!experts.empty()) scheme.expert_format = most(experts);
  if (!others.empty()) scheme.format = most(others);
}

void add_ignored(const Json& object, Scheme& scheme) {
  for (const std::string_view key :
       {"modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules", "exclude",
        "llm_int8_skip_modules", "exclude_layers"})
    for (std::string& pattern : texts_at(object, key)) scheme.ignored.push_back(std::move(pattern));
}

/// modelopt, in quantization_config or in the sidecar.
bool read_modelopt(const Json& object, Scheme& scheme, const std::string& pointer,
                   Faults& faults) {
  const std::string algorithm = text_at(object, "quant_algo");
  scheme.method = "modelopt";
  add_ignored(object, scheme);
  scheme.kv_cache = cache_format(object);
  scheme.head_too = true;
  if (upper(algorithm) == "MIXED_PRECISION") {
    read_layers(object, scheme);
    return true;
  }
  if (algorithm.empty()) {
    read_groups(object, scheme, pointer, faults);
    return true;
  }
  const auto format = algorithm_format(algorithm, number_at(object, "group_size", 0));
  if (!format) {
    faults.add(join_pointer(pointer, "quant_algo"), "unknown algorithm \"" + algorithm + "\"");
    return false;
  }
  scheme.format = *format;
  return true;
}

void read_fp8(const Json& object, Scheme& scheme) {
  scheme.format = formats::fp8;
  const auto block = object.find("weight_block_size");
  if (block != object.end() && block->is_array() && block->size() == 2 &&
      (*block)[0].is_number() && (*block)[1].is_number()) {
    const double elements = (*block)[0].get<double>() * (*block)[1].get<double>();
    if (elements >= 1) scheme.format = with_bytes(formats::fp8_block, 1 + 4 / elements);
  }
  const std::string moe = text_at(object, "moe_quant_algo");
  if (!moe.empty()) scheme.expert_format = algorithm_format(moe, number_at(object, "group_size", 0));
}

Format bitsandbytes_format(const Json& object) {
  if (flag_at(object, "load_in_8bit", false) || flag_at(object, "_load_in_8bit", false))
    return formats::int8_weight_only;
  const bool doubled = flag_at(object, "bnb_4bit_use_double_quant", false);
  return doubled ? formats::nf4 : with_bytes(formats::nf4, 0.5 + 4.0 / 64);
}

std::optional<Scheme> read_scheme(const Json& object, const std::string& pointer, Faults& faults) {
  Scheme scheme;
  scheme.method = text_at(object, "quant_method");
  const std::string& method = scheme.method;
  const double bits = number_at(object, "bits", 4);
  const double group = number_at(object, "group_size", 128);
  if (method == "modelopt" || method == "modelopt_fp4" || method == "nvfp4" ||
      (method.empty() && object.contains("quant_algo"))) {
    return read_modelopt(object, scheme, pointer, faults) ? std::optional(scheme) : std::nullopt;
  }
  add_ignored(object, scheme);
  scheme.kv_cache = cache_format(object);
  if (method == "fp8" || method == "fbgemm_fp8" || method == "deepseek_fp8") {
    read_fp8(object, scheme);
  } else if (method == "compressed-tensors" || (method.empty() && object.contains("config_groups"))) {
    scheme.method = "compressed-tensors";
    scheme.head_too = true;
    read_groups(object, scheme, pointer, faults);
  } else if (method == "mxfp4") {
    scheme.format = formats::mxfp4;
    scheme.experts_only = true;
  } else if (method == "mxfp8") {
    scheme.format = formats::mxfp8;
  } else if (method == "awq" || method == "awq_marlin") {
    scheme.format = integer_format(formats::awq, bits, group, flag_at(object, "zero_point", true));
  } else if (method == "gptq" || method == "gptq_marlin" || method == "gptqmodel" ||
             method == "auto-round" || method == "auto_round" || method == "autoround" ||
             method == "intel/auto-round") {
    scheme.format = integer_format(formats::gptq, bits, group, true);
  } else if (method == "bitsandbytes") {
    scheme.format = bitsandbytes_format(object);
  } else if (method == "experts_int8") {
    scheme.format = formats::int8_weight_only;
    scheme.experts_only = true;
  } else {
    faults.add(join_pointer(pointer, "quant_method"),
               method.empty() ? "missing" : "unknown quantisation method \"" + method + "\"");
    return std::nullopt;
  }
  return scheme;
}

/// One matrix, or several that are treated alike, under the names that checkpoints give it.
struct Module {
  Part part = Part::other;
  double weights = 0;
  std::vector<std::string> names;
};

void add_attention_modules(const Attention& a, std::int64_t hidden, std::vector<Module>& modules) {
  const auto add = [&](std::int64_t weights, std::vector<std::string> names) {
    if (weights > 0) modules.push_back({Part::attention, static_cast<double>(weights),
                                        std::move(names)});
  };
  add(a.input_weights, {"linear_attn.in_proj_qkv", "mixer.in_proj", "mamba.in_proj",
                        "self_attn.q_proj", "conv.in_proj"});
  add(a.output_weights, {"linear_attn.out_proj", "mixer.out_proj", "mamba.out_proj",
                         "self_attn.o_proj", "conv.out_proj"});
  add(a.extra_weights, {"self_attn.indexer.wq_b", "attn.indexer.wq_b"});
  if (a.kind == AttentionKind::none || a.kind == AttentionKind::recurrent) return;
  const bool latent = a.kind == AttentionKind::latent;
  const std::int64_t query = std::int64_t{a.query_heads} * (a.key_dim + (latent ? a.rotary_dim : 0));
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

void add_network_modules(const FeedForward& f, std::int64_t hidden, std::vector<Module>& modules) {
  const auto add = [&](Part part, std::int64_t weights, std::vector<std::string> names) {
    if (weights > 0) modules.push_back({part, static_cast<double>(weights), std::move(names)});
  };
  add(Part::dense_feed_forward, dense_feed_forward_weights(f, hidden),
      {"mlp.up_proj", "feed_forward.up_proj", "mixer.up_proj", "ffn.w1"});
  if (f.kind != FeedForwardKind::mixture) return;
  add(Part::routed_experts, f.experts * expert_weights(f, hidden),
      {"mlp.experts.0.up_proj", "mlp.experts", "block_sparse_moe.experts.0.w1",
       "feed_forward.experts.0.up_proj", "mixer.experts.0.up_proj", "ffn.experts.0.w1",
       "experts.0.up_proj"});
  add(Part::shared_experts, shared_expert_weights(f, hidden),
      {"mlp.shared_experts.up_proj", "mlp.shared_expert.up_proj",
       "feed_forward.shared_expert.up_proj", "mixer.shared_experts.up_proj",
       "ffn.shared_experts.w1", "shared_mlp.input_linear", "mlp.up_proj"});
}

/// Patterns by the layer they name, so that a list of thousands is searched once per layer.
class Patterns {
 public:
  explicit Patterns(const std::vector<std::string>& patterns) {
    for (const std::string& pattern : patterns) {
      const std::optional<int> layer = layer_of(pattern);
      (layer ? by_layer_[*layer] : general_).push_back(pattern);
    }
  }
  [[nodiscard]] bool cover(const std::vector<std::string>& names, int layer) const {
    const auto found = by_layer_.find(layer);
    for (const std::string& name : names) {
      if (covered(general_, name)) return true;
      if (found != by_layer_.end() && covered(found->second, name)) return true;
    }
    return false;
  }
  [[nodiscard]] bool empty() const { return general_.empty() && by_layer_.empty(); }

 private:
  static bool covered(const std::vector<std::string>& patterns, const std::string& name) {
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](const std::string& pattern) { return covers_module(pattern, name); });
  }
  /// The number behind "layers." of a pattern that is no regular expression.
  static std::optional<int> layer_of(const std::string& pattern) {
    const std::size_t at = pattern.find("layers.");
    if (at == std::string::npos || pattern.starts_with("re:")) return std::nullopt;
    int layer = 0;
    std::size_t i = at + 7;
    for (; i < pattern.size() && i < at + 12 && pattern[i] >= '0' && pattern[i] <= '9'; ++i)
      layer = 10 * layer + (pattern[i] - '0');
    const bool whole = i > at + 7 && (i == pattern.size() || pattern[i] == '.');
    return whole ? std::optional(layer) : std::nullopt;
  }
  std::map<int, std::vector<std::string>> by_layer_;
  std::vector<std::string> general_;
};

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

Format dtype_format(const std::string& dtype) {
  if (dtype == "float16" || dtype == "half") return formats::fp16;
  if (dtype == "float32" || dtype == "float") return formats::fp32;
  return formats::bf16;
}

bool quantised(const Scheme& scheme, Part part, bool ignored, bool targeted) {
  if (ignored || !targeted) return false;
  return !scheme.experts_only || part == Part::routed_experts;
}

/// Sets the format of every part; where layers differ, the mean, under the name of the quantised.
void set_parts(const Scheme& scheme, const Format& plain, Model& model) {
  struct Sum {
    double weights = 0;
    double bytes = 0;
    double quantised = 0;
  };
  std::array<Sum, part_count> sums{};
  const Patterns ignored(scheme.ignored);
  const Patterns targets(scheme.targets);
  for (std::size_t i = 0; i < model.order.size(); ++i) {
    const LayerGroup& group = model.groups[static_cast<std::size_t>(model.order[i])];
    std::vector<Module> modules;
    add_attention_modules(group.attention, model.hidden, modules);
    add_network_modules(group.feed_forward, model.hidden, modules);
    for (const Module& module : modules) {
      const int layer = static_cast<int>(i);
      const std::vector<std::string> names = full_names(module.names, layer);
      const bool targeted = targets.empty() || targets.cover(names, layer);
      const bool on = quantised(scheme, module.part, ignored.cover(names, layer), targeted);
      const Format& format = !on ? plain
                             : module.part == Part::routed_experts && scheme.expert_format
                                 ? *scheme.expert_format
                                 : scheme.format;
      Sum& sum = sums[static_cast<std::size_t>(module.part)];
      sum.weights += module.weights;
      sum.bytes += module.weights * format.bytes_per_element;
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
                       !ignored.cover(head, -1) &&
                       (targets.empty() || targets.cover(head, -1));
  if (head_on) precision.set(Part::head, scheme.format);
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
    bytes += static_cast<double>(part.count) *
             (weight_bytes(one, model.checkpoint.precision).base() +
              static_cast<double>(part.extra) * 2);
  }
  if (parameters > 0)
    model.attachments.push_back({"mtp", parameters, bytes / static_cast<double>(parameters)});
}

}  // namespace

void apply_quantization(const QuantizationSources& sources, const std::vector<Mtp>& mtp,
                        Model& model, Faults& faults) {
  const Format plain = dtype_format(sources.dtype);
  model.checkpoint.precision.weights.fill(plain);
  if (plain == formats::fp16) model.checkpoint.precision.activations = formats::fp16;

  std::optional<Scheme> scheme;
  if (sources.quantization != nullptr) {
    scheme = read_scheme(*sources.quantization, sources.quantization_pointer, faults);
  } else if (sources.sidecar != nullptr) {
    const auto inner = sources.sidecar->find("quantization");
    Scheme read;
    if (inner != sources.sidecar->end() && inner->is_object() &&
        read_modelopt(*inner, read, "/quantization", faults))
      scheme = read;
  }
  if (scheme) {
    if (sources.expert_dtype == "fp4" && !scheme->expert_format)
      scheme->expert_format = formats::mxfp4;
    model.checkpoint.method = scheme->method;
    model.checkpoint.kv_cache = scheme->kv_cache;
    if (scheme->kv_cache) model.checkpoint.precision.kv_cache = *scheme->kv_cache;
    set_parts(*scheme, plain == formats::fp32 ? formats::bf16 : plain, model);
  }
  attach_mtp_layers(mtp, model);
}

}  // namespace tokenroof::io
