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

namespace {

/// Multiplied in 8 or 4 bits.
bool is_narrow(DataType type) {
  return type == DataType::fp8 || type == DataType::int8 || type == DataType::fp4 ||
         type == DataType::int4;
}

}  // namespace

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
  const Machine<double>& machine = replica.model.machine;
  const EngineConstants& engine = replica.model.engine;
  const auto narrow = [](const Matmul& op) { return is_narrow(op.multiply); };
  const bool unpacks = std::any_of(all.matmuls.begin(), all.matmuls.end(),
                                   [](const Matmul& op) { return op.unpacked(); }) ||
                       std::any_of(all.experts.begin(), all.experts.end(),
                                   [](const Experts& op) { return op.unpacked(); });
  // What only the time to first token or the error band uses, or a step of another kind.
  const bool decodes = !with_prompts;
  const bool rings = std::any_of(all.messages.begin(), all.messages.end(), [&](const Message& op) {
    return op.kind != OperatorKind::all_reduce ||
           op.ranks > (machine.host_bus ? 2 : machine.domain);
  });
  const std::pair<std::string_view, bool> kinds[] = {
      {"matmul_compute_8bit", std::any_of(all.matmuls.begin(), all.matmuls.end(), narrow)},
      {"matmul_compute_16bit", !std::all_of(all.matmuls.begin(), all.matmuls.end(), narrow)},
      {"quantiz",
       engine.separate_quantization > 0 &&
           std::any_of(all.matmuls.begin(), all.matmuls.end(),
                       [](const Matmul& op) { return op.dynamic_scales && !op.beside; })},
      {"attention_", !all.attentions.empty()},
      {"attention_fixed_8bit", std::any_of(all.attentions.begin(), all.attentions.end(),
                                           [](const AttentionCore& op) { return op.small_cache; })},
      {"attention_rows", decodes},
      {"vector_attention", decodes},
      {"tensor_group", decodes && engine.vector_attention > 0},
      {"graph_context", decodes && engine.graph_context > 0},
      {"per_eager_layer",
       decodes && engine.graph_context > 0 && replica.lengths.live > engine.graph_context},
      {"pipeline_hop", all.stages > 1},
      {"mixture_slowdown", all.attention_ranks == 1},
      {"unpack_spread", std::any_of(all.experts.begin(), all.experts.end(),
                                    [](const Experts& op) { return op.expert_parallel > 1; })},
      {"four_bit_launches",
       std::any_of(all.experts.begin(), all.experts.end(),
                   [](const Experts& op) { return op.multiply == DataType::fp4; })},
      {"communication", !all.messages.empty()},
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
      {"ring_step", rings}};
  return std::all_of(std::begin(kinds), std::end(kinds), [&](const auto& kind) {
    return kind.second || constant.find(kind.first) == std::string_view::npos;
  });
}

void Explainer::links_and_processors() {
  if (replica.fidelity == Fidelity::ideal) return;
  const StepModel<double>& model = replica.model;
  if (!model.operators.messages.empty()) {
    input("beta", "link bandwidth of a device, one direction", model.machine.link_bandwidth, "B/s",
          device("scale_up"));
    if (std::any_of(
            model.operators.messages.begin(), model.operators.messages.end(),
            [&](const Message& op) { return op.crosses_nodes || op.ranks > model.machine.domain; }))
      input("beta_net", "network bandwidth of a device, one direction",
            model.machine.network_bandwidth, "B/s", device("scale_out"));
  }
  if (replica.fidelity != Fidelity::calibrated || model.local_runtime) return;
  input("processors", "multiprocessors of a device", model.machine.processors, "",
        device("multiprocessors"));
  result.inputs.push_back(
      {"f", "latency factor of the device", model.machine.latency_factor, "1",
       to_text(model.machine.latency_factor, 8),
       fmt::format("(5 TFLOP/s x processors / P_{})^(1/4)", to_string(model.machine.wide))});
}

void Explainer::constants(bool with_prompts) {
  // A local runtime's steps have constants of their own, see local_runtime of its profile.
  if (replica.fidelity != Fidelity::calibrated || replica.model.local_runtime) return;
  const auto add = [&](const ConstantNote& note, const std::vector<ConstantNote>& others,
                       const char* owner, const std::string& file) {
    if (!is_used(note.name, with_prompts)) return;
    const bool twice = std::any_of(others.begin(), others.end(),
                                   [&](const auto& other) { return other.name == note.name; });
    result.inputs.push_back({twice ? fmt::format("{} ({})", note.name, owner) : note.name,
                             note.meaning, std::nullopt, "", note.value,
                             fmt::format("{}: {}, {}", file, note.source, note.date)});
  };
  const std::string& engine = scenario.engine.has_profile ? scenario.engine.name : "default";
  for (const ConstantNote& note : entry.engine_constants)
    add(note, kernels.notes, "engine", "engine profile " + engine);
  for (const ConstantNote& note : kernels.notes)
    add(note, entry.engine_constants, "kernels", "kernels.json");
}

}  // namespace tokenroof::io
