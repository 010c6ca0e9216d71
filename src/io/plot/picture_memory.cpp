// Memory of a device, and how the KV cache grows into it.
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

std::string gib(Bytes bytes) { return fmt::format("{:.1f} GiB", bytes / gibibyte); }

/// The memory of a device of every pipeline stage; the plan's own line where there is one stage.
std::vector<MemoryPlan> plans_by_stage(const Scenario& scenario, const MemoryPlan& plan) {
  if (scenario.deployment.pipeline_parallel == 1) return {plan};
  std::vector<MemoryPlan> plans;
  for (int stage = 0; stage < scenario.deployment.pipeline_parallel; ++stage)
    plans.push_back(detail::stage_lines(scenario.model, scenario.accelerator, scenario.engine,
                                        scenario.precision, scenario.deployment, plan.context,
                                        stage, detail::memory_options(scenario)));
  return plans;
}

/// The lines of a plan as bars: the pool in what running sequences hold and the rest.
std::vector<MemoryLine> bar_lines(const MemoryPlan& plan, const Subject& subject, double ranks) {
  std::vector<MemoryLine> lines;
  for (const MemoryLine& line : plan.lines()) {
    if (line.name == "unclaimed" && plan.deficit > Bytes{}) continue;
    if (line.name != "kv_pool") {
      lines.push_back(line);
      continue;
    }
    Bytes used;
    if (subject.refusal.empty())
      used = min(plan.kv_pool,
                 plan.cache.bytes_at(TokensPerRequest::from_base(subject.replica.lengths.live)) *
                     (subject.batch() / ranks));
    lines.push_back({"KV cache in use", used});
    lines.push_back({"KV pool, free", plan.kv_pool - used});
  }
  return lines;
}

/// The same line has the same colour in every picture; what is no part of the engine is grey.
std::size_t colour_of_line(std::string_view name) {
  static constexpr std::pair<std::string_view, std::size_t> colours[] = {
      {"weights", 0}, {"activations", 4}, {"runtime", 1},         {"collectives", 3},
      {"graphs", 7},  {"reserve", 8},     {"KV cache in use", 2}, {"KV pool, free", 5}};
  for (const auto& [known, colour] : colours)
    if (name == known) return colour;
  return 6;
}

/// Contexts that a chart of a cache covers.
double longest_context(double most) { return std::clamp(most, 4096.0, 1e7); }

}  // namespace

Picture memory_picture(const Scenario& scenario, const PictureSettings& settings) {
  const Subject subject = subject_of(scenario, settings);
  const MemoryPlan& plan = subject.answer.memory;
  if (plan.verdict.outcome == Outcome::invalid_layout || !(plan.visible > Bytes{}))
    return refused(verdict_text(subject.answer.verdict));
  const std::vector<MemoryPlan> plans = plans_by_stage(scenario, plan);
  ChartPanel panel{{.label = "Memory of one device", .unit = "GiB", .low = 0.0}, {.label = ""}, {}};
  Bytes longest = plan.visible;
  for (std::size_t stage = 0; stage < plans.size(); ++stage) {
    panel.y.categories.push_back(plans.size() == 1 ? scenario.accelerator.name
                                                   : fmt::format("stage {}", stage + 1));
    longest = max(longest, plans[stage].visible + plans[stage].deficit);
    const auto lines =
        bar_lines(plans[stage], subject, scenario.deployment.attention_data_parallel);
    for (const MemoryLine& line : lines) {
      auto series = std::find_if(panel.series.begin(), panel.series.end(),
                                 [&](const ChartSeries& s) { return s.name == words(line.name); });
      if (series == panel.series.end()) {
        panel.series.push_back({words(line.name), Mark::bars, {}, {}});
        series = panel.series.end() - 1;
      }
      series->points.push_back({line.bytes / gibibyte, static_cast<double>(stage)});
    }
  }
  std::erase_if(panel.series, [](const ChartSeries& s) {
    return std::all_of(s.points.begin(), s.points.end(),
                       [](const ChartPoint& p) { return p.x == 0; });
  });
  for (ChartSeries& series : panel.series) {
    series.colour = colour_of_line(series.name);
    if (plans.size() == 1) series.name += fmt::format(" {:.1f}", series.points.front().x);
  }
  panel.x.high = 1.04 * (longest / gibibyte);
  panel.references = {at_x(plan.visible / gibibyte, fmt::format("visible {}", gib(plan.visible)))};
  // Room above the bars for what the lines say; rows are lower where there are several.
  panel.y.high = 0.35 + (plans.size() == 1 ? 0.25 : 0.5) * (plan.deficit > Bytes{} ? 2 : 1);
  std::string story = fmt::format("{} of {} are weights, {} are left for the KV cache.",
                                  gib(plan.weights), gib(plan.visible), gib(plan.kv_pool));
  if (plan.deficit > Bytes{}) {
    story = fmt::format("It does not fit: {} are missing.", gib(plan.deficit));
    panel.references.push_back(
        at_x(plan.budget / gibibyte, fmt::format("the engine may fill {}", gib(plan.budget))));
  }
  return {Chart{.name = "memory",
                .title = fmt::format("Memory of one {}: {}", scenario.accelerator.name,
                                     plan.deficit > Bytes{}
                                         ? fmt::format("{} too little", gib(plan.deficit))
                                         : fmt::format("{} for the KV cache", gib(plan.kv_pool))),
                .description = story,
                .caption = scenario_caption(scenario, settings),
                .panels = {panel}},
          {}};
}

Picture kv_picture(const Scenario& scenario, const PictureSettings& settings) {
  const Subject subject = subject_of(scenario, settings);
  if (!subject.refusal.empty()) return refused(subject.refusal);
  const MemoryPlan& plan = subject.answer.memory;
  const LimitsAnswer& limits = *subject.answer.limits;
  const auto bytes_at = [&](double context) {
    return plan.cache.bytes_at(TokensPerRequest::from_base(context)) / gibibyte;
  };
  if (!(bytes_at(1) > 0)) return refused("the model keeps no cache");
  const double ranks = scenario.deployment.attention_data_parallel;
  const double batch = std::max(1.0, subject.batch() / ranks);

  std::vector<ReferenceLine> contexts;
  const auto mark = [&](const std::optional<TokensPerRequest>& at, const char* text) {
    if (at && at->base() >= 256)
      contexts.push_back(at_x(at->base(), fmt::format("{}: {}", text, count_text(at->base()))));
  };
  mark(plan.max_context, "longest context");
  mark(limits.crossover_weights, "KV read = weights read");
  mark(limits.crossover_compute, "KV read = arithmetic");
  double most = plan.max_context.base();
  for (const ReferenceLine& line : contexts)
    if (line.at < 4 * plan.max_context.base()) most = std::max(most, line.at);
  most = longest_context(1.6 * most);

  ChartSeries one{"one sequence", Mark::line, {}, std::size_t{0}};
  ChartSeries many{fmt::format("batch of {}", to_text(batch, 3)), Mark::line, {}, std::size_t{1}};
  for (const double context : whole_spread(256, most, 80)) {
    one.points.push_back({context, bytes_at(context)});
    many.points.push_back({context, batch * bytes_at(context)});
  }
  const double high = 2 * (plan.visible / gibibyte);
  ChartPanel panel{
      {.label = "Context", .unit = "tokens", .logarithmic = true, .low = 256.0, .high = most},
      {.label = "KV cache on one device", .unit = "GiB", .logarithmic = true, .high = high},
      {one},
      std::move(contexts)};
  if (batch >= 1.05) panel.series.push_back(many);
  panel.references.push_back(at_y(plan.kv_pool / gibibyte, "KV pool " + gib(plan.kv_pool)));
  panel.references.push_back(at_y(plan.weights / gibibyte, "weights " + gib(plan.weights)));
  return {Chart{.name = "kv",
                .title = "KV cache against context",
                .description = fmt::format(
                    "A sequence of {} tokens holds {} of the {} pool of a device; the longest "
                    "context is {} tokens.",
                    count_text(plan.context.base()), to_text(plan.kv_per_sequence),
                    gib(plan.kv_pool), count_text(plan.max_context.base())),
                .caption = scenario_caption(scenario, settings),
                .panels = {panel}},
          {}};
}

Picture model_picture(const Model& model, std::string_view version) {
  const double stated = static_cast<double>(model.maximum_context);
  const double most = longest_context(stated > 0 ? stated : 131072.0);
  ChartPanel panel{
      {.label = "Context", .unit = "tokens", .logarithmic = true, .low = 256.0, .high = 1.8 * most},
      {.label = "KV cache of one sequence", .unit = "GiB", .logarithmic = true},
      {}};
  for (const Format& format : {formats::bf16, formats::fp8}) {
    const KvGeometry cache = kv_geometry(model, format);
    ChartSeries series{std::string(format.name), Mark::line, {}, {}};
    for (const double context : whole_spread(256, most, 80)) {
      const double bytes = cache.bytes_at(TokensPerRequest::from_base(context)) / gibibyte;
      if (bytes > 0) series.points.push_back({context, bytes});
    }
    if (series.points.empty()) return refused("the model keeps no cache");
    series.points.back().label = to_text(series.points.back().y * gibibyte, 3);
    panel.series.push_back(std::move(series));
  }
  return {Chart{.name = "model-kv",
                .title = "KV cache of " + model.id,
                .description = "Bytes that one sequence keeps, over all devices, against its "
                               "context, by format of the cache.",
                .caption = version_text(version) + " \u00b7 " + model.id,
                .panels = {panel}},
          {}};
}

}  // namespace tokenroof::io
