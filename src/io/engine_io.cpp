#include "tokenroof/io/engine_io.hpp"

#include "engine_reader.hpp"

namespace tokenroof::io {
namespace {

// The one place that knows which name in a file is which constant.
constexpr ConstantField<EngineConstants> fields[] = {
    {"step", &EngineConstants::step},
    {"per_sequence", &EngineConstants::per_sequence},
    {"per_layer", &EngineConstants::per_layer},
    {"per_prefill_request", &EngineConstants::per_prefill_request},
    {"per_pipeline_hop", &EngineConstants::per_pipeline_hop},
    {"prefill_efficiency", &EngineConstants::prefill_efficiency, Range::share()},
    {"decode_efficiency", &EngineConstants::decode_efficiency, Range::share()},
    {"separate_quantization", &EngineConstants::separate_quantization, Range::fraction()},
    {"communication_overlap", &EngineConstants::communication_overlap,
     Range{.low = 0, .high = 1, .high_open = true}},
    {"first_token_base", &EngineConstants::first_token_base},
    {"first_token_per_running", &EngineConstants::first_token_per_running},
    {"spread_low", &EngineConstants::spread_low, Range::positive()},
    {"spread_high", &EngineConstants::spread_high, Range::positive()},
};

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
  for (ObjectReader& reserve : reader.objects("reserves")) read_engine_reserve(reserve, entry);
  reader.finish();
  faults.throw_if_any();
  return entry;
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
  json["constants"] = write_constants<EngineConstants>(fields, engine.constants, entry.constants);
  json["reserves"] = Json::array();
  for (std::size_t i = 0; i < engine.reserves.size(); ++i)
    json["reserves"].push_back(write_engine_reserve(
        engine.reserves[i], i < entry.reserve_sources.size() ? entry.reserve_sources[i] : ""));
  return json.dump(2) + "\n";
}

}  // namespace tokenroof::io
