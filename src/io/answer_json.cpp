#include <ostream>

#include "json_out.hpp"
#include "tokenroof/io/answer_io.hpp"

namespace tokenroof::io {
namespace {

/// The place of "decode.step_s" in `root`, made if need be.
Json& at(Json& root, std::string_view key) {
  Json* place = &root;
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = key.find('.');
    place = &(*place)[std::string(key.substr(0, end))];
    key.remove_prefix(end == std::string_view::npos ? key.size() : end + 1);
  }
  return *place;
}

Json bound_json(const Bound* bound) {
  return bound != nullptr ? Json(to_string(*bound)) : Json(nullptr);
}

Json scenario_json(const Scenario& scenario, Fidelity fidelity) {
  const Deployment& d = scenario.deployment;
  return {{"model", scenario.model.id},
          {"accelerator", scenario.accelerator.id},
          {"engine",
           {{"name", scenario.engine.name},
            {"version", scenario.engine.version},
            {"has_profile", scenario.engine.has_profile}}},
          {"fidelity", to_string(fidelity)},
          {"devices", d.devices()},
          {"deployment",
           {{"tensor_parallel", d.tensor_parallel},
            {"pipeline_parallel", d.pipeline_parallel},
            {"expert_parallel", d.expert_parallel},
            {"attention_data_parallel", d.attention_data_parallel},
            {"context_parallel", d.context_parallel},
            {"replicas", d.replicas}}},
          {"precision",
           {{"weights", scenario.precision.of(Part::attention).name},
            {"expert_weights", scenario.precision.of(Part::routed_experts).name},
            {"activations", scenario.precision.activations.name},
            {"kv_cache", scenario.precision.kv_cache.name}}}};
}

void add_memory(Json& memory, const MemoryPlan& plan) {
  memory["visible_bytes"] = number(plan.visible.base());
  memory["budget_bytes"] = number(plan.budget.base());
  memory["deficit_bytes"] = number(plan.deficit.base());
  memory["kv_bytes_per_sequence_per_device"] = number(plan.kv_per_sequence.base());
  Json& lines = memory["lines"] = Json::array();
  for (const MemoryLine& line : plan.lines())
    lines.push_back({{"name", line.name}, {"bytes", number(line.bytes.base())}});
}

Json breakdown_json(const Answer& answer) {
  Json lines = Json::array();
  for (const OperatorTime& line : answer.breakdown) {
    const Seconds time = line.time.total();
    const bool any = answer.decode && answer.decode->step > Seconds{};
    lines.push_back({{"operator", to_string(line.kind)},
                     {"time_s", number(time.base())},
                     {"share", number(any ? time / answer.decode->step : 0)},
                     {"bound", to_string(line.time.bound())},
                     {"flops", number(line.cost.flops)},
                     {"weight_bytes", number(line.cost.weight_bytes)},
                     {"cache_bytes", number(line.cost.cache_bytes)},
                     {"activation_bytes", number(line.cost.activation_bytes)},
                     {"message_bytes", number(line.cost.message_bytes)}});
  }
  return lines;
}

}  // namespace

std::string answer_json(const Answer& answer, const ScenarioEntry& entry,
                        std::string_view version) {
  Json json = document("estimate", version);
  json["scenario"] = scenario_json(entry.scenario, answer.fidelity);
  json["verdict"] = {{"outcome", to_string(answer.verdict.outcome)},
                     {"reason", answer.verdict.reason},
                     {"remedy", answer.verdict.remedy}};
  for (const Metric& metric : metrics())
    at(json, metric.key) = number(reported_number(answer, metric));

  if (answer.verdict.outcome != Outcome::invalid_layout) add_memory(json["memory"], answer.memory);
  json["decode"]["bound"] = bound_json(answer.decode ? &answer.decode->bound : nullptr);
  json["decode"]["breakdown"] = breakdown_json(answer);
  json["prefill"]["bound"] = bound_json(answer.prefill ? &answer.prefill->bound : nullptr);
  json["serving"]["stable"] = answer.serving.stable ? Json(*answer.serving.stable) : Json(nullptr);
  json["limits"]["optimal_batch_bound"] =
      bound_json(answer.limits ? &answer.limits->optimal_batch_bound : nullptr);
  json["economics"]["utilization"] = number(answer.economics.utilization);
  // Measured times lie between these factors of ours in four cases of five.
  const bool band = answer.spread_low != answer.spread_high;
  json["error_band"] = {{"p10", number(band ? std::optional(answer.spread_low) : std::nullopt)},
                        {"p90", number(band ? std::optional(answer.spread_high) : std::nullopt)}};

  json["defaults_used"] = Json::array();
  for (const DefaultUsed& used : entry.defaults_used)
    json["defaults_used"].push_back(
        {{"key", used.pointer}, {"value", used.value}, {"origin", used.origin}});
  json["notes"] = answer.notes;
  for (const std::string& note : entry.scenario.model.notes) json["notes"].push_back(note);
  for (const std::string& key : entry.accelerator_unverified)
    json["notes"].push_back("accelerator: " + key + " has no source that could be checked");
  json["missing"] = Json::array();
  for (const Missing& missing : missing_numbers(answer, entry.scenario))
    json["missing"].push_back({{"metric", missing.metric}, {"reason", missing.reason}});
  return dump(json);
}

void write_answer_csv(const Answer& answer, const ScenarioEntry& entry, std::ostream& out,
                      CsvDialect dialect) {
  CsvWriter csv(out, dialect);
  std::vector<std::string> header = {"model", "accelerator", "engine", "fidelity"};
  for (const Metric& metric : metrics()) header.push_back(metric.column());
  for (const char* name : {"status", "reason", "schema_version"}) header.emplace_back(name);
  csv.header(header);
  csv.cell(entry.scenario.model.id)
      .cell(entry.scenario.accelerator.id)
      .cell(entry.scenario.engine.name)
      .cell(to_string(answer.fidelity));
  for (const Metric& metric : metrics()) csv.cell(reported_number(answer, metric));
  std::string reason = answer.verdict.reason;
  if (!answer.verdict.remedy.empty()) reason += "; would help: " + answer.verdict.remedy;
  csv.cell(to_string(answer.verdict.outcome)).cell(reason).cell(1).end_row();
}

}  // namespace tokenroof::io
