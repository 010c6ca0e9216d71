// Tables for people: aligned columns for a terminal, pipes for markdown.
#pragma once

#include <string>
#include <vector>

namespace tokenroof::io {

/// How a column lines up. `automatic`: right when every cell that is not empty starts like a
/// number, else left.
enum class Align { automatic, left, right };

/// Cells as text, row by row.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header, std::vector<Align> align = {});
  /// Adds a row; missing cells are empty, surplus ones throw std::logic_error.
  TextTable& row(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const { return rows_.empty(); }

  /// Columns two spaces apart, a line under the header, no trailing spaces. With `colour` the
  /// header is bold.
  [[nodiscard]] std::string plain(bool colour = false) const;
  [[nodiscard]] std::string markdown() const;

 private:
  [[nodiscard]] bool right(std::size_t column) const;

  std::vector<std::string> header_;
  std::vector<Align> align_;
  std::vector<std::vector<std::string>> rows_;
};

/// Columns that a UTF-8 text takes on a terminal, one per code point.
[[nodiscard]] std::size_t display_width(const std::string& text);

/// Whether colour is welcome on a file descriptor: a terminal, not TERM=dumb, NO_COLOR not set.
[[nodiscard]] bool colour_welcome(int file_descriptor);

}  // namespace tokenroof::io
