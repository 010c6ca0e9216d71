// The small sections of a scenario: precision, layout, objective, price, speculation.
#include "scenario_parts.hpp"

#include <algorithm>

namespace tokenroof::io {
namespace {

bool is_gguf(const Format& format) {
  for (const Format& known :
       {formats::q8_0, formats::q6_k, formats::q5_k, formats::q5_0, formats::q4_1, formats::q4_0,
        formats::q4_k, formats::q4_k_m, formats::q3_k, formats::q2_k})
    if (known == format) return true;
  return false;
}

// A serving engine quantises the large matrices and leaves the rest in 16 bits; a GGUF file is
// quantised as a whole, and fp32 or fp16 name the type of everything.
void set_weights(Precision& precision, const Format& format) {
  const bool everything = is_gguf(format) || format.bytes_per_element >= 2;
  if (everything) {
    precision.weights.fill(format);
    return;
  }
  const Format sixteen_bit =
      precision.of(Part::embedding) == formats::fp16 ? formats::fp16 : formats::bf16;
  precision.weights.fill(sixteen_bit);
  for (const Part part :
       {Part::attention, Part::dense_feed_forward, Part::routed_experts, Part::shared_experts})
    precision.set(part, format);
}

std::string list_weights(const Precision& precision) {
  std::string text(precision.of(Part::attention).name);
  for (const Part part : {Part::dense_feed_forward, Part::routed_experts})
    if (precision.of(part).name != text)
      return fmt::format("attention {}, dense {}, experts {}", precision.of(Part::attention).name,
                         precision.of(Part::dense_feed_forward).name,
                         precision.of(Part::routed_experts).name);
  return text;
}

}  // namespace

ObjectReader empty_section(ObjectReader& scenario, std::string_view key) {
  static const Json nothing = Json::object();
  return ObjectReader(nothing, scenario.pointer(key), scenario.faults());
}
ObjectReader section(ObjectReader& scenario, std::string_view key) {
  if (auto present = scenario.object(key)) return *present;
  return empty_section(scenario, key);
}

Precision read_precision_part(ObjectReader& scenario, const Model& model,
                              const ScenarioContext& context) {
  ObjectReader reader = section(scenario, "precision");
  Precision precision = model.checkpoint.precision;
  if (model.checkpoint.kv_cache) precision.kv_cache = *model.checkpoint.kv_cache;
  if (const auto weights = reader.format("weights"))
    set_weights(precision, *weights);
  else if (!reader.has("weights"))
    context.note(reader.pointer("weights"), list_weights(precision), "checkpoint");
  if (const auto experts = reader.format("expert_weights"))
    precision.set(Part::routed_experts, *experts);
  std::vector<std::string_view> types(data_type_names.begin(), data_type_names.end());
  if (const auto compute = reader.choice("compute", types))
    precision.compute = static_cast<DataType>(*compute);
  else if (!reader.has("compute"))
    context.note(reader.pointer("compute"), "as the weights",
                 "default: the weights' type where the device has that peak, else bf16");
  precision.activations =
      context.value_or(reader, "activations", reader.format("activations"), precision.activations,
                       std::string(precision.activations.name), "checkpoint");
  precision.kv_cache =
      context.value_or(reader, "kv_cache", reader.format("kv_cache"), precision.kv_cache,
                       std::string(precision.kv_cache.name), "checkpoint");
  reader.finish();
  return precision;
}

Deployment read_deployment_part(ObjectReader& scenario, const ScenarioContext& context) {
  ObjectReader reader = section(scenario, "deployment");
  const auto degree = [&](std::string_view key, int otherwise) {
    const auto value = reader.integer(key, Range::between(1, 1e6));
    return static_cast<int>(
        context.value_or<std::int64_t>(reader, key, value, otherwise, std::to_string(otherwise)));
  };
  Deployment deployment;
  deployment.tensor_parallel = degree("tensor_parallel", 1);
  deployment.pipeline_parallel = degree("pipeline_parallel", 1);
  deployment.expert_parallel = degree("expert_parallel", 1);
  deployment.attention_data_parallel = degree("attention_data_parallel", 1);
  deployment.context_parallel = degree("context_parallel", 1);
  deployment.replicas = degree("replicas", 1);
  deployment.devices_per_node = degree("devices_per_node", 8);
  reader.finish();
  return deployment;
}

Objective read_objective_part(ObjectReader& scenario) {
  Objective objective;
  auto reader = scenario.object("objective");
  if (!reader) return objective;
  objective.ttft_p50 = reader->quantity<Seconds>("ttft_p50");
  objective.ttft_p95 = reader->quantity<Seconds>("ttft_p95");
  objective.ttft_p99 = reader->quantity<Seconds>("ttft_p99");
  objective.tpot_mean = reader->quantity<Seconds>("tpot_mean");
  objective.tpot_p95 = reader->quantity<Seconds>("tpot_p95");
  objective.e2e_p95 = reader->quantity<Seconds>("e2e_p95");
  // The key names its unit, so a plain number is as good as "50 tokens/s".
  constexpr std::string_view key = "tokens_per_s_per_user";
  if (const Json* value = reader->raw(key); value != nullptr && value->is_number()) {
    if (const auto rate = reader->number(key, Range::positive()))
      objective.tokens_per_second_per_user = TokensPerSecond::from_base(*rate);
  } else {
    objective.tokens_per_second_per_user = reader->quantity<TokensPerSecond>(key);
  }
  reader->finish();
  return objective;
}

Price read_price_part(ObjectReader& scenario, const Accelerator& accelerator,
                      const ScenarioContext& context) {
  ObjectReader reader = section(scenario, "price");
  Price price;
  if (const auto stated = reader.quantity<Dollars>("accelerator_hour")) {
    price.accelerator = *stated / hour;
  } else if (!reader.has("accelerator_hour")) {
    price.accelerator = accelerator.price;
    context.note(reader.pointer("accelerator_hour"),
                 accelerator.price ? to_text(*accelerator.price * hour, 6) : "unknown",
                 accelerator.price ? fmt::format("list price of {}{}{}", accelerator.id,
                                                 accelerator.price_as_of.empty() ? "" : " as of ",
                                                 accelerator.price_as_of)
                                   : "no price for " + accelerator.id);
  }
  price.utilization = context.value_or(reader, "utilization",
                                       reader.number("utilization", Range::share()), 1.0, "1");
  reader.finish();
  return price;
}

std::optional<Speculation> read_speculation_part(ObjectReader& scenario) {
  auto reader = scenario.object("speculation");
  if (!reader) return std::nullopt;
  Speculation speculation;
  speculation.draft_tokens =
      static_cast<int>(reader->required_integer("draft_tokens", Range::between(1, 1024)));
  speculation.acceptance = reader->required_number("acceptance", Range::fraction());
  speculation.draft_cost = reader->number("draft_cost", Range::non_negative()).value_or(0);
  speculation.draft_memory =
      reader->quantity<Bytes>("draft_memory", Sign::non_negative).value_or(Bytes{});
  reader->finish();
  return speculation;
}

std::optional<Disaggregation> read_disaggregation_part(ObjectReader& scenario) {
  auto reader = scenario.object("disaggregation");
  if (!reader) return std::nullopt;
  Disaggregation pools;
  const Range range = Range::between(1, 1e6);
  pools.prefill_replicas = static_cast<int>(reader->required_integer("prefill_replicas", range));
  pools.decode_replicas = static_cast<int>(reader->required_integer("decode_replicas", range));
  pools.transfer_bandwidth = reader->quantity<BytesPerSecond>("transfer_bandwidth");
  reader->finish();
  return pools;
}

}  // namespace tokenroof::io
