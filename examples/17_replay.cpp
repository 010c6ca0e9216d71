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

/// `scenario` under the mean lengths of a trace, or (`spread`) also their spread and the
/// burstiness.
Scenario reduced(Scenario scenario, const TraceSummary& trace, RequestsPerSecond rate,
                 bool spread) {
  Workload& workload = scenario.workload;
  workload.input = TokensPerRequest::from_base(trace.input().mean());
  workload.output = TokensPerRequest::from_base(trace.output().mean());
  workload.traffic = OpenLoop{rate, spread ? trace.arrival_squared_cv() : 1};
  workload.lengths.kind = spread ? LengthLaw::Kind::lognormal : LengthLaw::Kind::fixed;
  workload.lengths.cv = std::sqrt(trace.output().squared_cv());
  return scenario;
}
}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) folder = std::filesystem::path(argv[1]).parent_path();
  return run(argc, argv, [](const Spec& spec, Report& report) {
    const Scenario scenario = spec.scenario();
    const io::Trace trace = io::load_trace(folder / spec.text("trace"));
    TraceSummary t;
    for (const SimulatedRequest& request : trace.requests) t.add(request);
    Rows rows;
    for (const double pace : spec.list<double>("paces")) {
      ScenarioRun how;
      how.trace = trace.requests;
      for (SimulatedRequest& request : how.trace) request.arrival /= pace;
      const auto run = simulate_scenario(reduced(scenario, t, t.rate(), true), how).run;
      rows.push_back({pace,
                      "replay",
                      pace * t.rate(),
                      {},
                      run.mean_running,
                      run.ttft.mean,
                      run.ttft.p95,
                      run.tpot.mean,
                      run.e2e.mean});
      const auto closed = [&](const char* name, RequestsPerSecond rate, bool spread) {
        const ServingAnswer s = estimate(reduced(scenario, t, rate, spread)).serving;
        rows.push_back({pace, name, rate, *s.utilization, s.running, s.ttft.mean, s.ttft.p95,
                        s.tpot.mean, s.e2e.mean});
      };
      closed("means", pace * t.rate(), false);
      closed("spread", pace * t.rate(), true);
      closed("busiest", pace * t.burst_factor() * t.rate(), true);
    }
    report.say(
        "The trace: {} requests in {}, {} in the mean and {} times that in its busiest minute; "
        "prompts of {} tokens (95 % up to {}), answers of {} (up to {}). Squared coefficients of "
        "variation: {} between arrivals (Poisson: 1), {} of prompts, {} of answers.",
        static_cast<int>(t.requests()), t.duration(), t.rate(), t.burst_factor(), t.input().mean(),
        t.input().quantile(0.95), t.output().mean(), t.output().quantile(0.95),
        t.arrival_squared_cv(), t.input().squared_cv(), t.output().squared_cv());
    report.say(
        "Replayed request by request through the simulator at several paces, and in closed form: "
        "from means alone (lengths fixed, arrivals Poisson), with the spread of lengths and "
        "arrivals, "
        "and so for the busiest minute. Rates in requests/s, times in s:");
    report.table({"pace", "method", "rate", "load", "running", "ttft", "ttft_p95", "tpot", "e2e"},
                 rows);
    report.say(
        "Means carry the batch and the time per token. The first token, above all its 95th "
        "percentile, needs the spread. No summary has the order: busy seconds come together, which "
        "costs more the fuller the engine. To promise, take the busiest minute, or replay.");
  });
}
