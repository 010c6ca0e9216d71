#include "cli/at_objective.hpp"

#include "tokenroof/decide/objective.hpp"
#include "tokenroof/decide/replica.hpp"

namespace tokenroof::cli {
namespace {

/// The largest rate that meets an objective that is stated.
std::optional<double> objective_rate(const Candidate& one) {
  const auto& rate = one.answer.serving.objective_rate;
  if (!asks(one.entry.scenario.objective) || !rate || !(rate->base() > 0)) return std::nullopt;
  return rate->base();
}

/// Devices of all replicas, those of separate pools included.
int devices_of(const Scenario& s) {
  if (s.disaggregation)
    return (s.disaggregation->prefill_replicas + s.disaggregation->decode_replicas) *
           s.deployment.devices_per_replica();
  return s.deployment.devices();
}

constexpr AtObjective numbers[] = {
    {"at_objective.request_rate_per_s", "at_objective_request_rate_per_s", "request/s",
     objective_rate},
    {"at_objective.usd_per_mtok_total", "at_objective_usd_per_mtok_total", "USD/Mtok",
     [](const Candidate& one) -> std::optional<double> {
       const auto rate = objective_rate(one);
       const auto& hourly = one.answer.economics.deployment_price;
       if (!rate || !hourly) return std::nullopt;
       const WorkloadLengths lengths = workload_lengths(one.entry.scenario.workload);
       return hourly->base() * 1e6 /
              (*rate * (lengths.prompt + lengths.output) * one.entry.scenario.price.utilization);
     }},
    {"at_objective.output_tokens_per_s_per_device", "at_objective_output_tok_per_s_per_device",
     "token/s",
     [](const Candidate& one) -> std::optional<double> {
       const auto rate = objective_rate(one);
       if (!rate) return std::nullopt;
       const Scenario& s = one.entry.scenario;
       return *rate * workload_lengths(s.workload).output / devices_of(s);
     }},
};

}  // namespace

std::span<const AtObjective> at_objective() { return numbers; }

std::string why_not_at_objective(const Candidate& one) {
  if (!asks(one.entry.scenario.objective)) return "the scenario states no objective";
  if (!objective_rate(one)) return "no rate is known to meet the objective";
  return "the price of the accelerator is unknown";
}

}  // namespace tokenroof::cli
