#include "tokenroof/io/hf_config.hpp"

#include <array>
#include <set>
#include <utility>

#include "io/families/families.hpp"
#include "io/families/towers.hpp"
#include "io/hf_quantization.hpp"
#include "tokenroof/io/gguf.hpp"

namespace tokenroof::io {
namespace {

/// The object that describes the text decoder, and the wrapper around it.
struct TextObject {
  const Json* json = nullptr;
  std::string pointer;
  bool nested = false;
};

const Json* member(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? &*found : nullptr;
}

std::string text_of(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string first_architecture(const Json& object) {
  const auto found = object.find("architectures");
  if (found == object.end() || !found->is_array() || found->empty()) return {};
  return found->front().is_string() ? found->front().get<std::string>() : std::string();
}

/// Descends through text_config and its other names.
TextObject find_text(const Json& root) {
  constexpr std::array<std::string_view, 6> names = {"thinker_config", "text_config",
                                                     "llm_config",     "language_config",
                                                     "language_model", "text_model_config"};
  TextObject text{&root, "", false};
  for (int depth = 0; depth < 3; ++depth) {
    const TextObject before = text;
    for (const std::string_view name : names) {
      const Json* inner = member(*text.json, name);
      if (inner == nullptr) continue;
      text = {inner, join_pointer(text.pointer, name), true};
      break;
    }
    if (text.json == before.json) break;
  }
  return text;
}

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const Family& family : all_families()) names.emplace_back(family.name);
  return names;
}

/// The class name decides where there is one: model_type is what careless copies change.
const Family* find_family(const Json& root, const TextObject& text, const ModelOptions& options,
                          Faults& faults) {
  if (!options.assume_family.empty()) {
    const Family* family = family_named(options.assume_family);
    if (family == nullptr) {
      const std::vector<std::string> names = family_names();
      faults.add("", "no family \"" + options.assume_family + "\" to assume" +
                         did_you_mean(options.assume_family, names));
    }
    return family;
  }
  for (const Json* object : {text.json, &root}) {
    const std::string architecture = first_architecture(*object);
    if (!architecture.empty()) {
      if (const Family* family = family_of_architecture(architecture)) return family;
      if (!text.nested) {
        faults.add("/architectures/0", "unknown architecture \"" + architecture +
                                           "\"; --assume FAMILY reads it as a known one");
        return nullptr;
      }
    }
    if (const Family* family = family_of_type(text_of(*object, "model_type"))) return family;
  }
  const std::string type = text_of(*text.json, "model_type");
  faults.add(join_pointer(text.pointer, "model_type"),
             type.empty()
                 ? "missing, and no architecture is named; --assume FAMILY reads the file "
                   "as a known one"
                 : "unknown model type \"" + type + "\"; --assume FAMILY reads it as a known one");
  return nullptr;
}

/// Encoders and reward models have no head to predict tokens with.
bool has_head(std::string_view architecture) {
  if (architecture.ends_with("LMHeadModel") || architecture.ends_with("ChatModel") ||
      architecture == "ChatGLMModel")
    return true;
  return !(architecture.ends_with("Model") || architecture.ends_with("Classification"));
}

/// Families read some keys once per layer: the same note is told once.
std::vector<std::string> distinct(const std::vector<std::string>& texts) {
  std::set<std::string> seen;
  std::vector<std::string> result;
  for (const std::string& text : texts)
    if (seen.insert(text).second) result.push_back(text);
  return result;
}

std::optional<Json> parse_optional(const std::string& text, const std::string& file,
                                   Faults& faults) {
  if (text.empty()) return std::nullopt;
  try {
    return parse_json(text, file, NonFinite::read_as_null);
  } catch (const SpecError& error) {
    faults.add(error);
    return std::nullopt;
  }
}

void read_index(const std::string& text, Model& model, Faults& faults) {
  const auto index = parse_optional(text, "model.safetensors.index.json", faults);
  if (!index || !index->is_object()) return;
  const Json* metadata = member(*index, "metadata");
  if (metadata == nullptr || !metadata->contains("total_size")) return;
  const Json& size = (*metadata)["total_size"];
  if (size.is_number() && size.get<double>() > 0 && size.get<double>() < 1e18)
    model.file_bytes = static_cast<std::int64_t>(size.get<double>());
}

QuantizationSources quantization_sources(const Json& root, const TextObject& text, Faults& faults) {
  QuantizationSources sources;
  for (const auto& [object, pointer] :
       {std::pair{&root, std::string()}, std::pair{text.json, text.pointer}}) {
    for (const std::string_view key : {"quantization_config", "compression_config"}) {
      const auto found = ObjectReader(*object, pointer, faults).object(key);
      if (!found || sources.quantization != nullptr) continue;
      sources.quantization = member(*object, key);
      sources.quantization_pointer = found->pointer();
    }
    for (const std::string_view key : {"torch_dtype", "dtype"})
      if (const auto dtype = ObjectReader(*object, pointer, faults).text(key)) {
        sources.dtype = *dtype;
        sources.dtype_pointer = join_pointer(pointer, key);
      }
  }
  sources.expert_dtype = text_of(*text.json, "expert_dtype");
  return sources;
}

std::string stem(const std::string& file_name) {
  const std::filesystem::path path(file_name);
  return path.extension() == ".json" ? path.stem().string() : path.filename().string();
}

std::string read_if_present(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) ? read_file(path) : std::string();
}

}  // namespace

std::vector<std::string> model_families() { return family_names(); }

Model read_model_config(std::string_view json, const std::string& file_name,
                        const ModelOptions& options) {
  const Json root = parse_json(json, file_name, NonFinite::read_as_null);
  Faults faults(file_name);
  ObjectReader whole(root, "", faults);
  faults.throw_if_any();

  const TextObject text = find_text(root);
  const Family* family = find_family(root, text, options, faults);
  faults.throw_if_any();

  std::vector<std::string> notes;
  Config config(ObjectReader(*text.json, text.pointer, faults), text.nested, notes);
  config.harmless({"architectures", "model_type", "torch_dtype", "dtype", "quantization_config",
                   "compression_config", "expert_dtype", "_source"});
  Decoder decoder = family->read(config);
  config.refuse_unknown(!options.assume_family.empty());
  if (text.nested && !text.json->contains("tie_word_embeddings"))
    decoder.model.tied_embeddings =
        whole.boolean("tie_word_embeddings").value_or(decoder.model.tied_embeddings);
  faults.throw_if_any();

  const std::vector<Mtp> mtp = decoder.mtp;
  const std::int64_t hidden = decoder.sizes.hidden;
  Model model = finished(std::move(decoder));
  model.id = stem(file_name);
  model.family = family->name;
  model.architecture = first_architecture(root);
  if (model.architecture.empty()) model.architecture = first_architecture(*text.json);
  if (!model.architecture.empty()) model.has_head = has_head(model.architecture);
  model.notes = distinct(notes);
  if (!options.assume_family.empty())
    model.notes.push_back("read as " + options.assume_family + " because asked to");

  const auto sidecar = parse_optional(options.quantization_json, "hf_quant_config.json", faults);
  QuantizationSources sources = quantization_sources(root, text, faults);
  if (sidecar && sidecar->is_object()) sources.sidecar = &*sidecar;
  apply_quantization(sources, mtp, model, faults);
  attach_towers(root, hidden, model);
  read_index(options.index_json, model, faults);
  faults.throw_if_any();
  return model;
}

Model read_model(const std::filesystem::path& path, const ModelOptions& options) {
  std::error_code error;
  const bool directory = std::filesystem::is_directory(path, error);
  if (!directory && is_gguf(path)) return read_gguf(path);
  const std::filesystem::path file = directory ? path / "config.json" : path;
  const std::string text = read_file(file);
  const std::filesystem::path folder = file.parent_path();

  ModelOptions all = options;
  const bool own_folder = file.filename() == "config.json";
  if (all.quantization_json.empty() && own_folder)
    all.quantization_json = read_if_present(folder / "hf_quant_config.json");
  if (all.quantization_json.empty())
    all.quantization_json = read_if_present(folder / "hf_quant_config" / file.filename());
  if (all.index_json.empty() && own_folder)
    all.index_json = read_if_present(folder / "model.safetensors.index.json");

  Model model = read_model_config(text, file.string(), all);
  if (own_folder) {
    const std::filesystem::path whole = std::filesystem::absolute(file, error);
    model.id = whole.parent_path().filename().string();
  }
  return model;
}

}  // namespace tokenroof::io
