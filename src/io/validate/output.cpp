#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "io/json_out.hpp"
#include "io/page.hpp"
#include "io/validate/scatter.hpp"
#include "tokenroof/io/validate.hpp"

namespace tokenroof::io {
namespace {

Json metrics_json(const std::vector<MetricSummary>& metrics) {
  Json object = Json::object();
  for (const MetricSummary& m : metrics)
    object[m.metric] = {{"rows", m.rows},
                        {"median_ape", m.median_ape},
                        {"mean_ape", m.mean_ape},
                        {"p90_ape", m.p90_ape},
                        {"median_ratio", m.median_ratio}};
  return object;
}

std::vector<std::string> cells(std::vector<std::string> first, const MetricSummary& m) {
  for (std::string cell :
       {m.metric, fmt::format("{}", m.rows), percent_text(m.median_ape), percent_text(m.mean_ape),
        percent_text(m.p90_ape), fmt::format("{:.3f}", m.median_ratio)})
    first.push_back(std::move(cell));
  return first;
}

/// Rows that share a reason but for the line, and one of them.
struct Reason {
  std::string text;
  std::size_t rows = 0;
  std::string first_id;
};
std::vector<Reason> reasons(const std::vector<Skipped>& skipped) {
  std::vector<Reason> all;
  for (const Skipped& row : skipped) {
    const std::size_t end = row.reason.find_first_of(",:");
    const bool located = row.reason.starts_with("line ") && end != std::string::npos;
    const std::size_t begin = located ? row.reason.find_first_not_of(" ", end + 1) : 0;
    std::string text = begin < row.reason.size() ? row.reason.substr(begin) : row.reason;
    if (!row.metric.empty()) text = row.metric + ": " + text;
    const auto known = std::find_if(all.begin(), all.end(),
                                    [&](const Reason& other) { return other.text == text; });
    if (known == all.end())
      all.push_back({std::move(text), 1, row.id});
    else
      ++known->rows;
  }
  return all;
}

}  // namespace

std::string validation_json(const ValidationReport& report, std::string_view version) {
  Json json = document("validate", version);
  json["file"] = report.file;
  json["kind"] = report.kind;
  json["rows"] = report.rows;
  json["evaluated"] = report.evaluated;
  json["skipped"] = Json::array();
  for (const Skipped& row : report.skipped)
    json["skipped"].push_back({{"id", row.id}, {"reason", row.reason}});
  json["notes"] = report.notes;
  json["metrics"] = metrics_json(report.metrics());
  json["groups"] = Json::array();
  for (const GroupSummary& group : report.groups())
    json["groups"].push_back(
        {{"key", group.key}, {"rows", group.rows}, {"metrics", metrics_json(group.metrics)}});
  json["omitted"] = Json::array();
  for (const Skipped& figure : report.omitted)
    json["omitted"].push_back(
        {{"id", figure.id}, {"metric", figure.metric}, {"reason", figure.reason}});
  json["worst"] = Json::array();
  for (const Prediction* row : report.worst())
    json["worst"].push_back({{"id", row->id},
                             {"metric", row->metric},
                             {"measured", row->measured},
                             {"predicted", row->predicted},
                             {"ape", row->ape()}});
  return dump(json);
}

std::string validation_text(const ValidationReport& report, Markup markup) {
  Page page(markup);
  page.title("Validation of " + report.file);
  page.line(
      fmt::format("{} rows of {}: {} evaluated, {} skipped. Errors are absolute, relative to "
                  "the measurement; ratio is the median of predicted / measured.",
                  report.rows, report.kind, report.evaluated, report.skipped.size()));
  for (const std::string& note : report.notes) page.line("Inferred: " + note + ".");
  const auto section = [&](std::string_view title, const TextTable& table) {
    if (!table.empty()) page.section(title).table(table);
  };
  const std::vector<std::string> names = {"metric", "rows", "median", "mean", "p90", "ratio"};
  const auto headed = [&](std::string first) {
    std::vector<std::string> header = {std::move(first)};
    header.insert(header.end(), names.begin(), names.end());
    return TextTable(header);
  };
  TextTable metrics(names);
  for (const MetricSummary& m : report.metrics()) metrics.row(cells({}, m));
  section("By metric", metrics);

  TextTable groups = headed("group");
  for (const GroupSummary& group : report.groups())
    for (const MetricSummary& m : group.metrics) groups.row(cells({group.key}, m));
  section("By group", groups);

  TextTable worst({"id", "metric", "measured", "predicted", "error", "groups"});
  for (const Prediction* row : report.worst()) {
    std::string of;
    for (const auto& [dimension, value] : row->groups) of += (of.empty() ? "" : ", ") + value;
    worst.row({row->id, row->metric, fmt::format("{:.5g}", row->measured),
               fmt::format("{:.5g}", row->predicted), percent_text(row->ape()), of});
  }
  section("Largest errors", worst);

  TextTable skipped({"rows", "first", "reason"});
  for (const Reason& reason : reasons(report.skipped))
    skipped.row({fmt::format("{}", reason.rows), reason.first_id, reason.text});
  section("Skipped rows", skipped);
  TextTable omitted({"figures", "first", "reason"});
  for (const Reason& reason : reasons(report.omitted))
    omitted.row({fmt::format("{}", reason.rows), reason.first_id, reason.text});
  section("Figures not predicted", omitted);
  std::string text = page.text();
  const std::vector<MetricSummary> all = report.metrics();
  for (std::size_t i = 0; i < all.size() && i < 3 && markup == Markup::plain; ++i)
    text += "\n" + scatter(report, all[i].metric);
  return text;
}

void write_validation_csv(const ValidationReport& report, std::ostream& out, CsvDialect dialect) {
  CsvWriter csv(out, dialect);
  csv.header({"id", "metric", "measured", "predicted", "ape"});
  for (const Prediction& row : report.predictions)
    csv.cell(row.id)
        .cell(row.metric)
        .cell(row.measured)
        .cell(row.predicted)
        .cell(row.ape())
        .end_row();
}

}  // namespace tokenroof::io
