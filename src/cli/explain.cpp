// explain S METRIC: the formula with the numbers put in.
#include "tokenroof/io/explain.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/output.hpp"
#include "cli/verb.hpp"

namespace tokenroof::cli {
namespace {

struct ExplainArguments {
  std::string metric;
  bool tex = false;
};

int run(const Options& options, const ExplainArguments& arguments) {
  const io::Catalog data = catalog(options);
  const io::ScenarioEntry entry = scenario(options, data);
  const io::Explanation explanation =
      io::explain(entry, fidelity(options), data.kernels(), arguments.metric);
  deliver(options, {.text =
                        [&](io::Markup markup) {
                          return io::explanation_text(explanation, arguments.tex, markup);
                        },
                    .json = [&] { return io::explanation_json(explanation, TOKENROOF_VERSION); },
                    .csv =
                        [&](std::ostream& out, io::CsvDialect dialect) {
                          io::write_explanation_csv(explanation, out, dialect);
                        }});
  return explanation.value ? answered : infeasible;
}

Action declare(CLI::App& app, Options& options) {
  auto arguments = std::make_shared<ExplainArguments>();
  add_scenario_options(app, options);
  app.add_option(
         "METRIC", arguments->metric,
         "As `tokenroof list metrics` names them, or kv, memory, decode, prefill, ttft, tpot, "
         "cost, ridge, crossover, concurrency ...")
      ->required()
      ->type_name("METRIC");
  app.add_flag("--tex", arguments->tex, "Also the formula in TeX");
  return [&options, arguments] { return run(options, *arguments); };
}

}  // namespace

extern const Verb explain_verb;
const Verb explain_verb{"explain", "A formula with the numbers put in, and where each is from",
                        "  tokenroof explain scenario.json decode.step_s\n"
                        "  tokenroof explain scenario.json ridge --tex\n"
                        "  tokenroof explain scenario.json cost --format markdown\n"
                        "Exit code 1 when the scenario has no such number.",
                        declare};

}  // namespace tokenroof::cli
