// 02  How does the rate grow with the batch, and where is the sweet spot?
#include "support.hpp"
#include "tokenroof/physics/crossover.hpp"
#include "tokenroof/physics/optimal_batch.hpp"
#include "tokenroof/physics/step.hpp"

using namespace tokenroof;
using namespace example;

int main(int argc, char** argv) {
  return run(argc, argv, [](const Spec& spec, Report& report) {
    const Scenario scenario = spec.scenario();
    const int devices = scenario.deployment.devices_per_replica();
    const Roof<> one = roof_of(scenario);
    const Roof<> node{devices * one.math, devices * one.memory};
    const TextbookModel<> model = textbook_model(scenario, token);
    const Tokens critical = critical_batch(ridge_intensity(one), bytes_per_weight(scenario));
    const TokensPerSecond ceiling = saturation_rate(node.math, model.linear);
    const double p = spec.one("smooth_p");

    // The same from the library's operator list: one rank of the node.
    const StepModel<> list{step_operators(scenario.model, scenario.accelerator, scenario.precision,
                                          scenario.deployment),
                           machine_of(scenario.accelerator, scenario.deployment),
                           {},
                           {}};
    Rows rows;
    for (const Tokens batch : spec.list<Tokens>("batches")) {
      const Work<> work{model.linear * batch, model.weights_read};
      const Seconds time = roofline_time(work, node);
      const Seconds ideal = ideal_step(list, decode_load(batch / token, 0.0)).total();
      rows.push_back({batch / token, intensity(work).base(), traffic_time(work, node) / millisecond,
                      math_time(work, node) / millisecond, time / millisecond, ideal / millisecond,
                      batch / time / (token / second),
                      batched_rate_without_overlap(ceiling, batch, critical).base(),
                      batched_rate_p_norm(ceiling, batch, critical, p).base(),
                      utilization(work, node).compute, batch < critical ? "memory" : "compute"});
    }
    report.say(
        "A step reads {} of weights once, whatever the batch; each sequence adds {}. With a "
        "batch of B the intensity is B FLOP/B, so the rate grows in proportion to B until B "
        "reaches the ridge: {} sequences. No batch passes {}.",
        model.weights_read, model.linear * token, critical / token, ceiling);
    report.say(
        "Time of a step = max(moving, computing). The library's `ideal` fidelity is this maximum "
        "over its own list of operators; the two columns agree.");
    report.table({"batch", "intensity_flop_per_byte", "moving_ms", "computing_ms", "step_ms",
                  "ideal_fidelity_ms", "tokens_per_s", "tokens_per_s_no_overlap",
                  "tokens_per_s_p_norm", "compute_used", "bound"},
                 rows);
    report.say("Claim: the rate is proportional to the batch, then saturates near {} sequences.",
               spec.one("claimed_saturation"));
    report.say(
        "Right: at {} when moving and computing overlap perfectly. Without any overlap that "
        "batch gives half of the ceiling, with a smooth maximum (p = {}) {}; {} of the ceiling "
        "then takes {} sequences. The spot does not move with model size or device count: both "
        "sides scale.",
        critical / token, p, percent(batched_rate_p_norm(ceiling, critical, critical, p) / ceiling),
        percent(spec.one("share_of_ceiling")),
        batch_for_share(critical, spec.one("share_of_ceiling")) / token);

    const TokensPerRequest crossover = kv_compute_crossover(model.linear, model.kv, one);
    Rows spots;
    for (const TokensPerRequest context : spec.list<TokensPerRequest>("contexts")) {
      const auto spot = balanced_batch_at_context(critical / one_token_each, context, crossover);
      spots.push_back({context.base(), spot ? Cell(spot->base()) : Cell(),
                       spot ? "" : "reading the cache alone takes longer than computing"});
    }
    report.say(
        "And it is the spot of an empty cache. Every sequence also reads its own cache, so with "
        "longer contexts the batch that balances grows, and from {} tokens on none does:",
        crossover.base());
    report.text_table({"context_tokens", "balanced_batch", "reason"}, spots);
    report.say("Experts multiply the spot by total over active weights: 09_experts.");
  });
}
