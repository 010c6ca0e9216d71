#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <ostream>
#include <stdexcept>

#include "tokenroof/io/csv.hpp"

namespace tokenroof::io {
namespace {

constexpr std::size_t buffer_size = std::size_t{1} << 16;
// The longest shortest double, -2.2250738585072014e-308, has 24 characters.
constexpr std::size_t longest_number = 32;

bool would_be_a_formula(std::string_view text) {
  if (text.empty()) return false;
  switch (text.front()) {
    case '=':
    case '+':
    case '-':
    case '@':
    case '\t':
    case '\r':
    case '\0':
      return true;
    default:
      return false;
  }
}

}  // namespace

CsvWriter::CsvWriter(std::ostream& out, CsvDialect dialect)
    : out_(out), dialect_(dialect), buffer_(buffer_size, '\0') {
  if (!dialect_.byte_order_mark) return;
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  std::memcpy(room(mark.size()), mark.data(), mark.size());
  used_ += mark.size();
}

CsvWriter::~CsvWriter() { flush(); }

void CsvWriter::flush() {
  out_.write(buffer_.data(), static_cast<std::streamsize>(used_));
  used_ = 0;
}

char* CsvWriter::room(std::size_t bytes) {
  if (used_ + bytes > buffer_.size()) {
    flush();
    if (bytes > buffer_.size()) buffer_.resize(bytes);
  }
  return buffer_.data() + used_;
}

void CsvWriter::take_number(char* begin, std::size_t length) {
  if (dialect_.decimal != '.')
    if (void* point = std::memchr(begin, '.', length))
      *static_cast<char*>(point) = dialect_.decimal;
  used_ += length;
}

void CsvWriter::separate() {
  if (column_++ == 0) return;
  *room(1) = dialect_.separator;
  ++used_;
}

void CsvWriter::header(const std::vector<std::string>& names) {
  for (const std::string& name : names) cell(name);
  end_row();
  width_ = names.size();
}

CsvWriter& CsvWriter::missing() {
  separate();
  return *this;
}

CsvWriter& CsvWriter::cell(double number) {
  separate();
  if (!std::isfinite(number)) return *this;
  char* begin = room(longest_number);
  const char* end = std::to_chars(begin, begin + longest_number, number).ptr;
  take_number(begin, static_cast<std::size_t>(end - begin));
  return *this;
}

CsvWriter& CsvWriter::value(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end || !std::isfinite(number)) return cell(text);
  separate();
  char* begin = room(text.size());
  std::memcpy(begin, text.data(), text.size());
  take_number(begin, text.size());
  return *this;
}

CsvWriter& CsvWriter::cell(std::int64_t number) {
  separate();
  char* begin = room(longest_number);
  used_ +=
      static_cast<std::size_t>(std::to_chars(begin, begin + longest_number, number).ptr - begin);
  return *this;
}

CsvWriter& CsvWriter::cell(bool truth) {
  separate();
  const std::string_view word = truth ? "TRUE" : "FALSE";
  std::memcpy(room(word.size()), word.data(), word.size());
  used_ += word.size();
  return *this;
}

CsvWriter& CsvWriter::cell(std::string_view text) {
  separate();
  const bool guarded = would_be_a_formula(text);
  const bool quoted = std::any_of(text.begin(), text.end(), [&](char c) {
    return c == dialect_.separator || c == '"' || c == '\r' || c == '\n';
  });
  // Every character may be a quote that doubles, plus two quotes and the apostrophe.
  char* at = room(2 * text.size() + 3);
  char* const begin = at;
  if (quoted) *at++ = '"';
  if (guarded) *at++ = '\'';
  for (const char c : text) {
    if (c == '"') *at++ = '"';
    *at++ = c;
  }
  if (quoted) *at++ = '"';
  used_ += static_cast<std::size_t>(at - begin);
  return *this;
}

void CsvWriter::end_row() {
  if (width_ != 0 && column_ > width_) throw std::logic_error("a CSV row is wider than its header");
  while (column_ < width_) missing();
  std::memcpy(room(2), "\r\n", 2);
  used_ += 2;
  column_ = 0;
}

}  // namespace tokenroof::io
