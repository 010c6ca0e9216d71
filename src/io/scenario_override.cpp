// --set key=value.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "scenario_parts.hpp"

namespace tokenroof::io {
namespace {

constexpr std::string_view sections[] = {"model",       "accelerator",   "engine",    "precision",
                                         "deployment",  "workload",      "objective", "price",
                                         "speculation", "disaggregation"};

// `given` is what stands on the command line: "--set workload.batch=64".
[[noreturn]] void refuse(const std::string& given, const std::string& reason) {
  throw SpecError(given, "", reason);
}

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> keys;
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t end = std::min(path.find('.', start), path.size());
    keys.emplace_back(path.substr(start, end - start));
    start = end + 1;
  }
  return keys;
}

// x10, *0.5: nullopt when the text is no factor.
std::optional<double> factor_of(std::string_view text) {
  if (text.size() < 2 || (text.front() != 'x' && text.front() != '*')) return std::nullopt;
  double factor = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + 1, end, factor);
  if (error != std::errc{} || stop != end || !std::isfinite(factor)) return std::nullopt;
  return factor;
}

Json value_of_text(std::string_view text) {
  try {
    return parse_json(text, "");
  } catch (const SpecError&) {
    return std::string(text);
  }
}

Json number_json(double value) {
  constexpr double largest_exact = 9007199254740992.0;
  if (value == std::floor(value) && std::abs(value) < largest_exact)
    return static_cast<std::int64_t>(value);
  return value;
}

// Scales a number, or the number in front of a unit.
std::optional<Json> scaled(const Json& value, double factor) {
  if (value.is_number()) return number_json(value.get<double>() * factor);
  if (!value.is_string()) return std::nullopt;
  const std::string& text = value.get_ref<const std::string&>();
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{}) return std::nullopt;
  return fmt::format("{}{}", number * factor,
                     std::string_view(stop, static_cast<std::size_t>(end - stop)));
}

// The text of the file behind a name or a path; messages keep naming that file.
Inlined source_of(const std::string& name, Shelf shelf, const Catalog& catalog,
                  const std::filesystem::path& folder, const std::string& given, Json& json) {
  Inlined source;
  const std::optional<std::string> id =
      looks_like_path(name) ? std::nullopt : catalog.find(shelf, name);
  if (id) {
    const std::string path = Catalog::path(shelf, *id);
    source.file = catalog.shown(path);
    source.quantization_json = catalog.text("models/hf_quant_config/" + *id + ".json").value_or("");
    json = parse_json(catalog.text(path).value_or(""), source.file, NonFinite::read_as_null);
    return source;
  }
  std::optional<std::filesystem::path> path = find_path(name, folder);
  if (path && std::filesystem::is_directory(*path)) *path /= "config.json";
  if (!path)
    refuse(given, looks_like_path(name) ? fmt::format("no such file: \"{}\"", name)
                                        : catalog.unknown(shelf, name));
  source.file = path->string();
  const std::filesystem::path sidecar = path->parent_path() / "hf_quant_config.json";
  if (shelf == Shelf::models && std::filesystem::exists(sidecar))
    source.quantization_json = read_file(sidecar);
  json = parse_json(read_file(*path), source.file, NonFinite::read_as_null);
  return source;
}

void inline_part(Json& scenario, const std::vector<std::string>& keys, const Catalog& catalog,
                 const std::filesystem::path& folder, const std::string& given,
                 std::map<std::string, Inlined>& inlined) {
  const std::string& key = keys.front();
  if (key == "engine") {
    // An engine object names its profile and overrides settings, so the name stays.
    Json& engine = scenario["engine"];
    if (engine.is_null()) engine = Json::object();
    if (engine.is_string()) engine = Json{{"name", engine}};
    if (keys.size() < 3 || keys[1] != "constants" || engine.contains("constants")) return;
    Json profile;
    source_of(engine.value("name", "default"), Shelf::engines, catalog, folder, given, profile);
    engine["constants"] = profile.value("constants", Json::object());
    return;
  }
  if (key != "model" && key != "accelerator") return;
  if (!scenario.contains(key) || !scenario[key].is_string()) return;
  Json json;
  const Shelf shelf = key == "model" ? Shelf::models : Shelf::accelerators;
  inlined[key] = source_of(scenario[key].get<std::string>(), shelf, catalog, folder, given, json);
  scenario[key] = std::move(json);
}

// The place of `keys`; objects on the way are made.
Json& place(Json& scenario, const std::vector<std::string>& keys, const std::string& given) {
  Json* at = &scenario;
  for (const std::string& key : keys) {
    if (at->is_array()) {
      std::size_t index = 0;
      const auto [stop, error] = std::from_chars(key.data(), key.data() + key.size(), index);
      if (error != std::errc{} || stop != key.data() + key.size() || index >= at->size())
        refuse(given, fmt::format("\"{}\" is no index of an array of {}", key, at->size()));
      at = &(*at)[index];
      continue;
    }
    if (at->is_null()) *at = Json::object();
    if (!at->is_object())
      refuse(given, fmt::format("\"{}\" is inside {}, which has no keys", key, describe(*at)));
    at = &(*at)[key];
  }
  // A constant of an engine is an object around its value.
  if (at->is_object() && at->contains("value")) at = &(*at)["value"];
  return *at;
}

// Kinds of traffic exclude each other: stating one takes the others away.
void drop_other_traffic(Json& scenario, const std::vector<std::string>& keys) {
  static const std::vector<std::string> kinds[] = {
      {"arrival_rate", "arrival_squared_cv"}, {"concurrency"}, {"batch", "context_tokens"}};
  if (keys.size() != 2 || keys[0] != "workload") return;
  Json& workload = scenario["workload"];
  if (workload.contains(keys[1]) && workload[keys[1]].is_null()) return;
  for (const auto& kind : kinds) {
    if (std::find(kind.begin(), kind.end(), keys[1]) == kind.end()) continue;
    for (const auto& other : kinds)
      if (&other != &kind)
        for (const std::string& key : other) workload.erase(key);
  }
}

}  // namespace

void apply_override(Json& scenario, std::string_view assignment, const Catalog& catalog,
                    const std::filesystem::path& folder, std::map<std::string, Inlined>& inlined,
                    std::string_view option) {
  const std::string given = fmt::format("{} {}", option, assignment);
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0)
    refuse(given, "expected key=value, such as workload.batch=64");
  const std::vector<std::string> keys = split(assignment.substr(0, equals));
  const std::string_view text = assignment.substr(equals + 1);
  if (text.empty()) refuse(given, "the value is missing; null takes a key away");
  for (const std::string& key : keys)
    if (key.empty()) refuse(given, "a key is empty");
  if (std::find(std::begin(sections), std::end(sections), keys.front()) == std::end(sections))
    refuse(given,
           fmt::format("unknown key \"{}\"{}", keys.front(), did_you_mean(keys.front(), sections)));

  // All or nothing: a refused override leaves the scenario as it was.
  Json changed = scenario;
  std::map<std::string, Inlined> origins = inlined;
  if (keys.size() > 1) inline_part(changed, keys, catalog, folder, given, origins);
  if (keys.size() == 1) origins.erase(keys.front());
  Json& target = place(changed, keys, given);
  if (const std::optional<double> factor = factor_of(text)) {
    const std::optional<Json> product = scaled(target, *factor);
    if (!product)
      refuse(given, target.is_null() ? "there is no value to scale; give one"
                                     : fmt::format("{} cannot be scaled", describe(target)));
    target = *product;
  } else {
    target = value_of_text(text);
  }
  scenario = std::move(changed);
  inlined = std::move(origins);
  drop_other_traffic(scenario, keys);
}

}  // namespace tokenroof::io
