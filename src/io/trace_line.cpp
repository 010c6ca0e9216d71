#include "trace_line.hpp"

#include <charconv>
#include <cmath>

namespace tokenroof::io {
namespace {

std::string quoted(std::string_view text) {
  constexpr std::size_t most = 40;
  return "\"" + std::string(text.substr(0, most)) + (text.size() > most ? "...\"" : "\"");
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r";
  const std::size_t first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

// Just enough JSON for one flat object: numbers, arrays of whole numbers, and what is passed over.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  char peek() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r')) ++at_;
    if (at_ == end_) throw BrokenRow("the line ends inside its object");
    return *at_;
  }
  bool done() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r')) ++at_;
    return at_ == end_;
  }
  void expect(char c) {
    if (peek() != c) throw BrokenRow(std::string("expected '") + c + "', found '" + *at_ + "'");
    ++at_;
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  std::string_view text() {
    expect('"');
    const char* first = at_;
    while (at_ != end_ && *at_ != '"') at_ += *at_ == '\\' && at_ + 1 != end_ ? 2 : 1;
    if (at_ == end_) throw BrokenRow("a text does not end");
    return {first, static_cast<std::size_t>(at_++ - first)};
  }
  double number(const char* what) {
    peek();
    double value = 0;
    const auto [next, error] = std::from_chars(at_, end_, value);
    if (error != std::errc{} || !std::isfinite(value))
      throw BrokenRow(std::string(what) + ": expected a number");
    at_ = next;
    return value;
  }
  std::int64_t whole(const char* what) {
    peek();
    const char* first = at_;
    std::int64_t value = 0;
    const auto [next, error] = std::from_chars(at_, end_, value);
    const bool fraction = next != end_ && (*next == '.' || *next == 'e' || *next == 'E');
    if (error == std::errc{} && !fraction) {
      at_ = next;
      return value;
    }
    at_ = first;
    const double real = number(what);  // 512.0 is a whole number
    if (real != std::floor(real) || std::fabs(real) > 9e15)
      throw BrokenRow(std::string(what) + ": expected a whole number");
    return static_cast<std::int64_t>(real);
  }
  void pass_over() {
    const char c = peek();
    if (c == '"') {
      text();
    } else if (c == '{' || c == '[') {
      int depth = 0;
      do {
        const char d = peek();
        if (d == '"') {
          text();
          continue;
        }
        depth += d == '{' || d == '[' ? 1 : d == '}' || d == ']' ? -1 : 0;
        ++at_;
      } while (depth > 0);
    } else {
      while (at_ != end_ && *at_ != ',' && *at_ != '}') ++at_;
    }
  }

 private:
  const char* at_;
  const char* end_;
};

// `digits` decimal digits at `at`, or a broken row.
std::int64_t digits(std::string_view text, std::size_t at, std::size_t count) {
  std::int64_t value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (i >= text.size() || text[i] < '0' || text[i] > '9')
      throw BrokenRow("TIMESTAMP: expected YYYY-MM-DD hh:mm:ss.fffffff, found " + quoted(text));
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

// Days since 1970 in the proleptic Gregorian calendar; months counted from March so that the leap
// day is the last of a year.
std::int64_t days_since_epoch(std::int64_t year, std::int64_t month, std::int64_t day) {
  if (month <= 2) --year;
  const std::int64_t era = year / 400;
  const std::int64_t of_era = year - era * 400;
  const std::int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

}  // namespace

void split_csv(std::string_view line, std::vector<std::string_view>& cells) {
  cells.clear();
  std::size_t at = 0;
  for (;;) {
    std::size_t end = line.find(',', at);
    if (at < line.size() && line[at] == '"') {
      const std::size_t close = line.find('"', at + 1);
      if (close == std::string_view::npos) throw BrokenRow("a quote does not end");
      end = line.find(',', close);
      cells.push_back(line.substr(at + 1, close - at - 1));
    } else {
      cells.push_back(trimmed(line.substr(at, end == std::string_view::npos ? end : end - at)));
    }
    if (end == std::string_view::npos) return;
    at = end + 1;
  }
}

double trace_number(std::string_view cell, const char* what) {
  double value = 0;
  const auto [next, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc{} || next != cell.data() + cell.size() || !std::isfinite(value))
    throw BrokenRow(std::string(what) + ": expected a number, found " + quoted(cell));
  return value;
}

std::int64_t trace_count(std::string_view cell, const char* what) {
  std::int64_t value = 0;
  const auto [next, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  const bool whole = error == std::errc{} && next == cell.data() + cell.size();
  if (!whole) {
    const double real = trace_number(cell, what);  // 512.0, as data frames write it
    if (real != std::floor(real) || std::fabs(real) > 1e9)
      throw BrokenRow(std::string(what) + ": expected a whole number, found " + quoted(cell));
    value = static_cast<std::int64_t>(real);
  }
  if (value < 0 || value > 1'000'000'000)
    throw BrokenRow(std::string(what) + ": out of range, found " + quoted(cell));
  return value;
}

std::int64_t timestamp_ticks(std::string_view text) {
  constexpr std::int64_t second = 10'000'000;
  const std::int64_t month = digits(text, 5, 2), day = digits(text, 8, 2);
  const std::int64_t hour = digits(text, 11, 2), minute = digits(text, 14, 2);
  const std::int64_t seconds = digits(text, 17, 2);
  const bool marks = text[4] == '-' && text[7] == '-' && (text[10] == ' ' || text[10] == 'T') &&
                     text[13] == ':' && text[16] == ':';
  if (!marks || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 ||
      seconds > 60)
    throw BrokenRow("TIMESTAMP: no such time, found " + quoted(text));
  std::int64_t ticks = days_since_epoch(digits(text, 0, 4), month, day) * 86400 + hour * 3600 +
                       minute * 60 + seconds;
  ticks *= second;
  std::size_t at = 19;
  if (at < text.size() && text[at] == '.') {
    std::int64_t unit = second / 10;
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, unit /= 10)
      ticks += (text[at] - '0') * unit;
  }
  const std::string_view zone = text.substr(at);
  if (zone.empty() || zone == "Z") return ticks;
  if (zone.size() != 6 || (zone[0] != '+' && zone[0] != '-') || zone[3] != ':')
    throw BrokenRow("TIMESTAMP: unknown zone " + quoted(zone));
  const std::int64_t offset = (digits(zone, 1, 2) * 60 + digits(zone, 4, 2)) * 60 * second;
  return zone[0] == '+' ? ticks - offset : ticks + offset;
}

void read_mooncake(std::string_view line, TraceRow& row) {
  Scanner scan(line);
  bool time = false, input = false, output = false;
  row.blocks.clear();
  scan.expect('{');
  if (!scan.take('}')) {
    do {
      const std::string_view key = scan.text();
      scan.expect(':');
      if (key == "timestamp") {
        row.time = scan.number("timestamp") / 1000;
        time = true;
      } else if (key == "input_length") {
        row.input = scan.whole("input_length");
        input = true;
      } else if (key == "output_length") {
        row.output = scan.whole("output_length");
        output = true;
      } else if (key == "hash_ids") {
        scan.expect('[');
        if (scan.take(']')) continue;
        do row.blocks.push_back(scan.whole("hash_ids"));
        while (scan.take(','));
        scan.expect(']');
      } else {
        scan.pass_over();
      }
    } while (scan.take(','));
    scan.expect('}');
  }
  if (!scan.done()) throw BrokenRow("more text follows the object");
  if (!time) throw BrokenRow("timestamp is missing");
  if (!input) throw BrokenRow("input_length is missing");
  if (!output) throw BrokenRow("output_length is missing");
  if (row.input < 0 || row.output < 0 || row.input > 1'000'000'000 || row.output > 1'000'000'000)
    throw BrokenRow("a length is out of range");
}

}  // namespace tokenroof::io
