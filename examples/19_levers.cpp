// 19  "Ten times faster": which ways are real, and which only turn a shared batch into an own one?
#include "support.hpp"
#include "tokenroof/decide/frontier.hpp"
#include "tokenroof/decide/levers.hpp"

using namespace tokenroof;
using namespace example;

namespace {
std::string verdict(const Lever<>& lever) {
  if (lever.quality() < 1) return "bought: speed for more than its worth";
  if (lever.quality() < 2) return "mostly bought: more devices, some tax";
  return "real";
}
}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv, [](const Spec& spec, Report& report) {
    const Scenario scenario = spec.scenario();
    const Scenario small = spec.scenario({"model=" + spec.text("smaller_model")});
    const auto [batch, context] = std::get<SingleStep>(scenario.workload.traffic);
    LeverQuestion question;
    question.model = textbook_model(scenario, token);
    question.smaller_model = textbook_model(small, token);
    question.machine = textbook_machine(scenario, spec.one<Seconds>("all_reduce_latency"));
    question.half_width_peak = scenario.accelerator.peak(DataType::fp8);
    question.batch = batch;
    question.context = context;
    question.small_batch = spec.one<Requests>("small_batch");
    const auto table = lever_table(question);
    const Seconds step = textbook_step(question.model, question.machine, batch, context).time();

    report.say("Claim: ours is {} times faster.", spec.one("claimed_speed"));
    report.say(
        "Faster than what, and for whom? The baseline: {} in 16 bits on {} devices, {} users at "
        "{} tokens; a step takes {}, so each user sees {}. Every lever below has a speed, a cost "
        "per token and Q = speed / cost. Q of about 1 or below: the speed was bought, a share of "
        "the batch became exclusive. Q far above 1: it was gained.",
        scenario.model.id, question.machine.devices, batch, context, step, token / step);
    Rows rows;
    double fastest = 0, fastest_same_model = 0;
    for (const Lever<>& lever : table) {
      const bool other = lever.name == "smaller model";
      rows.push_back({lever.name, lever.speed, lever.cost, lever.quality(),
                      other ? "real, but a different product" : verdict(lever)});
      fastest = std::max(fastest, lever.speed);
      if (!other) fastest_same_model = std::max(fastest_same_model, lever.speed);
    }
    report.table({"lever", "speed_over_baseline", "cost_over_baseline", "quality", "verdict"},
                 rows);

    const TextbookStep<> parts = textbook_step(question.model, question.machine, batch, context);
    const double share = parts.kv_reads / (step - parts.kv_reads);
    report.say(
        "A smaller batch alone never passes 1 + x, x = time of the cache over all the rest: {} "
        "here, for weights and all-reduces take the larger part of a step. It is cheap speed (Q "
        "above 1) only where x exceeds the square root of the shrinking, at long contexts and "
        "large batches; here {} against {}.",
        1 + share, share, std::sqrt(batch / question.small_batch));
    report.say(
        "So a claim of {} needs several levers at once, another model or another memory: the "
        "stack of 8 bits, drafts and the small batch gives {} times at {} times the cost.",
        spec.one("claimed_speed"), fastest_same_model, table.back().cost);
    if (fastest < spec.one("claimed_speed")) report.say("No lever of this table gets there.");
  });
}
