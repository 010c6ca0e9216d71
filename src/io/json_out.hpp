// Writing JSON answers: numbers that are never NaN, and what every answer begins with.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "json_reader.hpp"

namespace tokenroof::io {

/// null when there is no number or it is not finite; whole ones below 2^53 without a fraction.
[[nodiscard]] inline Json number(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  if (std::trunc(*value) == *value && std::abs(*value) < 9007199254740992.0)
    return static_cast<std::int64_t>(*value);
  return *value;
}

/// {"schema": "tokenroof/KIND/1", "tokenroof_version": ...}
[[nodiscard]] inline Json document(std::string_view kind, std::string_view version) {
  return {{"schema", "tokenroof/" + std::string(kind) + "/1"}, {"tokenroof_version", version}};
}

/// Text of a document. Names and reasons quote files, which need not be UTF-8.
[[nodiscard]] inline std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tokenroof::io
