// 01  Why do over 99 % of the arithmetic units stand idle while one user is served?
#include "support.hpp"

using namespace tokenroof;
using namespace example;

int main(int argc, char** argv) {
  return run(argc, argv, [](const Spec& spec, Report& report) {
    const Scenario scenario = spec.scenario();
    const Roof<> roof = roof_of(scenario);
    const Work<> work{linear_flops(scenario.model) * token, weights_read(scenario, token)};
    const Utilization<> used = utilization(work, roof);

    report.say("Roofline: attainable rate = min(peak, intensity x bandwidth).");
    report.say(
        "{}: peak {}, bandwidth {}. They meet at the ridge of {} FLOP per byte; below it memory "
        "is the limit.",
        scenario.accelerator.id, roof.math, roof.memory, ridge_intensity(roof));
    report.say(
        "One token of {} multiplies each weight once: 2 FLOP for every {} read, {} for {}. The "
        "intensity is {} FLOP/B, so {} of {} are attainable.",
        scenario.model.id, bytes_per_weight(scenario), work.math, work.traffic, intensity(work),
        attainable_rate(roof, intensity(work)), roof.math);
    report.say("Time of the token = max(moving {}, computing {}) = {} on one such device.",
               traffic_time(work, roof), math_time(work, roof), roofline_time(work, roof));
    report.say("Claim: over {} of the GPU is idle when one user is served.",
               percent(spec.one("claimed_idle")));
    report.say(
        "Right: {} of the 16-bit arithmetic is idle, 1 - intensity / ridge. But the GPU is not: "
        "its memory is {} busy, and the share depends on the device and on what is multiplied.",
        percent(1 - used.compute, 6), percent(used.memory));

    Rows rows;
    for (const std::string& device : spec.texts("accelerators")) {
      for (std::size_t i = 0; i < spec.texts("weights").size(); ++i) {
        const std::string weights = spec.texts("weights")[i];
        const std::string compute = spec.texts("compute").at(i);
        const Scenario one = spec.scenario({"accelerator=" + device, "precision.weights=" + weights,
                                            "precision.compute=" + compute});
        std::vector<Cell> row{one.accelerator.id, weights, compute};
        if (one.accelerator.peak(*data_type(compute)) == FlopsPerSecond{}) {
          row.insert(row.end(), 5, {});
          row.emplace_back("has no " + compute + " units");
        } else {
          const Roof<> own = roof_of(one);
          const Work<> read{work.math, weights_read(one, token)};
          const Tokens critical = critical_batch(ridge_intensity(own), bytes_per_weight(one));
          row.insert(row.end(), {ridge_intensity(own).base(), intensity(read).base(),
                                 attainable_rate(own, intensity(read)) / (teraflop / second),
                                 1 - utilization(read, own).compute, critical / token, ""});
        }
        rows.push_back(row);
      }
    }
    report.say("The same for other devices and number formats:");
    report.table(
        {"accelerator", "weights", "compute", "ridge_flop_per_byte", "intensity_flop_per_byte",
         "attainable_tflop_per_s", "compute_idle", "critical_batch_tokens", "reason"},
        rows);
  });
}
