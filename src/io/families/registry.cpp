#include <algorithm>
#include <array>

#include "io/families/families.hpp"

namespace tokenroof::io {
namespace {

/// Whether `word` is one of the blank-separated `words`.
bool contains_word(std::string_view words, std::string_view word) {
  if (word.empty()) return false;
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    if (words.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

std::string_view without_suffix(std::string_view architecture) {
  constexpr std::array<std::string_view, 11> suffixes = {"ForCausalLM",
                                                         "ThinkerForConditionalGeneration",
                                                         "ForConditionalGeneration",
                                                         "ForSequenceClassification",
                                                         "ForTokenClassification",
                                                         "ForProcessRewardModel",
                                                         "ForRewardModel",
                                                         "ForImageTextToText",
                                                         "LMHeadModel",
                                                         "ChatModel",
                                                         "Model"};
  for (const std::string_view suffix : suffixes)
    if (architecture.size() > suffix.size() && architecture.ends_with(suffix))
      return architecture.substr(0, architecture.size() - suffix.size());
  return architecture;
}

const std::vector<Family>& families() {
  static const std::vector<Family> table = all_families();
  return table;
}

}  // namespace

std::vector<Family> all_families() {
  std::vector<Family> all;
  for (const std::span<const Family> part :
       {llama_families(), classic_families(), qwen_families(), gemma_families(),
        deepseek_families(), deepseek_v4_families(), glm_families(), mixture_families(),
        hybrid_families(), nemotron_families()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

const Family* family_of_type(std::string_view model_type) {
  for (const Family& family : families())
    if (contains_word(family.model_types, model_type)) return &family;
  return nullptr;
}

const Family* family_of_architecture(std::string_view architecture) {
  // Whole names first: LlamaForCausalLMEagle3 is no Llama.
  for (const std::string_view name : {architecture, without_suffix(architecture)})
    for (const Family& family : families())
      if (contains_word(family.architectures, name)) return &family;
  return nullptr;
}

const Family* family_named(std::string_view name) {
  for (const Family& family : families())
    if (family.name == name) return &family;
  return nullptr;
}

}  // namespace tokenroof::io
