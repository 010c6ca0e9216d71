// simulate S: the same scenario, iteration by iteration instead of in closed form.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/plot.hpp"
#include "cli/verb.hpp"
#include "tokenroof/io/simulate_io.hpp"
#include "tokenroof/io/trace.hpp"

namespace tokenroof::cli {
namespace {

struct SimulateOptions {
  std::size_t requests = 10000;
  std::uint64_t seed = 1;
  std::string trace;
  PlotOptions plot;
};

/// Time between samples of the queue: some hundreds in a run. None for a closed loop, whose length
/// is not known before.
Seconds sample_interval(const Scenario& scenario, const ScenarioRun& how) {
  constexpr double samples = 400;
  if (!how.trace.empty()) return how.trace.back().arrival / samples;
  const auto* open = std::get_if<OpenLoop>(&scenario.workload.traffic);
  if (open == nullptr) return {};
  const double requests = static_cast<double>(how.requests) * scenario.deployment.replicas;
  return requests * request / open->arrival_rate / samples;
}

/// A line on standard error that is rewritten, for a person who waits at a terminal.
std::function<void(std::size_t, std::size_t)> progress(const Options& options) {
  if (!progress_welcome(options)) return {};
  return [shown = std::size_t{101}](std::size_t done, std::size_t total) mutable {
    const std::size_t percent = total > 0 ? 100 * done / total : 100;
    if (percent == shown) return;
    shown = percent;
    fmt::print(stderr, "\rsimulating: {:3} %{}", percent, done >= total ? "\r\033[K" : "");
  };
}

int run(const Options& options, const SimulateOptions& own) {
  const io::Catalog data = catalog(options);
  const io::ScenarioEntry entry = scenario(options, data);
  io::check_simulated(entry.scenario, options.spec);
  ScenarioRun how;
  how.requests = own.requests;
  how.seed = own.seed;
  if (!own.trace.empty()) {
    how.trace = io::load_trace(own.trace, {.most_requests = own.requests}).requests;
    if (how.trace.empty()) throw SpecError(own.trace, "", "holds no request");
  }
  how.plan.keep_records = output_format(options) == OutputFormat::csv || !own.plot.file.empty();
  if (!own.plot.file.empty()) how.plan.sample_interval = sample_interval(entry.scenario, how);
  how.plan.progress = progress(options);
  const ScenarioRunResult result =
      simulate_scenario(entry.scenario, how, fidelity(options), data.kernels().constants);
  return deliver_with_plot(
      options, own.plot,
      {.text =
           [&](io::Markup markup) { return io::simulation_text(result, entry.scenario, markup); },
       .json = [&] { return io::simulation_json(result, entry.scenario, TOKENROOF_VERSION); },
       .csv = [&](std::ostream& out,
                  io::CsvDialect dialect) { io::write_simulation_csv(result, out, dialect); }},
      [&] {
        return io::simulation_picture(
            result, entry.scenario,
            {fidelity(options), data.kernels().constants, TOKENROOF_VERSION});
      },
      exit_of(result.verdict));
}

Action declare(CLI::App& app, Options& options) {
  auto own = std::make_shared<SimulateOptions>();
  add_scenario_options(app, options);
  app.add_option("--requests", own->requests, "Requests to simulate, of one replica")
      ->check(CLI::Range(std::size_t{1}, std::size_t{100'000'000}))
      ->capture_default_str();
  app.add_option("--seed", own->seed, "Equal seeds give equal runs")
      ->check([](const std::string& text) {  // -1 would be read as 2^64 - 1
        return text.starts_with('-') ? "expected a whole number from 0, found " + text
                                     : std::string();
      })
      ->capture_default_str();
  app.add_option("--trace", own->trace,
                 "Replay arrivals and lengths of this file (azure, mooncake or burstgpt format)")
      ->type_name("FILE");
  add_plot_options(app, own->plot);
  return [&options, own] { return run(options, *own); };
}

}  // namespace

extern const Verb simulate_verb;
const Verb simulate_verb{"simulate", "Discrete-event run of a scenario: percentiles, queues",
                         "  tokenroof simulate scenario.json --requests 20000 --seed 7\n"
                         "  tokenroof simulate scenario.json --format csv -o requests.csv\n"
                         "  tokenroof simulate scenario.json --trace trace.csv --json\n"
                         "  tokenroof simulate scenario.json --plot latencies.svg",
                         declare};

}  // namespace tokenroof::cli
