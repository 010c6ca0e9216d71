// Constants that live in files: one table says which name fills which member, in which dimension.
//
//   constexpr ConstantField<EngineConstants> fields[] = {
//       {"step", &EngineConstants::step},
//       {"decode_efficiency", &EngineConstants::decode_efficiency, Range::share()},
//       {"matmul_fp8", [](KernelConstants& k) -> double& { return k.matmul[5]; }}};
//   read_constants<EngineConstants>(*reader.object("constants"), fields, engine.constants, {});
//
// In the file each is {"value": "0.5 ms" or 0.7, "meaning", "source", "date", "rows", "fit_error"}.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "json_reader.hpp"
#include "tokenroof/io/engine_io.hpp"

namespace tokenroof::io {

/// Where a constant goes: a number, a quantity, or a number reached by a function.
template <class Struct>
using ConstantMember = std::variant<double Struct::*, Seconds Struct::*, Bytes Struct::*,
                                    BytesPerSecond Struct::*, double& (*)(Struct&)>;

/// One line of the table. `range` is in base units.
template <class Struct>
struct ConstantField {
  std::string_view name;
  ConstantMember<Struct> member;
  Range range = Range::non_negative();
};

/// How strict to be about one object of constants.
struct ConstantRules {
  std::size_t most = 16;       ///< more is a fault: constants must not breed
  bool notes_required = true;  ///< meaning, source and date; not asked of a user's scenario
};

/// The note of one constant; reads every key but "value".
[[nodiscard]] ConstantNote read_constant_note(ObjectReader& reader, const std::string& name,
                                              const ConstantRules& rules);
/// Base units of the value at `key`, checked; nullopt after a fault.
[[nodiscard]] std::optional<double> read_constant_value(ObjectReader& reader,
                                                        const UnitDimension& dimension,
                                                        const Range& range);

namespace detail {
template <class Struct, class Member>
struct MemberValue {
  using type = double;
};
template <class Struct, class Q>
struct MemberValue<Struct, Q Struct::*> {
  using type = Q;
};
}  // namespace detail

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
    notes.push_back(read_constant_note(*reader, std::string(field.name), rules));
    std::visit(
        [&](auto member) {
          using Member = decltype(member);
          using Value = typename detail::MemberValue<Struct, Member>::type;
          const auto base = read_constant_value(*reader, unit_dimension<Value>, field.range);
          if (!base) return;
          if constexpr (is_quantity<Value>)
            into.*member = Value::from_base(*base);
          else if constexpr (std::is_member_object_pointer_v<Member>)
            into.*member = *base;
          else
            member(into) = *base;
        },
        field.member);
    reader->finish();
  }
  constants.finish();
  if (notes.size() > rules.most)
    constants.faults().add(
        constants.pointer(),
        fmt::format("holds {} constants, at most {} are allowed", notes.size(), rules.most));
  return notes;
}

/// The value as a file spells it.
[[nodiscard]] inline Json constant_json(double value) { return value; }
[[nodiscard]] inline Json constant_json(Seconds value) {
  return fmt::format("{} us", value / microsecond);
}
[[nodiscard]] inline Json constant_json(Bytes value) { return fmt::format("{} B", value / byte); }
[[nodiscard]] inline Json constant_json(BytesPerSecond value) {
  return fmt::format("{} B/s", value.base());
}

/// The same object as JSON, values from `from`, notes by name. A constant that has no note and is
/// as Struct{} has it is left out.
template <class Struct>
[[nodiscard]] Json write_constants(std::span<const ConstantField<Struct>> fields, Struct from,
                                   const std::vector<ConstantNote>& notes) {
  Json object = Json::object();
  Struct otherwise{};
  for (const ConstantField<Struct>& field : fields) {
    const auto note = std::find_if(notes.begin(), notes.end(), [&](const ConstantNote& known) {
      return known.name == field.name;
    });
    const auto value_in = [&](Struct& holder) {
      return std::visit(
          [&](auto member) {
            if constexpr (std::is_member_object_pointer_v<decltype(member)>)
              return constant_json(holder.*member);
            else
              return constant_json(member(holder));
          },
          field.member);
    };
    Json constant{{"value", value_in(from)}};
    if (note == notes.end() && constant["value"] == value_in(otherwise)) continue;
    if (note != notes.end()) {
      constant["meaning"] = note->meaning;
      constant["source"] = note->source;
      constant["date"] = note->date;
      if (note->rows) constant["rows"] = *note->rows;
      if (note->fit_error) constant["fit_error"] = *note->fit_error;
    }
    object[std::string(field.name)] = std::move(constant);
  }
  return object;
}

}  // namespace tokenroof::io
