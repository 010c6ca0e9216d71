// What kind of file it is, told from its beginning.
#pragma once

#include <cstddef>
#include <string_view>

#include "io/import/json_source.hpp"

namespace tokenroof::io {

inline constexpr std::string_view table_source = "aiconfigurator", log_source = "log";
/// How much of a file is looked at to tell its kind.
inline constexpr std::size_t head_bytes = 256 * 1024;

/// The kind of a file that begins with `head`, "" when it is none that can be imported.
[[nodiscard]] std::string_view file_kind(std::string_view head);

/// '{', or '[' before an object or the end: a log may begin with "[2026-11-02 ...".
[[nodiscard]] bool begins_as_json(std::string_view text);

/// The JSON source called `name`, nullptr for other kinds.
[[nodiscard]] const JsonSource* json_source(std::string_view name);

}  // namespace tokenroof::io
