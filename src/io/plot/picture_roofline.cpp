// Roofline of one device with the operators of the decode step and of prefill.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "io/page.hpp"
#include "io/plot/picture_parts.hpp"
#include "tokenroof/io/units_text.hpp"
#include "tokenroof/physics/roofline.hpp"

namespace tokenroof::io {
namespace {

using namespace plot;

/// An operator on the roofline, all its layers together.
struct OperatorWork {
  OperatorKind kind;
  Work<double> work;
  Seconds time;
};

/// The operators of a step that compute, and the time of the whole step.
std::vector<OperatorWork> operators_of(const Replica& replica, const StepLoad<double>& load,
                                       Seconds& step) {
  std::vector<OperatorWork> all;
  visit_step(replica.model, load, replica.fidelity,
             [&](OperatorKind kind, const OperatorCost<double>& c, const StepTime<double>& time) {
               step += time.total();
               const Bytes moved = (c.weight_bytes + c.cache_bytes + c.activation_bytes) * byte;
               if (!(c.flops > 0) || !(moved > Bytes{}) || !(time.total() > Seconds{})) return;
               const OperatorWork added{kind, {c.flops * flop, moved}, time.total()};
               const auto known = std::find_if(
                   all.begin(), all.end(), [&](const OperatorWork& o) { return o.kind == kind; });
               if (known == all.end()) return all.push_back(added);
               known->work = known->work + added.work;
               known->time += added.time;
             });
  return all;
}

/// Of a step: operators that take less are left out, for their names would hide the others.
constexpr double least_share = 0.01;

ChartSeries points_of(std::string name, std::size_t colour, const std::vector<OperatorWork>& all,
                      Seconds step) {
  ChartSeries series{std::move(name), Mark::points, {}, colour};
  for (const OperatorWork& o : all)
    if (const double share = o.time / step; share >= least_share)
      series.points.push_back({intensity(o.work).base(), (o.work.math / o.time).base(),
                               fmt::format("{} {:.0f} %", words(to_string(o.kind)), 100 * share)});
  return series;
}

/// Types that operators of the model multiply in, highest peak first.
std::vector<DataType> types_in_use(const StepModel<double>& model) {
  std::vector<DataType> types;
  for_each_operator(model.operators, [&](const auto& op) {
    if constexpr (requires { op.multiply; })
      if (std::find(types.begin(), types.end(), op.multiply) == types.end() &&
          model.machine.peak_of(op.multiply) > 0)
        types.push_back(op.multiply);
  });
  std::sort(types.begin(), types.end(), [&](DataType a, DataType b) {
    return model.machine.peak_of(a) > model.machine.peak_of(b);
  });
  return types;
}

}  // namespace

Picture roofline_picture(const Scenario& scenario, const PictureSettings& asked) {
  PictureSettings settings = asked;
  if (settings.fidelity == Fidelity::ideal) settings.fidelity = Fidelity::roofline;
  const Subject subject = subject_of(scenario, settings);
  if (const std::string why = subject.refusal_of_batch(); !why.empty()) return refused(why);
  const Replica& replica = subject.replica;

  StepLoad<double> decoding = decode_load(subject.batch(), replica.lengths.live);
  decoding.query_tokens = replica.draft_tokens + 1;
  Seconds step, prefill;
  const auto decode_work = operators_of(replica, decoding, step);
  const auto prefill_work = operators_of(
      replica, prefill_load(1.0, replica.lengths.computed(), replica.lengths.cached()), prefill);

  ChartPanel panel;
  panel.x = {.label = "Arithmetic intensity", .unit = "FLOP/B", .logarithmic = true};
  panel.y = {.label = "Arithmetic rate of one device",
             .unit = "FLOP/s",
             .prefixes = true,
             .logarithmic = true};
  const ChartSeries decode =
      points_of(fmt::format("decode, batch {}, {}", to_text(subject.batch(), 3), to_text(step)), 0,
                decode_work, step);
  const ChartSeries prompt =
      points_of(fmt::format("prefill of {} tokens, {}", count_text(replica.lengths.computed()),
                            to_text(prefill)),
                1, prefill_work, prefill);
  if (decode.points.empty() && prompt.points.empty())
    return refused("the model has no operators that compute");

  const Machine<double>& machine = replica.model.machine;
  double left = 1, right = 1, lowest = 1e300;
  for (const ChartSeries* series : {&decode, &prompt})
    for (const ChartPoint& p : series->points) {
      left = std::min(left, 0.7 * p.x);
      right = std::max(right, 1.5 * p.x);
      lowest = std::min(lowest, p.y);
    }
  const std::vector<DataType> types = types_in_use(replica.model);
  for (const DataType type : types)
    right = std::max(right, 4 * machine.peak_of(type) / machine.memory_bandwidth);
  for (const DataType type : types) {
    const Roof<double> roof{FlopsPerSecond::from_base(machine.peak_of(type)),
                            BytesPerSecond::from_base(machine.memory_bandwidth)};
    const FlopsPerByte ridge = ridge_intensity(roof);
    const bool first = type == types.front();
    ChartSeries series{fmt::format("{}{} peak {}, ridge at {} FLOP/B",
                                   first ? to_text(roof.memory) + ", then " : "", to_string(type),
                                   to_text(roof.math), to_text(ridge.base(), 3)),
                       first ? Mark::line : Mark::dashed,
                       {},
                       std::size_t{6}};
    for (const double x : {left, ridge.base(), right})
      if (first || x > left)
        series.points.push_back({x, attainable_rate(roof, FlopsPerByte::from_base(x)).base()});
    panel.series.push_back(std::move(series));
  }
  panel.x.low = left;
  panel.x.high = right;
  panel.y.low = std::min(lowest * 0.5, left * machine.memory_bandwidth);
  panel.y.high = 1.8 * machine.peak_of(types.front());
  for (const ChartSeries* series : {&decode, &prompt})
    if (!series->points.empty()) panel.series.push_back(*series);
  return {Chart{.name = "roofline",
                .title = fmt::format("Roofline of {} with {}", scenario.accelerator.name,
                                     scenario.model.id),
                .description = fmt::format(
                    "Arithmetic rate of every operator against its intensity, with its share of "
                    "the step. The decode step is bound by {}, prefill by {}.",
                    words(to_string(subject.answer.decode->bound)),
                    words(to_string(subject.answer.prefill->bound))),
                .caption = scenario_caption(scenario, settings),
                .panels = {panel}},
          {}};
}

}  // namespace tokenroof::io
