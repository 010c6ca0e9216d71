// Matching of the ignore lists of quantised checkpoints.
#pragma once

#include <string_view>

namespace tokenroof::io {

/// Whether `pattern` of an ignore list (a dotted path, a glob, or "re:" and a regular expression)
/// covers the module `name`.
[[nodiscard]] bool covers_module(std::string_view pattern, std::string_view name);

}  // namespace tokenroof::io
