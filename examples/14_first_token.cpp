// 14  What is the time to first token made of?
#include <cmath>

#include "support.hpp"
#include "tokenroof/decide/estimate.hpp"
#include "tokenroof/decide/simulated.hpp"

using namespace tokenroof;
using namespace example;

namespace {
/// The engine under `arrivals`, prompts riding with the `running` sequences that the answer found.
EngineEstimate parts_of(const Replica& replica, const Scenario& scenario,
                        RequestsPerSecond arrivals, double running) {
  const LengthLaw& lengths = scenario.workload.lengths;
  EngineLoad load;
  load.arrivals = arrivals;
  load.output = TokensPerRequest::from_base(replica.lengths.output);
  load.output_squared_cv = lengths.squared_cv(replica.lengths.output);
  load.mean_inverse_decodes = mean_inverse_decodes(lengths, load.output);
  load.prompt = TokensPerRequest::from_base(replica.lengths.computed());
  load.token_budget = scenario.engine.max_batched_tokens * token;
  const PrefillLaw law = prefill_law(
      lengths, load.prompt, [&](double tokens) { return replica.prompt_time(tokens, 0, running); });
  load.prefill = law.shares();
  return engine_estimate(load, replica.token_times());
}
}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv, [](const Spec& spec, Report& report) {
    Scenario scenario = spec.scenario();
    auto& open = std::get<OpenLoop>(scenario.workload.traffic);
    const Replica replica = reduce(scenario, Fidelity::calibrated);
    const RequestsPerSecond limit = *estimate(scenario).serving.limit_rate;
    const Seconds overhead = replica.model.engine.request_overhead +
                             replica.lengths.prompt * replica.model.engine.per_prompt_token;
    Rows rows;
    EngineEstimate parts;
    for (const double load : spec.list<double>("loads")) {
      open.arrival_rate = load * limit;
      const Answer answer = estimate(scenario);
      parts = parts_of(replica, scenario, open.arrival_rate, answer.decode->batch);
      ScenarioRun how;
      how.requests = static_cast<std::size_t>(spec.one("requests"));
      const SimulationResult run = simulate_scenario(scenario, how).run;
      rows.push_back({load, open.arrival_rate});
      for (const Seconds time : {overhead, parts.admission, parts.scheduling, parts.prefill_queue,
                                 parts.prefill, overhead + parts.ttft, overhead + parts.ttft_p95,
                                 run.ttft.mean, run.ttft.p95, parts.tpot * token})
        rows.back().push_back(std::round(1e3 * (time / millisecond)) / 1e3);
    }
    report.say(
        "{} on {} devices, prompts of {} and answers of {} tokens in the mean, prompts riding with "
        "decode steps, {} places. It completes at most {}.",
        scenario.model.id, scenario.deployment.devices(), replica.lengths.prompt,
        replica.lengths.output, replica.admission, limit);
    report.say(
        "Claim: an instant answer is two things, the time to first token (tens to hundreds of ms) "
        "and the stream after it; the first is queueing + first forward pass + batch scheduling.");
    report.say(
        "Right, with two parts more: what the engine's front end takes, and the prompts of others "
        "that are computed first. In ms at three loads (shares of the limit), closed form and, to "
        "check it, a simulation of {} requests:",
        spec.one("requests"));
    report.table({"load", "requests_per_s", "front_end", "queue", "scheduling", "other_prompts",
                  "own_prompt", "ttft", "ttft_p95", "simulated", "simulated_p95", "tpot"},
                 rows);
    report.say(
        "At low load most of it is own work. What others bring ahead of it comes next, and close "
        "to the limit the queue for a place is nearly everything: {} in the last row, though only "
        "{} of the requests wait for one. There a few per cent of the rate decide. The time per "
        "token grows far less: bytes moved by a step set it.",
        percent(parts.admission / (overhead + parts.ttft), 3),
        percent(parts.waiting_probability, 3));
  });
}
