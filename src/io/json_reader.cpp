#include "json_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tokenroof::io {
namespace {

// Below 2^53 every integer is a double, so that nothing is rounded on the way in.
constexpr double largest_exact = 9007199254740992.0;

std::string short_text(std::string text) {
  constexpr std::size_t longest = 60;
  if (text.size() <= longest) return text;
  std::size_t end = longest - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

}  // namespace

std::string describe(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  const std::string text = short_text(value.dump(-1, ' ', false, Json::error_handler_t::replace));
  return value.is_string() ? "the text " + text : text;
}

std::string join_pointer(std::string_view pointer, std::string_view key) {
  std::string result(pointer);
  result += '/';
  for (const char c : key) {
    if (c == '~')
      result += "~0";
    else if (c == '/')
      result += "~1";
    else
      result += c;
  }
  return result;
}
std::string join_pointer(std::string_view pointer, std::size_t index) {
  return fmt::format("{}/{}", pointer, index);
}

std::string Range::text() const {
  const bool from = std::isfinite(low), to = std::isfinite(high);
  if (from && to)
    return fmt::format("{} {}{} {}", low_open ? "above" : "from", low,
                       high_open ? " to below" : " to", high);
  if (from) return fmt::format("{} {}", low_open ? "greater than" : "at least", low);
  if (to) return fmt::format("{} {}", high_open ? "less than" : "at most", high);
  return "any";
}

std::optional<double> read_number(const Json& value, const std::string& pointer, Range range,
                                  Faults& faults) {
  if (!value.is_number()) {
    faults.add(pointer, "expected a number, found " + describe(value));
    return std::nullopt;
  }
  const double number = value.get<double>();
  if (!range.contains(number)) {
    faults.add(pointer, "must be " + range.text() + ", found " + describe(value));
    return std::nullopt;
  }
  const bool too_small = range.low == 0 && range.low_open && number < least_positive;
  if (too_small || std::abs(number) > largest_number) {
    faults.add(pointer, "is out of range: " + describe(value));
    return std::nullopt;
  }
  return number;
}

std::optional<std::int64_t> read_integer(const Json& value, const std::string& pointer, Range range,
                                         Faults& faults) {
  const double number = value.is_number() ? value.get<double>() : 0.5;
  if (number != std::floor(number)) {
    faults.add(pointer, "expected a whole number, found " + describe(value));
    return std::nullopt;
  }
  if (std::abs(number) > largest_exact) {
    faults.add(pointer, "is out of range: " + describe(value));
    return std::nullopt;
  }
  if (!read_number(value, pointer, range, faults)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

void Faults::keep(Fault fault) {
  if (full()) {
    ++further_;
    return;
  }
  const bool told = std::any_of(faults_.begin(), faults_.end(), [&](const Fault& known) {
    return known.file == fault.file && known.json_pointer == fault.json_pointer &&
           known.reason == fault.reason;
  });
  if (!told) faults_.push_back(std::move(fault));
}

void Faults::throw_if_any() const {
  if (faults_.empty()) return;
  std::vector<Fault> told = faults_;
  if (further_ > 0) told.push_back({file_, "", fmt::format("and {} more faults", further_)});
  throw SpecError(std::move(told));
}

ObjectReader::ObjectReader(const Json& json, std::string pointer, Faults& faults)
    : json_(&json), pointer_(std::move(pointer)), faults_(&faults) {
  static const Json nothing = Json::object();
  if (json.is_object()) return;
  faults.add(pointer_, "expected an object, found " + describe(json));
  json_ = &nothing;
}

bool ObjectReader::has(std::string_view key) const {
  const auto member = json_->find(key);
  return member != json_->end() && !member->is_null();
}

const Json* ObjectReader::raw(std::string_view key) {
  if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) asked_.emplace_back(key);
  const auto member = json_->find(key);
  return member == json_->end() || member->is_null() ? nullptr : &*member;
}

const Json* ObjectReader::required(std::string_view key) {
  const Json* value = raw(key);
  if (value == nullptr) fault(key, "is required and missing");
  return value;
}

void ObjectReader::wrong(std::string_view key, std::string_view expected, const Json& found) const {
  fault(key, fmt::format("expected {}, found {}", expected, describe(found)));
}

std::optional<double> ObjectReader::number(std::string_view key, Range range) {
  const Json* value = raw(key);
  return value ? read_number(*value, pointer(key), range, *faults_) : std::nullopt;
}
std::optional<std::int64_t> ObjectReader::integer(std::string_view key, Range range) {
  const Json* value = raw(key);
  return value ? read_integer(*value, pointer(key), range, *faults_) : std::nullopt;
}

std::optional<bool> ObjectReader::boolean(std::string_view key) {
  const Json* value = raw(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  wrong(key, "true or false", *value);
  return std::nullopt;
}

std::optional<std::string> ObjectReader::text(std::string_view key) {
  const Json* value = raw(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) {
    wrong(key, "text", *value);
    return std::nullopt;
  }
  auto text = value->get<std::string>();
  // Names are printed as they are: an escape sequence would reach the terminal.
  const auto control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (std::any_of(text.begin(), text.end(), control)) {
    fault(key, "expected text without control characters");
    return std::nullopt;
  }
  return text;
}

std::optional<std::size_t> ObjectReader::choice(std::string_view key,
                                                std::span<const std::string_view> names) {
  const Json* value = raw(key);
  if (value == nullptr) return std::nullopt;
  const std::string word = value->is_string() ? value->get<std::string>() : "";
  const auto found = std::find(names.begin(), names.end(), word);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  wrong(key, fmt::format("one of {}", fmt::join(names, ", ")), *value);
  return std::nullopt;
}

std::optional<Format> ObjectReader::format(std::string_view key) {
  const std::optional<std::string> name = text(key);
  if (!name) return std::nullopt;
  if (const std::optional<Format> known = tokenroof::format(*name)) return known;
  std::vector<std::string_view> names;
  for (const Format& known : known_formats) names.push_back(known.name);
  fault(key, fmt::format("unknown number format \"{}\"{}; known: {}", *name,
                         did_you_mean(*name, names), fmt::join(names, ", ")));
  return std::nullopt;
}

std::optional<double> ObjectReader::quantity_base(std::string_view key,
                                                  const UnitDimension& dimension, Sign sign) {
  const Json* value = raw(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_number() && is_count(dimension)) {
    const Range range = sign == Sign::positive       ? Range::positive()
                        : sign == Sign::non_negative ? Range::non_negative()
                                                     : Range::any();
    return read_number(*value, pointer(key), range, *faults_);
  }
  if (!value->is_string()) {
    wrong(key, expected_text(dimension), *value);
    return std::nullopt;
  }
  Parsed<double> parsed = parse_units(value->get_ref<const std::string&>(), dimension, sign);
  if (!parsed) fault(key, std::move(parsed.reason));
  return parsed.value;
}

double ObjectReader::required_number(std::string_view key, Range range) {
  return required(key) ? number(key, range).value_or(0) : 0;
}
std::int64_t ObjectReader::required_integer(std::string_view key, Range range) {
  return required(key) ? integer(key, range).value_or(0) : 0;
}
std::string ObjectReader::required_text(std::string_view key) {
  return required(key) ? text(key).value_or("") : "";
}

std::optional<ObjectReader> ObjectReader::object(std::string_view key) {
  const Json* value = raw(key);
  if (value == nullptr) return std::nullopt;
  return ObjectReader(*value, pointer(key), *faults_);
}

std::vector<ObjectReader> ObjectReader::objects(std::string_view key) {
  std::vector<ObjectReader> readers;
  const Json* list = array(key);
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i)
    readers.emplace_back((*list)[i], join_pointer(pointer(key), i), *faults_);
  return readers;
}

const Json* ObjectReader::array(std::string_view key) {
  const Json* value = raw(key);
  if (value == nullptr || value->is_array()) return value;
  wrong(key, "an array", *value);
  return nullptr;
}

std::optional<std::vector<double>> ObjectReader::numbers(std::string_view key, Range range) {
  const Json* list = array(key);
  if (list == nullptr) return std::nullopt;
  std::vector<double> values;
  for (std::size_t i = 0; i < list->size(); ++i)
    if (const auto x = read_number((*list)[i], join_pointer(pointer(key), i), range, *faults_))
      values.push_back(*x);
  return values;
}
std::optional<std::vector<std::int64_t>> ObjectReader::integers(std::string_view key, Range range) {
  const Json* list = array(key);
  if (list == nullptr) return std::nullopt;
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < list->size(); ++i)
    if (const auto x = read_integer((*list)[i], join_pointer(pointer(key), i), range, *faults_))
      values.push_back(*x);
  return values;
}
std::optional<std::vector<std::string>> ObjectReader::texts(std::string_view key) {
  const Json* list = array(key);
  if (list == nullptr) return std::nullopt;
  std::vector<std::string> values;
  for (std::size_t i = 0; i < list->size(); ++i) {
    if ((*list)[i].is_string())
      values.push_back((*list)[i].get<std::string>());
    else
      faults_->add(join_pointer(pointer(key), i), "expected text, found " + describe((*list)[i]));
  }
  return values;
}

std::vector<std::string> ObjectReader::keys() const {
  std::vector<std::string> names;
  for (const auto& member : json_->items()) names.push_back(member.key());
  return names;
}

std::vector<std::string> ObjectReader::unread_keys() const {
  std::vector<std::string> names;
  for (const auto& member : json_->items())
    if (std::find(asked_.begin(), asked_.end(), member.key()) == asked_.end())
      names.push_back(member.key());
  return names;
}

void ObjectReader::finish() const {
  for (const std::string& key : unread_keys())
    fault(key, faults_->full() ? "unknown key" : unknown_key(key));
}

std::string ObjectReader::unknown_key(const std::string& key) const {
  const std::string meant = did_you_mean(key, std::span<const std::string>(asked_));
  if (!meant.empty() || asked_.empty()) return "unknown key" + meant;
  return fmt::format("unknown key; known here: {}", fmt::join(asked_, ", "));
}

}  // namespace tokenroof::io
