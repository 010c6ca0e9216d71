// validate-spec FILE: is the file well formed, and which defaults would a scenario rest on.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "cli/output.hpp"
#include "cli/verb.hpp"
#include "io/json_out.hpp"
#include "io/json_reader.hpp"
#include "io/page.hpp"
#include "tokenroof/io/accelerator_io.hpp"
#include "tokenroof/io/engine_io.hpp"
#include "tokenroof/io/hf_config.hpp"
#include "tokenroof/io/kernels_io.hpp"
#include "tokenroof/io/prices.hpp"
#include "tokenroof/io/schemas.hpp"

namespace tokenroof::cli {
namespace {

constexpr std::string_view scenario_kind = "scenario", model_kind = "model";

/// Kinds of files, and keys that speak for each; the first kind when nothing does.
struct Kind {
  std::string_view name;
  std::vector<std::string_view> keys;
};
const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {scenario_kind, {"model", "accelerator", "workload", "deployment", "objective"}},
      {"accelerator", {"dense_peak", "memory_bandwidth", "memory_nominal", "scale_up"}},
      {"kernels", {"constants"}},
      {"engine", {"name", "constants", "defaults", "reserves", "versions"}},
      {"prices", {"currency", "models"}},
      {model_kind, {"architectures", "model_type", "hidden_size", "text_config"}}};
  return all;
}

/// LiteLLM's list has no keys but models; their prices tell.
bool has_prices(const io::Json& json) {
  for (const auto& member : json.items())
    if (member.value().is_object() && member.value().contains("input_cost_per_token")) return true;
  return false;
}

std::string_view recognised(const io::Json& json) {
  if (json.is_object() && has_prices(json)) return "prices";
  std::string_view best = scenario_kind;
  std::size_t most = 0;
  for (const Kind& kind : kinds()) {
    std::size_t count = 0;
    for (const std::string_view key : kind.keys) count += json.is_object() && json.contains(key);
    if (count > most) best = kind.name;
    most = std::max(most, count);
  }
  return best;
}

struct SpecOptions {
  std::string kind, schema;
};

/// What was read: its kind, and the defaults if it is a scenario.
struct Read {
  std::string kind;
  std::vector<io::DefaultUsed> defaults_used;
};

Read read(const Options& options, std::string kind) {
  const std::string& path = options.spec;
  const std::string file = path == "-" ? "standard input" : path;
  if (path != "-" && kind.empty() &&
      (std::filesystem::is_directory(path) || path.ends_with(".gguf")))
    kind = model_kind;
  if (kind == model_kind && path != "-") return (void)io::read_model(path), Read{kind, {}};
  const std::string text = io::read_file(path);
  if (kind.empty()) kind = recognised(io::parse_json(text, file, io::NonFinite::read_as_null));
  if (!options.overrides.empty() && kind != scenario_kind)
    throw UsageError("--set changes scenarios, and " + path + " is of kind " + kind);
  if (kind == model_kind) (void)io::read_model_config(text, file);
  if (kind == "accelerator") (void)io::read_accelerator(text, file);
  if (kind == "engine") (void)io::read_engine(text, file);
  if (kind == "kernels") (void)io::read_kernels(text, file);
  if (kind == "prices") (void)io::read_prices(text, file);
  if (kind != scenario_kind) return {kind, {}};
  const io::Catalog data = catalog(options);
  auto document =
      io::ScenarioDocument::parse(text, file, std::filesystem::path(path).parent_path());
  for (const std::string& assignment : options.overrides) document.set(assignment, data);
  return {kind, document.read(data).defaults_used};
}

std::string text(const Read& file, const Options& options, io::Markup markup) {
  io::Page page(markup);
  page.line(fmt::format("{}: valid {}", options.spec, file.kind));
  io::TextTable table({"default used", "value", "origin"});
  for (const io::DefaultUsed& used : file.defaults_used)
    table.row({used.pointer, used.value, used.origin});
  if (!table.empty()) page.table(table);
  return page.text();
}

std::string json_text(const Read& file) {
  io::Json json = io::document("validate-spec", TOKENROOF_VERSION);
  json["valid"] = true;
  json["kind"] = file.kind;
  json["defaults_used"] = io::Json::array();
  for (const io::DefaultUsed& used : file.defaults_used)
    json["defaults_used"].push_back(
        {{"key", used.pointer}, {"value", used.value}, {"origin", used.origin}});
  return io::dump(json);
}

void csv_rows(const Read& file, std::ostream& out, io::CsvDialect dialect) {
  io::CsvWriter csv(out, dialect);
  csv.header({"key", "value", "origin"});
  for (const io::DefaultUsed& used : file.defaults_used)
    csv.cell(used.pointer).value(used.value).cell(used.origin).end_row();
}

int run(const Options& options, const SpecOptions& own) {
  if (!own.schema.empty()) {
    const auto schema = [&](auto&&...) { return io::schema(own.schema); };
    deliver(options,
            {.text = schema, .json = schema, .csv = [&](std::ostream& out, io::CsvDialect) {
               out << io::schema(own.schema);
             }});
    return answered;
  }
  if (options.spec.empty()) throw UsageError("FILE is required");
  const Read file = read(options, own.kind);
  deliver(options, {.text = [&](io::Markup markup) { return text(file, options, markup); },
                    .json = [&] { return json_text(file); },
                    .csv = [&](std::ostream& out,
                               io::CsvDialect dialect) { csv_rows(file, out, dialect); }});
  return answered;
}

Action declare(CLI::App& app, Options& options) {
  auto own = std::make_shared<SpecOptions>();
  app.add_option("FILE", options.spec,
                 "Scenario, accelerator, engine, kernel constants, prices or model; - for standard "
                 "input")
      ->type_name("FILE");
  std::vector<std::string> names;
  for (const Kind& kind : kinds()) names.emplace_back(kind.name);
  app.add_option("--kind", own->kind, "What the file is meant to be. Default: by its keys")
      ->check(CLI::IsMember(names));
  std::vector<std::string> schemas = io::schema_names();
  for (std::string& verb : io::answer_schema_names()) schemas.push_back(std::move(verb));
  app.add_option("--schema", own->schema,
                 "Print the JSON Schema of a kind of files, for an editor, or of a verb's JSON "
                 "answer")
      ->check(CLI::IsMember(schemas));
  add_overrides(app, options);
  return [&options, own] { return run(options, *own); };
}

}  // namespace

extern const Verb validate_spec_verb;
const Verb validate_spec_verb{
    "validate-spec", "Checks an input file of any kind, all faults at once",
    "  tokenroof validate-spec scenario.json\n"
    "  cat scenario.json | tokenroof validate-spec -\n"
    "  tokenroof validate-spec my-gpu.json --kind accelerator\n"
    "  tokenroof validate-spec --schema scenario -o scenario.schema.json\n"
    "  tokenroof validate-spec --schema estimate -o estimate.schema.json\n"
    "Exit code 3 and one line a fault when it is not valid.",
    declare};

}  // namespace tokenroof::cli
