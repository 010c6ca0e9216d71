// profile_export_aiperf.csv and profile_export_genai_perf.csv: tables with a blank line between.
//
//   Metric,avg,min,max,p1,...        Time to First Token (ms),410.2,88,...
//   Metric,Value                     Request Throughput (requests/sec),7.2
//
// Tables that do not begin with Metric are of the devices and not read.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "io/import/aiperf.hpp"
#include "io/import/names.hpp"
#include "tokenroof/io/csv.hpp"

namespace tokenroof::io {
namespace {

/// Digits in groups of three, "1,230.45", as GenAI-Perf writes them.
bool is_grouped(std::string_view text) {
  const std::size_t whole = std::min(text.find('.'), text.size());
  if (whole < 5 || text.front() == ',') return false;
  for (std::size_t i = 0; i < whole; ++i)
    if ((text[i] == ',') != ((whole - i) % 4 == 0)) return false;
  return true;
}

/// nullopt where the table states nothing.
std::optional<double> figure(const CsvReader& table, std::size_t column, bool comma_separated) {
  std::string text(table.text(column));
  if (text == "N/A") return std::nullopt;
  if (comma_separated && is_grouped(text)) {
    std::erase(text, ',');
    if (const auto value = plain_number(text)) return value;
  }
  return table.number(column);
}

/// "Time to First Token (ms)" is the metric "time_to_first_token" of the JSON, in ms.
void read_row(const CsvReader& table, bool comma_separated, AiperfFigures& figures) {
  const std::string_view name = table.text(0);
  const std::size_t open = name.rfind(" (");
  std::string key = lower(name.substr(0, open));
  std::replace_if(
      key.begin(), key.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
  const auto [line, is_new] = figures.lines.emplace(key, table.line());
  if (!is_new) table.fail(0, fmt::format("line {} states it as well", line->second));
  Json& metric = figures.metrics[key] = Json::object();
  if (open != std::string_view::npos && name.ends_with(')'))
    metric["unit"] = name.substr(open + 2, name.size() - open - 3);
  for (std::size_t i = 1; i < table.header().size(); ++i)
    if (const auto value = figure(table, i, comma_separated))
      metric[table.header()[i] == "Value" ? "avg" : table.header()[i]] = *value;
}

void read_table(const std::string& text, const std::string& file, AiperfFigures& figures,
                std::vector<Fault>& faults) {
  const auto keep = [&](const SpecError& error) {
    faults.insert(faults.end(), error.faults().begin(), error.faults().end());
  };
  try {
    std::istringstream in(text);
    CsvReader table(in, file);
    if (table.header().front() != "Metric") return;
    const bool comma_separated = table.separator() == ',';
    for (bool more = true; more;) {
      try {
        more = table.next();
        if (more) read_row(table, comma_separated, figures);
      } catch (const SpecError& error) {
        keep(error);
      }
    }
  } catch (const SpecError& error) {
    keep(error);
  }
}

}  // namespace

bool is_aiperf_table(std::span<const std::string> columns) {
  return columns.size() > 3 && columns.front() == "Metric" &&
         std::find(columns.begin(), columns.end(), "avg") != columns.end();
}

ImportCells read_aiperf_table(std::istream& in, const std::string& file) {
  AiperfFigures figures;
  std::vector<Fault> faults;
  std::string text;  // of one table, behind as many empty lines as there are before it
  std::size_t count = 0;
  bool any = false;
  for (std::string line; std::getline(in, line);) {
    ++count;
    const bool blank = line.find_first_not_of(" \t\r,;") == std::string::npos;
    if (blank && any) {
      read_table(text, file, figures, faults);
      text.assign(count - 1, '\n');
      any = false;
    }
    any = any || !blank;
    text += (blank ? "" : line) + '\n';
  }
  if (any) read_table(text, file, figures, faults);
  if (!faults.empty()) throw SpecError(faults);
  return aiperf_cells(figures, file);
}

}  // namespace tokenroof::io
