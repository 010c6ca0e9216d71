#include "tokenroof/io/validate.hpp"

#include <fmt/format.h>

#include <iostream>
#include <iterator>
#include <sstream>

#include "io/validate/kind.hpp"
#include "tokenroof/io/import.hpp"

namespace tokenroof::io {
namespace {

ValidationReport start(std::string_view kind, const std::string& file) {
  ValidationReport report;
  report.file = file;
  report.kind = kind;
  return report;
}

ValidationReport validate_csv(const std::string& text, const std::string& file, Lookups& lookups) {
  std::istringstream stream(text);
  CsvReader reader(stream, file);
  const Kind& kind = recognise(reader.header(), false, file);
  ValidationReport report = start(kind.name, file);
  for (;;) {
    try {
      if (!reader.next()) break;
    } catch (const SpecError& error) {  // torn or badly quoted: its cells mean nothing
      RowResult row(fmt::format("row {}", reader.line()), reader.line());
      row.skip(error, file);
      std::move(row).finish(report);
      continue;
    }
    Row row(reader);
    try {
      kind.predict(row, lookups);
    } catch (const SpecError& error) {
      row.skip(error, file);
    }
    std::move(row).finish(report);
  }
  return report;
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  if (object.is_object())
    for (const auto& item : object.items()) keys.push_back(item.key());
  return keys;
}

ValidationReport validate_json(const std::string& text, const std::string& file, Lookups& lookups) {
  const Json json = parse_json(text, file);
  const Json& all = json.is_array() ? json : Json::array({json});
  const Kind& kind = recognise(keys_of(all.empty() ? Json::object() : all.front()), true, file);
  ValidationReport report = start(kind.name, file);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Json& object = all[i];
    const auto id = object.is_object() ? object.find("id") : object.end();
    const bool named = id != object.end() && id->is_string();
    RowResult row(named ? id->get<std::string>() : fmt::format("row {}", i + 1), 0);
    try {
      kind.predict_object(object, row, lookups);
    } catch (const SpecError& error) {
      row.skip(error, file);
    }
    std::move(row).finish(report);
  }
  return report;
}

/// Rows of benchmark results and logs have places, which their ids name, but no lines.
ValidationReport validate_import(const std::string& text, const std::string& file,
                                 const Catalog& catalog, const ValidateOptions& options,
                                 Lookups& lookups) {
  ImportOptions import;
  import.stated = options.stated;
  import.models_dir = options.models_dir;
  std::istringstream in(text);
  const ImportedRows rows = import_stream(in, file, catalog, import);
  std::ostringstream csv;
  write_import_csv(rows, csv);
  ValidationReport report = validate_csv(csv.str(), file, lookups);
  for (Prediction& prediction : report.predictions) prediction.line = 0;
  for (auto* list : {&report.skipped, &report.omitted})
    for (Skipped& row : *list)
      if (row.reason.starts_with("line ")) row.reason.erase(0, row.reason.find_first_of(",:") + 2);
  report.rows += rows.skipped.size();
  report.skipped.insert(report.skipped.end(), rows.skipped.begin(), rows.skipped.end());
  report.notes = rows.notes;
  return report;
}

}  // namespace

ValidationReport validate_file(const std::filesystem::path& path, const Catalog& catalog,
                               const ValidateOptions& options) {
  const bool standard_input = path == "-";
  const std::string file = standard_input ? "standard input" : path.string();
  const std::string text = read_file(path);
  const std::filesystem::path folder = path.parent_path();
  Lookups lookups(catalog, options, folder.empty() ? "." : folder);
  if (importable(text)) return validate_import(text, file, catalog, options, lookups);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != std::string::npos && (text[first] == '[' || text[first] == '{');
  return json ? validate_json(text, file, lookups) : validate_csv(text, file, lookups);
}

}  // namespace tokenroof::io
