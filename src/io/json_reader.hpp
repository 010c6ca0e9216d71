// Strict JSON: parsing that refuses what is ambiguous, and a view of an object that knows its path,
// collects every fault of a file before throwing, and reports keys that nobody asked for.
//
//   Faults faults("scenario.json");
//   ObjectReader reader(json, "", faults);
//   const double fraction = reader.number("memory_fraction", Range::share()).value_or(0.9);
//   const Bytes memory = reader.required_quantity<Bytes>("memory_nominal");
//   reader.finish();          // unknown keys, with did-you-mean
//   faults.throw_if_any();    // one SpecError for the whole file
//
// An optional getter gives nullopt when the key is absent or null; a required getter adds a fault
// then. Both add a fault and give nothing (or a zero) for a wrong type or range: the file is going
// to be refused, so the value does not matter, and reading goes on to find the other faults.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenroof/core/error.hpp"
#include "tokenroof/describe/precision.hpp"
#include "tokenroof/io/units_text.hpp"

namespace tokenroof::io {

/// Key order is kept, so that messages and copies follow the file.
using Json = nlohmann::ordered_json;

/// Infinity and NaN are not JSON, but Python writes them into config.json files.
enum class NonFinite { refuse, read_as_null };

/// Parses `text`; `file` is for messages only. Throws SpecError with line and column for: nothing
/// there, no JSON, trailing text, a key twice in one object (with its pointer), a number beyond
/// double, nesting deeper than 200. A UTF-8 byte-order mark is skipped. Linear in the text also
/// for objects of 10^5 keys.
[[nodiscard]] Json parse_json(std::string_view text, const std::string& file,
                              NonFinite non_finite = NonFinite::refuse);

/// Most bytes that are read as one text: a slip must not fill the memory.
inline constexpr std::size_t most_file_bytes = std::size_t{1} << 30;

/// Opens a file to read. Throws SpecError: no such file, a directory, a device, unreadable. Pipes
/// are read like files.
[[nodiscard]] std::ifstream open_file(const std::filesystem::path& path);

/// What is left of a stream. Throws SpecError, for `name`, beyond most_file_bytes or when reading
/// fails.
[[nodiscard]] std::string read_stream(std::istream& stream, const std::string& name);

/// The whole file, by open_file and read_stream; "-" is standard input.
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

/// parse_json of read_file.
[[nodiscard]] Json read_json_file(const std::filesystem::path& path,
                                  NonFinite non_finite = NonFinite::refuse);

/// ` (did you mean "x"?)` for the candidates close to `word` by edits, or that it abbreviates; ""
/// when none is close.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       std::span<const std::string_view> candidates);
/// The same for owned names.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       std::span<const std::string> candidates);

/// A value in words for messages: `the text "80GB"`, `1.5`, `an object`, at most 60 characters.
[[nodiscard]] std::string describe(const Json& value);

/// `pointer` + "/" + `key`, escaped as RFC 6901 asks.
[[nodiscard]] std::string join_pointer(std::string_view pointer, std::string_view key);
[[nodiscard]] std::string join_pointer(std::string_view pointer, std::size_t index);

/// The faults of one file, each told once. A report is for people: beyond `most` faults are only
/// counted.
class Faults {
 public:
  static constexpr std::size_t most = 50;

  explicit Faults(std::string file) : file_(std::move(file)) {}
  void add(std::string pointer, std::string reason) {
    keep({file_, std::move(pointer), std::move(reason)});
  }
  /// Takes over faults found elsewhere (a file that this one names).
  void add(const SpecError& error) {
    for (const Fault& fault : error.faults()) keep(fault);
  }
  [[nodiscard]] bool empty() const { return faults_.empty(); }
  [[nodiscard]] std::size_t size() const { return faults_.size(); }
  /// Whether the wording of a further fault would be lost.
  [[nodiscard]] bool full() const { return faults_.size() >= most; }
  [[nodiscard]] const std::string& file() const { return file_; }
  /// Throws one SpecError with everything collected.
  void throw_if_any() const;

 private:
  void keep(Fault fault);

  std::string file_;
  std::vector<Fault> faults_;
  std::size_t further_ = 0;  ///< beyond `most`
};

/// What must be above 0 must be at least this, and nothing may be beyond the other: numbers that
/// only a slip gives, and whose quotients leave the range of double.
inline constexpr double least_positive = 1e-12, largest_number = 1e27;

/// The numbers a key may have.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;  ///< `low` itself is refused
  bool high_open = false;

  [[nodiscard]] static constexpr Range any() { return {}; }
  [[nodiscard]] static constexpr Range positive() {
    return {.low = 0, .high = std::numeric_limits<double>::infinity(), .low_open = true};
  }
  [[nodiscard]] static constexpr Range non_negative() { return {.low = 0}; }
  [[nodiscard]] static constexpr Range at_least(double low) { return {.low = low}; }
  [[nodiscard]] static constexpr Range between(double low, double high) {
    return {.low = low, .high = high};
  }
  [[nodiscard]] static constexpr Range fraction() { return between(0, 1); }  ///< [0, 1]
  [[nodiscard]] static constexpr Range share() {                             ///< (0, 1]
    return {.low = 0, .high = 1, .low_open = true};
  }
  [[nodiscard]] bool contains(double x) const {
    return (low_open ? x > low : x >= low) && (high_open ? x < high : x <= high);
  }
  /// "greater than 0", "from 0 to 1", ...
  [[nodiscard]] std::string text() const;
};

/// A strict view of one object of a file. Cheap to copy except for the list of keys asked for; the
/// JSON and the Faults must outlive it.
class ObjectReader {
 public:
  /// Adds a fault, and reads as empty, when `json` is not an object.
  ObjectReader(const Json& json, std::string pointer, Faults& faults);

  [[nodiscard]] const std::string& pointer() const { return pointer_; }
  [[nodiscard]] std::string pointer(std::string_view key) const {
    return join_pointer(pointer_, key);
  }
  [[nodiscard]] Faults& faults() const { return *faults_; }
  /// Adds a fault at `key`.
  void fault(std::string_view key, std::string reason) const {
    faults_->add(pointer(key), std::move(reason));
  }

  /// Present and not null. Does not count as asking for the key.
  [[nodiscard]] bool has(std::string_view key) const;
  /// The value as it is, nullptr when absent or null.
  const Json* raw(std::string_view key);
  /// As raw(), with a fault when it is absent.
  const Json* required(std::string_view key);
  /// Accepts the key without reading it ("$schema", "comment").
  void ignore(std::string_view key) { raw(key); }

  std::optional<double> number(std::string_view key, Range range = Range::any());
  /// Refuses 1.5, and values beyond 2^53. 4096.0 and 4e3 are integers.
  std::optional<std::int64_t> integer(std::string_view key, Range range = Range::any());
  std::optional<bool> boolean(std::string_view key);
  std::optional<std::string> text(std::string_view key);
  /// Index into `names` of the text at `key`.
  std::optional<std::size_t> choice(std::string_view key, std::span<const std::string_view> names);
  /// A number format by name ("fp8", "bf16", "q4_k_m").
  std::optional<Format> format(std::string_view key);
  /// Text with a unit. Counts (tokens, requests) may be plain numbers.
  template <class Q>
  std::optional<Q> quantity(std::string_view key, Sign sign = Sign::positive) {
    if (const auto base = quantity_base(key, unit_dimension<Q>, sign)) return Q::from_base(*base);
    return std::nullopt;
  }

  double required_number(std::string_view key, Range range = Range::any());
  std::int64_t required_integer(std::string_view key, Range range = Range::any());
  std::string required_text(std::string_view key);
  template <class Q>
  Q required_quantity(std::string_view key, Sign sign = Sign::positive) {
    if (required(key) == nullptr) return Q{};
    return quantity<Q>(key, sign).value_or(Q{});
  }

  /// The object at `key`; call finish() on it as well.
  std::optional<ObjectReader> object(std::string_view key);
  /// The objects in the array at `key`; none when absent.
  std::vector<ObjectReader> objects(std::string_view key);
  /// The array at `key`, nullptr when absent or no array.
  const Json* array(std::string_view key);
  std::optional<std::vector<double>> numbers(std::string_view key, Range range = Range::any());
  std::optional<std::vector<std::int64_t>> integers(std::string_view key,
                                                    Range range = Range::any());
  std::optional<std::vector<std::string>> texts(std::string_view key);

  /// All keys of the object, in file order.
  [[nodiscard]] std::vector<std::string> keys() const;
  /// The keys that nothing has asked for, null ones included.
  [[nodiscard]] std::vector<std::string> unread_keys() const;
  /// A fault for each unread key, with the closest key that was asked for, or all of them.
  void finish() const;

 private:
  std::optional<double> quantity_base(std::string_view key, const UnitDimension& dimension,
                                      Sign sign);
  void wrong(std::string_view key, std::string_view expected, const Json& found) const;
  [[nodiscard]] std::string unknown_key(const std::string& key) const;

  const Json* json_;
  std::string pointer_;
  Faults* faults_;
  std::vector<std::string> asked_;
};

/// Checks of one value, shared by ObjectReader and the array readers: nullopt and a fault at
/// `pointer` when it is not such a number.
std::optional<double> read_number(const Json& value, const std::string& pointer, Range range,
                                  Faults& faults);
std::optional<std::int64_t> read_integer(const Json& value, const std::string& pointer, Range range,
                                         Faults& faults);

}  // namespace tokenroof::io
