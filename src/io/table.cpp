#include "tokenroof/io/table.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace tokenroof::io {
namespace {

// "-" stands for "no number".
bool starts_like_number(std::string_view text) {
  if (text == "-") return true;
  while (!text.empty() && (text.front() == '-' || text.front() == '+' || text.front() == '<' ||
                           text.front() == '>' || text.front() == '~' || text.front() == ' '))
    text.remove_prefix(1);
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front()));
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::size_t own = display_width(text);
  const std::string space(width > own ? width - own : 0, ' ');
  return right ? space + text : text + space;
}

void end_line(std::string& out) {
  out.erase(out.find_last_not_of(' ') + 1);
  out += '\n';
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '|')
      result += "\\|";
    else if (c == '\n')
      result += "<br>";
    else
      result += c;
  }
  return result;
}

}  // namespace

std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

bool colour_welcome(int file_descriptor) {
  const char* no_colour = std::getenv("NO_COLOR");
  if (no_colour != nullptr && *no_colour != '\0') return false;
  const char* terminal = std::getenv("TERM");
  if (terminal == nullptr || std::string_view(terminal) == "dumb") return false;
  return ::isatty(file_descriptor) == 1;
}

TextTable::TextTable(std::vector<std::string> header, std::vector<Align> align)
    : header_(std::move(header)), align_(std::move(align)) {
  align_.resize(header_.size(), Align::automatic);
}

TextTable& TextTable::row(std::vector<std::string> cells) {
  if (cells.size() > header_.size()) throw std::logic_error("a table row is wider than its header");
  cells.resize(header_.size());
  rows_.push_back(std::move(cells));
  return *this;
}

bool TextTable::right(std::size_t column) const {
  if (align_[column] != Align::automatic) return align_[column] == Align::right;
  bool any = false;
  for (const auto& cells : rows_) {
    if (cells[column].empty()) continue;
    if (!starts_like_number(cells[column])) return false;
    any = true;
  }
  return any;
}

std::string TextTable::plain(bool colour) const {
  constexpr std::string_view gap = "  ", bold = "\033[1m", normal = "\033[0m";
  std::vector<std::size_t> widths;
  std::vector<bool> rights;
  for (std::size_t c = 0; c < header_.size(); ++c) {
    std::size_t width = display_width(header_[c]);
    for (const auto& cells : rows_) width = std::max(width, display_width(cells[c]));
    widths.push_back(width);
    rights.push_back(right(c));
  }
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (c > 0) text += gap;
      text += padded(cells[c], widths[c], rights[c]);
    }
    end_line(text);
    return text;
  };
  std::string out = line(header_);
  if (colour) {
    out.pop_back();
    out = std::string(bold) + out + std::string(normal) + '\n';
  }
  std::vector<std::string> rule;
  for (const std::size_t width : widths) rule.emplace_back(width, '-');
  out += line(rule);
  for (const auto& cells : rows_) out += line(cells);
  return out;
}

std::string TextTable::markdown() const {
  const auto line = [](const std::vector<std::string>& cells) {
    std::string text = "|";
    for (const std::string& cell : cells) text += ' ' + escaped(cell) + " |";
    return text + '\n';
  };
  std::string out = line(header_);
  out += '|';
  for (std::size_t c = 0; c < header_.size(); ++c) out += right(c) ? " ---: |" : " --- |";
  out += '\n';
  for (const auto& cells : rows_) out += line(cells);
  return out;
}

}  // namespace tokenroof::io
