// Lines of a stream in constant memory: of a longer one the beginning is kept.
#pragma once

#include <cstddef>
#include <istream>
#include <string_view>
#include <vector>

namespace tokenroof::io {

class LineReader {
 public:
  static constexpr std::size_t longest = 64 * 1024;

  explicit LineReader(std::istream& in) : in_(in), buffer_(16 * longest) {}

  /// Moves to the next line, false at the end. LF and CRLF end one; a byte-order mark is dropped.
  bool next();
  /// Without its end; valid until next().
  [[nodiscard]] std::string_view line() const { return line_; }
  [[nodiscard]] std::size_t number() const { return number_; }
  /// The file ended before the line did.
  [[nodiscard]] bool torn() const { return torn_; }

 private:
  void fill();

  std::istream& in_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::string_view line_;
  std::size_t number_ = 0;
  bool torn_ = false;
};

}  // namespace tokenroof::io
