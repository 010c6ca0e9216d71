// Reads the header of a GGUF file (llama.cpp): metadata and the list of tensors with their block
// formats, never the weights.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "tokenroof/describe/model.hpp"

namespace tokenroof::io {

/// Whether the file begins with the GGUF magic. False when it cannot be read.
[[nodiscard]] bool is_gguf(const std::filesystem::path& path);

/// The model that the header of `path` describes. `file_bytes` is the sum of the tensors' bytes,
/// exact by block format; `checkpoint.precision` has the mean bytes per weight of each part.
/// Throws SpecError for a truncated, hostile or unknown header; never allocates more than the file
/// can hold.
[[nodiscard]] Model read_gguf(const std::filesystem::path& path);

/// The same from memory: `bytes` are the beginning of the file (all of the header).
[[nodiscard]] Model read_gguf_header(std::string_view bytes, const std::string& file_name);

}  // namespace tokenroof::io
