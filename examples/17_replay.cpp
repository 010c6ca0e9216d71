// 17  How far does a closed form carry that knows only the summary of a trace?
#include <cmath>

#include "support.hpp"
#include "tokenroof/decide/estimate.hpp"
#include "tokenroof/decide/simulated.hpp"
#include "tokenroof/io/trace.hpp"

using namespace tokenroof;
using namespace example;

namespace {
std::filesystem::path folder;  // of the spec; its trace is beside it

/// `scenario` under the mean rate and lengths of a trace, their spread and burstiness if wished.
Scenario reduced(Scenario scenario, const TraceSummary& trace, double pace, bool spread) {
  Workload& workload = scenario.workload;
  workload.input = TokensPerRequest::from_base(trace.input().mean());
  workload.output = TokensPerRequest::from_base(trace.output().mean());
  workload.traffic = OpenLoop{pace * trace.rate(), spread ? trace.arrival_squared_cv() : 1};
  if (spread) {
    workload.lengths.kind = LengthLaw::Kind::lognormal;
    workload.lengths.cv = std::sqrt(trace.output().squared_cv());
  }
  return scenario;
}
}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) folder = std::filesystem::path(argv[1]).parent_path();
  return run(argc, argv, [](const Spec& spec, Report& report) {
    const io::Trace trace = io::load_trace(folder / spec.text("trace"));
    TraceSummary summary;
    for (const SimulatedRequest& request : trace.requests) summary.add(request);
    Rows rows;
    for (const double pace : spec.list<double>("paces")) {
      const Scenario scenario = reduced(spec.scenario(), summary, pace, true);
      ScenarioRun how;
      how.trace = trace.requests;
      for (SimulatedRequest& request : how.trace) request.arrival /= pace;
      const ScenarioRunResult replay = simulate_scenario(scenario, how);
      const SimulationResult& run = replay.run;
      rows.push_back({pace,
                      pace * summary.rate(),
                      "replay",
                      {},
                      run.mean_running,
                      run.ttft.mean,
                      run.ttft.p95,
                      run.tpot.mean / millisecond,
                      run.e2e.mean});
      for (const bool spread : {false, true}) {
        const ServingAnswer closed =
            estimate(reduced(spec.scenario(), summary, pace, spread)).serving;
        rows.push_back({pace, pace * summary.rate(), spread ? "spread" : "means",
                        *closed.utilization, closed.running, closed.ttft.mean, closed.ttft.p95,
                        closed.tpot.mean ? Cell(*closed.tpot.mean / millisecond) : Cell(),
                        closed.e2e.mean});
      }
    }
    report.say(
        "The trace: {} requests in {}, {} in the mean and {} times that in its busiest minute; "
        "prompts of {} tokens (median {}, 95 % up to {}), answers of {} (median {}, 95 % up to "
        "{}). Squared coefficients of variation: {} of the times between arrivals (Poisson: 1), "
        "{} of prompts, {} of answers.",
        trace.report.requests * 1.0, summary.duration(), summary.rate(), summary.burst_factor(),
        summary.input().mean(), summary.input().quantile(0.5), summary.input().quantile(0.95),
        summary.output().mean(), summary.output().quantile(0.5), summary.output().quantile(0.95),
        summary.arrival_squared_cv(), summary.input().squared_cv(), summary.output().squared_cv());
    report.say(
        "Replayed request by request through the simulator at several paces, and in closed form "
        "from the means alone (lengths fixed, arrivals Poisson) and with the spread of lengths and "
        "arrivals. Times to first token and to the last in s, time per token in ms:");
    report.table(
        {"pace", "requests_per_s", "method", "load", "running", "ttft", "ttft_p95", "tpot", "e2e"},
        rows);
    report.say(
        "Means carry the batch and the time per token. The first token, and above all its 95th "
        "percentile, needs the spread. What no summary has is the order: minutes that are busy "
        "together. A steady state at the mean rate misses them, the more the closer to the limit; "
        "plan for the busiest minute, or replay.");
  });
}
