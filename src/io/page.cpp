#include "page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace tokenroof::io {
namespace {

constexpr std::size_t widest = 100, narrowest = 20;

/// 100 columns, or COLUMNS where that is less.
std::size_t page_width() {
  const char* columns = std::getenv("COLUMNS");
  const long stated = columns == nullptr ? 0 : std::strtol(columns, nullptr, 10);
  return stated < static_cast<long>(narrowest) ? widest
                                               : std::min(widest, static_cast<std::size_t>(stated));
}

/// Lines of whole words; a word that is wider than a line has one to itself.
std::string wrapped(std::string_view text) {
  std::string lines;
  const std::size_t width = page_width();
  while (display_width(std::string(text)) > width) {
    std::size_t cut = text.rfind(' ', width);
    if (cut == std::string_view::npos || cut == 0) cut = text.find(' ', width);
    if (cut == std::string_view::npos) break;
    lines += fmt::format("{}\n", text.substr(0, cut));
    text.remove_prefix(cut + 1);
  }
  return lines + std::string(text);
}

}  // namespace

Page& Page::heading(std::string_view mark, std::string_view text) {
  if (!text_.empty()) text_ += '\n';
  if (markdown_)
    text_ += fmt::format("{}{}\n\n", mark, text);
  else if (colour_)
    text_ += fmt::format("\033[1m{}\033[0m\n", wrapped(text));
  else
    text_ += wrapped(text) + "\n";
  return *this;
}

Page& Page::line(std::string_view text) {
  text_ += markdown_ ? fmt::format("{}\n\n", text) : wrapped(text) + "\n";
  return *this;
}

std::string count_text(double count) {
  if (!std::isfinite(count)) return "-";
  std::string digits = fmt::format("{:.0f}", count);
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

std::string percent_text(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string words(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string verdict_text(const Verdict& verdict) {
  std::string outcome = words(to_string(verdict.outcome));
  outcome.front() = static_cast<char>(outcome.front() - 'a' + 'A');
  std::string text = fmt::format("{}: {}.", outcome, verdict.reason);
  if (!verdict.remedy.empty()) text += fmt::format(" What would help: {}.", verdict.remedy);
  return text;
}

}  // namespace tokenroof::io
