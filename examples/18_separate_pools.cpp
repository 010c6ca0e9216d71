// 18  Prefill and decode on the same replicas or in separate pools, at equal devices?
#include "support.hpp"
#include "tokenroof/decide/estimate.hpp"

using namespace tokenroof;
using namespace example;

namespace {
/// Largest arrival rate at which separate pools meet the scenario's objective, and what users see
/// there; nothing when they miss it even at a thousandth of what they complete.
struct Carried {
  int prefill = 0, decode = 0;
  RequestsPerSecond rate;
  ServingAnswer seen;
};
ServingAnswer at(Scenario scenario, RequestsPerSecond rate, bool& ok) {
  std::get<OpenLoop>(scenario.workload.traffic).arrival_rate = rate;
  const Answer answer = estimate(scenario);
  ok = answer.verdict.ok();
  return answer.serving;
}
Carried best_pools(Scenario scenario, int workers) {
  Carried best;
  for (int x = 1; x < workers; ++x) {
    scenario.disaggregation->prefill_replicas = x;
    scenario.disaggregation->decode_replicas = workers - x;
    bool ok = false;
    double high = at(scenario, 1e-3 * request / second, ok).limit_rate->base(), low = 0;
    for (int i = 0; i < 25; ++i) {
      const double middle = 0.5 * (low + high);
      (void)at(scenario, middle * request / second, ok);
      (ok ? low : high) = middle;
    }
    const RequestsPerSecond rate = low * request / second;
    if (rate > best.rate) best = {x, workers - x, rate, at(scenario, rate, ok)};
  }
  return best;
}
}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv, [](const Spec& spec, Report& report) {
    Scenario pools = spec.scenario();
    const int workers = pools.deployment.replicas;
    Rows rows;
    for (std::size_t i = 0; i < spec.texts("prompts").size(); ++i)
      for (const Seconds limit : spec.list<Seconds>("tpot_limits")) {
        pools.workload.input = spec.list<TokensPerRequest>("prompts")[i];
        pools.workload.output = spec.list<TokensPerRequest>("answers").at(i);
        pools.objective.tpot_p95 = limit;
        Scenario together = pools;
        together.disaggregation.reset();
        bool ok = false;
        const RequestsPerSecond rate = *at(together, request / second, ok).objective_rate;
        const ServingAnswer seen = at(together, rate, ok);
        const Carried split = best_pools(pools, workers);
        const auto gap = [](const ServingAnswer& s) {
          return s.worst_gap ? Cell(*s.worst_gap / millisecond) : Cell();
        };
        rows.push_back({pools.workload.input, pools.workload.output, limit / millisecond, rate,
                        std::to_string(split.prefill) + "P" + std::to_string(split.decode) + "D",
                        split.rate, rate.base() > 0 ? Cell(split.rate / rate) : Cell(), gap(seen),
                        gap(split.seen)});
      }
    report.table({"prompt", "answer", "tpot_p95_limit_ms", "together", "pools", "separate", "gain",
                  "together_gap_ms", "separate_gap_ms"},
                 rows);
  });
}
