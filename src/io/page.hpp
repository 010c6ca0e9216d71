// A text for people, built from headings, paragraphs and tables, for a terminal or in markdown.
#pragma once

#include <string>
#include <string_view>

#include "tokenroof/core/error.hpp"
#include "tokenroof/io/table.hpp"
#include "tokenroof/io/validate.hpp"

namespace tokenroof::io {

class Page {
 public:
  explicit Page(Markup markup, bool colour = false)
      : markdown_(markup == Markup::markdown), colour_(colour && !markdown_) {}

  Page& title(std::string_view text) { return heading("# ", text); }
  Page& section(std::string_view text) { return heading("## ", text); }
  /// A paragraph; in plain text wrapped at 100 columns, or at COLUMNS of the environment if fewer.
  Page& line(std::string_view text);
  Page& table(const TextTable& table) {
    text_ += markdown_ ? table.markdown() : table.plain(colour_);
    if (markdown_) text_ += '\n';
    return *this;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  Page& heading(std::string_view mark, std::string_view text);

  std::string text_;
  bool markdown_, colour_;
};

/// Digits in groups of three, no fraction: "1,234,567".
[[nodiscard]] std::string count_text(double count);
/// "12.3 %"
[[nodiscard]] std::string percent_text(double share);
/// Names of keys and operators as words: "kv_pool" -> "kv pool".
[[nodiscard]] std::string words(std::string_view name);
/// The verdict as sentences: "Does not fit: REASON. What would help: REMEDY."
[[nodiscard]] std::string verdict_text(const Verdict& verdict);

}  // namespace tokenroof::io
