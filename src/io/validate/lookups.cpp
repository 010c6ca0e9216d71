#include "io/validate/lookups.hpp"

#include "tokenroof/io/hf_config.hpp"

namespace tokenroof::io {
namespace {

/// "meta-llama__Llama-2-7b-hf.json" of "meta-llama/Llama-2-7b-hf", without folder and ending.
std::string file_stem(std::string_view config) {
  std::string stem(config);
  if (stem.ends_with(".json")) stem.resize(stem.size() - 5);
  for (std::size_t at = stem.find('/'); at != std::string::npos; at = stem.find('/'))
    stem.replace(at, 1, "__");
  return stem;
}

/// The text after `"hf_id": "`; parsing every model for one key would take longer.
std::string hugging_face_id(std::string_view json) {
  constexpr std::string_view key = "\"hf_id\": \"";
  const std::size_t at = json.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = json.substr(at + key.size());
  return std::string(rest.substr(0, rest.find('"')));
}

}  // namespace

Lookups::Lookups(const Catalog& catalog, ValidateOptions options, std::filesystem::path beside)
    : catalog_(catalog),
      options_(std::move(options)),
      beside_(std::move(beside)),
      kernels_(catalog.kernels().constants) {}

const Device& Lookups::device(std::string_view id) {
  return devices_.get(id, [&] {
    const Accelerator accelerator = catalog_.accelerator(id).accelerator;
    const Machine<double> machine = machine_of(accelerator, Deployment{});
    if (!(machine.peak_of(machine.wide) > 0))
      throw SpecError(catalog_.shown(Catalog::path(Shelf::accelerators, id)), "/dense_peak",
                      "states no peak that kernels could be timed with");
    return Device{accelerator, machine};
  });
}

const Model& Lookups::model(std::string_view config) {
  return models_.get(config, [&] { return find_model(std::string(config)); });
}

const EngineEntry& Lookups::engine(std::string_view name, std::string_view version) {
  const std::string chosen = options_.engine.empty() ? std::string(name) : options_.engine;
  const std::string of(version);
  return engines_.get(chosen + " " + of, [&] {
    return options_.engine.empty() ? catalog_.engine_or_default(chosen, of)
                                   : catalog_.engine(chosen, of);
  });
}

Model Lookups::find_model(const std::string& config) {
  for (const auto& folder : {options_.models_dir, beside_, beside_ / "models"}) {
    const auto path = folder / config;
    if (!folder.empty() && std::filesystem::exists(path)) return read_model(path);
  }
  if (const auto id = catalogue_name(config)) return catalog_.model(*id);
  const std::string folder = options_.models_dir.string();
  throw SpecError("", "",
                  (folder.empty() ? "" : "no file \"" + config + "\" in " + folder + ", and ") +
                      catalog_.unknown(Shelf::models, file_stem(config)));
}

std::optional<std::string> Lookups::catalogue_name(const std::string& config) {
  const std::string stem = file_stem(config);
  if (auto id = catalog_.find(Shelf::models, stem)) return id;
  if (!by_hugging_face_id_) {
    by_hugging_face_id_.emplace();
    for (const std::string& id : catalog_.names(Shelf::models)) {
      const std::string json = catalog_.text(Catalog::path(Shelf::models, id)).value_or("");
      by_hugging_face_id_->emplace(file_stem(hugging_face_id(json)), id);
    }
  }
  const auto found = by_hugging_face_id_->find(stem);
  if (found == by_hugging_face_id_->end()) return std::nullopt;
  return found->second;
}

}  // namespace tokenroof::io
