// data/kernels.json: {"constants": {NAME: {"value": "2.84 us" or a number, "meaning", "source",
// "date", "rows", "fit_error"}}}. The names are the members of KernelConstants without "_s" (a unit
// is beside the value), at most 24 of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tokenroof/io/engine_io.hpp"
#include "tokenroof/physics/kernel_constants.hpp"

namespace tokenroof::io {

/// The constants of kernels and links, and where they are from.
struct KernelEntry {
  KernelConstants constants;
  std::vector<ConstantNote> notes;
};

/// Reads the file; a name it does not have keeps the built-in value. Throws SpecError with all
/// faults.
[[nodiscard]] KernelEntry read_kernels(std::string_view json_text, const std::string& file);

/// The entry as JSON text that read_kernels takes, if every constant has its note.
[[nodiscard]] std::string write_kernels(const KernelEntry& entry);

}  // namespace tokenroof::io
