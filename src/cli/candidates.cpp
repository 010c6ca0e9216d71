#include "cli/candidates.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "io/json_reader.hpp"
#include "tokenroof/analyze/metrics.hpp"
#include "tokenroof/io/schemas.hpp"

namespace tokenroof::cli {
namespace {

using io::Json;
using Word = Candidates::Word;

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

/// The word of a type name, and the closed set behind it: "FORMAT:{bf16,fp8}".
std::string kind_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}
std::vector<std::string> closed_set(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{'), close = type.rfind('}');
  if (open == std::string::npos || close == std::string::npos || close < open) return {};
  return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

/// The keys of a scenario, as its schema has them.
class ScenarioKeys {
 public:
  ScenarioKeys() : root_(io::parse_json(io::schema("scenario"), "scenario.json")) {}

  /// "workload.ba" -> "workload.batch=", "wor" -> "workload."
  std::vector<Word> keys(const std::string& typed) const {
    const std::size_t point = typed.rfind('.');
    const std::string before = point == std::string::npos ? "" : typed.substr(0, point + 1);
    std::vector<Word> words;
    for (const Json& node : nodes(before.substr(0, before.empty() ? 0 : before.size() - 1))) {
      const Json children = node.value("properties", Json::object());
      for (const auto& [key, child] : children.items()) {
        const std::vector<Json> forms = alternatives(child);
        const std::string meaning = child.is_object() ? child.value("description", "") : "";
        if (std::any_of(forms.begin(), forms.end(), takes_scalar))
          words.push_back({before + key + "=", meaning});
        if (std::any_of(forms.begin(), forms.end(),
                        [](const Json& form) { return form.contains("properties"); }))
          words.push_back({before + key + ".", meaning});
      }
    }
    return words;
  }

  /// The values of a closed set.
  std::vector<std::string> values(const std::string& key) const {
    std::vector<std::string> found;
    for (const Json& node : nodes(key)) {
      for (const Json& value : node.value("enum", Json::array()))
        if (value.is_string()) found.push_back(value.get<std::string>());
      if (has_type(node, "boolean")) found.insert(found.end(), {"true", "false"});
    }
    return found;
  }

 private:
  static bool has_type(const Json& node, std::string_view name) {
    const Json type = node.value("type", Json());
    return type == name ||
           (type.is_array() && std::find(type.begin(), type.end(), name) != type.end());
  }
  static bool takes_scalar(const Json& node) {
    if (node.contains("enum")) return true;
    for (const char* type : {"string", "number", "integer", "boolean"})
      if (has_type(node, type)) return true;
    return false;
  }

  /// `node` with its references followed, once for each form it may have.
  std::vector<Json> alternatives(const Json& node) const {
    if (!node.is_object()) return {};
    if (node.contains("$ref"))
      return alternatives(root_.at(Json::json_pointer(node["$ref"].get<std::string>().substr(1))));
    if (!node.contains("anyOf") || node.contains("properties")) return {node};
    std::vector<Json> forms;
    for (const Json& form : node["anyOf"])
      for (Json& one : alternatives(form)) forms.push_back(std::move(one));
    return forms;
  }

  /// What may stand at a key such as "workload.lengths"; the whole scenario for "".
  std::vector<Json> nodes(const std::string& key) const {
    std::vector<Json> at = {root_};
    if (key.empty()) return at;
    for (const std::string& part : CLI::detail::split(key, '.')) {
      std::vector<Json> below;
      for (const Json& node : at)
        if (node.contains("properties") && node["properties"].contains(part))
          for (Json& form : alternatives(node["properties"][part]))
            below.push_back(std::move(form));
      at = std::move(below);
    }
    return at;
  }

  Json root_;
};

class Completer {
 public:
  Completer(const CLI::App& app, const io::Catalog& data) : app_(app), data_(data) {}

  Candidates at_end_of(std::span<const std::string> line) {
    if (line.empty()) return {};
    const std::string& typed = line.back();
    const CLI::Option* wanted = nullptr;
    const CLI::App* verb = nullptr;
    std::size_t arguments = 0;
    for (const std::string& word : line.first(line.size() - 1)) {
      const bool is_option = word.size() > 1 && word.front() == '-';
      if (wanted != nullptr)
        wanted = nullptr;
      else if (verb == nullptr && !is_option)
        verb = verb_named(word);
      else if (verb != nullptr && is_option)
        wanted = option_awaiting(*verb, word);
      else
        ++arguments;
      if (verb == nullptr && !is_option) return {};
    }
    if (verb == nullptr) {
      typed.starts_with("-") ? add_options(app_) : add_verbs();
    } else if (wanted != nullptr) {
      add_values(*wanted, "", typed);
    } else if (const std::size_t equals = typed.find('=');
               typed.starts_with("--") && equals != std::string::npos) {
      if (const CLI::Option* option = verb->get_option_no_throw(typed.substr(0, equals)))
        add_values(*option, typed.substr(0, equals + 1), typed.substr(equals + 1));
    } else if (typed.starts_with("-") && typed != "-") {
      add_options(*verb);
    } else {
      add_argument(*verb, arguments, typed);
    }
    std::erase_if(found_.words, [&](const Word& word) { return !word.text.starts_with(typed); });
    return std::move(found_);
  }

 private:
  std::vector<const CLI::App*> verbs() const {
    return app_.get_subcommands([](const CLI::App*) { return true; });
  }
  const CLI::App* verb_named(const std::string& name) const {
    for (const CLI::App* verb : verbs())
      if (verb->get_name() == name) return verb;
    return nullptr;
  }
  /// The option whose value is the next word.
  static const CLI::Option* option_awaiting(const CLI::App& verb, const std::string& word) {
    if (word.find('=') != std::string::npos) return nullptr;
    const CLI::Option* option = verb.get_option_no_throw(word);
    return option != nullptr && takes_value(*option) ? option : nullptr;
  }

  void add(std::string text, std::string_view meaning = {}) {
    found_.words.push_back({std::move(text), std::string(meaning)});
  }
  void add_verbs() {
    for (const CLI::App* verb : verbs()) add(verb->get_name(), verb->get_description());
  }
  void add_options(const CLI::App& app) {
    for (const CLI::Option* option : app.get_options())
      for (const std::string& name : option->get_lnames())
        add("--" + name, option->get_description());
  }
  void add_argument(const CLI::App& verb, std::size_t index, const std::string& typed) {
    const auto arguments =
        verb.get_options([](const CLI::Option* option) { return option->get_positional(); });
    if (arguments.empty()) return;
    const bool last_repeats = arguments.back()->get_items_expected_max() > 1;
    if (index >= arguments.size() && !last_repeats) return;
    add_values(*arguments[std::min(index, arguments.size() - 1)], "", typed);
  }

  /// Values for `option` after `before`, which is typed already and is kept.
  void add_values(const CLI::Option& option, std::string before, std::string typed) {
    const std::string kind = kind_of(option);
    const bool setting = kind.starts_with("KEY=");
    const std::size_t equals = setting ? typed.find('=') : std::string::npos;
    if (setting && equals == std::string::npos) return add_keys(before, typed, kind);
    const std::string key = setting ? typed.substr(0, equals) : "";
    const bool list = option.get_delimiter() != '\0' || kind == "KEY=VALUES";
    if (setting) before += typed.substr(0, equals + 1);
    if (setting) typed = typed.substr(equals + 1);
    if (list && typed.find(',') != std::string::npos)
      before += typed.substr(0, typed.rfind(',') + 1);

    for (const std::string& value : closed_set(option)) add(before + value);
    if (kind == "MODEL" || key == "model") add_names(before, io::Shelf::models);
    if (kind == "ACCELERATOR" || key == "accelerator") add_names(before, io::Shelf::accelerators);
    if (kind == "ENGINE" || key == "engine" || key == "engine.name")
      add_names(before, io::Shelf::engines);
    if (kind == "METRIC")
      for (const Metric& metric : metrics()) add(before + std::string(metric.key), metric.meaning);
    if (setting)
      for (const std::string& value : ScenarioKeys().values(key)) add(before + value);
    if (kind == "FILE" || kind == "MODEL") found_.paths = Candidates::Paths::files;
    if (kind == "FOLDER") found_.paths = Candidates::Paths::folders;
  }
  void add_keys(const std::string& before, const std::string& typed, const std::string& kind) {
    for (const Word& word : ScenarioKeys().keys(typed)) add(before + word.text, word.meaning);
    if (kind == "KEY=VALUES")
      for (const char* name : {"batch=", "context="}) add(before + name);
  }
  void add_names(const std::string& before, io::Shelf shelf) {
    for (const std::string& name : data_.names(shelf)) add(before + name);
  }

  const CLI::App& app_;
  const io::Catalog& data_;
  Candidates found_;
};

}  // namespace

Candidates candidates(const CLI::App& app, std::span<const std::string> line,
                      const io::Catalog& data) {
  return Completer(app, data).at_end_of(line);
}

}  // namespace tokenroof::cli
