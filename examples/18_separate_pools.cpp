// 18  Prefill and decode on the same replicas or in separate pools, at equal devices?
#include "support.hpp"
#include "tokenroof/decide/estimate.hpp"

using namespace tokenroof;
using namespace example;

namespace {
struct Carried {
  RequestsPerSecond rate;      ///< largest that keeps to the objective; 0: none does
  std::optional<Seconds> gap;  ///< longest pause between two tokens at nine tenths of it
};
Carried carried(Scenario scenario) {
  RequestsPerSecond& rate = std::get<OpenLoop>(scenario.workload.traffic).arrival_rate;
  rate = 1e-3 * request / second;
  RequestsPerSecond low, high = *estimate(scenario).serving.limit_rate;
  for (int i = 0; i < 25; ++i) {
    rate = 0.5 * (low + high);
    (estimate(scenario).verdict.ok() ? low : high) = rate;
  }
  rate = 0.9 * low;
  return {low, estimate(scenario).serving.worst_gap};
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
        Scenario alike = pools;
        alike.disaggregation.reset();
        const Carried together = carried(alike);
        Carried best;
        std::string split;
        for (int x = 1; x < workers; ++x) {
          pools.disaggregation->prefill_replicas = x;
          pools.disaggregation->decode_replicas = workers - x;
          const Carried one = carried(pools);
          if (one.rate <= best.rate) continue;
          best = one;
          split = std::to_string(x) + "P" + std::to_string(workers - x) + "D";
        }
        const bool both = together.rate.base() > 0 && best.rate.base() > 0;
        rows.push_back({pools.workload.input, pools.workload.output, limit, together.rate, split,
                        best.rate, both ? Cell(best.rate / together.rate) : Cell(), together.gap,
                        best.gap});
      }
    report.say(
        "{} replicas of {} devices, {}: all alike (prompts ride with decode steps), or x of them "
        "for prompts and y for decoding (xPyD, the best split). Handing over a prompt of {} tokens "
        "takes {}. Objective: 95 % of first tokens within {}, and of times per token within a "
        "limit. Largest rates that keep to it, and a bound on the pause between two tokens at 90 % "
        "of each, in requests/s and s:",
        workers, pools.deployment.devices_per_replica(), pools.model.id, pools.workload.input,
        kv_transfer_time(pools.workload.input, textbook_model(pools, token).kv,
                         *pools.disaggregation->transfer_bandwidth),
        *pools.objective.ttft_p95);
    report.table({"prompt", "answer", "tpot_limit", "together", "pools", "separate", "gain",
                  "together_gap", "separate_gap"},
                 rows);
    report.say(
        "Separate pools pay where prompts are long against answers or the time per token is "
        "promised tightly: no prompt stretches a step, and all prompts share one queue. With short "
        "prompts and loose promises nothing is gained: neither pool helps the other out.");
  });
}
