#include "explainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "tokenroof/io/units_text.hpp"

namespace tokenroof::io {

std::string amount(double value, std::string_view unit) {
  constexpr int digits = 5;
  if (unit == "s") return to_text(value * second, digits);
  if (unit == "B") return to_text(value * byte, digits);
  if (unit == "B/token") return fmt::format("{} B/token", to_text(value, 9));
  if (unit == "B/s") return to_text(value * byte / second, digits);
  if (unit == "FLOP") return to_text(value * flop, digits);
  if (unit == "FLOP/s") return to_text(value * flop / second, digits);
  if (unit == "1" || unit.empty()) return to_text(value, digits);
  return fmt::format("{} {}", to_text(value, digits), unit);
}

Explainer::Explainer(const ScenarioEntry& of, Fidelity fidelity, const KernelEntry& constants)
    : entry(of),
      scenario(of.scenario),
      kernels(constants),
      replica(reduce(of.scenario, fidelity, constants.constants)),
      answer(estimate(of.scenario, fidelity, constants.constants)) {}

void Explainer::input(std::string symbol, std::string meaning, double value, std::string unit,
                      std::string origin) {
  std::string shown = amount(value, unit);
  result.inputs.push_back({std::move(symbol), std::move(meaning), value, std::move(unit),
                           std::move(shown), std::move(origin)});
}
void Explainer::step(std::string text, double value, std::string unit) {
  result.steps.push_back({std::move(text), value, std::move(unit), false});
}
void Explainer::part(std::string text, double value, std::string unit) {
  result.steps.push_back({std::move(text), value, std::move(unit), true});
}

std::string Explainer::device(const std::string& key) const {
  const auto source = entry.accelerator_sources.find(key);
  std::string text = fmt::format("{} of accelerator {}", key, scenario.accelerator.id);
  if (source != entry.accelerator_sources.end()) text += ": " + source->second;
  const auto& doubtful = entry.accelerator_unverified;
  if (std::find(doubtful.begin(), doubtful.end(), key) != doubtful.end()) text += " (unverified)";
  return text;
}

std::string Explainer::model(std::string_view keys) const {
  return fmt::format("{} of the configuration of {}", keys, scenario.model.id);
}

std::string Explainer::stated(const std::string& pointer) const {
  std::string key = pointer.substr(1);
  std::replace(key.begin(), key.end(), '/', '.');
  for (const DefaultUsed& used : entry.defaults_used)
    if (used.pointer == pointer)
      return used.origin.starts_with("default") ? used.origin + " of " + key
                                                : fmt::format("{} for {}", used.origin, key);
  return "scenario, " + key;
}

void Explainer::bandwidth() {
  input("BW", "memory bandwidth of a device", scenario.accelerator.memory_bandwidth.base(), "B/s",
        device("memory_bandwidth"));
}

void Explainer::peaks() {
  std::vector<DataType> used;
  const auto add = [&](const auto& operators) {
    for (const auto& op : operators)
      if (std::find(used.begin(), used.end(), op.multiply) == used.end())
        used.push_back(op.multiply);
  };
  add(replica.model.operators.matmuls);
  add(replica.model.operators.attentions);
  add(replica.model.operators.experts);
  for (const DataType type : used)
    input(fmt::format("P_{}", to_string(type)), "dense peak of a device",
          scenario.accelerator.peak(type).base(), "FLOP/s", device("dense_peak"));
}

void Explainer::batch() {
  const bool single = std::holds_alternative<SingleStep>(scenario.workload.traffic);
  input("B", "sequences in a replica's step", answer.decode->batch, "request",
        single ? stated("/workload/batch")
               : "running sequences of the traffic: explain serving.running");
}

void Explainer::context() {
  const bool single = std::holds_alternative<SingleStep>(scenario.workload.traffic);
  input("S", "mean live context", answer.decode->context.base(), "token",
        single ? stated("/workload/context_tokens")
               : "workload lengths: explain decode.context_tokens");
}

void Explainer::price() {
  input("p", "price of a device", *scenario.price.accelerator / (dollar / hour), "USD/h",
        stated("/price/accelerator_hour"));
  input("n", "devices of a replica", scenario.deployment.devices_per_replica(), "",
        stated("/deployment/tensor_parallel") + " and the other degrees");
  input("u", "share of paid time in use", scenario.price.utilization, "1",
        stated("/price/utilization"));
}

void Explainer::cache_growth() {
  const Deployment& d = scenario.deployment;
  const KvGeometry cache = kv_geometry(scenario.model, stage_group_counts(scenario.model, 1, 0),
                                       scenario.precision.kv_cache, scenario.precision.activations,
                                       d.tensor_parallel, d.context_parallel);
  input("kappa", "KV bytes per context token on a rank", cache.growth().base(), "B/token",
        model("layers, KV heads and head size") + "; " + stated("/precision/kv_cache") +
            "; explain kv_bytes_per_token");
}

bool Explainer::is_used(std::string_view constant, bool with_prompts) const {
  const StepOperators& all = replica.model.operators;
  const bool unpacks = std::any_of(all.matmuls.begin(), all.matmuls.end(),
                                   [](const Matmul& op) { return op.unpacked(); }) ||
                       std::any_of(all.experts.begin(), all.experts.end(),
                                   [](const Experts& op) { return op.unpacked(); });
  // What only the time to first token or the error band uses, or a step of another kind.
  const std::pair<std::string_view, bool> kinds[] = {
      {"spread_", false},
      {"request_overhead", false},
      {"per_prompt_token", false},
      {"prompts_ahead", false},
      {"prompt", with_prompts},
      {"expert", !all.experts.empty()},
      {"mixture", all.mixture_layers > 0},
      {"latent", all.latent_layers > 0},
      {"recurrent", !all.recurrents.empty()},
      {"weight_only", all.weight_only_layers > 0},
      {"unpack", unpacks},
      {"bus", !all.messages.empty() && replica.model.machine.host_bus},
      {"link_share", !all.messages.empty() && !replica.model.machine.host_bus},
      {"all_reduce", !all.messages.empty()},
      {"exchange", !all.messages.empty()},
      {"ring_step", !all.messages.empty()}};
  return std::all_of(std::begin(kinds), std::end(kinds), [&](const auto& kind) {
    return kind.second || constant.find(kind.first) == std::string_view::npos;
  });
}

void Explainer::constants(bool with_prompts) {
  if (replica.fidelity != Fidelity::calibrated) return;
  const auto add = [&](const ConstantNote& note, const std::string& file) {
    if (is_used(note.name, with_prompts))
      result.inputs.push_back({note.name, note.meaning, std::nullopt, "", note.value,
                               fmt::format("{}: {}, {}", file, note.source, note.date)});
  };
  const std::string& engine = scenario.engine.has_profile ? scenario.engine.name : "default";
  for (const ConstantNote& note : entry.engine_constants) add(note, "engine profile " + engine);
  for (const ConstantNote& note : kernels.notes) add(note, "kernels.json");
}

}  // namespace tokenroof::io
