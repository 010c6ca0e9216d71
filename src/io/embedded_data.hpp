// The files of data/ as they were when the library was built.
#pragma once

#include <span>
#include <string_view>

namespace tokenroof::io {

/// One file: its path below data/, and its text.
struct EmbeddedFile {
  std::string_view path;
  std::string_view text;
};

/// All of them, ordered by path.
[[nodiscard]] std::span<const EmbeddedFile> embedded_files();

}  // namespace tokenroof::io
