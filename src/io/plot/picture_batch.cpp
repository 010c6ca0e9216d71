// What the batch does: throughput, time per token, and the price of speed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "io/page.hpp"
#include "io/plot/picture_parts.hpp"
#include "tokenroof/decide/break_even.hpp"
#include "tokenroof/decide/frontier.hpp"
#include "tokenroof/io/units_text.hpp"

namespace tokenroof::io {
namespace {

using namespace plot;

constexpr const char* no_price = "no price for this accelerator: give price.accelerator_hour";

/// The limit on the time per token that the objective sets, however it is put.
std::optional<Seconds> token_time_limit(const Objective& objective) {
  std::optional<Seconds> limit = objective.tpot_mean ? objective.tpot_mean : objective.tpot_p95;
  if (objective.tokens_per_second_per_user) {
    const Seconds each = 1 * token / *objective.tokens_per_second_per_user;
    if (!limit || each < *limit) limit = each;
  }
  return limit;
}

std::string capacity_text(double capacity) { return "capacity: batch " + count_text(capacity); }

}  // namespace

Picture batch_picture(const Scenario& scenario, const PictureSettings& settings) {
  const Subject subject = subject_of(scenario, settings);
  if (!subject.refusal.empty()) return refused(subject.refusal);
  const Replica& replica = subject.replica;
  const LimitsAnswer& limits = *subject.answer.limits;
  const double capacity = std::floor(replica.admission);
  const double critical = limits.critical_batch.base();
  const double most =
      std::ceil(std::max({8.0, 1.5 * capacity, std::min(1.5 * critical, 16 * capacity)}));

  ChartSeries total{"fits", Mark::line, {}, std::size_t{0}};
  ChartSeries beyond{"beyond the capacity", Mark::dashed, {}, std::size_t{0}};
  ChartSeries each{"", Mark::line, {}, std::size_t{0}},
      beyond_each{"", Mark::dashed, {}, std::size_t{0}};
  const auto add = [&](double batch, ChartSeries& rate, ChartSeries& time) {
    const DecodeAnswer at = detail::decode_answer(replica, scenario, batch);
    rate.points.push_back({batch, at.total.base()});
    time.points.push_back({batch, (1 * token / at.per_sequence).base()});
  };
  for (const double batch : whole_spread(1, capacity, 60)) add(batch, total, each);
  for (const double batch : whole_spread(capacity, most, 30)) add(batch, beyond, beyond_each);

  ChartPanel rate{{.label = "Batch of a replica", .unit = "sequences", .logarithmic = true},
                  {.label = "Output tokens of all replicas", .unit = "tok/s"},
                  {total, beyond}};
  ChartPanel time{rate.x,
                  {.label = "Time per output token", .unit = "s", .prefixes = true},
                  {each, beyond_each}};
  for (ChartPanel* panel : {&rate, &time}) {
    panel->x.low = 1;
    panel->x.high = most;
  }
  const double batch = std::max(1.0, subject.batch());
  if (batch <= most) {
    ChartSeries now{"", Mark::points, {}, std::size_t{1}}, now_each = now;
    add(batch, now, now_each);
    now.points.front().label =
        subject.batch() < 1
            ? "asked: less than one at a time"
            : fmt::format("asked: batch {}, {}", to_text(batch, 3),
                          to_text(TokensPerSecond::from_base(now.points.front().y), 3));
    now_each.points.front().label = to_text(now_each.points.front().y * second, 3);
    rate.series.push_back(now);
    time.series.push_back(now_each);
  }
  rate.references = {at_x(capacity, capacity_text(capacity)),
                     at_x(critical, fmt::format("critical batch {}", count_text(critical)))};
  time.references = {at_x(capacity, ""), at_x(critical, "")};
  if (limits.optimal_batch_bound == Bound::latency && limits.optimal_batch.base() >= 1)
    rate.references.push_back(
        at_x(limits.optimal_batch.base(),
             fmt::format("within the objective: {}", count_text(limits.optimal_batch.base()))));
  if (const auto limit = token_time_limit(scenario.objective))
    time.references.push_back(at_y(limit->base(), fmt::format("objective {}", to_text(*limit))));
  return {Chart{.name = "batch",
                .title = "Throughput and time per token against the batch",
                .description = fmt::format(
                    "Output tokens a second rise with the batch, and so does the time of each. A "
                    "replica holds {} sequences; arithmetic binds from a batch of {} on.",
                    count_text(capacity), count_text(critical)),
                .caption = scenario_caption(scenario, settings),
                .panels = {rate, time}},
          {}};
}

Picture speed_cost_picture(const Scenario& scenario, const PictureSettings& settings) {
  if (!scenario.price.accelerator) return refused(no_price);
  const Subject subject = subject_of(scenario, settings);
  if (!subject.refusal.empty()) return refused(subject.refusal);
  const double capacity = std::floor(subject.replica.admission);
  const auto point_at = [&](double batch) {
    const DecodeAnswer decode = detail::decode_answer(subject.replica, scenario, batch);
    const EconomicsAnswer money =
        detail::economics_of(subject.replica, scenario, decode, scenario.deployment.devices());
    return ServingPoint{scenario.deployment.devices(), batch * request, decode.per_sequence,
                        *money.output};
  };
  const auto shown = [](const ServingPoint& p, std::string label) {
    return ChartPoint{p.speed.base(), p.cost / dollar_per_million_tokens, std::move(label)};
  };
  std::vector<ServingPoint> points;
  for (const double batch : whole_spread(1, capacity, 60)) points.push_back(point_at(batch));
  ChartSeries frontier{"", Mark::line, {}, std::size_t{0}};
  for (const ServingPoint& p : speed_cost_frontier(points)) frontier.points.push_back(shown(p, ""));
  ChartSeries some{"", Mark::points, {}, std::size_t{0}};
  for (double batch = 1; batch < 0.7 * capacity; batch *= 4)
    some.points.push_back(shown(point_at(batch), fmt::format("batch {}", count_text(batch))));
  some.points.push_back(shown(point_at(capacity), capacity_text(capacity)));
  ChartPanel panel{
      {.label = "Speed of one user", .unit = "tok/s"},
      {.label = "Cost of output", .unit = "USD per million tokens", .logarithmic = true},
      {frontier, some}};
  if (const double batch = subject.batch(); batch >= 1 && batch <= capacity)
    panel.series.push_back(
        {"",
         Mark::points,
         {shown(point_at(batch), fmt::format("asked: batch {}", to_text(batch, 3)))},
         std::size_t{1}});
  if (const auto limit = token_time_limit(scenario.objective)) {
    const TokensPerSecond least = 1 * token / *limit;
    panel.references.push_back(at_x(least.base(), "objective: at least " + to_text(least)));
  }
  return {Chart{.name = "speed-cost",
                .title = "What a faster answer costs",
                .description = "Dollars per million output tokens against the tokens a second that "
                               "one user sees, as the batch shrinks from the capacity to one.",
                .caption = scenario_caption(scenario, settings),
                .panels = {panel}},
          {}};
}

Picture cost_picture(const Scenario& scenario, const PictureSettings& settings,
                     const ApiPrice* api) {
  if (!scenario.price.accelerator) return refused(no_price);
  const Subject subject = subject_of(scenario, settings);
  if (const std::string why = subject.refusal_of_batch(); !why.empty()) return refused(why);
  Scenario paid = scenario;
  const auto money_at = [&](double utilization) {
    paid.price.utilization = utilization;
    return detail::economics_of(subject.replica, paid, *subject.answer.decode,
                                scenario.deployment.devices(), subject.answer.serving.request_rate);
  };
  const auto shown = [](DollarsPerToken cost) { return cost / dollar_per_million_tokens; };
  // One step without traffic has no request: its output tokens are all there is to pay for.
  const bool requests = !std::holds_alternative<SingleStep>(scenario.workload.traffic);
  const WorkloadLengths& lengths = subject.replica.lengths;
  const Tokens prompt = requests ? lengths.prompt * token : Tokens{};
  const ApiUse use{prompt, requests ? lengths.cached() * token : Tokens{}, lengths.output * token,
                   Tokens{}};
  const auto cost_at = [&](double u) {
    return requests ? *money_at(u).total : *money_at(u).output;
  };

  ChartSeries output{"output token", Mark::line, {}, {}}, input{"input token", Mark::line, {}, {}},
      total{"all tokens of a request", Mark::line, {}, {}};
  for (const double u : log_spread(0.05, 1, 40)) {
    const EconomicsAnswer money = money_at(u);
    output.points.push_back({100 * u, shown(*money.output)});
    input.points.push_back({100 * u, shown(*money.input)});
    total.points.push_back({100 * u, shown(*money.total)});
  }
  ChartPanel panel{{.label = "Utilisation of paid time", .unit = "%", .low = 0.0, .high = 100.0},
                   {.label = "Cost", .unit = "USD per million tokens", .logarithmic = true},
                   {output}};
  if (requests) panel.series.insert(panel.series.end(), {total, input});
  const std::string now = to_text(shown(cost_at(scenario.price.utilization)), 3);
  panel.series.push_back(
      {"",
       Mark::points,
       {{100 * scenario.price.utilization, shown(cost_at(scenario.price.utilization)),
         fmt::format("stated: {} USD", now)}},
       std::size_t{requests ? 1u : 0u}});
  std::string pays;
  if (const auto bill = api != nullptr ? api_cost(*api, use) : std::nullopt) {
    const double level = shown(*bill / (use.prompt + use.output));
    panel.references.push_back(
        at_y(level, fmt::format("the same at an API: {} USD{}", to_text(level, 3),
                                api->as_of.empty() ? "" : " (" + api->as_of + ")")));
    // A deployment that is busy all the time serves price / cost requests a second.
    const DollarsPerSecond node = *subject.answer.economics.deployment_price;
    const Dollars own = cost_at(1) * (use.prompt + use.output);
    const auto even = break_even({.node = node, .node_rate = request / (own / node), .api = *bill});
    if (even)
      panel.references.push_back(at_x(
          100 * even->utilization, fmt::format("break even at {:.0f} %", 100 * even->utilization)));
    pays = even
               ? fmt::format(" It costs less than the API above {:.0f} %.", 100 * even->utilization)
               : " It costs more than the API at any utilisation.";
  }
  return {Chart{.name = "cost",
                .title = "Cost of a million tokens against utilisation",
                .description = fmt::format(
                    "Cost falls as paid time is used better: {} USD per million tokens{} at {}.{}",
                    now, requests ? ", input and output together," : " of output",
                    percent_text(scenario.price.utilization), pays),
                .caption = scenario_caption(scenario, settings) +
                           fmt::format(" \u00b7 {} a device", to_text(*scenario.price.accelerator)),
                .panels = {panel}},
          {}};
}

}  // namespace tokenroof::io
