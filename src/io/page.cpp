#include "page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tokenroof::io {
namespace {
constexpr std::size_t page_width = 100;
}

Page& Page::heading(std::string_view mark, std::string_view text) {
  if (!text_.empty()) text_ += '\n';
  if (markdown_)
    text_ += fmt::format("{}{}\n\n", mark, text);
  else
    text_ += colour_ ? fmt::format("\033[1m{}\033[0m\n", text) : fmt::format("{}\n", text);
  return *this;
}

Page& Page::line(std::string_view text) {
  if (markdown_) {
    text_ += fmt::format("{}\n\n", text);
    return *this;
  }
  while (display_width(std::string(text)) > page_width) {
    std::size_t cut = text.rfind(' ', page_width);
    if (cut == std::string_view::npos || cut == 0) cut = text.find(' ', page_width);
    if (cut == std::string_view::npos) break;
    text_ += fmt::format("{}\n", text.substr(0, cut));
    text.remove_prefix(cut + 1);
  }
  text_ += fmt::format("{}\n", text);
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
