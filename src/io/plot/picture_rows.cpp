// Pictures of many rows: deployments of a plan, measurements, the points of a sweep.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <vector>

#include "io/page.hpp"
#include "io/plot/picture_parts.hpp"
#include "tokenroof/decide/objective.hpp"
#include "tokenroof/io/sweep_io.hpp"
#include "tokenroof/io/units_text.hpp"

namespace tokenroof::io {
namespace {

using namespace plot;

constexpr std::size_t most_colours = 7;  // more are not told apart

/// Values of `name(i)`, i < count, by the number of rows that have them, most first: the first
/// `most_colours` - 1, with the others as the last when there are more.
std::vector<std::string> common_names(std::size_t count, const auto& name) {
  std::map<std::string, std::size_t> rows;
  for (std::size_t i = 0; i < count; ++i) ++rows[name(i)];
  std::vector<std::pair<std::string, std::size_t>> sorted(rows.begin(), rows.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> names;
  for (const auto& entry : sorted) names.push_back(entry.first);
  if (names.size() > most_colours) {
    names.resize(most_colours - 1);
    names.emplace_back("others");
  }
  return names;
}

/// "output rate" -> "Output rate".
std::string capital(std::string_view text) {
  std::string result(text);
  if (!result.empty() && result[0] >= 'a' && result[0] <= 'z')
    result[0] = static_cast<char>(result[0] - 'a' + 'A');
  return result;
}

/// "ttft_p95 1 s, tpot_mean 50 ms".
std::string objective_text(const Objective& objective) {
  std::string text;
  for (const ObjectiveLine& line : objective_lines(objective, {})) {
    if (!line.limit) continue;
    const bool rate = line.limit && std::string_view(line.name) == "tokens_per_s_per_user";
    text += (text.empty() ? "" : ", ") + words(line.name) + " " +
            (rate ? to_text(1 / line.limit->base(), 3) : to_text(*line.limit, 3));
  }
  return text.empty() ? "no objective" : text;
}

/// "workload.context_tokens" -> "context_tokens".
std::string last_word(const std::string& key) { return key.substr(key.rfind('.') + 1); }

/// A series of points for each name.
std::vector<ChartSeries> series_by_name(const std::vector<std::string>& names) {
  std::vector<ChartSeries> series;
  for (std::size_t i = 0; i < names.size(); ++i) series.push_back({names[i], Mark::points, {}, i});
  return series;
}

ChartSeries& series_of(std::vector<ChartSeries>& series, const std::string& name) {
  const auto found = std::find_if(series.begin(), series.end(),
                                  [&](const ChartSeries& s) { return s.name == name; });
  return found == series.end() ? series.back() : *found;
}

}  // namespace

Picture plan_picture(const FleetRequest& wanted, const FleetPlan& plan, std::string_view version) {
  if (plan.deployments.empty()) return refused(verdict_text(plan.verdict));
  const auto device = [&](std::size_t i) {
    return wanted.candidates[plan.deployments[i].candidate].accelerator.name;
  };
  std::vector<ChartSeries> series = series_by_name(common_names(plan.deployments.size(), device));
  ChartSeries frontier{"frontier", Mark::dashed, {}, std::size_t{6}};
  for (std::size_t i = 0; i < plan.deployments.size(); ++i) {
    const PlannedDeployment& d = plan.deployments[i];
    ChartPoint point{d.per_user.base(), d.cost_per_token / dollar_per_million_tokens};
    if (std::find(plan.pareto.begin(), plan.pareto.end(), i) != plan.pareto.end()) {
      frontier.points.push_back(point);
      point.label = fmt::format("{} x {}", d.devices, device(i));
      if (d.deployment.tensor_parallel > 1)
        point.label += fmt::format(", TP {}", d.deployment.tensor_parallel);
    }
    series_of(series, device(i)).points.push_back(std::move(point));
  }
  const PlannedDeployment& best = plan.deployments.front();
  ChartPanel panel{
      {.label = "Speed of one user", .unit = "tok/s"},
      {.label = "Cost of all tokens", .unit = "USD per million tokens", .logarithmic = true},
      {}};
  if (frontier.points.size() > 1) panel.series.push_back(std::move(frontier));
  panel.series.insert(panel.series.end(), series.begin(), series.end());
  return {Chart{.name = "plan",
                .title = "Deployments that meet the objective: cost and speed",
                .description = fmt::format(
                    "{} deployments; the cheapest is {} x {} at {} USD per million tokens.",
                    plan.deployments.size(), best.devices, device(0),
                    to_text(best.cost_per_token / dollar_per_million_tokens, 3)),
                .caption = version_text(version) + " \u00b7 " + wanted.scenario.model.id +
                           " \u00b7 " + wanted.scenario.engine.name + " \u00b7 " +
                           workload_text(wanted.scenario.workload) + " \u00b7 " +
                           objective_text(wanted.scenario.objective),
                .panels = {panel}},
          {}};
}

Picture validation_picture(const ValidationReport& report, std::string_view metric,
                           std::string_view version) {
  const std::vector<MetricSummary> metrics = report.metrics();
  if (metrics.empty()) return refused("no row could be predicted");
  auto chosen = std::max_element(metrics.begin(), metrics.end(),
                                 [](const auto& a, const auto& b) { return a.rows < b.rows; });
  if (!metric.empty()) {
    chosen = std::find_if(metrics.begin(), metrics.end(),
                          [&](const MetricSummary& m) { return m.metric == metric; });
    std::string known;
    for (const MetricSummary& m : metrics) known += (known.empty() ? "" : ", ") + m.metric;
    if (chosen == metrics.end())
      return refused(fmt::format("no metric \"{}\" in these rows; there are: {}", metric, known));
  }
  std::vector<const Prediction*> rows;
  for (const Prediction& row : report.predictions)
    if (row.metric == chosen->metric) rows.push_back(&row);

  // Colours by the first dimension that tells rows apart in a few groups, else in any number.
  const auto value = [](const Prediction& row, const std::string& key) {
    for (const auto& group : row.groups)
      if (group.first == key) return group.second;
    return std::string("not stated");
  };
  std::string dimension;
  for (const std::size_t most : {most_colours, rows.size()})
    for (const auto& group : rows.front()->groups) {
      if (!dimension.empty()) break;
      std::map<std::string, int> values;
      for (const Prediction* row : rows) ++values[value(*row, group.first)];
      if (values.size() > 1 && values.size() <= most) dimension = group.first;
    }
  const auto name = [&](std::size_t i) {
    return dimension.empty() ? std::string() : value(*rows[i], dimension);
  };
  std::vector<ChartSeries> series = series_by_name(common_names(rows.size(), name));
  double low = rows.front()->measured, high = low;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    series_of(series, name(i)).points.push_back({rows[i]->measured, rows[i]->predicted});
    low = std::min({low, rows[i]->measured, rows[i]->predicted});
    high = std::max({high, rows[i]->measured, rows[i]->predicted});
  }
  low *= 0.8;
  high *= 1.25;
  ChartPanel panel{
      {.label = "Measured " + chosen->metric, .logarithmic = true, .low = low, .high = high},
      {.label = "Predicted " + chosen->metric, .logarithmic = true, .low = low, .high = high},
      {{"within 20 %",
        Mark::band,
        {{low, 1.2 * low, "", 0.8 * low}, {high, 1.2 * high, "", 0.8 * high}},
        std::size_t{6}},
       {"as measured", Mark::line, {{low, low}, {high, high}}, std::size_t{6}}}};
  panel.series.insert(panel.series.end(), series.begin(), series.end());
  const std::string errors =
      fmt::format("{} rows, median error {}, median of predicted over measured {:.2f}",
                  count_text(static_cast<double>(chosen->rows)), percent_text(chosen->median_ape),
                  chosen->median_ratio);
  return {Chart{.name = "validation",
                .title = "Predicted against measured: " + chosen->metric,
                .description =
                    errors + (dimension.empty() ? "." : ". Colours by " + words(dimension) + "."),
                .caption = version_text(version) + " \u00b7 " +
                           std::filesystem::path(report.file).filename().string() + " (" +
                           report.kind + ") \u00b7 " + errors,
                .panels = {panel}},
          {}};
}

Picture sweep_picture(const Grid& grid, const Metric& metric, std::span<const SweepRow> rows,
                      std::string_view spec, std::string_view version) {
  if (grid.axes.empty() || grid.axes.size() > 2)
    return refused(
        "a sweep is drawn along one axis, or along two with a line for each value of the second");
  const Axis& along = grid.axes.front();
  const bool numeric =
      std::all_of(along.values.begin(), along.values.end(),
                  [&](const std::string& v) { return axis_number(along, v).has_value(); });
  const std::size_t lines = grid.axes.size() == 2 ? grid.axes[1].values.size() : 1;
  if (lines > most_colours)
    return refused(
        fmt::format("the second axis has {} values; more than {} lines are not told apart", lines,
                    most_colours));
  if (!numeric && grid.axes.size() == 2)
    return refused("values of " + along.key +
                   " are names: they are drawn as bars, along one axis only");

  std::vector<ChartSeries> series;
  for (std::size_t i = 0; i < lines; ++i)
    series.push_back({lines > 1 ? last_word(grid.axes[1].key) + " = " + grid.axes[1].values[i] : "",
                      numeric ? Mark::line : Mark::bars,
                      {},
                      i});
  ChartAxis categories;
  bool positive_x = true, positive_y = true;
  double least = 1e300, most = 0, first = 1e300, last = 0;
  for (const SweepRow& row : rows) {
    if (row.numbers.empty() || !row.numbers.front()) continue;
    const double y = *row.numbers.front();
    if (!numeric) {
      series[0].points.push_back({y, static_cast<double>(categories.categories.size()),
                                  metric.unit == "s" ? to_text(y * second, 3) : to_text(y, 3)});
      categories.categories.push_back(row.values.front());
      continue;
    }
    const double x = *axis_number(along, row.values.front());
    std::size_t line = 0;
    if (lines > 1)
      line = static_cast<std::size_t>(
          std::find(grid.axes[1].values.begin(), grid.axes[1].values.end(), row.values[1]) -
          grid.axes[1].values.begin());
    series[line].points.push_back({x, y});
    positive_x = positive_x && x > 0;
    positive_y = positive_y && y > 0;
    least = std::min(least, y), most = std::max(most, y);
    first = std::min(first, x), last = std::max(last, x);
  }
  std::erase_if(series, [](const ChartSeries& s) { return s.points.empty(); });
  if (series.empty())
    return refused(fmt::format("{} has no value at any point: {}", metric.key,
                               rows.empty() ? "the grid is empty" : rows.front().reason));
  const ChartAxis values{.label = capital(metric.meaning),
                         .unit = std::string(metric.unit),
                         .prefixes = metric.unit == "s",
                         .logarithmic = numeric && positive_y && most > 30 * least};
  ChartPanel panel{
      {.label = along.key, .unit = along.unit, .logarithmic = positive_x && last > 30 * first},
      values,
      std::move(series)};
  if (!numeric) {
    panel.y = categories;
    panel.x = values;
  }
  return {Chart{.name = "sweep",
                .title = fmt::format("{} by {}", metric.key, along.key),
                .description = std::string(metric.meaning),
                .caption = version_text(version) + " \u00b7 " + std::string(spec),
                .panels = {panel}},
          {}};
}

}  // namespace tokenroof::io
