// Constants that live in files: one table says which name fills which member, in which dimension.
//
//   constexpr ConstantField<KernelConstants> fields[] = {
//       {"matmul_fixed", &KernelConstants::matmul_fixed_s, {}, time_constant},
//       {"link_share", &KernelConstants::link_share, Range::share()}};
//   notes = read_constants<KernelConstants>(*reader.object("constants"), fields, into, {.most =
//   24});
//
// In the file each is {"value": "2.84 us" or 0.67, "meaning", "source", "date", "rows",
// "fit_error"}.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "json_reader.hpp"
#include "tokenroof/io/engine_io.hpp"

namespace tokenroof::io {

inline constexpr UnitDimension time_constant = unit_dimension<Seconds>;
inline constexpr UnitDimension flop_rate_constant = unit_dimension<FlopsPerSecond>;
inline constexpr UnitDimension byte_rate_constant = unit_dimension<BytesPerSecond>;

/// One line of the table.
template <class Struct>
struct ConstantField {
  std::string_view name;
  std::variant<double Struct::*, Seconds Struct::*> member;
  Range range = Range::non_negative();  ///< in base units
  UnitDimension dimension{};            ///< of a double that holds base units; Seconds know theirs

  [[nodiscard]] UnitDimension unit() const {
    return std::holds_alternative<Seconds Struct::*>(member) ? time_constant : dimension;
  }
  [[nodiscard]] double get(const Struct& from) const {
    if (const auto time = std::get_if<Seconds Struct::*>(&member)) return (from.**time).base();
    return from.*std::get<double Struct::*>(member);
  }
  void set(Struct& into, double base) const {
    if (const auto time = std::get_if<Seconds Struct::*>(&member))
      into.** time = Seconds::from_base(base);
    else
      into.*std::get<double Struct::*>(member) = base;
  }
};

/// How strict to be about one object of constants.
struct ConstantRules {
  std::size_t most = 16;       ///< more is a fault: constants must not breed
  bool notes_required = true;  ///< meaning, source and date; not asked of a user's scenario
};

/// The note of one constant; reads every key of its object but "value".
[[nodiscard]] ConstantNote read_constant_note(ObjectReader& reader, std::string_view name,
                                              const ConstantRules& rules);
/// Its value in base units; nullopt after a fault.
[[nodiscard]] std::optional<double> read_constant_value(ObjectReader& reader,
                                                        const UnitDimension& dimension,
                                                        const Range& range);
/// The object of one constant as JSON; `note` may be null.
[[nodiscard]] Json write_constant(double base, const UnitDimension& dimension,
                                  const ConstantNote* note);

/// Fills the members whose names are in `constants`; the others keep their values. Unknown names
/// are faults.
template <class Struct>
std::vector<ConstantNote> read_constants(ObjectReader constants,
                                         std::span<const ConstantField<Struct>> fields,
                                         Struct& into, const ConstantRules& rules) {
  std::vector<ConstantNote> notes;
  for (const ConstantField<Struct>& field : fields) {
    auto reader = constants.object(field.name);
    if (!reader) continue;
    notes.push_back(read_constant_note(*reader, field.name, rules));
    if (const auto base = read_constant_value(*reader, field.unit(), field.range))
      field.set(into, *base);
    reader->finish();
  }
  constants.finish();
  // Spreads describe residuals; they are not fitted.
  const auto count = static_cast<std::size_t>(
      std::count_if(notes.begin(), notes.end(),
                    [](const ConstantNote& note) { return !note.name.starts_with("spread_"); }));
  if (count > rules.most)
    constants.faults().add(
        constants.pointer(),
        fmt::format("holds {} constants, at most {} are allowed", count, rules.most));
  return notes;
}

/// The same object as JSON, values from `from`, notes by name. A constant that has no note and is
/// as in `otherwise` is left out.
template <class Struct>
[[nodiscard]] Json write_constants(std::span<const ConstantField<Struct>> fields,
                                   const Struct& from, const Struct& otherwise,
                                   const std::vector<ConstantNote>& notes) {
  Json object = Json::object();
  for (const ConstantField<Struct>& field : fields) {
    const auto note = std::find_if(notes.begin(), notes.end(), [&](const ConstantNote& known) {
      return known.name == field.name;
    });
    const bool noted = note != notes.end();
    if (!noted && field.get(from) == field.get(otherwise)) continue;
    object[std::string(field.name)] =
        write_constant(field.get(from), field.unit(), noted ? &*note : nullptr);
  }
  return object;
}

}  // namespace tokenroof::io
