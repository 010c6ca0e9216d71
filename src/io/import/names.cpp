#include "io/import/names.hpp"

#include <algorithm>
#include <cctype>

namespace tokenroof::io {
namespace {

struct Words {
  std::string_view words, meaning;
};
/// What InferenceX and aiconfigurator call devices; the first that the name begins with.
constexpr Words devices[] = {{"gb300", "gb300-nvl72-gpu"},
                             {"gb200", "gb200-nvl72-gpu"},
                             {"b300", "b300-sxm"},
                             {"b200", "b200-sxm"},
                             {"h200-nvl", "h200-nvl-141gb"},
                             {"h200", "h200-sxm-141gb"},
                             {"h100-nvl", "h100-nvl-94gb"},
                             {"h100-pcie", "h100-pcie-80gb"},
                             {"h100", "h100-sxm-80gb"},
                             {"h800", "h800-sxm-80gb"},
                             {"a100-sxm", "a100-sxm-80gb"},
                             {"a100-pcie", "a100-pcie-80gb"},
                             {"mi300x", "mi300x"},
                             {"mi325x", "mi325x"},
                             {"mi350x", "mi350x"},
                             {"mi355x", "mi355x"},
                             {"l40s", "l40s"}};
/// How checkpoints say in their names what they are quantised to; the first that occurs.
constexpr Words quantised[] = {{"nvfp4", "nvfp4"}, {"mxfp4", "mxfp4"},    {"-fp4", "nvfp4"},
                               {"-fp8", "fp8"},    {"w8a8", "int8"},      {"w4a16", "int4"},
                               {"-awq", "int4"},   {"gptq-int8", "int8"}, {"gptq", "int4"},
                               {"-int4", "int4"},  {"-bf16", "bf16"}};
/// Endings that say how a model was tuned or packed; the shapes are those of the name before.
constexpr std::string_view endings[] = {"-instruct",
                                        "-chat",
                                        "-it",
                                        "-hf",
                                        "-base",
                                        "-fp8",
                                        "-fp8-dynamic",
                                        "-fp8-kv",
                                        "-fp4",
                                        "-nvfp4",
                                        "-awq",
                                        "-awq-int4",
                                        "-gptq",
                                        "-gptq-int4",
                                        "-gptq-int8",
                                        "-int4",
                                        "-bf16",
                                        "-gguf",
                                        "-quantized.w8a8",
                                        "-quantized.w4a16",
                                        "-q4_k_m",
                                        "-q8_0",
                                        "-f16",
                                        ".q4_k_m",
                                        ".q8_0",
                                        ".gguf",
                                        "-thinking",
                                        "-2507",
                                        "-0528",
                                        "-0324"};
/// Models that differ in their training alone.
constexpr Words same_shapes[] = {{"llama-3.3-70b", "llama-3.1-70b"}};

}  // namespace

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::string_view device_of(std::string_view name) {
  std::string words = lower(name);
  std::replace(words.begin(), words.end(), '_', '-');
  for (const Words& device : devices)
    if (words.starts_with(device.words)) return device.meaning;
  return {};
}

std::string weights_by_name(std::string_view name) {
  const std::string words = lower(name);
  for (const Words& known : quantised)
    if (words.find(known.words) != std::string::npos) return std::string(known.meaning);
  return {};
}

std::vector<std::string> model_names(const std::string& name) {
  std::vector<std::string> names{name};
  std::string rest = name.substr(name.find_last_of("/\\") + 1);
  const auto add = [&] {
    if (names.back() != rest) names.push_back(rest);
    if (lower(rest).starts_with("meta-llama")) names.push_back(rest.substr(5));
    for (const Words& twin : same_shapes)
      if (lower(rest) == twin.words) names.emplace_back(twin.meaning);
  };
  add();
  for (bool shorter = true; shorter;) {
    shorter = false;
    for (const std::string_view ending : endings) {
      if (!lower(rest).ends_with(ending) || rest.size() == ending.size()) continue;
      rest.resize(rest.size() - ending.size());
      add();
      shorter = true;
    }
  }
  return names;
}

}  // namespace tokenroof::io
