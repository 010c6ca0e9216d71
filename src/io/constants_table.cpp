#include "constants_table.hpp"

namespace tokenroof::io {

ConstantNote read_constant_note(ObjectReader& reader, const std::string& name,
                                const ConstantRules& rules) {
  const auto text = [&](std::string_view key) {
    return rules.notes_required ? reader.required_text(key) : reader.text(key).value_or("");
  };
  ConstantNote note;
  note.name = name;
  if (const Json* value = reader.required("value"))
    note.value = value->is_string() ? value->get<std::string>() : value->dump();
  note.meaning = text("meaning");
  note.source = text("source");
  note.date = text("date");
  note.rows = reader.integer("rows", Range::non_negative());
  note.fit_error = reader.number("fit_error", Range::non_negative());
  return note;
}

std::optional<double> read_constant_value(ObjectReader& reader, const UnitDimension& dimension,
                                          const Range& range) {
  const Json* value = reader.raw("value");
  if (value == nullptr) return std::nullopt;  // the note has said so
  const std::string pointer = reader.pointer("value");
  if (dimension == UnitDimension{}) return read_number(*value, pointer, range, reader.faults());
  if (!value->is_string()) {
    reader.fault("value", "expected " + expected_text(dimension) + ", found " + describe(*value));
    return std::nullopt;
  }
  Parsed<double> parsed = parse_units(value->get<std::string>(), dimension, Sign::any);
  if (!parsed) reader.fault("value", std::move(parsed.reason));
  if (parsed && !range.contains(*parsed.value)) {
    reader.fault("value", "must be " + range.text() + ", found " + describe(*value));
    return std::nullopt;
  }
  return parsed.value;
}

}  // namespace tokenroof::io
