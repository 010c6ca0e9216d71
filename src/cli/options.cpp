#include <CLI/CLI.hpp>

#include "cli/verb.hpp"

namespace tokenroof::cli {

void add_scenario_options(CLI::App& app, Options& options) {
  app.add_option("SPEC", options.spec, "Scenario file, - for standard input")->required();
  app.add_option("--fidelity", options.fidelity,
                 "ideal: the textbook; roofline: operator by operator at datasheet rates; "
                 "calibrated: with measured efficiencies and fixed times")
      ->check(CLI::IsMember({"ideal", "roofline", "calibrated"}))
      ->capture_default_str();
  app.add_option("--set", options.overrides,
                 "Override one value of the scenario, as in workload.batch=64; *0.5 scales, null "
                 "takes a key away. Repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

io::Catalog catalog(const Options& options) { return io::Catalog::open(options.data); }

io::ScenarioEntry scenario(const Options& options, const io::Catalog& catalog) {
  return io::read_scenario(options.spec, catalog, options.overrides);
}

Fidelity fidelity(const Options& options) {
  for (const Fidelity known : {Fidelity::ideal, Fidelity::roofline})
    if (options.fidelity == to_string(known)) return known;
  return Fidelity::calibrated;
}

}  // namespace tokenroof::cli
