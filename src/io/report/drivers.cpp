// What an answer depends on, and how far it is from its limits.
#include <fmt/format.h>

#include <cmath>

#include "io/page.hpp"
#include "io/report/parts.hpp"
#include "tokenroof/analyze/sensitivity.hpp"
#include "tokenroof/io/units_text.hpp"

namespace tokenroof::io::report {
namespace {

const char* driver_text(Driver driver) {
  switch (driver) {
    case Driver::memory_bandwidth:
      return "Memory bandwidth of a device";
    case Driver::peak_compute:
      return "Arithmetic peak of a device";
    case Driver::link_bandwidth:
      return "Bandwidth between devices";
    case Driver::fixed_times:
      return "Fixed times of kernels and engine";
    case Driver::batch:
      return "Requests in the batch";
    case Driver::context:
      return "Length of contexts and prompts";
    case Driver::price:
      return "Price of a device";
    case Driver::utilization:
      return "Share of paid time in use";
  }
  return "";
}

/// "+8.2 %" from a ratio of 1.082
std::string change_text(double ratio) {
  return std::abs(ratio - 1) < 5e-4 ? "0 %" : fmt::format("{:+.1f} %", 100 * (ratio - 1));
}

}  // namespace

ReportTable driver_table(const Subject& subject) {
  constexpr double factor = 1.2;
  const Replica replica =
      reduce(subject.scenario(), subject.answer.fidelity, subject.kernels.constants);
  const DecodeAnswer& decode = *subject.answer.decode;
  const OperatingPoint at{decode.batch, decode.context.base(), replica.lengths.computed(),
                          replica.lengths.cached()};
  const auto bars = [&](Result result) { return tornado(replica, at, result, factor); };
  const std::vector<TornadoBar> steps = bars(Result::decode_step),
                                prompts = bars(Result::prefill_time),
                                costs = bars(Result::output_cost);
  const auto cell = [](const std::vector<TornadoBar>& all, Driver driver) -> ReportCell {
    for (const TornadoBar& bar : all)
      if (bar.driver == driver)
        return {bar.swing() < 1 + 5e-4 ? std::string("-")
                                       : change_text(bar.lower) + " / " + change_text(bar.higher)};
    return {"-"};
  };
  ReportTable table{fmt::format("Change of a result when one thing is divided / multiplied by {}, "
                                "all else as it is",
                                factor),
                    {{"Driver"},
                     {"Decode step", true},
                     {"Prefill of a prompt", true},
                     {"Cost of an output token", true}}};
  for (const TornadoBar& bar : costs)  // has the drivers of the step, and money
    if (cell(steps, bar.driver).text != "-" || cell(prompts, bar.driver).text != "-" ||
        cell(costs, bar.driver).text != "-")
      table.rows.push_back({{driver_text(bar.driver)},
                            cell(steps, bar.driver),
                            cell(prompts, bar.driver),
                            cell(costs, bar.driver)});
  return table;
}

ReportList headroom(const Subject& subject) {
  const Answer& answer = subject.answer;
  ReportList list;
  const ServingAnswer& serving = answer.serving;
  const auto room = [&](const std::optional<RequestsPerSecond>& most, const char* before) {
    if (serving.request_rate && most && *most > *serving.request_rate)
      list.items.push_back(fmt::format("The load can grow to {} ({} times as much) before {}.",
                                       to_text(*most), to_text(*most / *serving.request_rate, 3),
                                       before));
  };
  if (answer.verdict.ok() && !objective_lines(subject).empty() && serving.objective_rate &&
      serving.limit_rate && *serving.objective_rate < *serving.limit_rate)
    room(serving.objective_rate, "an objective is missed");
  if (answer.verdict.ok()) room(serving.limit_rate, "the queue grows without end");
  if (!answer.limits) return list;
  const LimitsAnswer& limits = *answer.limits;
  list.items.push_back(fmt::format(
      "Arithmetic takes as long as reading the weights at {} tokens in a step; here it is {}.",
      count_text(limits.critical_batch.base()), number_text(answer.decode->batch)));
  if (limits.crossover_weights)
    list.items.push_back(fmt::format(
        "The KV cache of the batch weighs as much as the weights at contexts of {} tokens; here "
        "they are {} on average.",
        count_text(limits.crossover_weights->base()), count_text(answer.decode->context.base())));
  return list;
}

}  // namespace tokenroof::io::report
