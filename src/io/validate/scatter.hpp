// Predicted against measured as characters, for a terminal or a code block.
#pragma once

#include <string>
#include <string_view>

#include "tokenroof/io/validate.hpp"

namespace tokenroof::io {

/// A grid of both axes in logarithms, over the same range: a dot for few rows, o and # for more,
/// a slash where nothing lies on the line of exact predictions. Empty for fewer than two rows.
[[nodiscard]] std::string scatter(const ValidationReport& report, std::string_view metric);

}  // namespace tokenroof::io
