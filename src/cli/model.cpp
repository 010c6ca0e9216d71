// model M: what a model is made of, and what that costs per token and per sequence.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "cli/model_facts.hpp"
#include "cli/plot.hpp"
#include "cli/verb.hpp"
#include "io/json_out.hpp"
#include "io/page.hpp"
#include "io/scenario_parts.hpp"
#include "tokenroof/io/gguf.hpp"
#include "tokenroof/io/hf_config.hpp"
#include "tokenroof/io/units_text.hpp"

namespace tokenroof::cli {
namespace {

struct ModelOptions {
  std::string model, kv_format = "bf16", context, family;
  PlotOptions plot;
};

Model read(const std::string& name, const io::ModelOptions& how, const io::Catalog& data) {
  if (name == "-") {
    return io::read_model_config(io::read_file("-"), "standard input", how);
  }
  if (!io::looks_like_path(name)) {
    if (const auto id = data.find(io::Shelf::models, name)) {
      const std::string path = io::Catalog::path(io::Shelf::models, *id);
      return how.assume_family.empty()
                 ? data.model(*id)
                 : io::read_model_config(data.text(path).value_or(""), data.shown(path), how);
    }
    std::error_code ignored;
    if (!std::filesystem::exists(name, ignored))
      throw SpecError(name, "", data.unknown(io::Shelf::models, name));
  }
  return io::read_model(name, how);
}

io::Json layers_json(const ModelFacts& facts) {
  io::Json layers = io::Json::array();
  for (const LayerGroup& group : facts.model.groups) {
    const Attention& a = group.attention;
    const FeedForward& f = group.feed_forward;
    layers.push_back({{"group", group.name},
                      {"count", group.count},
                      {"attention", to_string(a.kind)},
                      {"feed_forward", feed_forward_name(f.kind)},
                      {"query_heads", a.query_heads},
                      {"kv_heads", a.kv_heads},
                      {"key_dim", a.key_dim},
                      {"value_dim", a.value_dim},
                      {"window", a.window},
                      {"latent_rank", a.latent_rank},
                      {"width", f.width},
                      {"experts", f.experts},
                      {"top_k", io::number(f.top_k)},
                      {"expert_width", f.expert_width},
                      {"shared_width", f.shared_width},
                      {"kv_bytes_per_token", io::number(facts.layer_kv_bytes(group))},
                      {"state_bytes_per_sequence", io::number(facts.layer_state_bytes(group))}});
  }
  return layers;
}

std::string json_text(const ModelFacts& facts) {
  using io::number;
  const Model& model = facts.model;
  io::Json json = io::document("model", TOKENROOF_VERSION);
  json["model"] = model.id;
  json["architecture"] = model.architecture;
  json["family"] = model.family;
  for (const ModelNumber& row : model_numbers) json[row.key] = number(row.value(facts));
  json["kv_dtype"] = facts.kv_format.name;
  for (std::size_t i = 0; i < part_count; ++i) {
    const std::string part(part_names[i]);
    json["parameters"][part] = facts.count.of(static_cast<Part>(i));
    json["weights_bytes"][part] = number(facts.weights[i].base());
    json["weights_format"][part] = model.checkpoint.precision.weights[i].name;
  }
  json["attachments"] = io::Json::array();
  for (const Attachment& attachment : model.attachments)
    json["attachments"].push_back({{"name", attachment.name},
                                   {"parameters", attachment.parameters},
                                   {"bytes", number(attachment.bytes_per_parameter *
                                                    static_cast<double>(attachment.parameters))}});
  const auto& q = model.checkpoint;
  json["quantization"] = {{"method", q.method}, {"scope", q.scope}};
  json["layers"] = layers_json(facts);
  json["notes"] = model.notes;
  json["missing"] = io::Json::array();
  for (const ModelNumber& row : model_numbers)
    if (!row.value(facts)) json["missing"].push_back({{"metric", row.key}, {"reason", row.absent}});
  return io::dump(json);
}

std::string text(const ModelFacts& facts, io::Markup markup) {
  const Model& model = facts.model;
  io::Page page(markup);
  page.title(fmt::format("{} ({}): {} layers, hidden {}, vocabulary {}", model.id,
                         model.architecture, model.layers(), model.hidden,
                         io::count_text(static_cast<double>(model.vocabulary))));
  io::TextTable numbers({"", "value", "unit"},
                        {io::Align::left, io::Align::right, io::Align::left});
  for (const ModelNumber& row : model_numbers)
    if (const auto value = row.value(facts))
      numbers.row({std::string(row.meaning), io::count_text(*value), std::string(row.unit)});
  page.table(numbers);

  page.section("Parameters and weights by part");
  io::TextTable parts({"part", "parameters", "format", "bytes"},
                      {io::Align::left, io::Align::right, io::Align::left, io::Align::right});
  for (std::size_t i = 0; i < part_count; ++i) {
    const std::int64_t count = facts.count.of(static_cast<Part>(i));
    if (count == 0) continue;
    parts.row({io::words(part_names[i]), io::count_text(static_cast<double>(count)),
               std::string(model.checkpoint.precision.weights[i].name),
               io::to_text(facts.weights[i])});
  }
  for (const Attachment& a : model.attachments) {
    const double parameters = static_cast<double>(a.parameters);
    parts.row({a.name + " (not in the total)", io::count_text(parameters), "",
               io::to_text(parameters * a.bytes_per_parameter * byte)});
  }
  page.table(parts);

  page.section(fmt::format("Layers (KV cache in {})", facts.kv_format.name));
  io::TextTable layers({"group", "count", "attention", "heads", "window", "feed-forward",
                        "KV bytes a token", "state bytes"});
  for (const LayerGroup& group : model.groups) {
    const Attention& a = group.attention;
    const FeedForward& f = group.feed_forward;
    std::string heads = a.kv_heads > 0 ? fmt::format("{}/{}", a.query_heads, a.kv_heads)
                                       : fmt::format("{}", a.query_heads);
    std::string feed_forward = feed_forward_name(f.kind);
    if (f.kind == FeedForwardKind::dense) feed_forward += fmt::format(" {}", f.width);
    if (f.kind == FeedForwardKind::mixture)
      feed_forward += fmt::format(" {:.4g} of {}, {}", f.top_k, f.experts, f.expert_width);
    layers.row({group.name, fmt::format("{}", group.count), to_string(a.kind), heads,
                a.window > 0 ? fmt::format("{}", a.window) : "", feed_forward,
                io::count_text(facts.layer_kv_bytes(group)),
                io::count_text(facts.layer_state_bytes(group))});
  }
  page.table(layers);
  if (!model.checkpoint.method.empty())
    page.line(fmt::format("Quantised: {}{}{}.", model.checkpoint.method,
                          model.checkpoint.scope.empty() ? "" : ", ", model.checkpoint.scope));
  if (!model.notes.empty()) page.section("Notes");
  for (const std::string& note : model.notes) page.line(note + ".");
  return page.text();
}

void csv_rows(const ModelFacts& facts, std::ostream& out, io::CsvDialect dialect) {
  io::CsvWriter csv(out, dialect);
  std::vector<std::string> header = {"model"};
  for (const ModelNumber& row : model_numbers) header.emplace_back(row.key);
  header.emplace_back("schema_version");
  csv.header(header);
  csv.cell(facts.model.id);
  for (const ModelNumber& row : model_numbers) csv.cell(row.value(facts));
  csv.cell(1).end_row();
}

int run(const Options& options, const ModelOptions& own) {
  std::optional<TokensPerRequest> context;
  if (!own.context.empty()) {
    const auto parsed = io::parse_quantity<TokensPerRequest>(own.context, io::Sign::non_negative);
    if (!parsed) throw UsageError("--context: " + parsed.reason);
    context = parsed.value;
  }
  io::ModelOptions how;
  how.assume_family = own.family;
  const ModelFacts facts = model_facts(read(own.model, how, catalog(options)),
                                       *tokenroof::format(own.kv_format), context);
  return deliver_with_plot(
      options, own.plot,
      {.text = [&](io::Markup markup) { return text(facts, markup); },
       .json = [&] { return json_text(facts); },
       .csv = [&](std::ostream& out, io::CsvDialect dialect) { csv_rows(facts, out, dialect); }},
      [&] { return io::model_picture(facts.model, TOKENROOF_VERSION); }, answered);
}

Action declare(CLI::App& app, Options& options) {
  auto own = std::make_shared<ModelOptions>();
  app.add_option("MODEL", own->model,
                 "Name (see list models), config.json, a folder with one, a .gguf file, or -")
      ->required()
      ->type_name("MODEL");
  CLI::Option* kv_dtype =
      app.add_option("--kv-dtype", own->kv_format, "Format of the KV cache")->capture_default_str();
  app.add_option("--context", own->context, "Also the cache of one sequence of so many tokens")
      ->type_name("TOKENS");
  app.add_option("--assume", own->family,
                 "Read the file as this family, whatever architecture it names")
      ->check(CLI::IsMember(io::model_families()));
  takes_formats(*kv_dtype);
  add_plot_options(app, own->plot);
  return [&options, own] { return run(options, *own); };
}

}  // namespace

extern const Verb model_verb;
const Verb model_verb{"model", "Parameters, FLOPs, KV cache and layers of a model",
                      "  tokenroof model llama-3.1-70b\n"
                      "  tokenroof model ./checkpoint/ --kv-dtype fp8 --context 128Ki\n"
                      "  tokenroof model deepseek-v3 --json | jq .kv_bytes_per_token\n"
                      "  tokenroof model new-model/config.json --assume llama\n"
                      "  tokenroof model gemma-3-27b --plot cache.svg",
                      declare};

}  // namespace tokenroof::cli
