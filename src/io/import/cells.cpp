// Imported rows: their cells, and how they are written.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/json_out.hpp"
#include "io/page.hpp"
#include "tokenroof/io/import.hpp"

namespace tokenroof::io {
namespace {

std::string shown(const ImportCell* cell) {
  if (cell == nullptr) return {};
  if (const double* number = std::get_if<double>(cell)) return to_text(*number, 6);
  return std::get<std::string>(*cell);
}

}  // namespace

void ImportCells::set(std::string_view column, std::string_view text) {
  if (text.empty()) return;
  erase(column);
  cells_.emplace_back(column, std::string(text));
}

void ImportCells::set(std::string_view column, double number) {
  if (!std::isfinite(number)) return;
  erase(column);
  cells_.emplace_back(column, number);
}

void ImportCells::erase(std::string_view column) {
  std::erase_if(cells_, [&](const auto& cell) { return cell.first == column; });
}

const ImportCell* ImportCells::find(std::string_view column) const {
  for (const auto& [name, value] : cells_)
    if (name == column) return &value;
  return nullptr;
}

std::string ImportCells::text(std::string_view column) const {
  const ImportCell* cell = find(column);
  if (cell == nullptr) return {};
  if (const std::string* text = std::get_if<std::string>(cell)) return *text;
  return fmt::format("{}", std::get<double>(*cell));
}

std::optional<double> ImportCells::number(std::string_view column) const {
  const ImportCell* cell = find(column);
  const double* value = cell == nullptr ? nullptr : std::get_if<double>(cell);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

void write_import_csv(const ImportedRows& rows, std::ostream& out, CsvDialect dialect) {
  CsvWriter csv(out, dialect);
  csv.header(rows.columns);
  for (const ImportCells& row : rows.rows) {
    for (const std::string& column : rows.columns) {
      const ImportCell* cell = row.find(column);
      if (cell == nullptr)
        csv.missing();
      else
        std::visit([&](const auto& value) { csv.cell(value); }, *cell);
    }
    csv.end_row();
  }
}

std::string import_json(const ImportedRows& rows, std::string_view version) {
  Json json = document("import", version);
  json["kind"] = rows.kind;
  json["rows"] = Json::array();
  for (const ImportCells& row : rows.rows) {
    Json object = Json::object();
    for (const std::string& column : rows.columns)
      if (const ImportCell* cell = row.find(column)) {
        if (const double* value = std::get_if<double>(cell))
          object[column] = number(*value);
        else
          object[column] = std::get<std::string>(*cell);
      }
    json["rows"].push_back(std::move(object));
  }
  json["notes"] = rows.notes;
  json["skipped"] = Json::array();
  for (const Skipped& run : rows.skipped)
    json["skipped"].push_back({{"id", run.id}, {"reason", run.reason}});
  return dump(json);
}

std::string import_text(const ImportedRows& rows, Markup markup) {
  Page page(markup);
  page.title(
      fmt::format("{} {} rows, {} skipped", rows.rows.size(), rows.kind, rows.skipped.size()));
  // A column a line: rows have more columns than a terminal is wide.
  std::vector<std::string> header{"column"};
  for (const ImportCells& row : rows.rows) header.push_back(row.text("id"));
  TextTable table(header);
  for (const std::string& column : rows.columns) {
    std::vector<std::string> cells{column};
    bool any = false;
    for (const ImportCells& row : rows.rows) {
      cells.push_back(shown(row.find(column)));
      any = any || !cells.back().empty();
    }
    if (any && column != "id") table.row(cells);
  }
  page.table(table);
  for (const std::string& note : rows.notes) page.line(note + ".");
  for (const Skipped& run : rows.skipped)
    page.line(fmt::format("Skipped {}: {}.", run.id, run.reason));
  return page.text();
}

}  // namespace tokenroof::io
