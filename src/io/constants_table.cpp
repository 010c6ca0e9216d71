#include "constants_table.hpp"

namespace tokenroof::io {

ConstantNote read_constant_note(ObjectReader& reader, std::string_view name,
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

Json write_constant(double base, const UnitDimension& dimension, const ConstantNote* note) {
  Json json = Json::object();
  if (dimension == time_constant)
    json["value"] = fmt::format("{:.12g} us", base / 1e-6);
  else if (dimension == flop_rate_constant)
    json["value"] = fmt::format("{:.12g} TFLOP/s", base / 1e12);
  else if (dimension == byte_rate_constant)
    json["value"] = fmt::format("{:.12g} TB/s", base / 1e12);
  else
    json["value"] = base;
  if (note == nullptr) return json;
  json["meaning"] = note->meaning;
  json["source"] = note->source;
  json["date"] = note->date;
  if (note->rows) json["rows"] = *note->rows;
  if (note->fit_error) json["fit_error"] = *note->fit_error;
  return json;
}

}  // namespace tokenroof::io
