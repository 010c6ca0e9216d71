#include "tokenroof/io/catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "embedded_data.hpp"
#include "json_reader.hpp"
#include "tokenroof/io/hf_config.hpp"

namespace tokenroof::io {
namespace {

std::string_view folder_name(Shelf shelf) {
  switch (shelf) {
    case Shelf::accelerators:
      return "accelerators";
    case Shelf::models:
      return "models";
    case Shelf::engines:
      return "engines";
  }
  return "";
}

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

// Aliases are inside the files. Only a file that holds the quoted name somewhere is parsed, which
// keeps a lookup well under a millisecond.
bool has_alias(const std::string& text, const std::string& file, std::string_view name) {
  std::string quoted = '"' + std::string(name) + '"';
  const auto hit = std::search(
      text.begin(), text.end(), quoted.begin(), quoted.end(),
      [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
  if (hit == text.end()) return false;
  const Json json = parse_json(text, file);
  const auto aliases = json.find("aliases");
  if (aliases == json.end() || !aliases->is_array()) return false;
  return std::any_of(aliases->begin(), aliases->end(), [&](const Json& alias) {
    return alias.is_string() && same_name(alias.get_ref<const std::string&>(), name);
  });
}

}  // namespace

Catalog::Catalog(std::filesystem::path folder) : folder_(std::move(folder)) {
  if (!std::filesystem::is_directory(folder_))
    throw SpecError(folder_.string(), "", "the data folder is not a directory");
}

Catalog Catalog::open(const std::string& folder) {
  if (!folder.empty()) return Catalog(folder);
  const char* environment = std::getenv("TOKENROOF_DATA");
  if (environment != nullptr && *environment != '\0') return Catalog(std::string(environment));
  return Catalog();
}

std::string Catalog::path(Shelf shelf, std::string_view id) {
  return fmt::format("{}/{}.json", folder_name(shelf), id);
}

std::string Catalog::shown(const std::string& path) const {
  return folder_.empty() ? "data/" + path : (folder_ / path).string();
}

std::optional<std::string> Catalog::text(const std::string& path) const {
  if (folder_.empty()) {
    for (const EmbeddedFile& file : embedded_files())
      if (file.path == path) return std::string(file.text);
    return std::nullopt;
  }
  const std::filesystem::path file = folder_ / path;
  if (!std::filesystem::exists(file)) return std::nullopt;
  return read_file(file);
}

std::vector<std::string> Catalog::names(Shelf shelf) const {
  constexpr std::string_view ending = ".json";
  std::vector<std::string> found;
  const std::string prefix = std::string(folder_name(shelf)) + "/";
  if (folder_.empty()) {
    for (const EmbeddedFile& file : embedded_files()) {
      if (!file.path.starts_with(prefix)) continue;
      const std::string_view name = file.path.substr(prefix.size());
      if (name.find('/') == std::string_view::npos && name.ends_with(ending))
        found.emplace_back(name.substr(0, name.size() - ending.size()));
    }
  } else if (std::filesystem::is_directory(folder_ / prefix)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / prefix))
      if (entry.is_regular_file() && entry.path().extension() == ending)
        found.push_back(entry.path().stem().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::optional<std::string> Catalog::find(Shelf shelf, std::string_view name) const {
  const std::vector<std::string> ids = names(shelf);
  for (const std::string& id : ids)
    if (same_name(id, name)) return id;
  if (shelf != Shelf::accelerators) return std::nullopt;
  for (const std::string& id : ids) {
    const std::string file = path(shelf, id);
    if (has_alias(text(file).value_or(""), shown(file), name)) return id;
  }
  return std::nullopt;
}

std::string Catalog::unknown(Shelf shelf, std::string_view name) const {
  const std::string_view plural = folder_name(shelf);
  return fmt::format("unknown {} \"{}\"{}; `tokenroof list {}` shows what there is",
                     plural.substr(0, plural.size() - 1), name, did_you_mean(name, names(shelf)),
                     plural);
}

std::string Catalog::required_id(Shelf shelf, std::string_view name) const {
  if (const auto id = find(shelf, name)) return *id;
  throw SpecError(shown(std::string(folder_name(shelf))), "", unknown(shelf, name));
}

AcceleratorEntry Catalog::accelerator(std::string_view name) const {
  const std::string file = path(Shelf::accelerators, required_id(Shelf::accelerators, name));
  return read_accelerator(text(file).value_or(""), shown(file), Sources::required);
}

Model Catalog::model(std::string_view name) const {
  const std::string id = required_id(Shelf::models, name);
  const std::string file = path(Shelf::models, id);
  ModelOptions options;
  options.quantization_json = text("models/hf_quant_config/" + id + ".json").value_or("");
  return read_model_config(text(file).value_or(""), shown(file), options);
}

EngineEntry Catalog::engine(std::string_view name, const std::string& version) const {
  const std::string file = path(Shelf::engines, required_id(Shelf::engines, name));
  return for_version(read_engine(text(file).value_or(""), shown(file)), version);
}

EngineEntry Catalog::engine_or_default(std::string_view name, const std::string& version) const {
  if (find(Shelf::engines, name)) return engine(name, version);
  EngineEntry entry;
  if (find(Shelf::engines, "default")) entry = engine("default");
  entry.engine.name = name;
  entry.engine.version = version;
  entry.engine.has_profile = false;
  return entry;
}

KernelEntry Catalog::kernels() const {
  const std::string file = "kernels.json";
  const std::optional<std::string> json = text(file);
  return json ? read_kernels(*json, shown(file)) : KernelEntry{};
}

}  // namespace tokenroof::io
