#include <fmt/format.h>

#include <ostream>

#include "io/json_out.hpp"
#include "io/page.hpp"
#include "tokenroof/io/log_calibration.hpp"

namespace tokenroof::io {
namespace {

std::string shown(double value, const std::string& unit) {
  if (unit == "B") return to_text(Bytes::from_base(value));
  return unit == "token" ? count_text(value) : to_text(value, 6);
}

std::string reserve_override(Bytes reserve) {
  return fmt::format("engine.reserve={:.0f} B", reserve.base());
}

}  // namespace

std::string log_comparison_text(const LogComparison& comparison, Markup markup) {
  Page page(markup);
  page.title("What the log says and what is predicted");
  TextTable table({"quantity", "line", "logged", "predicted", "error", "wording"});
  for (const LogComparisonLine& line : comparison.lines) {
    const std::size_t most = markup == Markup::plain ? 90 : std::string::npos;
    const auto error = line.error();
    table.row({words(line.quantity), fmt::format("{}", line.line), shown(line.logged, line.unit),
               line.predicted ? shown(*line.predicted, line.unit) : line.reason,
               error ? fmt::format("{:+.1f} %", 100 * *error) : "", line.wording.substr(0, most)});
  }
  page.table(table);
  if (!comparison.differences.empty()) {
    TextTable differences({"setting", "log", "scenario"});
    for (const LogDifference& d : comparison.differences)
      differences.row({d.key, d.logged, d.scenario});
    page.section("The log ran with other settings").table(differences);
  }
  page.section("Reserve");
  page.line(fmt::format("Beside weights and cache the scenario sets aside {}.",
                        to_text(comparison.reserve_now)));
  if (comparison.reserve)
    page.line(fmt::format("The log implies {}: --set \"{}\"", to_text(*comparison.reserve),
                          reserve_override(*comparison.reserve)));
  else
    page.line("No reserve can be read off the log: " + comparison.reserve_reason + ".");
  return page.text();
}

std::string log_comparison_json(const LogComparison& comparison, std::string_view version) {
  Json json = document("calibrate-log", version);
  json["lines"] = Json::array();
  json["missing"] = Json::array();
  for (const LogComparisonLine& line : comparison.lines) {
    json["lines"].push_back({{"quantity", line.quantity},
                             {"unit", line.unit},
                             {"log_line", line.line},
                             {"logged", number(line.logged)},
                             {"predicted", number(line.predicted)},
                             {"error", number(line.error())},
                             {"reason", line.reason},
                             {"wording", line.wording}});
    if (!line.predicted)
      json["missing"].push_back({{"metric", line.quantity}, {"reason", line.reason}});
  }
  json["differences"] = Json::array();
  for (const LogDifference& d : comparison.differences)
    json["differences"].push_back({{"key", d.key}, {"logged", d.logged}, {"scenario", d.scenario}});
  json["reserve_now_bytes"] = number(comparison.reserve_now.base());
  json["reserve_bytes"] = nullptr;
  json["overrides"] = Json::array();
  if (comparison.reserve) {
    json["reserve_bytes"] = number(comparison.reserve->base());
    json["overrides"].push_back(reserve_override(*comparison.reserve));
  } else {
    json["missing"].push_back({{"metric", "reserve_bytes"}, {"reason", comparison.reserve_reason}});
  }
  return dump(json);
}

void write_log_comparison_csv(const LogComparison& comparison, std::ostream& out,
                              CsvDialect dialect) {
  CsvWriter csv(out, dialect);
  csv.header({"quantity", "unit", "log_line", "logged", "predicted", "error", "reason", "wording"});
  for (const LogComparisonLine& line : comparison.lines)
    csv.cell(line.quantity)
        .cell(line.unit)
        .cell(static_cast<std::int64_t>(line.line))
        .cell(line.logged)
        .cell(line.predicted)
        .cell(line.error())
        .cell(line.reason)
        .cell(line.wording)
        .end_row();
  csv.cell("reserve").cell("B").missing();
  if (comparison.reserve)
    csv.cell(comparison.reserve->base());
  else
    csv.missing();
  csv.cell(comparison.reserve_now.base()).missing().cell(comparison.reserve_reason).end_row();
}

}  // namespace tokenroof::io
