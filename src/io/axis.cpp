// --axis KEY=VALUES and --shard K/N.
#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>

#include "json_reader.hpp"
#include "tokenroof/io/sweep_io.hpp"
#include "tokenroof/io/units_text.hpp"

namespace tokenroof::io {
namespace {

/// A number and what stands behind it: a unit with its space, or nothing.
struct Measure {
  double value = 0;
  std::string unit;
};

std::optional<Measure> measure(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || !std::isfinite(value)) return std::nullopt;
  // 1k and 4Ki are counts; everything else is a unit that the scenario's reader knows.
  if (const Parsed<double> count = parse_quantity<double>(text, Sign::any))
    return Measure{*count.value, ""};
  return Measure{value, std::string(stop, end)};
}

std::string text_of(const Measure& at) { return fmt::format("{}{}", at.value, at.unit); }

/// Parts of `text` between `separator`s outside of brackets and quotes.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  std::size_t start = 0;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : separator;
    if (i < text.size()) {
      quoted ^= c == '"';
      depth += quoted ? 0 : (c == '[' || c == '{') - (c == ']' || c == '}');
    }
    if (i == text.size() || (c == separator && depth == 0 && !quoted)) {
      parts.push_back(text.substr(start, i - start));
      start = i + 1;
    }
  }
  return parts;
}

class AxisReader {
 public:
  explicit AxisReader(std::string_view text) : text_(text) {}

  Axis read() {
    const std::size_t equals = text_.find('=');
    if (equals == std::string_view::npos || equals == 0)
      refuse("expected KEY=VALUES, such as workload.batch=1:512:x2 or accelerator=h100,h200");
    axis_.key = text_.substr(0, equals);
    if (axis_.key == "batch") axis_.key = "workload.batch";
    if (axis_.key == "context") axis_.key = "workload.context_tokens";
    for (const std::string_view part : split(text_.substr(equals + 1), ',')) add(part);
    spread_unit();
    find_unit();
    return std::move(axis_);
  }

 private:
  [[noreturn]] void refuse(const std::string& reason) const {
    throw SpecError(fmt::format("--axis {}", text_.substr(0, 80)), "", reason);
  }

  void add(std::string_view part) {
    if (part.empty()) refuse("a value is missing");
    const std::vector<std::string_view> ends = split(part, ':');
    if (ends.size() > 1 && measure(ends[0])) return add_range(ends);
    const std::optional<Measure> number = measure(part);
    add_value(number && number->unit.empty() ? text_of(*number) : std::string(part));
  }

  void add_range(const std::vector<std::string_view>& ends) {
    const std::string form = "a range is FIRST:LAST:xFACTOR or FIRST:LAST:+STEP";
    if (ends.size() != 3 || ends[2].size() < 2) refuse(form);
    const std::optional<Measure> first = measure(ends[0]);
    const std::optional<Measure> last = measure(ends[1]);
    const std::optional<Measure> step = measure(ends[2].substr(1));
    const bool factor = ends[2][0] == 'x' || ends[2][0] == '*';
    if (!first || !last || !step || (!factor && ends[2][0] != '+')) refuse(form);
    std::string unit;  // behind all of the numbers, or behind one for all
    for (const Measure* number : {&*first, &*last, &*step}) {
      if (number->unit.empty()) continue;
      if (!unit.empty() && number->unit != unit)
        refuse("the numbers of a range need the same unit");
      unit = number->unit;
    }
    if (last->value < first->value) refuse("the range ends before it begins");
    if (factor && (step->value <= 1 || first->value <= 0))
      refuse("a factor must be above 1 and the first value above 0");
    if (!factor && step->value <= 0) refuse("a step must be above 0");
    const double steps = factor ? std::log(last->value / first->value) / std::log(step->value)
                                : (last->value - first->value) / step->value;
    if (steps >= static_cast<double>(most_axis_values)) refuse(too_many(steps + 1));
    for (int i = 0; i <= static_cast<int>(steps + 1e-9); ++i) {
      double value =
          factor ? first->value * std::pow(step->value, i) : first->value + i * step->value;
      // 0.1 + 2 x 0.1 is meant as 0.3, and 1 x 10^3 as 1000.
      const double short_value = std::stod(fmt::format("{:.12g}", value));
      if (std::abs(short_value - value) <= 1e-13 * std::abs(value)) value = short_value;
      add_value(text_of({value, unit}));
    }
  }

  /// A unit behind the last value is that of the plain numbers before it: 1,2,4 req/s.
  void spread_unit() {
    const std::optional<Measure> last = measure(axis_.values.back());
    // 0.5.9 is a version, not 0.5 of something.
    if (!last || last->unit.empty() ||
        (last->unit[0] != ' ' && std::isalpha(static_cast<unsigned char>(last->unit[0])) == 0))
      return;
    for (std::string& value : axis_.values)
      if (const std::optional<Measure> number = measure(value); number && number->unit.empty())
        value = text_of({number->value, last->unit});
  }

  /// A unit that all values share moves into the column's name, and leaves numbers in it.
  void find_unit() {
    for (const std::string& value : axis_.values) {
      const std::optional<Measure> number = measure(value);
      std::string unit = number ? number->unit : "";
      unit.erase(0, unit.find_first_not_of(' '));
      if (unit.empty() || (!axis_.unit.empty() && unit != axis_.unit)) {
        axis_.unit.clear();
        return;
      }
      axis_.unit = unit;
    }
  }

  void add_value(std::string value) {
    if (axis_.values.size() >= most_axis_values) refuse(too_many(most_axis_values + 1));
    axis_.values.push_back(std::move(value));
  }

  [[nodiscard]] static std::string too_many(double count) {
    return fmt::format("{:.0f} values or more; an axis has at most {}", std::floor(count + 1e-9),
                       most_axis_values);
  }

  std::string_view text_;
  Axis axis_;
};

}  // namespace

Axis parse_axis(std::string_view text) { return AxisReader(text).read(); }

Shard parse_shard(std::string_view text) {
  Shard shard;
  const char* end = text.data() + text.size();
  const auto number = std::from_chars(text.data(), end, shard.number);
  bool good = number.ec == std::errc{} && number.ptr != end && *number.ptr == '/';
  if (good) {
    const auto count = std::from_chars(number.ptr + 1, end, shard.count);
    good = count.ec == std::errc{} && count.ptr == end && shard.number >= 1 &&
           shard.number <= shard.count;
  }
  if (!good)
    throw SpecError(fmt::format("--shard {}", text), "",
                    "expected K/N with 1 <= K <= N, such as 1/8 .. 8/8");
  return shard;
}

std::vector<const Metric*> choose_metrics(const std::vector<std::string>& names) {
  std::vector<const Metric*> chosen;
  for (const std::string& name : names) {
    const Metric* metric = find_metric(name);
    if (metric == nullptr) {
      std::vector<std::string> known;
      for (const Metric& one : metrics()) known.emplace_back(one.key);
      throw SpecError("--metric", "",
                      fmt::format("unknown metric \"{}\"{}; `tokenroof list metrics` shows them",
                                  name, did_you_mean(name, known)));
    }
    chosen.push_back(metric);
  }
  if (names.empty())
    for (const Metric& metric : metrics()) chosen.push_back(&metric);
  return chosen;
}

}  // namespace tokenroof::io
