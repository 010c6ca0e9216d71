// A config.json as the families read it: keys under their aliases, with limits, family defaults
// and notes. Families never touch JSON.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/json_reader.hpp"

namespace tokenroof::io {

/// Spellings of one key; the first is the usual one and names it in messages.
using Keys = std::initializer_list<std::string_view>;

/// Sizes beyond these are refused: they are mistakes, and their products would not fit an integer.
namespace limits {
inline constexpr std::int64_t layers = 2048;
inline constexpr std::int64_t heads = 4096;
inline constexpr std::int64_t head_dim = 16384;
inline constexpr std::int64_t hidden = 131072;
inline constexpr std::int64_t width = 1 << 20;
inline constexpr std::int64_t experts = 4096;
inline constexpr std::int64_t vocabulary = 1 << 24;
inline constexpr std::int64_t context = std::int64_t{1} << 40;
}  // namespace limits

/// Python's `dim // n` where n may be a faulty 0.
[[nodiscard]] constexpr std::int64_t quotient(std::int64_t a, std::int64_t b) {
  return b > 0 ? a / b : 0;
}

/// One object of a model file. `nested` objects may leave out what their family's defaults fill in.
class Config {
 public:
  Config(ObjectReader reader, bool nested, std::vector<std::string>& notes)
      : reader_(std::move(reader)), nested_(nested), notes_(&notes) {}

  [[nodiscard]] bool has(Keys keys) const { return !present(keys).empty(); }
  [[nodiscard]] bool nested() const { return nested_; }
  [[nodiscard]] ObjectReader& reader() { return reader_; }

  /// A size of at least 1 that must be stated; a nested object may rely on `family_default` > 0.
  std::int64_t size(Keys keys, std::int64_t high, std::int64_t family_default = 0);
  /// A size that the family fills in wherever it is absent.
  std::int64_t size_or(Keys keys, std::int64_t high, std::int64_t fallback);
  /// As size_or, with a note when the default had to be taken.
  std::int64_t size_or_noted(Keys keys, std::int64_t high, std::int64_t fallback);
  /// A count of 0 or more.
  std::int64_t count(Keys keys, std::int64_t high, std::int64_t fallback = 0);
  /// Present and not null.
  std::optional<std::int64_t> optional_count(Keys keys, std::int64_t high);
  double number(Keys keys, double fallback);
  bool flag(Keys keys, bool fallback);
  std::string text(Keys keys, std::string_view fallback = {});

  /// Lists; nullopt when absent or no list.
  std::optional<std::vector<std::int64_t>> integers(std::string_view key);
  std::optional<std::vector<std::string>> texts(std::string_view key);
  [[nodiscard]] bool is_list(std::string_view key);
  [[nodiscard]] bool is_text(std::string_view key);
  [[nodiscard]] bool is_flag(std::string_view key);
  /// Stated as null, as opposed to absent.
  [[nodiscard]] bool is_null(std::string_view key) const;

  /// One value for all layers or a list with one for each; a fault when the length is another.
  std::vector<std::int64_t> per_layer(Keys keys, int layers, std::int64_t high,
                                      std::int64_t fallback);

  /// The object at `key`.
  std::optional<Config> object(std::string_view key);
  /// Elements of an array of objects.
  std::vector<Config> objects(std::string_view key);

  /// Lets the family's defaults fill in these keys also in a file that is not nested.
  void fill_in(Keys keys) { fillable_.insert(fillable_.end(), keys.begin(), keys.end()); }
  /// Accepts keys that do not change the arithmetic in this family.
  void harmless(Keys keys) {
    for (const std::string_view key : keys) reader_.ignore(key);
  }
  void fault(std::string_view key, std::string reason) const {
    reader_.fault(key, std::move(reason));
  }
  void note(std::string text) { notes_->push_back(std::move(text)); }
  /// Refuses keys that nobody asked for and whose name looks like arithmetic.
  void refuse_unknown(bool only_note);

 private:
  /// The spelling in the file, "" when none; asks for all of them, faults when two disagree.
  std::string_view choose(Keys keys);
  [[nodiscard]] std::string_view present(Keys keys) const;
  void note_default(std::string_view key, std::int64_t value);

  ObjectReader reader_;
  bool nested_;
  std::vector<std::string_view> fillable_;
  std::vector<std::string>* notes_;
};

/// True for names such as `num_foo_heads`: unknown keys like that could change the counts.
[[nodiscard]] bool looks_arithmetical(std::string_view key);
/// Keys of any family that never change the arithmetic (token ids, sampling, dropout, rotary ...).
[[nodiscard]] bool known_harmless(std::string_view key);

}  // namespace tokenroof::io
