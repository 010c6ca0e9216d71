// What the free text of a row means: tables of words, first match wins where only one can hold.
#include <algorithm>
#include <cctype>

#include "io/validate/measured_run.hpp"

namespace tokenroof::io {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

struct TraitWords {
  std::string_view words;
  bool RunTraits::*trait;
  bool holds = true;
};
// Later lines overrule earlier ones.
constexpr TraitWords trait_words[] = {
    {"prefill-only", &RunTraits::prompts_only},
    {"prefill input tokens", &RunTraits::prompts_only},
    {"prefill total", &RunTraits::prompts_only},
    {"decode output tokens", &RunTraits::decode_only},
    {"single-sequence decode", &RunTraits::decode_only},
    {"no prefill interference", &RunTraits::decode_only},
    {"concurrency", &RunTraits::closed_loop},
    {"interference included", &RunTraits::closed_loop},
    {"no prefill interference", &RunTraits::closed_loop, false},
    {"arrive together", &RunTraits::closed_loop, false},
    {"arrive together", &RunTraits::in_turn},
    {"waiting", &RunTraits::together},
    {"enables attention dp", &RunTraits::rank_is_device},
    {"eager", &RunTraits::eager},
    {"pcie gpus, interconnect", &RunTraits::no_bridge},
};

struct EngineWords {
  std::string_view words;
  std::string_view profile;
  bool versioned;  ///< the number beside it is the engine's own
};
// TensorRT-LLM numbers beside other words are those of the server around it.
constexpr EngineWords engine_words[] = {
    {"llama.cpp", "llamacpp", false}, {"fastertransformer", "fastertransformer", false},
    {"gptsession", "trtllm", true},   {"trt backend", "trtllm", true},
    {"tensorrt", "trtllm", false},    {"trtllm", "trtllm", false},
    {"vllm", "vllm", true},           {"sglang", "sglang", true},
};

// The first "1.2" of a text, with what digits and points follow.
std::string version_in(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto digit = [&](std::size_t i) {
      return i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0;
    };
    if (!digit(at)) continue;
    std::size_t end = at;
    while (digit(end) || (end < text.size() && text[end] == '.' && digit(end + 1))) ++end;
    const std::string_view number = text.substr(at, end - at);
    if (number.find('.') != std::string_view::npos) return std::string(number);
    at = end;
  }
  return {};
}

}  // namespace

RunTraits run_traits(std::string_view words) {
  const std::string text = lower(words);
  RunTraits traits;
  for (const TraitWords& line : trait_words)
    if (text.find(line.words) != std::string::npos) traits.*line.trait = line.holds;
  return traits;
}

EngineName engine_name(std::string_view text) {
  const std::string words = lower(text);
  for (const EngineWords& line : engine_words)
    if (words.find(line.words) != std::string::npos)
      return {std::string(line.profile), line.versioned ? version_in(words) : std::string()};
  return {words.substr(0, words.find(' ')), {}};
}

}  // namespace tokenroof::io
