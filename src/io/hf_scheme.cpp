#include "io/hf_scheme.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace tokenroof::io {

Format with_bytes(Format format, double bytes) {
  format.bytes_per_element = bytes;
  return format;
}

namespace {

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
    return std::max_element(
               counts.begin(), counts.end(),
               [](const auto& a, const auto& b) { return a.second.first < b.second.first; })
        ->second.second;
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
bool read_modelopt(const Json& object, Scheme& scheme, const std::string& pointer, Faults& faults) {
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
  if (block != object.end() && block->is_array() && block->size() == 2 && (*block)[0].is_number() &&
      (*block)[1].is_number()) {
    const double elements = (*block)[0].get<double>() * (*block)[1].get<double>();
    if (elements >= 1) scheme.format = with_bytes(formats::fp8_block, 1 + 4 / elements);
  }
  const std::string moe = text_at(object, "moe_quant_algo");
  if (moe.empty()) return;
  // The list names what keeps the fp8 of the original then.
  scheme.ignored.clear();
  scheme.expert_format = algorithm_format(moe, number_at(object, "group_size", 0));
}

Format bitsandbytes_format(const Json& object) {
  if (flag_at(object, "load_in_8bit", false) || flag_at(object, "_load_in_8bit", false))
    return formats::int8_weight_only;
  const bool doubled = flag_at(object, "bnb_4bit_use_double_quant", false);
  return doubled ? formats::nf4 : with_bytes(formats::nf4, 0.5 + 4.0 / 64);
}

}  // namespace

std::optional<Scheme> read_scheme(const Json& object, const std::string& pointer, Faults& faults) {
  Scheme scheme;
  scheme.method = text_at(object, "quant_method");
  const std::string& method = scheme.method;
  const double bits = number_at(object, "bits", 4);
  const double group = number_at(object, "group_size", 128);
  if (bits < 1 || bits > 16 || bits != std::floor(bits))
    faults.add(join_pointer(pointer, "bits"), "expected a whole number of bits from 1 to 16");
  if (object.contains("group_size") && group < 1 && group != -1)
    faults.add(join_pointer(pointer, "group_size"), "expected a group of at least 1, or -1");
  if (method == "modelopt" || method == "modelopt_fp4" || method == "nvfp4" ||
      (method.empty() && object.contains("quant_algo"))) {
    return read_modelopt(object, scheme, pointer, faults) ? std::optional(scheme) : std::nullopt;
  }
  add_ignored(object, scheme);
  scheme.kv_cache = cache_format(object);
  if (method == "fp8" || method == "fbgemm_fp8" || method == "deepseek_fp8") {
    read_fp8(object, scheme);
  } else if (method == "compressed-tensors" ||
             (method.empty() && object.contains("config_groups"))) {
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
    scheme.bytes_per_row = method.starts_with("gptq") ? 4 : 0;
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

std::optional<Scheme> read_sidecar(const Json& object, Faults& faults) {
  Scheme scheme;
  if (!read_modelopt(object, scheme, "/quantization", faults)) return std::nullopt;
  return scheme;
}

}  // namespace tokenroof::io
