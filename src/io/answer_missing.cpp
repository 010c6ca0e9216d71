// Why a number of an answer is missing. The estimate says it for what it left out; what no closed
// form gives for a kind of traffic is said here.
#include <cmath>

#include "tokenroof/io/answer_io.hpp"

namespace tokenroof::io {
namespace {

/// `group` is `key` itself or an object above it.
bool covers(std::string_view group, std::string_view key) {
  return key.starts_with(group) && (key.size() == group.size() || key[group.size()] == '.');
}

std::string reason_of(const Answer& answer, const Scenario& scenario, std::string_view key) {
  for (const Missing& missing : answer.missing)
    if (covers(missing.metric, key)) return missing.reason;
  if (answer.verdict.outcome == Outcome::invalid_layout) return answer.verdict.reason;
  if (key.starts_with("economics.") && (answer.verdict.outcome == Outcome::does_not_fit ||
                                        answer.verdict.outcome == Outcome::context_does_not_fit))
    return answer.verdict.reason;
  if (key.starts_with("serving.")) {
    const bool closed = std::holds_alternative<ClosedLoopTraffic>(scenario.workload.traffic);
    if (!answer.verdict.ok() && !answer.serving.request_rate) return answer.verdict.reason;
    if (key == "serving.objective_rate_per_s" && closed)
      return "a closed loop has no arrival rate to raise";
    return std::string(closed ? "a closed loop" : "this traffic") +
           " has no closed form for it; simulate";
  }
  if (key == "economics.usd_per_mtok_cached") return "no prompt token is found in a prefix cache";
  if (key == "economics.joules_per_output_token") return "the accelerator's power is not known";
  if (key.starts_with("economics."))
    return "no price for this accelerator: give price.accelerator_hour";
  if (key.starts_with("error_band"))
    return answer.fidelity == Fidelity::calibrated ? "no residuals are known for this engine"
                                                   : "only a calibrated answer has residuals";
  return "not defined for this model and workload";
}

}  // namespace

std::optional<double> reported_number(const Answer& answer, const Metric& metric) {
  const Outcome outcome = answer.verdict.outcome;
  if (outcome == Outcome::invalid_layout && metric.key.starts_with("memory.")) return std::nullopt;
  // Nobody pays for what cannot run, however fast it would be.
  const bool no_room = outcome == Outcome::does_not_fit || outcome == Outcome::context_does_not_fit;
  if (no_room && metric.key.starts_with("economics.")) return std::nullopt;
  const std::optional<double> value = metric.value(answer);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::vector<Missing> missing_numbers(const Answer& answer, const Scenario& scenario) {
  std::vector<Missing> all;
  const auto add = [&](std::string_view key) {
    all.push_back({std::string(key), reason_of(answer, scenario, key)});
  };
  for (const Metric& metric : metrics())
    if (!reported_number(answer, metric)) add(metric.key);
  if (!answer.decode) add("decode.bound");
  if (!answer.prefill) add("prefill.bound");
  if (!answer.serving.stable) add("serving.stable");
  if (!answer.limits) add("limits.optimal_batch_bound");
  if (answer.spread_low == answer.spread_high) {
    add("error_band.p10");
    add("error_band.p90");
  }
  return all;
}

}  // namespace tokenroof::io
