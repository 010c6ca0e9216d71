// How sure an answer is: what the engine's residuals say, and what they mean for the objectives.
#include <fmt/format.h>

#include "io/page.hpp"
#include "io/report/parts.hpp"
#include "tokenroof/io/units_text.hpp"

namespace tokenroof::io::report {
namespace {

// Of docs/accuracy.md, out of sample, closed loop, all rows (tests/cli/report_test.py compares).
constexpr const char* held_out_tpot = "7.2 %";
constexpr const char* held_out_ttft = "18.3 %";

/// Rows of the fit that gave the band, as the engine's profile states them.
std::string fitted_text(const ScenarioEntry& entry) {
  for (const ConstantNote& note : entry.engine_constants)
    if (note.name == "spread_high" && note.rows)
      return fmt::format(" ({} measurements, {})", count_text(static_cast<double>(*note.rows)),
                         note.date);
  return {};
}

std::string objective_verdict(const ObjectiveLine& line, const Answer& answer) {
  if (!line.known()) return "not known";
  const bool usual = line.met(), slow = line.met(answer.spread_high),
             fast = line.met(answer.spread_low);
  if (slow) return "met over the whole range";
  if (usual) return "met, but not at the slow end of the range";
  return fast ? "missed, but met at the fast end of the range" : "missed over the whole range";
}

void add_band(ReportSection& section, const Subject& subject) {
  const Answer& answer = subject.answer;
  if (answer.spread_low == answer.spread_high) {
    section.blocks.emplace_back(fmt::format(
        "How far predictions for the engine {} are from measurements is not known: its profile "
        "states no residuals.",
        subject.scenario().engine.name));
    return;
  }
  section.blocks.emplace_back(fmt::format(
      "For the engine {}{}, measured times lay between {} and {} times the predicted ones in four "
      "cases of five; in one of ten they were shorter, in one of ten longer.",
      subject.scenario().engine.name, fitted_text(subject.entry), to_text(answer.spread_low),
      to_text(answer.spread_high)));
  ReportTable table{"What the range means here",
                    {{"Time"}, {"Fast end", true}, {"Predicted", true}, {"Slow end", true}}};
  const auto row = [&](const char* name, const std::optional<Seconds>& time) {
    if (time)
      table.rows.push_back({{name},
                            {to_text(*time * answer.spread_low, 3)},
                            {to_text(*time, 3)},
                            {to_text(*time * answer.spread_high, 3)}});
  };
  if (answer.decode && runs(answer.verdict)) row("One decode step", answer.decode->step);
  row("Time per further token, mean", answer.serving.tpot.mean);
  row("Whole answer, mean", answer.serving.e2e.mean);
  if (!table.rows.empty()) section.blocks.emplace_back(std::move(table));
}

void add_objectives(ReportSection& section, const Subject& subject) {
  const auto lines = objective_lines(subject);
  if (lines.empty() || subject.answer.spread_low == subject.answer.spread_high) return;
  ReportTable table{"What the range means for the objectives", {{"Objective"}, {"Over the range"}}};
  for (const ObjectiveLine& line : lines) {
    std::string verdict = objective_verdict(line, subject.answer);
    if (line.first_token && line.known()) verdict += "; the first token is less certain than that";
    table.rows.push_back({{capitalised(line.name)}, {std::move(verdict)}});
  }
  section.blocks.emplace_back(std::move(table));
}

}  // namespace

ReportSection certainty_section(const Subject& subject) {
  ReportSection section{"certainty", "How sure this is", {}};
  const Scenario& scenario = subject.scenario();
  if (subject.answer.fidelity != Fidelity::calibrated) {
    section.blocks.emplace_back(fmt::format(
        "These are bounds, not predictions: the fidelity {} leaves out what real kernels and "
        "engines lose. Times will be longer and costs higher. The fidelity calibrated predicts.",
        to_string(subject.answer.fidelity)));
  } else {
    add_band(section, subject);
    if (runs(subject.answer.verdict)) add_objectives(section, subject);
    section.blocks.emplace_back(fmt::format(
        "Checked on measured runs that the constants were not learned from, half of the "
        "predictions were within {} for the time per further token and within {} for the first "
        "token. Errors by engine, model and device are in docs/accuracy.md. New models, new engine "
        "versions and unusual layouts are less certain than these figures.",
        held_out_tpot, held_out_ttft));
  }
  if (!scenario.engine.has_profile)
    section.blocks.emplace_back(fmt::format(
        "There are no measurements of the engine {}: the constants of the profile default stand "
        "in.",
        scenario.engine.name));
  std::string keys;
  for (const std::string& key : unverified_figures(subject))
    keys += (keys.empty() ? "" : ", ") + key;
  if (!keys.empty())
    section.blocks.emplace_back(fmt::format(
        "Figures of the device whose source could not be checked: {}. See the sources.", keys));
  section.blocks.emplace_back(
      "Prices are what the scenario or the price list says; costs are the devices' alone, without "
      "staff, network and storage. The quality of the model's answers is not computed.");
  return section;
}

}  // namespace tokenroof::io::report
