// plan S: which deployment meets the objective at the least cost.
#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>

#include "cli/plot.hpp"
#include "cli/verb.hpp"
#include "tokenroof/io/fleet_io.hpp"

namespace tokenroof::cli {
namespace {

struct PlanOptions {
  io::FleetSearch search;
  FleetRequest limits;  // its numbers only
  PlotOptions plot;
  std::size_t most = 10;
};

int run(const Options& options, const PlanOptions& own) {
  if (!std::isfinite(own.limits.headroom) || !std::isfinite(own.limits.cost_window))
    throw UsageError("--headroom and --window: expected finite numbers");
  const io::Catalog data = catalog(options);
  FleetRequest wanted = io::fleet_request(scenario(options, data), data, own.search);
  wanted.most_devices = own.limits.most_devices;
  wanted.headroom = own.limits.headroom;
  wanted.spare_replicas = own.limits.spare_replicas;
  wanted.whole_nodes = own.limits.whole_nodes;
  wanted.separate_pools = own.limits.separate_pools;
  wanted.cost_window = own.limits.cost_window;
  const KernelConstants kernels = data.kernels().constants;
  const FleetPlan plan = plan_fleet(wanted, kernels);
  constexpr std::size_t compared = 3;
  std::vector<io::EqualDevices> pools;
  if (wanted.separate_pools) pools = io::compare_at_equal_devices(wanted, plan, compared, kernels);
  return deliver_with_plot(
      options, own.plot,
      {.text =
           [&](io::Markup markup) { return io::fleet_text(wanted, plan, own.most, markup, pools); },
       .json = [&] { return io::fleet_json(wanted, plan, own.most, TOKENROOF_VERSION, pools); },
       .csv = [&](std::ostream& out,
                  io::CsvDialect dialect) { io::write_fleet_csv(wanted, plan, out, dialect); }},
      [&] { return io::plan_picture(wanted, plan, TOKENROOF_VERSION); }, exit_of(plan.verdict));
}

Action declare(CLI::App& app, Options& options) {
  add_scenario_options(app, options);
  const auto own = std::make_shared<PlanOptions>();
  add_plot_options(app, own->plot);
  app.add_option("--accelerators", own->search.accelerators,
                 "Candidates, comma separated (default: all with a price)")
      ->type_name("ACCELERATOR")
      ->delimiter(',');
  takes_formats(*app.add_option("--precisions", own->search.precisions,
                                "Weight formats to try, comma separated (default: the scenario's)")
                     ->delimiter(','));
  app.add_option("--max-devices", own->limits.most_devices, "Devices of one replica at most")
      ->check(CLI::Range(1, 4096));
  app.add_option("--headroom", own->limits.headroom, "Extra rate that must fit, as a share")
      ->check(CLI::Range(0.0, 100.0));
  app.add_option("--spare", own->limits.spare_replicas, "Replicas beyond those needed (N+1: 1)")
      ->check(CLI::Range(0, 1000));
  app.add_flag("--whole-nodes", own->limits.whole_nodes, "Pay for whole nodes");
  app.add_flag("--separate-pools", own->limits.separate_pools,
               "Also try separate prefill and decode pools, and compare them at the same devices");
  app.add_option("--window", own->limits.cost_window,
                 "Show what costs up to so many times the least")
      ->check(CLI::Range(1.0, 1000.0));
  app.add_option("--most", own->most, "Deployments to list")->check(CLI::Range(1, 100000));
  return [&options, own] { return run(options, *own); };
}

}  // namespace

extern const Verb plan_verb;
const Verb plan_verb{
    "plan", "The cheapest deployments that meet the objective, and the frontier of cost and speed",
    "  tokenroof plan scenario.json\n"
    "  tokenroof plan scenario.json --accelerators h100,h200,b200 --precisions bf16,fp8\n"
    "  tokenroof plan scenario.json --headroom 0.2 --spare 1 --whole-nodes -o plan.csv\n"
    "  tokenroof plan scenario.json --plot frontier.svg\n"
    "The scenario needs an arrival_rate and an objective. Exit code 1 when nothing will do.",
    declare};

}  // namespace tokenroof::cli
