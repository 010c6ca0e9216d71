// The free text of observed_capacity.csv: rules, one table each.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

#include "tokenroof/io/validate_capacity.hpp"

namespace tokenroof::io {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}
bool has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The number that ends right before position `end`, thousands separated by commas allowed.
std::optional<double> number_before(std::string_view text, std::size_t end) {
  while (end > 0 && text[end - 1] == ' ') --end;
  std::size_t begin = end;
  while (begin > 0 &&
         (is_digit(text[begin - 1]) || text[begin - 1] == '.' || text[begin - 1] == ','))
    --begin;
  std::string digits(text.substr(begin, end - begin));
  digits.erase(std::remove(digits.begin(), digits.end(), ','), digits.end());
  if (digits.empty() || !is_digit(digits.front())) return std::nullopt;
  return std::strtod(digits.c_str(), nullptr);
}
/// The whole number after `words` and a blank, "=" or nothing.
std::optional<int> number_after(std::string_view text, std::string_view words) {
  const std::size_t at = text.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(at + words.size());
  while (!rest.empty() && (rest.front() == ' ' || rest.front() == '=')) rest.remove_prefix(1);
  if (rest.empty() || !is_digit(rest.front())) return std::nullopt;
  return std::atoi(std::string(rest.substr(0, 9)).c_str());
}

/// The first "MAJOR.MINOR..." of a text. "pre-0.7.1" is the version before: 0.7.0.
std::string stated_version(const std::string& text) {
  for (std::size_t i = 0; i + 2 < text.size(); ++i) {
    const bool starts =
        is_digit(text[i]) && (i == 0 || !(is_digit(text[i - 1]) || text[i - 1] == '.'));
    if (!starts) continue;
    std::size_t end = i;
    while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) ++end;
    std::string version = text.substr(i, end - i);
    while (!version.empty() && version.back() == '.') version.pop_back();
    if (!has(version, ".")) {
      i = end - 1;
      continue;
    }
    const bool before = i >= 4 && text.compare(i - 4, 4, "pre-") == 0;
    if (before && version.back() > '0') --version.back();
    return version;
  }
  return {};
}

struct Release {
  int month;  ///< 12 x year + month - 1
  const char* version;
};
// vLLM releases; a dated row ran the last one of its month.
constexpr std::array<Release, 22> vllm_releases = {{
    {12 * 2023 + 5, "0.1.0"},  {12 * 2023 + 10, "0.2.2"}, {12 * 2023 + 11, "0.2.6"},
    {12 * 2024 + 1, "0.3.0"},  {12 * 2024 + 3, "0.4.0"},  {12 * 2024 + 5, "0.5.0"},
    {12 * 2024 + 8, "0.6.0"},  {12 * 2024 + 10, "0.6.4"}, {12 * 2025 + 0, "0.7.0"},
    {12 * 2025 + 1, "0.7.3"},  {12 * 2025 + 2, "0.8.0"},  {12 * 2025 + 4, "0.9.0"},
    {12 * 2025 + 6, "0.10.0"}, {12 * 2025 + 9, "0.11.0"}, {12 * 2025 + 11, "0.13.0"},
    {12 * 2026 + 0, "0.14.0"}, {12 * 2026 + 1, "0.16.0"}, {12 * 2026 + 2, "0.17.0"},
    {12 * 2026 + 3, "0.19.0"}, {12 * 2026 + 4, "0.20.0"}, {12 * 2026 + 5, "0.22.0"},
    {12 * 2026 + 6, "0.24.0"},
}};

/// "Jul-2025" as 12 x year + month - 1; a bare "2025" is its last month, a bare "2026" too.
std::optional<int> stated_month(const std::string& text) {
  static constexpr std::array<std::string_view, 12> months = {
      "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"};
  const std::size_t at = text.find("20");
  if (at == std::string::npos || at + 4 > text.size()) return std::nullopt;
  const int year = std::atoi(text.substr(at, 4).c_str());
  if (year < 2023 || year > 2100) return std::nullopt;
  if (at >= 4 && text[at - 1] == '-')
    for (int m = 0; m < 12; ++m)
      if (text.compare(at - 4, 3, months[static_cast<std::size_t>(m)]) == 0) return 12 * year + m;
  return 12 * year + 11;
}

std::string engine_of(const std::string& text) {
  if (has(text, "sglang")) return "sglang";
  if (has(text, "tensorrt") || has(text, "trt")) return "trtllm";
  if (has(text, "llama.cpp") || has(text, "ollama")) return "llamacpp";
  if (has(text, "pegainfer")) return "default";
  return "vllm";  // and its forks
}
std::string version_of(const std::string& text) {
  std::string version = stated_version(text);
  if (!version.empty()) return version;
  if (engine_of(text) != "vllm") return {};
  if (const auto month = stated_month(text))
    for (const Release& release : vllm_releases)
      if (release.month <= *month) version = release.version;
  return version;
}

struct Card {
  const char* words;
  const char* id;
};
// The first whose words are in the text.
constexpr std::array<Card, 16> cards = {{{"h100 nvl", "h100-nvl-94gb"},
                                         {"h100", "h100-sxm-80gb"},
                                         {"h200", "h200-sxm-141gb"},
                                         {"h20", "h20-96gb"},
                                         {"b200", "b200-sxm"},
                                         {"a100-80", "a100-sxm-80gb"},
                                         {"a100-40", "a100-sxm-40gb"},
                                         {"a40", "a40"},
                                         {"a10g", "a10g"},
                                         {"l40s", "l40s"},
                                         {"rtx 3090 ti", "rtx-3090-ti"},
                                         {"rtx 3090", "rtx-3090"},
                                         {"rtx 4090", "rtx-4090"},
                                         {"rtx 5090", "rtx-5090"},
                                         {"dgx spark", "dgx-spark-gb10"},
                                         {"tpu v5e", "tpu-v5e"}}};

std::string accelerator_of(const std::string& text) {
  if (has(text, "not stated") || has(text, " or ") || has(text, "/") || has(text, "class"))
    return {};
  for (const Card& card : cards)
    if (has(text, card.words)) return card.id;
  return {};
}
std::optional<Bytes> visible_memory(const std::string& text) {
  if (const std::size_t at = text.find("gib"); at != std::string::npos)
    if (const auto number = number_before(text, at)) return *number * gibibyte;
  if (const std::size_t at = text.find("mib"); at != std::string::npos)
    if (const auto number = number_before(text, at)) return *number * mebibyte;
  return std::nullopt;
}

/// Every matrix but embedding, head and router in `format`.
void narrow(Precision& precision, const Format& format) {
  for (const Part part :
       {Part::attention, Part::dense_feed_forward, Part::routed_experts, Part::shared_experts})
    precision.set(part, format);
}
Precision precision_of(const CapacityRow& row, const Model& model) {
  const std::string quant = lower(row.quantization), name = lower(row.model);
  const std::string& method = model.checkpoint.method;
  Precision precision;
  if (lower(row.dtype) == "fp32") {
    precision.weights.fill(formats::fp32);
    precision.activations = precision.kv_cache = formats::fp32;
  }
  if (has(quant, "mxfp4")) {
    precision.set(Part::routed_experts, formats::mxfp4);
  } else if (has(quant, "fp8") && has(name, "meta-llama/") && has(name, "405b")) {
    precision.set(Part::dense_feed_forward, formats::fp8);  // FBGEMM: attention stays 16-bit
  } else if (has(quant, "fp8")) {
    narrow(precision, formats::fp8);
    if (has(method, "fp8")) precision.weights = model.checkpoint.precision.weights;
  } else if (has(quant, "int8") || has(quant, "w8a8")) {
    narrow(precision, formats::int8);
  } else if (has(quant, "nvfp4")) {
    narrow(precision, formats::nvfp4);
  } else if (has(quant, "awq")) {
    narrow(precision, formats::awq);
  } else if (has(quant, "bnb")) {
    narrow(precision, formats::nf4);
  } else if (has(quant, "int4")) {
    const bool mixture = std::any_of(
        model.groups.begin(), model.groups.end(),
        [](const LayerGroup& g) { return g.feed_forward.kind == FeedForwardKind::mixture; });
    if (mixture)
      precision.set(Part::routed_experts, formats::int4_g32);
    else
      narrow(precision, formats::int4);
  } else if (const auto file = format(quant)) {  // one type for all matrices, as in GGUF files
    precision.weights.fill(*file);
  }
  const std::string kv = lower(row.kv_dtype);
  if (has(kv, "nvfp4"))
    precision.kv_cache = formats::nvfp4;
  else if (has(kv, "fp8"))
    precision.kv_cache = formats::fp8;
  else if (has(kv, "fp32"))
    precision.kv_cache = formats::fp32;
  else if (const auto cache = format(kv))
    precision.kv_cache = *cache;
  return precision;
}

}  // namespace

CapacityQuestion interpret(const CapacityRow& row, const Model& model) {
  CapacityQuestion question;
  const std::string engine = lower(row.engine), gpu = lower(row.gpu), notes = lower(row.notes);
  question.engine = engine_of(engine);
  question.version = version_of(engine);
  question.accelerator = row.accelerator.empty() ? accelerator_of(gpu) : row.accelerator;
  question.visible = visible_memory(gpu);
  if (!row.memory_fraction.empty() && is_digit(row.memory_fraction.front()))
    question.fraction = std::strtod(row.memory_fraction.c_str(), nullptr);
  question.precision = precision_of(row, model);
  question.deployment.tensor_parallel = row.tensor_parallel;
  question.deployment.pipeline_parallel = row.pipeline_parallel;
  if (has(notes, "dp-attention")) {  // "tp8 dp8 dp-attention": attention groups of tp / dp ranks
    const int groups = number_after(notes, " dp").value_or(row.tensor_parallel);
    question.deployment.attention_data_parallel = groups;
    question.deployment.tensor_parallel = std::max(1, row.tensor_parallel / groups);
  } else if (has(lower(row.engine + row.gpu), "sglang") &&
             row.kv_dtype.find("ds_mla") != std::string::npos) {
    question.deployment.attention_data_parallel = row.tensor_parallel;
    question.deployment.tensor_parallel = 1;
  }
  question.deployment.context_parallel = number_after(notes, "decode-context-parallel").value_or(1);
  question.max_sequences = number_after(notes, "max_num_seqs");
  question.max_batched_tokens = number_after(notes, "max-num-batched-tokens");
  question.first_stage = has(notes, "rank 0 stage");
  return question;
}

}  // namespace tokenroof::io
