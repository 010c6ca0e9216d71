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
    {"four_bit_launches", &E::four_bit_launches, share_or_zero},
    {"per_prompt_layer", &E::per_prompt_layer},
    {"per_all_reduce", &E::per_all_reduce},
    {"per_bus_all_reduce", &E::per_bus_all_reduce},
    {"bus_sharing", &E::bus_sharing, share_or_zero},
    {"per_eager_layer", &E::per_eager_layer},
    {"graph_context", &E::graph_context},
    {"weight_stream", &E::weight_stream, Range::positive()},
    {"prompt_efficiency", &E::prompt_efficiency, Range::positive()},
    {"prompt_attention", &E::prompt_attention, Range::positive()},
    {"separate_quantization", &E::separate_quantization, share_or_zero},
    {"expert_stream", &E::expert_stream, share_or_zero},
    {"expert_overhead", &E::expert_overhead},
    {"expert_rate", &E::expert_rate, Range::positive()},
    {"attention_rows", &E::attention_rows, Range::at_least(1)},
    {"vector_attention", &E::vector_attention, share_or_zero},
    {"tensor_group", &E::tensor_group},
    {"mixture_slowdown", &E::mixture_slowdown, Range::at_least(1)},
    {"communication_overlap", &E::communication_overlap, below_one},
    {"request_overhead", &E::request_overhead},
    {"per_prompt_token", &E::per_prompt_token},
    {"prompts_ahead", &E::prompts_ahead},
    {"spread_low", &E::spread_low, Range::positive()},
    {"spread_high", &E::spread_high, Range::positive()},
};
static_assert(sizeof(fields) / sizeof(fields[0]) == sizeof(E) / sizeof(double),
              "a member of EngineConstants has no name in files");

using L = LocalRuntimeConstants;
constexpr ConstantField<L> local_fields[] = {
    {"weight_stream", &L::weight_stream, Range::share()},
    {"stream_ceiling", &L::stream_ceiling, Range::positive(), byte_rate_constant},
    {"tensor_compute", &L::tensor_compute, Range::share()},
    {"vector_compute", &L::vector_compute, Range::share()},
    {"unpack_flops", &L::unpack_flops},
    {"per_layer", &L::per_layer},
    {"per_quantized_layer", &L::per_quantized_layer},
    {"per_split_layer", &L::per_split_layer},
    {"per_device_hop", &L::per_device_hop},
    {"score_bytes", &L::score_bytes},
    {"elementwise_passes", &L::elementwise_passes},
    {"per_prompt_layer", &L::per_prompt_layer},
    {"step", &L::step},
    {"cache_passes", &L::cache_passes, Range::at_least(1)},
    {"launches_per_layer", &L::launches_per_layer},
    {"launches_per_quantized_layer", &L::launches_per_quantized_layer},
};
static_assert(sizeof(local_fields) / sizeof(local_fields[0]) == sizeof(L) / sizeof(double),
              "a member of LocalRuntimeConstants has no name in files");

void read_defaults(ObjectReader& reader, Engine& engine) {
  if (auto defaults = reader.object("defaults")) {
    read_engine_settings(*defaults, engine);
    defaults->finish();
  }
}

Json write_defaults(const Engine& engine) {
  return {{"memory_fraction", engine.memory_fraction},
          {"max_sequences", engine.max_sequences},
          {"max_batched_tokens", engine.max_batched_tokens},
          {"chunked_prefill", engine.chunked_prefill},
          {"aligned_prompts", engine.aligned_prompts},
          {"schedule_interval", engine.schedule_interval},
          {"async_scheduling", engine.async_scheduling},
          {"block_tokens", engine.block_tokens},
          {"kv_policy", std::string(to_string(engine.kv_policy))}};
}

// An era states its constants itself: what it leaves out is neutral, not as in newer versions.
void read_era(ObjectReader reader, EngineEntry& entry) {
  EngineEra era;
  era.before = reader.required_text("before");
  era.note = reader.required_text("note");
  era.engine = entry.engine;
  era.engine.constants = {};
  read_defaults(reader, era.engine);
  if (auto constants = reader.object("constants"))
    era.notes = read_engine_constants(*constants, era.engine.constants, {});
  if (!entry.earlier.empty() && !version_at_least(era.before, entry.earlier.back().before))
    reader.fault("before", "the entries must go from the oldest version to the newest");
  reader.finish();
  entry.earlier.push_back(std::move(era));
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
  engine.schedule_interval = count("schedule_interval", engine.schedule_interval);
  engine.block_tokens = count("block_tokens", engine.block_tokens);
  engine.chunked_prefill = reader.boolean("chunked_prefill").value_or(engine.chunked_prefill);
  engine.aligned_prompts = reader.boolean("aligned_prompts").value_or(engine.aligned_prompts);
  engine.async_scheduling = reader.boolean("async_scheduling").value_or(engine.async_scheduling);
  engine.kv_policy = read_kv_policy(reader).value_or(engine.kv_policy);
}

std::vector<ConstantNote> read_engine_constants(ObjectReader reader, EngineConstants& constants,
                                                const ConstantRules& rules) {
  return read_constants<EngineConstants>(std::move(reader), fields, constants, rules);
}

std::span<const ConstantField<EngineConstants>> engine_constant_fields() { return fields; }
std::span<const ConstantField<LocalRuntimeConstants>> local_runtime_fields() {
  return local_fields;
}

EngineEntry read_engine(std::string_view json_text, const std::string& file) {
  const Json json = parse_json(json_text, file);
  Faults faults(file);
  ObjectReader reader(json, "", faults);
  EngineEntry entry;
  reader.ignore("$schema");
  entry.engine.name = reader.required_text("name");
  entry.versions = reader.texts("versions").value_or(std::vector<std::string>{});
  read_defaults(reader, entry.engine);
  if (auto constants = reader.object("constants"))
    entry.constants = read_engine_constants(*constants, entry.engine.constants, {});
  if (auto constants = reader.object("local_runtime"))
    entry.local_runtime =
        read_constants<L>(*constants, local_fields, entry.engine.local_runtime.emplace(), {});
  for (ObjectReader& era : reader.objects("earlier")) read_era(era, entry);
  for (ObjectReader& reserve : reader.objects("reserves")) read_engine_reserve(reserve, entry);
  reader.finish();
  faults.throw_if_any();
  return entry;
}

EngineEntry for_version(EngineEntry entry, const std::string& version) {
  if (const EngineEra* era = era_of(entry, version)) {
    std::vector<EngineReserve> reserves = std::move(entry.engine.reserves);
    entry.constants = era->notes;
    entry.engine = era->engine;
    entry.engine.reserves = std::move(reserves);
  }
  entry.engine.version = version;
  return entry;
}

const EngineEra* era_of(const EngineEntry& entry, std::string_view version) {
  if (version.empty()) return nullptr;
  for (const EngineEra& era : entry.earlier)
    if (!version_at_least(version, era.before)) return &era;
  return nullptr;
}

EngineConstants constants_for(const EngineEntry& entry, std::string_view version) {
  const EngineEra* era = era_of(entry, version);
  return era != nullptr ? era->engine.constants : entry.engine.constants;
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
  json["defaults"] = write_defaults(engine);
  json["constants"] =
      write_constants<EngineConstants>(fields, engine.constants, {}, entry.constants);
  if (engine.local_runtime)
    json["local_runtime"] =
        write_constants<L>(local_fields, *engine.local_runtime, {}, entry.local_runtime);
  for (const EngineEra& era : entry.earlier) {
    Json earlier{{"before", era.before}, {"note", era.note}};
    if (const Json own = write_defaults(era.engine); own != json["defaults"])
      earlier["defaults"] = own;
    earlier["constants"] =
        write_constants<EngineConstants>(fields, era.engine.constants, {}, era.notes);
    json["earlier"].push_back(std::move(earlier));
  }
  json["reserves"] = Json::array();
  for (std::size_t i = 0; i < engine.reserves.size(); ++i)
    json["reserves"].push_back(write_engine_reserve(
        engine.reserves[i], i < entry.reserve_sources.size() ? entry.reserve_sources[i] : ""));
  return json.dump(2) + "\n";
}

}  // namespace tokenroof::io
