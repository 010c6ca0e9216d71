#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iostream>

#include "json_reader.hpp"
#include "tokenroof/io/csv.hpp"

namespace tokenroof::io {
namespace {

// Characters of a stream, a block at a time.
class Source {
 public:
  static constexpr int end = -1;
  explicit Source(std::istream& in) : in_(&in) {}
  int peek() {
    if (at_ == size_ && !fill()) return end;
    return static_cast<unsigned char>(block_[at_]);
  }
  void skip() { ++at_; }

 private:
  bool fill() {
    in_->read(block_.data(), static_cast<std::streamsize>(block_.size()));
    size_ = static_cast<std::size_t>(in_->gcount());
    at_ = 0;
    return size_ > 0;
  }
  std::istream* in_;
  std::vector<char> block_ = std::vector<char>(std::size_t{1} << 16);
  std::size_t at_ = 0, size_ = 0;
};

char separator_of(std::string_view line) {
  char best = ',';
  std::ptrdiff_t most = 0;
  for (const char candidate : {',', ';', '\t'}) {
    const auto count = std::count(line.begin(), line.end(), candidate);
    if (count > most) {
      most = count;
      best = candidate;
    }
  }
  return best;
}

// The apostrophe that the writer puts before text that looks like a formula.
std::string_view without_guard(std::string_view text) {
  constexpr std::string_view dangerous("=+-@\t\r\0", 7);
  if (text.size() > 1 && text[0] == '\'' && dangerous.find(text[1]) != std::string_view::npos)
    text.remove_prefix(1);
  return text;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

struct CsvReader::State {
  State(std::unique_ptr<std::istream> own, std::istream& in, std::string name)
      : owned(std::move(own)), source(in), file(std::move(name)) {}

  std::unique_ptr<std::istream> owned;
  Source source;
  std::string file;
  char separator = ',';
  std::size_t line = 0, next_line = 1;
  std::string cells;              // of the row, one after another
  std::vector<std::size_t> ends;  // of each cell in `cells`
  std::vector<std::string> header;

  [[noreturn]] void fail(const std::string& reason) const {
    throw SpecError(file, fmt::format("line {}", line), reason);
  }

  void quoted_cell() {
    source.skip();
    for (;;) {
      const int c = source.peek();
      if (c == Source::end) fail("a quoted cell has no end");
      source.skip();
      if (c == '\n') ++next_line;
      if (c == '"') {
        if (source.peek() != '"') return;
        source.skip();
      }
      cells += static_cast<char>(c);
    }
  }

  // One record into cells and ends; false at the end of the file.
  bool record() {
    cells.clear();
    ends.clear();
    line = next_line;
    if (source.peek() == Source::end) return false;
    bool start = true;
    for (;;) {
      const int c = source.peek();
      if (start && c == '"') {
        quoted_cell();
        start = false;
        const int after = source.peek();
        if (after != Source::end && after != separator && after != '\r' && after != '\n')
          fail("text after the end of a quoted cell");
        continue;
      }
      start = false;
      if (c != Source::end) source.skip();
      if (c == separator) {
        ends.push_back(cells.size());
        start = true;
      } else if (c == Source::end || c == '\n' || (c == '\r' && source.peek() == '\n')) {
        if (c == '\r') source.skip();
        if (c != Source::end) ++next_line;
        ends.push_back(cells.size());
        return true;
      } else {
        cells += static_cast<char>(c);
      }
    }
  }

  [[nodiscard]] bool blank() const { return ends.size() == 1 && cells.empty(); }
  [[nodiscard]] std::string_view cell(std::size_t column) const {
    const std::size_t begin = column == 0 ? 0 : ends[column - 1];
    return std::string_view(cells).substr(begin, ends[column] - begin);
  }

  void read_header();
};

void CsvReader::State::read_header() {
  // The separator is not known yet: the first line is read raw, then cut.
  std::string first;
  while (trimmed(first).empty()) {
    first.clear();
    if (source.peek() == Source::end) throw SpecError(file, "", "the file is empty");
    line = next_line++;
    for (bool quoted = false;; source.skip()) {
      const int c = source.peek();
      if (c == Source::end) break;
      if (c == '"') quoted = !quoted;
      if (c == '\n' && !quoted) break;
      first += static_cast<char>(c);
    }
    if (source.peek() != Source::end) source.skip();
    constexpr std::string_view mark = "\xEF\xBB\xBF";
    if (line == 1 && first.starts_with(mark)) first.erase(0, mark.size());
    if (!first.empty() && first.back() == '\r') first.pop_back();
  }
  separator = separator_of(first);
  std::string name;
  bool quoted = false;
  const auto add = [&] {
    header.emplace_back(trimmed(without_guard(name)));
    name.clear();
  };
  for (std::size_t i = 0; i < first.size(); ++i) {
    const char c = first[i];
    if (c == '"' && quoted && i + 1 < first.size() && first[i + 1] == '"')
      name += first[++i];
    else if (c == '"')
      quoted = !quoted;
    else if (c == separator && !quoted)
      add();
    else
      name += c;
  }
  add();
  for (std::size_t i = 0; i < header.size(); ++i)
    if (std::find(header.begin(), header.begin() + static_cast<std::ptrdiff_t>(i), header[i]) !=
        header.begin() + static_cast<std::ptrdiff_t>(i))
      fail(fmt::format("the column \"{}\" is there twice", header[i]));
}

CsvReader::CsvReader(std::istream& in, std::string file)
    : state_(std::make_unique<State>(nullptr, in, std::move(file))) {
  state_->read_header();
}

CsvReader CsvReader::open(const std::filesystem::path& path) {
  if (path == "-") return CsvReader(std::cin, "standard input");
  auto stream = std::make_unique<std::ifstream>(open_file(path));
  CsvReader reader(*stream, path.string());
  reader.state_->owned = std::move(stream);
  return reader;
}

CsvReader::CsvReader(CsvReader&&) noexcept = default;
CsvReader& CsvReader::operator=(CsvReader&&) noexcept = default;
CsvReader::~CsvReader() = default;

const std::vector<std::string>& CsvReader::header() const { return state_->header; }
char CsvReader::separator() const { return state_->separator; }
std::size_t CsvReader::line() const { return state_->line; }

std::optional<std::size_t> CsvReader::column(std::string_view name) const {
  const auto found = std::find(header().begin(), header().end(), name);
  if (found == header().end()) return std::nullopt;
  return static_cast<std::size_t>(found - header().begin());
}

std::size_t CsvReader::required_column(std::string_view name) const {
  if (const auto index = column(name)) return *index;
  throw SpecError(state_->file, "line 1",
                  fmt::format("no column \"{}\"{}", name, did_you_mean(name, header())));
}

bool CsvReader::next() {
  do {
    if (!state_->record()) return false;
  } while (state_->blank());
  if (state_->ends.size() != header().size())
    state_->fail(
        fmt::format("has {} cells, the header has {}", state_->ends.size(), header().size()));
  return true;
}

std::string_view CsvReader::text(std::size_t column) const {
  return without_guard(state_->cell(column));
}

void CsvReader::fail(std::size_t column, const std::string& reason) const {
  throw SpecError(state_->file, fmt::format("line {}, {}", state_->line, header()[column]), reason);
}

std::optional<double> CsvReader::number(std::size_t column) const {
  std::string_view text = trimmed(state_->cell(column));
  if (text.empty()) return std::nullopt;
  std::array<char, 64> copy{};
  if (state_->separator == ';' && text.size() < copy.size()) {
    std::replace_copy(text.begin(), text.end(), copy.begin(), ',', '.');
    text = {copy.data(), text.size()};
  }
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + (text.front() == '+'), end, value);
  if (error != std::errc{} || stop != end || !std::isfinite(value))
    fail(column, fmt::format("expected a number, found \"{}\"", text));
  return value;
}

std::optional<std::int64_t> CsvReader::integer(std::size_t column) const {
  const std::optional<double> value = number(column);
  if (!value) return std::nullopt;
  constexpr double largest_exact = 9007199254740992.0;
  if (*value != std::floor(*value) || std::abs(*value) > largest_exact)
    fail(column, fmt::format("expected a whole number, found \"{}\"", text(column)));
  return static_cast<std::int64_t>(*value);
}

}  // namespace tokenroof::io
