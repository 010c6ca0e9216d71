// compare A B ...: scenarios side by side.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/output.hpp"
#include "cli/side_by_side.hpp"
#include "cli/verb.hpp"
#include "tokenroof/decide/estimate.hpp"

namespace tokenroof::cli {
namespace {

int run(const Options& options, std::vector<std::string> specs) {
  specs.insert(specs.begin(), options.spec);
  const io::Catalog data = catalog(options);
  const KernelConstants kernels = data.kernels().constants;
  std::vector<Candidate> candidates;
  for (const std::string& spec : specs) {
    Candidate one{spec == "-" ? spec : std::filesystem::path(spec).stem().string(),
                  io::read_scenario(spec, data, options.overrides),
                  {}};
    one.answer = estimate(one.entry.scenario, fidelity(options), kernels);
    for (const Candidate& other : candidates)
      if (other.name == one.name) one.name = spec;  // a/s.json and b/s.json
    candidates.push_back(std::move(one));
  }
  deliver(options, {.text =
                        [&](io::Markup markup) {
                          return side_by_side_text("Comparison, " + options.fidelity, candidates,
                                                   ShownSettings::all, markup);
                        },
                    .json = [&] { return side_by_side_json("compare", candidates); },
                    .csv =
                        [&](std::ostream& out, io::CsvDialect dialect) {
                          write_side_by_side_csv(candidates, out, dialect);
                        }});
  // There is an answer if any candidate is one.
  for (const Candidate& one : candidates)
    if (one.answer.verdict.ok()) return answered;
  return infeasible;
}

Action declare(CLI::App& app, Options& options) {
  auto others = std::make_shared<std::vector<std::string>>();
  add_scenario_options(app, options);
  app.add_option("OTHERS", *others, "Scenario files to compare it with")
      ->required()
      ->type_name("FILE");
  return [&options, others] { return run(options, *others); };
}

}  // namespace

extern const Verb compare_verb;
const Verb compare_verb{"compare", "Scenarios side by side, differences marked",
                        "  tokenroof compare h100.json h200.json b200.json\n"
                        "  tokenroof compare a.json b.json --format markdown -o comparison.md\n"
                        "--set applies to all of them. Exit code 1 when none is feasible.",
                        declare};

}  // namespace tokenroof::cli
