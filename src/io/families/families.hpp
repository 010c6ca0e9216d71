// The table of families: which names in a file lead to which reader.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "io/families/decoder.hpp"

namespace tokenroof::io {

/// A way to build a decoder, and the names that ask for it.
struct Family {
  std::string_view name;
  /// Blank-separated values of `model_type`.
  std::string_view model_types;
  /// Blank-separated class names of `architectures`, without ForCausalLM and the like.
  std::string_view architectures;
  Decoder (*read)(Config&);
};

// One function per file of families.
[[nodiscard]] std::span<const Family> llama_families();
[[nodiscard]] std::span<const Family> classic_families();
[[nodiscard]] std::span<const Family> qwen_families();
[[nodiscard]] std::span<const Family> gemma_families();
[[nodiscard]] std::span<const Family> deepseek_families();
[[nodiscard]] std::span<const Family> deepseek_v4_families();
[[nodiscard]] std::span<const Family> glm_families();
[[nodiscard]] std::span<const Family> mixture_families();
[[nodiscard]] std::span<const Family> hybrid_families();
[[nodiscard]] std::span<const Family> nemotron_families();

/// All of them.
[[nodiscard]] std::vector<Family> all_families();
/// The family that claims this model_type, architecture (any suffix) or family name; nullptr.
[[nodiscard]] const Family* family_of_type(std::string_view model_type);
[[nodiscard]] const Family* family_of_architecture(std::string_view architecture);
[[nodiscard]] const Family* family_named(std::string_view name);

}  // namespace tokenroof::io
