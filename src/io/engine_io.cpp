#include "tokenroof/io/engine_io.hpp"

#include "engine_reader.hpp"

namespace tokenroof::io {
namespace {

constexpr Range share_or_zero{.low = 0, .high = 1};
constexpr Range below_one{.low = 0, .high = 1, .high_open = true};

// The one place that knows which name in a file is which constant.
using E = EngineConstants;
constexpr ConstantField<E> fields[] = {
    {"step", &E::step},
    {"per_sequence", &E::per_sequence},
    {"per_prompt_step", &E::per_prompt_step},
    {"per_pipeline_hop", &E::per_pipeline_hop},
    {"per_layer", &E::per_layer},
    {"layer_passes", &E::layer_passes},
    {"per_mixture_layer", &E::per_mixture_layer},
    {"per_latent_layer", &E::per_latent_layer},
    {"per_recurrent_layer", &E::per_recurrent_layer},
    {"per_weight_only_layer", &E::per_weight_only_layer},
    {"per_prompt_layer", &E::per_prompt_layer},
    {"per_all_reduce", &E::per_all_reduce},
    {"weight_stream", &E::weight_stream, Range::positive()},
    {"prompt_efficiency", &E::prompt_efficiency, Range::positive()},
    {"prompt_attention", &E::prompt_attention, Range::positive()},
    {"separate_quantization", &E::separate_quantization, share_or_zero},
    {"expert_stream", &E::expert_stream, share_or_zero},
    {"expert_overhead", &E::expert_overhead},
    {"vector_attention", &E::vector_attention, share_or_zero},
    {"mixture_slowdown", &E::mixture_slowdown, Range::at_least(1)},
    {"communication_overlap", &E::communication_overlap, below_one},
    {"request_overhead", &E::request_overhead},
    {"prompts_ahead", &E::prompts_ahead},
    {"steps_waited", &E::steps_waited},
    {"spread_low", &E::spread_low, Range::positive()},
    {"spread_high", &E::spread_high, Range::positive()},
};

void read_era(ObjectReader reader, EngineEntry& entry) {
  EngineEra era;
  era.since = reader.required_text("since");
  era.constants = entry.engine.constants;
  if (auto constants = reader.object("constants"))
    era.notes = read_engine_constants(*constants, era.constants, {});
  if (!entry.eras.empty() && !version_at_least(era.since, entry.eras.back().since))
    reader.fault("since", "the entries must go from the oldest version to the newest");
  reader.finish();
  entry.eras.push_back(std::move(era));
}

}  // namespace

void read_engine_settings(ObjectReader& reader, Engine& engine) {
  const auto count = [&](std::string_view key, int otherwise) {
    return static_cast<int>(reader.integer(key, Range::between(1, 1e9)).value_or(otherwise));
  };
  engine.memory_fraction =
      reader.number("memory_fraction", Range::share()).value_or(engine.memory_fraction);
  engine.max_sequences = count("max_sequences", engine.max_sequences);
  engine.max_batched_tokens = count("max_batched_tokens", engine.max_batched_tokens);
  engine.block_tokens = count("block_tokens", engine.block_tokens);
  engine.chunked_prefill = reader.boolean("chunked_prefill").value_or(engine.chunked_prefill);
  engine.kv_policy = read_kv_policy(reader).value_or(engine.kv_policy);
}

std::vector<ConstantNote> read_engine_constants(ObjectReader reader, EngineConstants& constants,
                                                const ConstantRules& rules) {
  return read_constants<EngineConstants>(std::move(reader), fields, constants, rules);
}

EngineEntry read_engine(std::string_view json_text, const std::string& file) {
  const Json json = parse_json(json_text, file);
  Faults faults(file);
  ObjectReader reader(json, "", faults);
  EngineEntry entry;
  reader.ignore("$schema");
  entry.engine.name = reader.required_text("name");
  entry.versions = reader.texts("versions").value_or(std::vector<std::string>{});
  if (auto defaults = reader.object("defaults")) {
    read_engine_settings(*defaults, entry.engine);
    defaults->finish();
  }
  if (auto constants = reader.object("constants"))
    entry.constants = read_engine_constants(*constants, entry.engine.constants, {});
  for (ObjectReader& era : reader.objects("eras")) read_era(era, entry);
  for (ObjectReader& reserve : reader.objects("reserves")) read_engine_reserve(reserve, entry);
  reader.finish();
  faults.throw_if_any();
  return entry;
}

EngineEntry for_version(EngineEntry entry, const std::string& version) {
  entry.engine.version = version;
  const EngineEra* chosen = nullptr;
  for (const EngineEra& era : entry.eras)
    if (version_at_least(version, era.since)) chosen = &era;
  if (chosen == nullptr) return entry;
  entry.engine.constants = chosen->constants;
  for (const ConstantNote& note : chosen->notes) replace_note(entry.constants, note);
  return entry;
}

void replace_note(std::vector<ConstantNote>& notes, const ConstantNote& note) {
  for (ConstantNote& known : notes) {
    if (known.name != note.name) continue;
    known = note;
    return;
  }
  notes.push_back(note);
}

std::string write_engine(const EngineEntry& entry) {
  const Engine& engine = entry.engine;
  Json json = Json::object();
  json["name"] = engine.name;
  json["versions"] = entry.versions;
  json["defaults"] = {{"memory_fraction", engine.memory_fraction},
                      {"max_sequences", engine.max_sequences},
                      {"max_batched_tokens", engine.max_batched_tokens},
                      {"chunked_prefill", engine.chunked_prefill},
                      {"block_tokens", engine.block_tokens},
                      {"kv_policy", std::string(to_string(engine.kv_policy))}};
  json["constants"] =
      write_constants<EngineConstants>(fields, engine.constants, {}, entry.constants);
  for (const EngineEra& era : entry.eras)
    json["eras"].push_back(
        {{"since", era.since},
         {"constants",
          write_constants<EngineConstants>(fields, era.constants, engine.constants, era.notes)}});
  json["reserves"] = Json::array();
  for (std::size_t i = 0; i < engine.reserves.size(); ++i)
    json["reserves"].push_back(write_engine_reserve(
        engine.reserves[i], i < entry.reserve_sources.size() ? entry.reserve_sources[i] : ""));
  return json.dump(2) + "\n";
}

}  // namespace tokenroof::io
