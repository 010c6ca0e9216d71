#include "tokenroof/io/units_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <span>
#include <system_error>
#include <vector>

#include "json_reader.hpp"

namespace tokenroof::io {
namespace {

struct Unit {
  std::string_view name;
  double factor;
  UnitDimension dimension;
};

constexpr UnitDimension none{}, second_{1}, byte_{0, 1}, flop_{0, 0, 1}, token_{0, 0, 0, 1},
    request_{0, 0, 0, 0, 1}, dollar_{0, 0, 0, 0, 0, 1}, joule_{0, 0, 0, 0, 0, 0, 1},
    watt_{-1, 0, 0, 0, 0, 0, 1}, flop_rate_{-1, 0, 1};

constexpr Unit units[] = {
    {"ns", 1e-9, second_},
    {"us", 1e-6, second_},
    {"\u00b5s", 1e-6, second_},
    {"\u03bcs", 1e-6, second_},
    {"ms", 1e-3, second_},
    {"s", 1, second_},
    {"min", 60, second_},
    {"h", 3600, second_},
    {"hour", 3600, second_},
    {"d", 86400, second_},
    {"day", 86400, second_},
    {"year", 8760.0 * 3600, second_},
    {"B", 1, byte_},
    {"kB", 1e3, byte_},
    {"KB", 1e3, byte_},
    {"MB", 1e6, byte_},
    {"GB", 1e9, byte_},
    {"TB", 1e12, byte_},
    {"PB", 1e15, byte_},
    {"KiB", 0x1p10, byte_},
    {"MiB", 0x1p20, byte_},
    {"GiB", 0x1p30, byte_},
    {"TiB", 0x1p40, byte_},
    {"PiB", 0x1p50, byte_},
    {"bit", 0.125, byte_},
    {"kbit", 125, byte_},
    {"Mbit", 1.25e5, byte_},
    {"Gbit", 1.25e8, byte_},
    {"Tbit", 1.25e11, byte_},
    {"FLOP", 1, flop_},
    {"kFLOP", 1e3, flop_},
    {"MFLOP", 1e6, flop_},
    {"GFLOP", 1e9, flop_},
    {"TFLOP", 1e12, flop_},
    {"PFLOP", 1e15, flop_},
    {"EFLOP", 1e18, flop_},
    {"GFLOPS", 1e9, flop_rate_},
    {"TFLOPS", 1e12, flop_rate_},
    {"PFLOPS", 1e15, flop_rate_},
    {"GOPS", 1e9, flop_rate_},
    {"TOPS", 1e12, flop_rate_},
    {"POPS", 1e15, flop_rate_},
    {"tok", 1, token_},
    {"token", 1, token_},
    {"tokens", 1, token_},
    {"req", 1, request_},
    {"request", 1, request_},
    {"requests", 1, request_},
    {"seq", 1, request_},
    {"USD", 1, dollar_},
    {"J", 1, joule_},
    {"kJ", 1e3, joule_},
    {"MJ", 1e6, joule_},
    {"Wh", 3.6e3, joule_},
    {"kWh", 3.6e6, joule_},
    {"MWh", 3.6e9, joule_},
    {"W", 1, watt_},
    {"kW", 1e3, watt_},
    {"MW", 1e6, watt_},
};

struct Multiple {
  std::string_view name;
  double factor;
};
constexpr Multiple multiples[] = {{"Ki", 0x1p10}, {"Mi", 0x1p20}, {"k", 1e3},
                                  {"K", 1e3},     {"M", 1e6},     {"G", 1e9}};

// What each dimension is called, with an example that can be copied.
struct Expectation {
  UnitDimension dimension;
  std::string_view text;
};
constexpr Expectation expectations[] = {
    {none, "a number such as \"128k\""},
    {second_, "a time such as \"50 ms\""},
    {byte_, "a size in bytes such as \"80 GB\" or \"79.15 GiB\""},
    {flop_, "an amount of arithmetic such as \"2 GFLOP\""},
    {token_, "a number of tokens such as \"128k\""},
    {request_, "a number of requests such as 64"},
    {dollar_, "an amount of money such as \"2.50 USD\""},
    {joule_, "an energy such as \"1.2 kWh\""},
    {watt_, "a power such as \"700 W\""},
    {flop_rate_, "a rate of arithmetic such as \"989.4 TFLOP/s\""},
    {{-1, 1}, "a rate in bytes per second such as \"3.35 TB/s\""},
    {{-1, 0, 0, 0, 1}, "a rate of requests such as \"4 req/s\""},
    {{-1, 0, 0, 1}, "a rate of tokens such as \"50 tokens/s\""},
    {{0, 0, 0, 1, -1}, "a number of tokens such as 1024 or \"128k\""},
    {{-1, 0, 0, 0, 0, 1}, "a price per time such as \"2.50 USD/h\""},
    {{0, 0, 0, 0, 0, 1, -1}, "a price of energy such as \"0.08 USD/kWh\""},
    {{0, 0, 0, -1, 0, 1}, "a price per token such as \"0.000002 USD/token\""},
    {{0, 1, 0, -1}, "a size per token such as \"320 KiB/token\""},
    {{0, 0, 1, -1}, "arithmetic per token such as \"140 GFLOP/token\""},
    {{1, 0, 0, -1}, "a time per token such as \"50 ms/token\""},
};

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

const Unit* find_unit(std::string_view name) {
  const auto found = std::find_if(std::begin(units), std::end(units),
                                  [&](const Unit& unit) { return unit.name == name; });
  return found == std::end(units) ? nullptr : found;
}

std::string unknown_unit(std::string_view name) {
  for (const std::string_view ambiguous : {"kb", "Kb", "Mb", "Gb", "Tb"})
    if (name == ambiguous)
      return fmt::format("the unit \"{0}\" is ambiguous: write {1}B for bytes or {1}bit for bits",
                         name, name.substr(0, 1));
  std::vector<std::string_view> names;
  for (const Unit& unit : units) names.push_back(unit.name);
  return fmt::format("unknown unit \"{}\"{}", name, did_you_mean(name, names));
}

// A product of units and their quotients, as far as it has been read.
struct Measure {
  double factor = 1;
  UnitDimension dimension{};
  std::string fault;
};

Measure read_unit(std::string_view text) {
  Measure measure;
  int power = 1;
  for (bool more = true; more; power = -1) {
    const std::size_t slash = text.find('/');
    const std::string_view name = trimmed(text.substr(0, slash));
    const Unit* unit = find_unit(name);
    if (unit == nullptr) {
      measure.fault = name.empty() ? "a unit is missing beside \"/\"" : unknown_unit(name);
      return measure;
    }
    measure.factor = power > 0 ? measure.factor * unit->factor : measure.factor / unit->factor;
    for (std::size_t i = 0; i < measure.dimension.size(); ++i)
      measure.dimension[i] += power * unit->dimension[i];
    more = slash != std::string_view::npos;
    if (more) text.remove_prefix(slash + 1);
  }
  return measure;
}

bool same_dimension(const UnitDimension& found, const UnitDimension& expected) {
  if (found == expected) return true;
  // A length is stated as "128k tokens" although it is tokens of one request.
  return found == token_ && expected == UnitDimension{0, 0, 0, 1, -1};
}

Parsed<double> refuse(const UnitDimension& dimension, std::string_view text,
                      std::string_view why = {}) {
  std::string reason = fmt::format("expected {}, found \"{}\"", expected_text(dimension), text);
  if (!why.empty()) reason += fmt::format(": {}", why);
  return {std::nullopt, std::move(reason)};
}

std::string_view sign_fault(double value, Sign sign) {
  if (sign == Sign::positive && !(value > 0))
    return value == 0 ? "must be greater than 0" : "must not be negative";
  if (sign == Sign::non_negative && value < 0) return "must not be negative";
  return {};
}

}  // namespace

std::string expected_text(const UnitDimension& dimension) {
  for (const Expectation& expectation : expectations)
    if (expectation.dimension == dimension) return std::string(expectation.text);
  return "a quantity with a unit";
}

Parsed<double> parse_units(std::string_view text, const UnitDimension& dimension, Sign sign) {
  const std::string_view whole = trimmed(text);
  double number = 0;
  const auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), number);
  if (error == std::errc::result_out_of_range)
    return refuse(dimension, text, "the number is out of range");
  if (error != std::errc{}) return refuse(dimension, text);
  if (!std::isfinite(number)) return refuse(dimension, text, "not a finite number");

  std::string_view rest = trimmed(whole.substr(static_cast<std::size_t>(end - whole.data())));
  Measure measure;
  const bool countable = is_count(dimension) || dimension[3] == 1 || dimension[4] == 1;
  if (!rest.empty() && find_unit(rest) == nullptr && countable) {
    for (const Multiple& multiple : multiples) {
      if (!rest.starts_with(multiple.name)) continue;
      // "k" ends here or is followed by a space: "kB" is a unit, "128k tokens" a count.
      const std::string_view after = rest.substr(multiple.name.size());
      if (!after.empty() && after.front() != ' ' && after.front() != '/') continue;
      number *= multiple.factor;
      rest = trimmed(after);
      break;
    }
  }
  const bool bare = rest.empty();
  if (bare && !is_count(dimension)) return refuse(dimension, text, "the unit is missing");
  if (!bare) measure = read_unit(rest);
  if (!measure.fault.empty()) return refuse(dimension, text, measure.fault);
  if (!bare && !same_dimension(measure.dimension, dimension)) return refuse(dimension, text);
  const double value = number * measure.factor;
  if (!(std::abs(value) <= largest_number) ||
      (sign == Sign::positive && value > 0 && value < least_positive))
    return refuse(dimension, text, "the number is out of range");
  if (const std::string_view fault = sign_fault(value, sign); !fault.empty())
    return {std::nullopt, fmt::format("{}, found \"{}\"", fault, text)};
  return {value, {}};
}

}  // namespace tokenroof::io
