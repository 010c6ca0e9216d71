// what-if S --set key=value ...: before and after; without --set, what the answer depends on.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <ostream>

#include "cli/output.hpp"
#include "cli/side_by_side.hpp"
#include "cli/verb.hpp"
#include "io/json_out.hpp"
#include "io/page.hpp"
#include "tokenroof/analyze/sensitivity.hpp"
#include "tokenroof/decide/estimate.hpp"
#include "tokenroof/io/units_text.hpp"

namespace tokenroof::cli {
namespace {

constexpr Result results[] = {Result::decode_step, Result::prefill_time, Result::output_cost};
constexpr double moved = 1.2;  ///< the tornado's factor

int before_and_after(const Options& options) {
  const io::Catalog data = catalog(options);
  const KernelConstants kernels = data.kernels().constants;
  io::ScenarioDocument document = io::ScenarioDocument::load(options.spec);
  std::vector<Candidate> both;
  both.push_back({"before", document.read(data), {}});
  std::string change;
  for (const std::string& assignment : options.overrides) {
    document.set(assignment, data);
    change += (change.empty() ? "" : ", ") + assignment;
  }
  both.push_back({"after", document.read(data), {}});
  for (Candidate& one : both) one.answer = estimate(one.entry.scenario, fidelity(options), kernels);
  deliver(options,
          {.text =
               [&](io::Markup markup) {
                 return side_by_side_text("What if " + change, both, ShownSettings::differing,
                                          markup);
               },
           .json = [&] { return side_by_side_json("what-if", both); },
           .csv = [&](std::ostream& out,
                      io::CsvDialect dialect) { write_side_by_side_csv(both, out, dialect); }});
  return exit_of(both.back().answer.verdict);
}

/// Elasticities and swings of one result.
struct Sensitivity {
  Result result;
  std::array<Elasticity, driver_count> elasticities;
  std::vector<TornadoBar> bars;

  [[nodiscard]] const Elasticity& of(Driver driver) const {
    return elasticities[static_cast<std::size_t>(driver)];
  }
};

std::string elasticity_text(const Elasticity& e) {
  return e.kink() ? fmt::format("{:.3f} below, {:.3f} above", e.below, e.above)
                  : fmt::format("{:.3f}", e.value);
}

std::string text(const std::vector<Sensitivity>& all, const OperatingPoint& at, io::Markup markup) {
  io::Page page(markup);
  page.title("What the answer depends on");
  page.line(fmt::format(
      "At {} sequences of {} tokens a replica, prompts of {} tokens. Elasticity: per cent of the "
      "result per cent of the driver. The last columns: the result over what it is now when the "
      "driver is divided or multiplied by {}.",
      io::to_text(at.batch), io::to_text(at.context, 6), io::to_text(at.prompt, 6), moved));
  for (const Sensitivity& one : all) {
    page.section(io::words(to_string(one.result)));
    io::TextTable table(
        {"driver", "elasticity", fmt::format("/ {}", moved), fmt::format("x {}", moved)});
    for (const TornadoBar& bar : one.bars) {
      if (bar.swing() == 1 && one.of(bar.driver).value == 0) continue;
      table.row({io::words(to_string(bar.driver)), elasticity_text(one.of(bar.driver)),
                 fmt::format("{:.3f}", bar.lower), fmt::format("{:.3f}", bar.higher)});
    }
    page.table(table);
  }
  page.line("Change one with --set, as in --set accelerator.memory_bandwidth=x10.");
  return page.text();
}

io::Json json(const std::vector<Sensitivity>& all) {
  io::Json json = io::document("sensitivity", TOKENROOF_VERSION);
  json["factor"] = moved;
  json["results"] = io::Json::array();
  for (const Sensitivity& one : all) {
    io::Json drivers = io::Json::array();
    for (const TornadoBar& bar : one.bars) {
      const Elasticity& e = one.of(bar.driver);
      drivers.push_back({{"driver", to_string(bar.driver)},
                         {"elasticity", io::number(e.value)},
                         {"below", io::number(e.below)},
                         {"above", io::number(e.above)},
                         {"divided", io::number(bar.lower)},
                         {"multiplied", io::number(bar.higher)}});
    }
    json["results"].push_back({{"result", to_string(one.result)}, {"drivers", drivers}});
  }
  return json;
}

void write_csv(const std::vector<Sensitivity>& all, std::ostream& out, io::CsvDialect dialect) {
  io::CsvWriter csv(out, dialect);
  csv.header({"result", "driver", "elasticity", "elasticity_below", "elasticity_above", "factor",
              "result_divided", "result_multiplied", "schema_version"});
  for (const Sensitivity& one : all)
    for (const TornadoBar& bar : one.bars) {
      const Elasticity& e = one.of(bar.driver);
      csv.cell(to_string(one.result)).cell(to_string(bar.driver)).cell(e.value).cell(e.below);
      csv.cell(e.above).cell(moved).cell(bar.lower).cell(bar.higher).cell(1).end_row();
    }
}

int sensitivities(const Options& options) {
  const io::Catalog data = catalog(options);
  const io::ScenarioEntry entry = scenario(options, data);
  const KernelConstants kernels = data.kernels().constants;
  const Answer answer = estimate(entry.scenario, fidelity(options), kernels);
  if (!answer.decode)
    throw SpecError(options.spec, "", "nothing to differentiate: " + answer.verdict.reason);
  const Replica replica = reduce(entry.scenario, fidelity(options), kernels);
  const OperatingPoint at{answer.decode->batch, answer.decode->context.base(),
                          replica.lengths.computed(), replica.lengths.cached()};
  std::vector<Sensitivity> all;
  for (const Result result : results)
    all.push_back({result, elasticities(replica, at, result), tornado(replica, at, result, moved)});
  deliver(options, {.text = [&](io::Markup markup) { return text(all, at, markup); },
                    .json = [&] { return io::dump(json(all)); },
                    .csv = [&](std::ostream& out,
                               io::CsvDialect dialect) { write_csv(all, out, dialect); }});
  return exit_of(answer.verdict);
}

Action declare(CLI::App& app, Options& options) {
  add_scenario_options(app, options);
  return [&options] {
    return options.overrides.empty() ? sensitivities(options) : before_and_after(options);
  };
}

}  // namespace

extern const Verb what_if_verb;
const Verb what_if_verb{
    "what-if", "Before and after a change; without --set, what the answer depends on",
    "  tokenroof what-if scenario.json --set accelerator.memory_bandwidth=x10\n"
    "  tokenroof what-if scenario.json --set precision.kv_cache=fp8 --set price.utilization=0.8\n"
    "  tokenroof what-if scenario.json        elasticities and a tornado table\n"
    "Exit code 1 when the changed scenario is infeasible.",
    declare};

}  // namespace tokenroof::cli
