// Values in the lines of logs. Each take_ function reads at the beginning of `text`, which then
// begins behind the value.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tokenroof::io {

/// `line` without terminal sequences (ESC [ ... letter); `scratch` holds it if there are any.
[[nodiscard]] std::string_view without_colours(std::string_view line, std::string& scratch);

/// A number; commas may group its digits.
[[nodiscard]] std::optional<double> take_number(std::string_view& text);
/// A size in bytes; "GB" is read as GiB, see engine_log.hpp. nullopt without a known unit.
[[nodiscard]] std::optional<double> take_size(std::string_view& text);
/// A word, in quotes or not; "" for None. "Q4_K - Medium" is what files call "Q4_K_M".
[[nodiscard]] std::string take_text(std::string_view& text);

}  // namespace tokenroof::io
