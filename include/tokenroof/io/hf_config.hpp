// Reads a model from the files people have: Hugging Face config.json (with hf_quant_config.json and
// model.safetensors.index.json beside it), or the header of a GGUF file.
//
// Nothing is guessed. An architecture that no family here knows, or a key that could change the
// arithmetic and that its family does not know, is refused by name; so are contradictions (heads
// that their KV heads do not divide, a layer list of the wrong length). All faults of a file come
// in one SpecError.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tokenroof/describe/model.hpp"

namespace tokenroof::io {

/// What a caller may add to the file.
struct ModelOptions {
  /// Family to read the file as, whatever architecture it names ("llama"); unknown keys are then
  /// noted, not refused. Empty: the file's own.
  std::string assume_family = {};
  /// Text of hf_quant_config.json, for read_model_config.
  std::string quantization_json = {};
  /// Text of model.safetensors.index.json, for read_model_config.
  std::string index_json = {};
};

/// Reads `path`: a config.json under any name, a directory that holds one, or a .gguf file. The
/// sidecars are looked up beside the file (and in hf_quant_config/NAME.json). The model's id is the
/// directory's name, or the file's without ending. Throws SpecError.
[[nodiscard]] Model read_model(const std::filesystem::path& path, const ModelOptions& options = {});

/// Reads the text of a config.json; `file_name` is for messages and for the model's id.
[[nodiscard]] Model read_model_config(std::string_view json, const std::string& file_name,
                                      const ModelOptions& options = {});

/// Names of the families, for `--assume`.
[[nodiscard]] std::vector<std::string> model_families();

}  // namespace tokenroof::io
