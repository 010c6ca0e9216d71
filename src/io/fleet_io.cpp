#include "tokenroof/io/fleet_io.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/fleet_pools.hpp"
#include "io/json_reader.hpp"
#include "io/page.hpp"
#include "tokenroof/io/table.hpp"
#include "tokenroof/io/units_text.hpp"

namespace tokenroof::io {
namespace {

/// `base` with every part that a published quantised checkpoint narrows stored in `format`.
Precision narrowed_to(Precision base, const Format& format) {
  for (const Part part :
       {Part::attention, Part::dense_feed_forward, Part::routed_experts, Part::shared_experts})
    base.set(part, format);
  return base;
}

}  // namespace

std::string fleet_layout_text(const Deployment& layout) {
  std::string text = fmt::format("TP{}", layout.tensor_parallel);
  if (layout.attention_data_parallel > 1)
    text += fmt::format(" x DP{}", layout.attention_data_parallel);
  if (layout.pipeline_parallel > 1) text += fmt::format(" x PP{}", layout.pipeline_parallel);
  if (layout.expert_parallel > 1) text += fmt::format(", EP{}", layout.expert_parallel);
  return text;
}

namespace {

std::string replicas_text(const PlannedDeployment& d) {
  if (d.prefill_replicas == 0) return fmt::format("{}", d.deployment.replicas);
  return fmt::format("{}P{}D", d.prefill_replicas, d.deployment.replicas - d.prefill_replicas);
}

TextTable table_of(const FleetRequest& wanted, const FleetPlan& plan,
                   const std::vector<std::size_t>& rows) {
  TextTable table({"accelerator", "weights", "layout", "replicas", "devices", "USD/h", "USD/Mtok",
                   "TTFT p95", "TPOT", "tok/s/user", "load", "binds"});
  for (const std::size_t i : rows) {
    const PlannedDeployment& d = plan.deployments[i];
    const FleetCandidate& candidate = wanted.candidates[d.candidate];
    table.row({candidate.accelerator.id, candidate.label, fleet_layout_text(d.deployment),
               replicas_text(d), fmt::format("{}", d.devices),
               fmt::format("{:.2f}", d.cost / (dollar / hour)),
               fmt::format("{:.3f}", d.cost_per_token / dollar_per_million_tokens),
               to_text(d.ttft_p95, 3), to_text(d.tpot, 3), fmt::format("{:.1f}", d.per_user.base()),
               fmt::format("{:.0f} %", 100 * d.load), words(to_string(d.bound))});
  }
  return table;
}

std::vector<std::size_t> first_rows(const FleetPlan& plan, std::size_t most) {
  std::vector<std::size_t> rows(std::min(most, plan.deployments.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i;
  return rows;
}

Json deployment_json(const FleetRequest& wanted, const PlannedDeployment& d) {
  const FleetCandidate& candidate = wanted.candidates[d.candidate];
  const Deployment& layout = d.deployment;
  return {{"accelerator", candidate.accelerator.id},
          {"weights", candidate.label},
          {"tensor_parallel", layout.tensor_parallel},
          {"pipeline_parallel", layout.pipeline_parallel},
          {"expert_parallel", layout.expert_parallel},
          {"attention_data_parallel", layout.attention_data_parallel},
          {"replicas", layout.replicas},
          {"prefill_replicas", d.prefill_replicas},
          {"devices", d.devices},
          {"usd_per_hour", d.cost / (dollar / hour)},
          {"usd_per_mtok_total", d.cost_per_token / dollar_per_million_tokens},
          {"replica_rate_per_s", d.replica_rate.base()},
          {"utilization", d.load},
          {"ttft_s", {{"mean", d.ttft.base()}, {"p95", d.ttft_p95.base()}}},
          {"tpot_s", {{"mean", d.tpot.base()}}},
          {"tokens_per_s_per_user", d.per_user.base()},
          {"bound", to_string(d.bound)}};
}

constexpr std::string_view no_price =
    "has no price, and an unknown price is not 0: give the scenario this accelerator and "
    "price.accelerator_hour";

}  // namespace

FleetRequest fleet_request(const ScenarioEntry& entry, const Catalog& catalog,
                           const FleetSearch& search) {
  FleetRequest wanted;
  wanted.scenario = entry.scenario;
  if (!std::holds_alternative<OpenLoop>(entry.scenario.workload.traffic))
    throw SpecError("plan", "/workload", "expected an arrival_rate: a fleet is sized for a load");
  std::vector<Accelerator> devices;
  if (search.accelerators.empty()) {
    for (const std::string& name : catalog.names(Shelf::accelerators)) {
      const Accelerator device = catalog.accelerator(name).accelerator;
      if (device.price) devices.push_back(device);
    }
  }
  for (const std::string& name : search.accelerators) {
    Accelerator device = catalog.accelerator(name).accelerator;
    if (!device.price && device.id == entry.scenario.accelerator.id)
      device.price = entry.scenario.price.accelerator;
    if (device.price)
      devices.push_back(device);
    else if (std::find(wanted.unpriced.begin(), wanted.unpriced.end(), device.id) ==
             wanted.unpriced.end())
      wanted.unpriced.push_back(device.id);
  }
  if (devices.empty() && !wanted.unpriced.empty())
    throw SpecError("plan", "/accelerators/" + wanted.unpriced.front(), std::string(no_price));
  // The scenario's own device is always a candidate, at the scenario's price.
  Accelerator own = entry.scenario.accelerator;
  if (entry.scenario.price.accelerator) own.price = entry.scenario.price.accelerator;
  if (own.price) {
    std::erase_if(devices, [&](const Accelerator& device) { return device.id == own.id; });
    devices.insert(devices.begin(), own);
  }
  if (devices.empty()) throw SpecError("plan", "/accelerators", "no candidate has a price");
  for (const Accelerator& device : devices) {
    if (search.precisions.empty())
      wanted.candidates.push_back({device, entry.scenario.precision,
                                   std::string(entry.scenario.precision.of(Part::attention).name)});
    for (const std::string& name : search.precisions) {
      const auto known = format(name);
      if (!known) {
        std::vector<std::string_view> names;
        for (const Format& f : known_formats) names.push_back(f.name);
        throw SpecError("plan", "/precisions",
                        fmt::format("no format \"{}\"{}", name, did_you_mean(name, names)));
      }
      wanted.candidates.push_back({device, narrowed_to(entry.scenario.precision, *known), name});
    }
  }
  return wanted;
}

std::string fleet_reason(const FleetRequest& wanted, const FleetPlan& plan) {
  if (plan.deployments.empty()) return plan.verdict.reason;
  const PlannedDeployment& best = plan.deployments.front();
  const FleetCandidate& candidate = wanted.candidates[best.candidate];
  std::string text = fmt::format(
      "{} x {} ({}, {} weights, {} replica{}) carry the load for {:.2f} USD/h; each replica takes "
      "{:.3g} requests/s within the objective and works at {:.0f} %; {} binds the decode step",
      best.devices, candidate.accelerator.name, fleet_layout_text(best.deployment), candidate.label,
      replicas_text(best), best.deployment.replicas == 1 ? "" : "s", best.cost / (dollar / hour),
      best.replica_rate.base(), 100 * best.load, words(to_string(best.bound)));
  for (const PlannedDeployment& next : plan.deployments) {
    if (next.candidate == best.candidate) continue;
    text += fmt::format("; the cheapest on another candidate ({}, {}) costs {:.2f} times as much",
                        wanted.candidates[next.candidate].accelerator.id,
                        wanted.candidates[next.candidate].label, next.cost / best.cost);
    break;
  }
  return text;
}

std::string fleet_json(const FleetRequest& wanted, const FleetPlan& plan, std::size_t most,
                       std::string_view version, std::span<const EqualDevices> pools) {
  Json json{{"schema", "tokenroof/plan/1"}, {"tokenroof_version", std::string(version)}};
  json["verdict"] = {{"outcome", to_string(plan.verdict.outcome)},
                     {"reason", fleet_reason(wanted, plan)},
                     {"remedy", plan.verdict.remedy}};
  json["deployments"] = Json::array();
  for (const std::size_t i : first_rows(plan, most))
    json["deployments"].push_back(deployment_json(wanted, plan.deployments[i]));
  json["pareto"] = Json::array();
  for (const std::size_t i : plan.pareto)
    json["pareto"].push_back(deployment_json(wanted, plan.deployments[i]));
  if (wanted.separate_pools) json["separate_pools"] = pools_json(wanted, plan, pools);
  const FleetCounts& c = plan.counts;
  json["counts"] = {{"enumerated", c.enumerated},
                    {"invalid_layout", c.invalid},
                    {"does_not_fit", c.does_not_fit},
                    {"below_latency_floor", c.below_floor},
                    {"too_costly", c.too_costly},
                    {"evaluated", c.evaluated},
                    {"objective_missed", c.objective_missed}};
  json["left_out"] = Json::array();
  for (const std::string& id : wanted.unpriced)
    json["left_out"].push_back({{"accelerator", id}, {"reason", no_price}});
  return json.dump(2) + "\n";
}

std::string fleet_text(const FleetRequest& wanted, const FleetPlan& plan, std::size_t most,
                       Markup markup, std::span<const EqualDevices> pools) {
  const auto shown = [&](const TextTable& table) {
    return markup == Markup::markdown ? table.markdown() : table.plain();
  };
  std::string text = fleet_reason(wanted, plan) + ".\n";
  if (!plan.verdict.remedy.empty()) text += "What would help: " + plan.verdict.remedy + ".\n";
  if (!plan.deployments.empty()) {
    text += "\nCheapest first\n\n" + shown(table_of(wanted, plan, first_rows(plan, most)));
    text += "\nFrontier: no other is cheaper and as fast\n\n" +
            shown(table_of(wanted, plan, plan.pareto));
    if (wanted.separate_pools) text += pools_text(wanted, plan, pools, markup);
  }
  const FleetCounts& c = plan.counts;
  text += fmt::format(
      "\n{} deployments enumerated: {} invalid layouts, {} do not fit, {} too slow at any batch, "
      "{} too costly or beaten by another on the same accelerator, {} evaluated, of which {} miss "
      "the objective.\n",
      c.enumerated, c.invalid, c.does_not_fit, c.below_floor, c.too_costly, c.evaluated,
      c.objective_missed);
  for (const std::string& id : wanted.unpriced)
    text += fmt::format("Left out: {} {}.\n", id, no_price);
  return text;
}

void write_fleet_csv(const FleetRequest& wanted, const FleetPlan& plan, std::ostream& out,
                     CsvDialect dialect) {
  CsvWriter csv(out, dialect);
  csv.header({"schema_version",
              "accelerator",
              "weights",
              "tensor_parallel",
              "pipeline_parallel",
              "expert_parallel",
              "attention_data_parallel",
              "replicas",
              "prefill_replicas",
              "devices",
              "cost_usd_per_hour",
              "cost_usd_per_mtok_total",
              "replica_rate_req_per_s",
              "load",
              "ttft_mean_s",
              "ttft_p95_s",
              "tpot_mean_s",
              "output_tok_per_s_per_user",
              "bound",
              "pareto"});
  for (std::size_t i = 0; i < plan.deployments.size(); ++i) {
    const PlannedDeployment& d = plan.deployments[i];
    const FleetCandidate& candidate = wanted.candidates[d.candidate];
    const Deployment& layout = d.deployment;
    csv.cell(1).cell(candidate.accelerator.id).cell(candidate.label);
    csv.cell(layout.tensor_parallel).cell(layout.pipeline_parallel).cell(layout.expert_parallel);
    csv.cell(layout.attention_data_parallel).cell(layout.replicas).cell(d.prefill_replicas);
    csv.cell(d.devices).cell(d.cost / (dollar / hour));
    csv.cell(d.cost_per_token / dollar_per_million_tokens).cell(d.replica_rate.base()).cell(d.load);
    csv.cell(d.ttft.base()).cell(d.ttft_p95.base()).cell(d.tpot.base()).cell(d.per_user.base());
    csv.cell(std::string_view(to_string(d.bound)));
    csv.cell(std::find(plan.pareto.begin(), plan.pareto.end(), i) != plan.pareto.end());
    csv.end_row();
  }
}

}  // namespace tokenroof::io
