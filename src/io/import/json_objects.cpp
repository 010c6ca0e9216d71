#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include "io/import/json_source.hpp"
#include "tokenroof/core/error.hpp"

namespace tokenroof::io {
namespace {

/// Follows braces over the lines of one object.
class ObjectEnd {
 public:
  /// Index after the brace that closes the object, npos when it is not on this line.
  std::size_t find(std::string_view line) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      const char c = line[i];
      if (quoted_) {
        if (c == '\\')
          ++i;
        else if (c == '"')
          quoted_ = false;
      } else if (c == '"') {
        quoted_ = true;
      } else if (c == '{') {
        ++depth_;
      } else if (c == '}' && --depth_ == 0) {
        return i + 1;
      }
    }
    return std::string_view::npos;
  }

 private:
  bool quoted_ = false;
  int depth_ = 0;
};

std::string reason_of(const SpecError& error) {
  std::string text;
  for (const Fault& fault : error.faults()) {
    if (!text.empty()) text += "; ";
    text += fault.json_pointer + (fault.json_pointer.empty() ? "" : ": ") + fault.reason;
  }
  return text;
}

/// Cuts a stream of lines into objects.
class ObjectCutter {
 public:
  ObjectCutter(const std::function<void(const Json&, const std::string&)>& take,
               const std::function<void(const std::string&, const std::string&)>& broken)
      : take_(take), broken_(broken) {}

  void line(std::string_view line, std::size_t number) {
    if (open_ && line.starts_with('{')) torn();
    while (true) {
      if (!open_) {
        const std::size_t first = line.find_first_not_of(" \t\r,");
        if (first == std::string_view::npos) return;
        line.remove_prefix(first);
        if (line.front() != '{')
          return broken_(place(number),
                         "expected an object, found \"" + std::string(line.substr(0, 30)) + "\"");
        open_ = true;
        begin_ = number;
        end_ = {};
        text_.clear();
      }
      const std::size_t end = end_.find(line);
      text_.append(line.substr(0, end)).push_back('\n');
      if (end == std::string_view::npos) return;
      open_ = false;
      parse();
      line.remove_prefix(end);
    }
  }
  void finish() {
    if (open_) torn();
  }

 private:
  static std::string place(std::size_t line) { return "line " + std::to_string(line); }

  void torn() {
    open_ = false;
    broken_(place(begin_), "the object that begins here does not end");
  }
  void parse() {
    Json object;
    try {
      object = parse_json(text_, "", NonFinite::read_as_null);
    } catch (const SpecError& error) {
      // Lines are those of the object; of a one-line object they say nothing.
      const bool one_line = text_.find('\n') + 1 == text_.size();
      const std::string reason = reason_of(error);
      const std::size_t column = reason.find("column");
      return broken_(place(begin_), one_line
                                        ? reason.substr(column == std::string::npos ? 0 : column)
                                        : "within the object, " + reason);
    }
    take_(object, place(begin_));
  }

  const std::function<void(const Json&, const std::string&)>& take_;
  const std::function<void(const std::string&, const std::string&)>& broken_;
  bool open_ = false;
  std::size_t begin_ = 0;
  ObjectEnd end_;
  std::string text_;
};

}  // namespace

void for_each_object(std::istream& in, const std::string& file,
                     const std::function<void(const Json&, const std::string&)>& take,
                     const std::function<void(const std::string&, const std::string&)>& broken) {
  std::string line;
  std::size_t number = 0;
  ObjectCutter cutter(take, broken);
  for (bool begun = false; std::getline(in, line);) {
    ++number;
    if (number == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (!begun && first != std::string::npos && line[first] == '[') {
      const std::string lines_before(number - 1, '\n');
      const std::string text =
          lines_before + line + "\n" + std::string(std::istreambuf_iterator<char>(in), {});
      const Json all = parse_json(text, file, NonFinite::read_as_null);
      for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i].is_object())
          take(all[i], "/" + std::to_string(i));
        else
          broken("/" + std::to_string(i), "expected an object, found " + describe(all[i]));
      return;
    }
    begun = begun || first != std::string::npos;
    cutter.line(line, number);
  }
  cutter.finish();
}

std::optional<double> plain_number(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789+-.eE") != std::string_view::npos)
    return std::nullopt;
  const std::string owned(text);
  char* end = nullptr;
  const double value = std::strtod(owned.c_str(), &end);
  if (*end != '\0' || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<double> number_in(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return std::nullopt;
  if (found->is_number()) return found->get<double>();
  if (found->is_string())
    if (const auto value = plain_number(found->get_ref<const std::string&>())) return value;
  throw SpecError("", join_pointer("", key), "expected a number, found " + describe(*found));
}

std::optional<double> figure_in(const Json& object, std::string_view key) {
  constexpr double most = 1e15;
  const auto value = number_in(object, key);
  if (value && !(*value >= 0 && *value <= most))
    throw SpecError("", join_pointer("", key),
                    (*value < 0 ? "expected a number from 0, found " : "is out of range: ") +
                        describe(object.at(std::string(key))));
  return value;
}

double positive_in(const Json& object, std::string_view key) {
  const auto value = number_in(object, key);
  if (!value) throw SpecError("", join_pointer("", key), "is missing");
  if (!(*value > 0))
    throw SpecError("", join_pointer("", key),
                    "expected a number above 0, found " + describe(object.at(std::string(key))));
  return *value;
}

std::string text_in(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  if (found == object.end()) return {};
  if (found->is_string()) return found->get<std::string>();
  return found->is_number() || found->is_boolean() ? found->dump() : std::string();
}

bool truth_in(const Json& object, std::string_view key) {
  const std::string text = text_in(object, key);
  return text == "true" || text == "True" || text == "1";
}

std::string latency_column(std::string_view statistic, std::string_view latency) {
  constexpr std::string_view latencies[] = {"ttft", "tpot", "itl", "e2el"};
  if (std::find(std::begin(latencies), std::end(latencies), latency) == std::end(latencies))
    return {};
  const bool percentile =
      statistic.size() > 1 && statistic[0] == 'p' && plain_number(statistic.substr(1)).has_value();
  if (statistic == "median")
    statistic = "p50";
  else if (!percentile && statistic != "mean" && statistic != "std")
    return {};
  if (latency == "e2el") latency = "e2e";
  return std::string(latency) + "_" + std::string(statistic) + "_ms";
}

}  // namespace tokenroof::io
