// The parts of a scenario that may be a name, a path or an object: model, accelerator, engine.
#include "accelerator_reader.hpp"
#include "engine_reader.hpp"
#include "scenario_parts.hpp"
#include "tokenroof/io/hf_config.hpp"

namespace tokenroof::io {
namespace {

// Runs `read`, which may throw the faults of another file, and collects them here.
template <class Read>
auto collecting(Faults& faults, const Read& read) -> decltype(read()) {
  try {
    return read();
  } catch (const SpecError& error) {
    faults.add(error);
    return {};
  }
}

// Faults of an object in place belong to this file, below `key`.
void adopt(const ObjectReader& scenario, std::string_view key, const SpecError& error) {
  for (const Fault& fault : error.faults())
    scenario.faults().add(scenario.pointer(key) + fault.json_pointer, fault.reason);
}

// What a text at `key` stands for. Neither: the fault has been added.
struct Named {
  std::optional<std::string> id;
  std::optional<std::filesystem::path> path;
};
Named resolve(ObjectReader& scenario, std::string_view key, const std::string& name, Shelf shelf,
              const ScenarioContext& context) {
  Named named;
  if (!looks_like_path(name)) named.id = context.catalog.find(shelf, name);
  if (named.id) return named;
  named.path = find_path(name, context.folder);
  if (named.path) return named;
  scenario.fault(key, looks_like_path(name) ? fmt::format("no such file: \"{}\"", name)
                                            : context.catalog.unknown(shelf, name));
  return named;
}

bool is_name_or_object(ObjectReader& scenario, std::string_view key) {
  const Json* value = scenario.required(key);
  if (value == nullptr) return false;
  if (value->is_string() || value->is_object()) return true;
  scenario.fault(key, "expected a name, a path or an object, found " + describe(*value));
  return false;
}

EngineEntry read_profile(ObjectReader& scenario, std::string_view key, const std::string& name,
                         const ScenarioContext& context) {
  const Named named = resolve(scenario, key, name, Shelf::engines, context);
  return collecting(scenario.faults(), [&] {
    if (named.path) return read_engine(read_file(*named.path), named.path->string());
    return named.id ? context.catalog.engine(*named.id) : EngineEntry{};
  });
}

void note_engine_defaults(const ObjectReader& reader, const Engine& engine,
                          const std::string& origin, const ScenarioContext& context) {
  const auto note = [&](std::string_view key, std::string value) {
    if (!reader.has(key)) context.note(reader.pointer(key), std::move(value), origin);
  };
  note("memory_fraction", to_text(engine.memory_fraction));
  note("reserve", "auto");
  note("max_sequences", std::to_string(engine.max_sequences));
  note("max_batched_tokens", std::to_string(engine.max_batched_tokens));
  note("chunked_prefill", engine.chunked_prefill ? "true" : "false");
  note("aligned_prompts", engine.aligned_prompts ? "true" : "false");
  note("schedule_interval", std::to_string(engine.schedule_interval));
  note("async_scheduling", engine.async_scheduling ? "true" : "false");
  note("block_tokens", std::to_string(engine.block_tokens));
  note("kv_policy", std::string(to_string(engine.kv_policy)));
}

void read_reserve(ObjectReader& reader, Engine& engine) {
  const Json* value = reader.raw("reserve");
  if (value == nullptr || *value == "auto") return;
  engine.reserve_auto = false;
  engine.reserve = reader.quantity<Bytes>("reserve", Sign::non_negative).value_or(Bytes{});
}

// A constant that the scenario states is no longer the profile's.
void restate(std::vector<ConstantNote>& notes, ConstantNote note) {
  for (const ConstantNote& known : notes) {
    if (known.name != note.name) continue;
    if (note.meaning.empty()) note.meaning = known.meaning;
    if (known.value != note.value) note.source = "scenario";
  }
  replace_note(notes, note);
}

}  // namespace

bool looks_like_path(const std::string& text) {
  return text.find('/') != std::string::npos || text.find('\\') != std::string::npos ||
         text.ends_with(".json") || text.ends_with(".gguf");
}

std::optional<std::filesystem::path> find_path(const std::string& text,
                                               const std::filesystem::path& folder) {
  std::error_code ignored;
  if (text.empty()) return std::nullopt;
  if (!folder.empty() && std::filesystem::exists(folder / text, ignored)) return folder / text;
  if (std::filesystem::exists(text, ignored)) return text;
  return std::nullopt;
}

Model read_model_part(ObjectReader& scenario, const ScenarioContext& context) {
  constexpr std::string_view key = "model";
  if (!is_name_or_object(scenario, key)) return {};
  const Json& value = *scenario.raw(key);
  if (value.is_string()) {
    const Named named = resolve(scenario, key, value.get<std::string>(), Shelf::models, context);
    return collecting(scenario.faults(), [&] {
      if (named.path) return read_model(*named.path);
      return named.id ? context.catalog.model(*named.id) : Model{};
    });
  }
  const auto inlined = context.inlined.find(std::string(key));
  const bool named = inlined != context.inlined.end();
  try {
    ModelOptions options;
    if (named) options.quantization_json = inlined->second.quantization_json;
    return read_model_config(value.dump(), named ? inlined->second.file : "custom.json", options);
  } catch (const SpecError& error) {
    adopt(scenario, key, error);
    return {};
  }
}

AcceleratorEntry read_accelerator_part(ObjectReader& scenario, const ScenarioContext& context) {
  constexpr std::string_view key = "accelerator";
  if (!is_name_or_object(scenario, key)) return {};
  const Json& value = *scenario.raw(key);
  if (value.is_object()) return read_accelerator(*scenario.object(key), Sources::optional);
  const Named named =
      resolve(scenario, key, value.get<std::string>(), Shelf::accelerators, context);
  return collecting(scenario.faults(), [&] {
    if (named.path) return read_accelerator(read_file(*named.path), named.path->string());
    return named.id ? context.catalog.accelerator(*named.id) : AcceleratorEntry{};
  });
}

EngineEntry read_engine_part(ObjectReader& scenario, const ScenarioContext& context) {
  constexpr std::string_view key = "engine";
  const Json* value = scenario.raw(key);
  std::string name = "default";
  if (value == nullptr)
    context.note(scenario.pointer(key), name);
  else if (value->is_string())
    name = value->get<std::string>();
  else if (!is_name_or_object(scenario, key))
    return {};

  const bool settings = value != nullptr && value->is_object();
  ObjectReader reader = settings ? *scenario.object(key) : empty_section(scenario, key);
  if (settings) {
    if (const auto stated = reader.text("name"))
      name = *stated;
    else if (!reader.has("name"))
      context.note(reader.pointer("name"), name);
  }
  EngineEntry entry;
  // Without any profile on the shelf the built-in constants serve, so that the library works with
  // a data folder that holds accelerators alone.
  if (name != "default" || context.catalog.find(Shelf::engines, name))
    entry = read_profile(scenario, key, name, context);
  entry =
      for_version(std::move(entry), settings ? reader.text("version").value_or("") : std::string());
  Engine& engine = entry.engine;
  if (settings) {
    read_engine_settings(reader, engine);
    read_reserve(reader, engine);
    if (auto constants = reader.object("constants"))
      for (ConstantNote& note :
           read_engine_constants(*constants, engine.constants, {.notes_required = false}))
        restate(entry.constants, std::move(note));
    reader.finish();
  }
  note_engine_defaults(reader, engine, "engine " + engine.name, context);
  return entry;
}

}  // namespace tokenroof::io
