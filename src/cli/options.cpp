#include <CLI/CLI.hpp>

#include "cli/verb.hpp"
#include "io/json_reader.hpp"
#include "tokenroof/describe/precision.hpp"

namespace tokenroof::cli {

void add_scenario_options(CLI::App& app, Options& options) {
  app.add_option("SPEC", options.spec, "Scenario file, - for standard input")
      ->required()
      ->type_name("FILE");
  app.add_option("--fidelity", options.fidelity,
                 "ideal: the textbook; roofline: operator by operator at datasheet rates; "
                 "calibrated: with measured efficiencies and fixed times")
      ->check(CLI::IsMember({"ideal", "roofline", "calibrated"}))
      ->capture_default_str();
  add_overrides(app, options);
}

void add_overrides(CLI::App& app, Options& options) {
  app.add_option("--set", options.overrides,
                 "Override one value of the scenario, as in workload.batch=64; *0.5 scales, null "
                 "takes a key away. Repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

void takes_formats(CLI::Option& option) {
  std::vector<std::string> names;
  for (const Format& known : known_formats) names.emplace_back(known.name);
  const auto refuse = [names](const std::string& name) -> std::string {
    if (format(name)) return "";
    return "unknown format \"" + name + "\"" + io::did_you_mean(name, names);
  };
  option.type_name("FORMAT")->check(CLI::Validator(refuse, "{" + CLI::detail::join(names) + "}"));
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
