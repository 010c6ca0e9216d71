#include "io/import/log_values.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace tokenroof::io {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string_view without_colours(std::string_view line, std::string& scratch) {
  if (line.find('\x1b') == std::string_view::npos) return line;
  scratch.clear();
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      scratch += line[i];
      continue;
    }
    if (i + 1 < line.size() && line[i + 1] == '[')
      for (i += 2; i < line.size() && !(line[i] >= '@' && line[i] <= '~');) ++i;
  }
  return scratch;
}

std::optional<double> take_number(std::string_view& text) {
  std::size_t at = text.find_first_not_of(" \t");
  if (at == std::string_view::npos) return std::nullopt;
  std::string digits;
  if (text[at] == '-') digits += text[at++];
  bool any = false;
  for (; at < text.size(); ++at) {
    const bool more = at + 1 < text.size() && is_digit(text[at + 1]);
    if (is_digit(text[at]))
      any = true;
    else if (text[at] == ',' && any && more)
      continue;
    else if (text[at] != '.' || !more)
      break;
    digits += text[at];
  }
  if (!any) return std::nullopt;
  text.remove_prefix(at);
  return std::strtod(digits.c_str(), nullptr);
}

std::optional<double> take_size(std::string_view& text) {
  const auto value = take_number(text);
  if (!value) return std::nullopt;
  const std::size_t at = std::min(text.find_first_not_of(' '), text.size());
  std::string_view unit = text.substr(at);
  constexpr std::pair<std::string_view, double> units[] = {
      {"GiB", 0x1p30}, {"GB", 0x1p30}, {"MiB", 0x1p20}, {"MB", 0x1p20},
      {"KiB", 0x1p10}, {"KB", 0x1p10}, {"bytes", 1},    {"B", 1}};
  for (const auto& [name, bytes] : units) {
    if (!unit.starts_with(name)) continue;
    text = unit.substr(name.size());
    return *value * bytes;
  }
  return std::nullopt;
}

std::string take_text(std::string_view& text) {
  if (!text.empty() && (text.front() == '\'' || text.front() == '"')) text.remove_prefix(1);
  const std::size_t end = std::min(text.find_first_of("'\",()[]{}; \t"), text.size());
  std::string word(text.substr(0, end));
  text.remove_prefix(end);
  if (text.starts_with(" - ") && text.size() > 3) (word += '_') += text[3];
  while (word.ends_with('.')) word.pop_back();
  return word == "None" ? std::string() : word;
}

}  // namespace tokenroof::io
