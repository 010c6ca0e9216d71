// What users wait for: against the load in closed form, and in a simulated run.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "io/page.hpp"
#include "io/plot/picture_parts.hpp"
#include "tokenroof/io/units_text.hpp"

namespace tokenroof::io {
namespace {

using namespace plot;

/// The two panels of a picture of load: first token, and time per token.
struct LoadPanels {
  ChartPanel first, each;

  explicit LoadPanels(const ChartAxis& x) {
    first.x = each.x = x;
    first.y = {.label = "Time to first token", .unit = "s", .prefixes = true, .logarithmic = true};
    each.y = {.label = "Time per output token", .unit = "s", .prefixes = true};
    first.series = {{"mean", Mark::line, {}, std::size_t{0}},
                    {"median", Mark::line, {}, std::size_t{2}},
                    {"95th percentile", Mark::line, {}, std::size_t{1}}};
    each.series = {{"mean", Mark::line, {}, std::size_t{0}},
                   {"95th percentile", Mark::line, {}, std::size_t{1}}};
  }

  void add(double load, const ServingAnswer& serving) {
    const auto take = [&](ChartSeries& series, const std::optional<Seconds>& time) {
      if (time && *time > Seconds{}) series.points.push_back({load, time->base()});
    };
    take(first.series[0], serving.ttft.mean);
    take(first.series[1], serving.ttft.p50);
    take(first.series[2], serving.ttft.p95);
    take(each.series[0], serving.tpot.mean);
    take(each.series[1], serving.tpot.p95);
  }

  void mark(double load, const std::string& text) {
    first.references.push_back(at_x(load, text));
    each.references.push_back(at_x(load, ""));
  }

  void objective(const Objective& o) {
    const auto limit = [](ChartPanel& panel, const std::optional<Seconds>& time, const char* name) {
      if (time)
        panel.references.push_back(at_y(time->base(), fmt::format("{} {}", name, to_text(*time))));
    };
    limit(first, o.ttft_p50, "objective: median within");
    limit(first, o.ttft_p95, "objective: 95 % within");
    limit(first, o.ttft_p99, "objective: 99 % within");
    limit(each, o.tpot_mean, "objective: mean within");
    limit(each, o.tpot_p95, "objective: 95 % within");
    if (o.tokens_per_second_per_user)
      limit(each, 1 * token / *o.tokens_per_second_per_user, "objective: speed,");
  }

  /// The panels with those series that have values; a limit is kept in sight.
  [[nodiscard]] std::vector<ChartPanel> panels() {
    for (ChartPanel* panel : {&first, &each}) {
      std::erase_if(panel->series, [](const ChartSeries& s) { return s.points.empty(); });
      double high = 0;
      for (const ChartSeries& s : panel->series)
        for (const ChartPoint& p : s.points) high = std::max(high, p.y);
      for (const ReferenceLine& r : panel->references)
        if (r.across == ReferenceLine::Across::y && r.at > high && r.at < 4 * high)
          panel->y.high = std::max(panel->y.high.value_or(0), 1.1 * r.at);
    }
    return {first, each};
  }
};

Picture open_load(const Scenario& scenario, const PictureSettings& settings, const Subject& subject,
                  const OpenLoop& asked) {
  const ServingAnswer& serving = subject.answer.serving;
  if (!serving.limit_rate || !(*serving.limit_rate > RequestsPerSecond{}))
    return refused("no arrival rate is stable");
  const double limit = serving.limit_rate->base();
  // A rate far beyond the limit would leave no room for what happens below it.
  const bool in_sight = asked.arrival_rate.base() <= 2 * limit;
  const double most = 1.12 * (in_sight ? std::max(limit, asked.arrival_rate.base()) : limit);
  LoadPanels load({.label = "Arrival rate", .unit = "req/s", .low = 0.0, .high = most});
  for (const double share :
       {0.01, 0.05, 0.1,  0.15, 0.2,  0.25, 0.3,  0.35, 0.4,  0.45, 0.5,   0.55, 0.6,
        0.65, 0.7,  0.74, 0.78, 0.82, 0.85, 0.88, 0.9,  0.92, 0.94, 0.955, 0.97}) {
    const OpenLoop at{share * *serving.limit_rate, asked.arrival_squared_cv};
    const TrafficAnswer answer =
        scenario.disaggregation
            ? split_traffic(subject.replica, scenario, at, *scenario.disaggregation)
            : open_traffic(subject.replica, scenario, at);
    if (answer.verdict.ok()) load.add(at.arrival_rate.base(), answer.serving);
  }
  load.mark(limit, fmt::format("limit {}{}", to_text(*serving.limit_rate, 3),
                               in_sight ? "" : ", asked " + to_text(asked.arrival_rate, 3)));
  load.mark(asked.arrival_rate.base(), fmt::format("asked {}", to_text(asked.arrival_rate, 3)));
  const auto& within = serving.objective_rate;
  if (within && within->base() > 0 && within->base() < 0.995 * serving.limit_rate->base())
    load.mark(serving.objective_rate->base(),
              fmt::format("within the objective {}", to_text(*serving.objective_rate, 3)));
  load.objective(scenario.objective);
  return {Chart{.name = "load",
                .title = "Latency against the arrival rate",
                .description = fmt::format(
                    "Time to first token and time per token rise with the arrival rate; the "
                    "deployment completes {} at most.",
                    to_text(*serving.limit_rate)),
                .caption = scenario_caption(scenario, settings),
                .panels = load.panels()},
          {}};
}

Picture closed_load(const Scenario& scenario, const PictureSettings& settings,
                    const Subject& subject, const ClosedLoopTraffic& asked) {
  const double places = subject.replica.admission * scenario.deployment.replicas;
  const double least = scenario.deployment.replicas;
  const double most = std::max({4 * least, 1.5 * places, 1.5 * asked.concurrency.base()});
  LoadPanels load({.label = "Concurrency",
                   .unit = "requests",
                   .logarithmic = true,
                   .low = least,
                   .high = most});
  for (const double n : whole_spread(least, most, 50))
    load.add(n, closed_traffic(subject.replica, scenario, {n * request}).serving);
  load.mark(places, fmt::format("{} places", count_text(places)));
  load.mark(asked.concurrency.base(), fmt::format("asked {}", to_text(asked.concurrency.base())));
  load.objective(scenario.objective);
  return {Chart{.name = "load",
                .title = "Latency against concurrency",
                .description = fmt::format(
                    "Mean time to first token and time per token against the number of requests "
                    "that are always there; {} of them can run at once.",
                    count_text(places)),
                .caption = scenario_caption(scenario, settings),
                .panels = load.panels()},
          {}};
}

/// Share of `times` (in s, sorted here) that are at most so long, in 200 steps.
ChartSeries distribution(std::string name, std::vector<double> times, std::size_t colour) {
  ChartSeries series{std::move(name), Mark::line, {}, colour};
  std::sort(times.begin(), times.end());
  if (times.empty()) return series;
  for (const double share : spread(0, 1, 201)) {
    const double time = quantile_of(times, share);
    if (time > 0) series.points.push_back({time, 100 * share});
  }
  return series;
}

}  // namespace

Picture load_picture(const Scenario& scenario, const PictureSettings& settings) {
  if (std::holds_alternative<SingleStep>(scenario.workload.traffic))
    return refused("one step has no traffic: give an arrival_rate or a concurrency");
  const Subject subject = subject_of(scenario, settings);
  if (!subject.refusal.empty()) return refused(subject.refusal);
  if (const auto* closed = std::get_if<ClosedLoopTraffic>(&scenario.workload.traffic))
    return closed_load(scenario, settings, subject, *closed);
  return open_load(scenario, settings, subject, std::get<OpenLoop>(scenario.workload.traffic));
}

Picture simulation_picture(const ScenarioRunResult& result, const Scenario& scenario,
                           const PictureSettings& settings) {
  const SimulationResult& run = result.run;
  std::vector<double> first, each;
  for (const RequestRecord& record : run.records) {
    if (!(record.finished > Seconds{})) continue;  // rejected
    first.push_back((record.first_token - record.arrival).base());
    if (record.output > 1)
      each.push_back((record.finished - record.first_token).base() / (record.output - 1));
  }
  if (first.empty())
    return refused(result.verdict.ok() ? "no request was completed" : verdict_text(result.verdict));
  Chart chart{.name = "simulation",
              .title = "Latencies of a simulated run",
              .description = fmt::format(
                  "Share of {} requests whose first token, and whose time per token, took at most "
                  "so long; median to first token {}, 95 % within {}.",
                  count_text(static_cast<double>(first.size())), to_text(run.ttft.p50),
                  to_text(run.ttft.p95)),
              .caption = scenario_caption(scenario, settings),
              .panels = {}};
  const ChartAxis share{.label = "Requests", .unit = "%", .low = 0.0, .high = 100.0};
  const auto add = [&](const char* label, std::vector<double> times, const TimeSummary& summary) {
    ChartSeries series = distribution("", std::move(times), 0);
    if (series.points.empty()) return;
    ChartPanel panel{{.label = label, .unit = "s", .prefixes = true, .logarithmic = true},
                     share,
                     {std::move(series)}};
    panel.references = {at_x(summary.p50.base(), "median " + to_text(summary.p50, 3)),
                        at_x(summary.p95.base(), "95 % " + to_text(summary.p95, 3)),
                        at_x(summary.p99.base(), "99 % " + to_text(summary.p99, 3))};
    chart.panels.push_back(std::move(panel));
  };
  add("Time to first token", std::move(first), run.ttft);
  add("Time per output token", std::move(each), run.tpot);
  if (run.occupancy.size() > 1) {
    ChartPanel panel{
        {.label = "Time", .unit = "s"},
        {.label = "Requests of a replica"},
        {{"running", Mark::step, {}, std::size_t{0}}, {"waiting", Mark::step, {}, std::size_t{1}}}};
    for (const OccupancySample& sample : run.occupancy) {
      panel.series[0].points.push_back({sample.time.base(), static_cast<double>(sample.running)});
      panel.series[1].points.push_back({sample.time.base(), static_cast<double>(sample.waiting)});
    }
    chart.panels.push_back(std::move(panel));
  }
  return {std::move(chart), {}};
}

}  // namespace tokenroof::io
