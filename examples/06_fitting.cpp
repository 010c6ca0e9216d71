// 06  How fast can a 700 GB model be, and how many devices hold it?
#include <cmath>

#include "support.hpp"
#include "tokenroof/physics/memory_verdict.hpp"

using namespace tokenroof;
using namespace example;

int main(int argc, char** argv) {
  return run(argc, argv, [](const Spec& spec, Report& report) {
    const Scenario scenario = spec.scenario();
    const Bytes weights = spec.one("parameters") * spec.one<Bytes>("bytes_per_parameter");
    const BytesPerSecond bandwidth = spec.one<BytesPerSecond>("bandwidth");
    const double cards = std::ceil(weights / spec.one<Bytes>("card_memory"));
    const Seconds floor = weights / bandwidth;
    report.say("Claim: {} at {} take at least {} s per token, about {}.", weights, bandwidth,
               floor / second, token / floor);
    report.say(
        "Right, for a dense model behind one device's bandwidth. But no card of {} holds it: the "
        "weights alone need {}, and {} cards read their shares at the same time: {}, or {}, "
        "still for a single user.",
        spec.one<Bytes>("card_memory"), cards, cards, floor / cards, token / (floor / cards));
    report.say(
        "Nor must all of it be read: {} of that size multiplies {} for one token, {} at {}. A "
        "batch wakes the other experts and reads nearly all (09_experts).",
        scenario.model.id, weights_read(scenario, token), weights_read(scenario, token) / bandwidth,
        bandwidth);

    Rows rows;
    for (const std::string& device : spec.texts("accelerators")) {
      for (const std::string& nodes : spec.texts("nodes")) {
        const Scenario one =
            spec.scenario({"accelerator=" + device, "deployment.pipeline_parallel=" + nodes});
        const MemoryPlan plan =
            memory_plan(one.model, one.accelerator, one.engine, one.precision, one.deployment,
                        std::get<SingleStep>(one.workload.traffic).context);
        rows.push_back({one.accelerator.id, one.deployment.devices_per_replica(),
                        plan.visible / gigabyte, plan.weights / gigabyte, plan.kv_pool / gigabyte,
                        plan.max_concurrency, to_string(plan.verdict.outcome),
                        plan.verdict.reason});
      }
    }
    report.say(
        "What nodes of {} devices hold (tensor parallel inside, pipeline across; {} of memory to "
        "the engine, {} of it kept for buffers; sequences of {} tokens):",
        scenario.deployment.tensor_parallel, percent(scenario.engine.memory_fraction),
        scenario.engine.reserve, std::get<SingleStep>(scenario.workload.traffic).context);
    report.table({"accelerator", "devices", "visible_gb", "weights_gb", "kv_pool_gb",
                  "max_sequences", "status", "reason"},
                 rows);
  });
}
