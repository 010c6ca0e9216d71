// Separate pools against mixed replicas at the same devices.
#include "io/fleet_pools.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tokenroof/decide/estimate.hpp"
#include "tokenroof/io/table.hpp"
#include "tokenroof/io/units_text.hpp"

namespace tokenroof::io {
namespace {

EqualDevices::Way way_of(const ServingAnswer& serving) {
  return {serving.objective_rate.value_or(RequestsPerSecond{}), serving.ttft.p95,
          serving.tpot.mean};
}

Scenario scenario_of(const FleetRequest& wanted, const PlannedDeployment& d) {
  FleetLayout layout;
  layout.candidate = d.candidate;
  layout.deployment = d.deployment;
  return layout_scenario(wanted, layout);
}

EqualDevices compare(Scenario scenario, const KernelConstants& kernels) {
  EqualDevices result;
  result.replicas = scenario.deployment.replicas;
  result.hand_over =
      detail::cache_transfer(scenario, workload_lengths(scenario.workload).prompt, std::nullopt);
  scenario.disaggregation.reset();
  result.mixed = way_of(estimate(scenario, Fidelity::calibrated, kernels).serving);
  for (int x = 1; x < result.replicas; ++x) {
    scenario.disaggregation = Disaggregation{};
    scenario.disaggregation->prefill_replicas = x;
    scenario.disaggregation->decode_replicas = result.replicas - x;
    const auto way = way_of(estimate(scenario, Fidelity::calibrated, kernels).serving);
    if (!(way.rate > result.separate.rate)) continue;
    result.separate = way;
    result.prefill_replicas = x;
  }
  return result;
}

std::string split_text(const EqualDevices& one) {
  if (one.prefill_replicas == 0) return "none";
  return fmt::format("{}P{}D", one.prefill_replicas, one.replicas - one.prefill_replicas);
}

/// Why a number of `one` is missing; empty: none is.
std::string reason_of(const EqualDevices& one) {
  if (one.prefill_replicas == 0) return "no split meets the objective at any rate";
  const bool all =
      one.mixed.ttft_p95 && one.mixed.tpot && one.separate.ttft_p95 && one.separate.tpot;
  return all ? "" : "the rate asked for is more than these replicas complete";
}

Json way_json(const EqualDevices::Way& way) {
  return {{"objective_rate_per_s", way.rate.base()},
          {"ttft_p95_s", way.ttft_p95 ? Json(way.ttft_p95->base()) : Json(nullptr)},
          {"tpot_mean_s", way.tpot ? Json(way.tpot->base()) : Json(nullptr)}};
}

}  // namespace

std::vector<EqualDevices> compare_at_equal_devices(const FleetRequest& wanted,
                                                   const FleetPlan& plan, std::size_t most,
                                                   const KernelConstants& kernels) {
  std::vector<EqualDevices> all;
  for (std::size_t i = 0; i < plan.deployments.size() && all.size() < most; ++i) {
    if (plan.deployments[i].deployment.replicas < 2) continue;
    all.push_back(compare(scenario_of(wanted, plan.deployments[i]), kernels));
    all.back().deployment = i;
  }
  return all;
}

Json pools_json(const FleetRequest& wanted, const FleetPlan& plan,
                std::span<const EqualDevices> pools) {
  Json rows = Json::array();
  for (const EqualDevices& one : pools) {
    const PlannedDeployment& d = plan.deployments[one.deployment];
    rows.push_back({{"accelerator", wanted.candidates[d.candidate].accelerator.id},
                    {"layout", fleet_layout_text(d.deployment)},
                    {"replicas", one.replicas},
                    {"prefill_replicas",
                     one.prefill_replicas > 0 ? Json(one.prefill_replicas) : Json(nullptr)},
                    {"mixed", way_json(one.mixed)},
                    {"separate", one.prefill_replicas > 0 ? way_json(one.separate) : Json(nullptr)},
                    {"kv_hand_over_s", one.hand_over.base()},
                    {"pays", one.pays()},
                    {"reason", reason_of(one)}});
  }
  return rows;
}

std::string pools_text(const FleetRequest& wanted, const FleetPlan& plan,
                       std::span<const EqualDevices> pools, Markup markup) {
  std::string text = "\nMixed replicas against separate pools at the same devices\n\n";
  if (pools.empty())
    return text + "The deployments above have one replica; separate pools need two or more.\n";
  TextTable table({"accelerator", "weights", "layout", "replicas", "mixed, req/s", "split",
                   "separate, req/s", "separate / mixed", "TTFT p95", "TPOT", "KV hand-over"});
  const auto both = [](const std::optional<Seconds>& mixed,
                       const std::optional<Seconds>& separate) {
    return fmt::format("{} / {}", mixed ? to_text(*mixed, 3) : "-",
                       separate ? to_text(*separate, 3) : "-");
  };
  bool any = false;
  for (const EqualDevices& one : pools) {
    const PlannedDeployment& d = plan.deployments[one.deployment];
    const FleetCandidate& candidate = wanted.candidates[d.candidate];
    const double mixed = one.mixed.rate.base(), separate = one.separate.rate.base();
    any = any || one.pays();
    table.row({candidate.accelerator.id, candidate.label, fleet_layout_text(d.deployment),
               fmt::format("{}", one.replicas), to_text(mixed, 3), split_text(one),
               to_text(separate, 3), mixed > 0 ? fmt::format("{:.2f}", separate / mixed) : "-",
               both(one.mixed.ttft_p95, one.separate.ttft_p95),
               both(one.mixed.tpot, one.separate.tpot), to_text(one.hand_over, 3)});
  }
  text += markup == Markup::markdown ? table.markdown() : table.plain();
  text += any ? "" : "Separate pools do not pay here: mixed replicas take as much or more.\n";
  return text +
         "req/s: the largest rate that meets the objective. TTFT and TPOT: mixed / separate at the "
         "rate asked for, - where it is too high. xPyD: x replicas prefill and hand each prompt's "
         "KV cache over to y that decode.\n";
}

}  // namespace tokenroof::io
