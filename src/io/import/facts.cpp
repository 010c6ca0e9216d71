// Names and formats that files leave to the reader.
#include <fmt/format.h>

#include <algorithm>

#include "io/import/json_source.hpp"
#include "io/import/names.hpp"
#include "io/import/run_rows.hpp"
#include "io/validate/measured_run.hpp"

namespace tokenroof::io {
namespace {

constexpr StatedFact facts[] = {
    {"model", "--model",
     "Model, as in `tokenroof list models`, a Hugging Face id or a config.json"},
    {"gpu", "--accelerator", "Accelerator, as in `tokenroof list accelerators`"},
    {"num_gpus", "--count", "Devices"},
    {"engine", "--engine", "Engine: vllm, sglang, trtllm, ..."},
    {"engine_version", "--engine-version", "Version of the engine"},
    {"tp", "--tp", "Tensor parallel degree"},
    {"pp", "--pp", "Pipeline parallel degree"},
    {"attention_dp", "--dp", "Attention data parallel degree"},
    {"ep", "--ep", "Expert parallel degree"},
    {"weight_dtype", "--weights", "Data type of the weights: bf16, fp8, int4, ..."},
    {"kv_dtype", "--kv", "Data type of the KV cache"},
    {"input_tokens", "--input-tokens", "Mean prompt length"},
    {"output_tokens", "--output-tokens", "Mean output length"},
    {"concurrency", "--concurrency", "Requests kept running"},
    {"lengths", "--lengths", "\"fixed\" or \"uniform LOW-HIGH\", as shares of the lengths"},
    {"gpu_memory_utilization", "--memory-fraction", "Memory fraction (logs)"},
    {"max_model_len", "--max-model-len", "Longest sequence (logs)"},
};

ValidateOptions lookup_options(const ImportOptions& options) {
  ValidateOptions lookup;
  lookup.models_dir = options.models_dir;
  return lookup;
}

}  // namespace

std::span<const StatedFact> stated_facts() { return facts; }

FactCompleter::FactCompleter(const Catalog& catalog, const ImportOptions& options)
    : catalog_(catalog), options_(options), lookups_(catalog, lookup_options(options), ".") {}

void FactCompleter::note(const std::string& text) {
  if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(text);
}

void FactCompleter::state(ImportCells& cells) const {
  for (const auto& [column, value] : options_.stated) {
    if (column == "num_gpus" && !value.empty()) cells.erase("tp");
    const auto number = plain_number(value);
    if (number && column != "engine_version")
      cells.set(column, *number);
    else
      cells.set(column, value);
  }
  for (const auto& [column, value] : options_.stated)
    if (column == "tp") cells.set(column, plain_number(value));
}

void FactCompleter::require(const ImportCells& cells, std::string_view column,
                            const std::string& place) {
  if (cells.has(column) || !asked_.insert(std::string(column)).second) return;
  const auto fact = std::find_if(std::begin(facts), std::end(facts),
                                 [&](const StatedFact& f) { return f.column == column; });
  missing_.push_back(
      {"", place,
       fmt::format("the {} is not stated; give it with {}", fact->option.substr(2), fact->option)});
}

void FactCompleter::require_load(const ImportCells& cells, const std::string& place) {
  if (cells.has("concurrency") || cells.has("request_rate_per_s")) return;
  if (!asked_.insert("load").second) return;
  missing_.push_back({"", place,
                      "neither concurrency nor request rate is stated; give it with --concurrency "
                      "or --column request_rate_per_s=RATE"});
}

void FactCompleter::throw_if_missing(const std::string& file) const {
  std::vector<Fault> faults = missing_;
  for (Fault& fault : faults) fault.file = file;
  if (!faults.empty()) throw SpecError(faults);
}

void FactCompleter::resolve_model(ImportCells& cells, const std::string& place) {
  const std::string name = cells.text("model");
  if (name.empty()) return require(cells, "model", place);
  for (const std::string& candidate : model_names(name)) {
    try {
      (void)lookups_.model(candidate);
    } catch (const SpecError&) {
      continue;
    }
    cells.set("model_config", candidate);
    if (candidate != name) note(fmt::format("model \"{}\": shapes of {}", name, candidate));
    return;
  }
  throw SpecError("", "",
                  catalog_.unknown(Shelf::models, name.substr(name.find_last_of("/\\") + 1)) +
                      "; or state one of the same shapes with --model");
}

void FactCompleter::resolve_accelerator(ImportCells& cells, const std::string& column,
                                        const std::string& place, bool required) {
  const std::string name = cells.text(column);
  if (name.empty()) {
    if (required) require(cells, "gpu", place);
    return;
  }
  std::optional<std::string> id = catalog_.find(Shelf::accelerators, name);
  if (!id)
    if (const std::string_view known = device_of(name); !known.empty())
      id = catalog_.find(Shelf::accelerators, known);
  if (!id)
    throw SpecError(
        "", "", catalog_.unknown(Shelf::accelerators, name) + "; or state it with --accelerator");
  cells.set(column, *id);
}

void FactCompleter::infer_weights(ImportCells& cells, const std::string& column) {
  if (cells.has(column)) return;
  std::string type = weights_by_name(cells.text("model"));
  std::string reason = "by its name";
  if (type.empty() && cells.has("model_config")) {
    const Model& model = lookups_.model(cells.text("model_config"));
    const bool mixture = std::any_of(model.groups.begin(), model.groups.end(), [](const auto& g) {
      return g.feed_forward.kind == FeedForwardKind::mixture;
    });
    type = model.checkpoint.precision.of(mixture ? Part::routed_experts : Part::dense_feed_forward)
               .name;
    if (type == "fp8_block") type = "fp8";
    reason = "as its checkpoint";
  }
  if (type.empty()) return;
  cells.set(column, type);
  note(fmt::format("weights of \"{}\" taken as {}, {}", cells.text("model"), type, reason));
}

void FactCompleter::infer_layout(ImportCells& cells) {
  const auto degree = [&](const char* column) { return cells.number(column).value_or(1); };
  const double others = degree("pp") * degree("attention_dp");
  if (const auto count = cells.number("num_gpus"); count && !cells.has("tp") && others > 0)
    cells.set("tp", *count / others);
  if (cells.has("tp")) cells.set_default("num_gpus", degree("tp") * others);
}

void FactCompleter::complete_run(ImportCells& cells, const std::string& place) {
  state(cells);
  resolve_model(cells, place);
  resolve_accelerator(cells, "gpu", place, true);
  if (!cells.has("engine")) {
    cells.set("engine", "vllm");
    note("engine not stated, taken as vllm (--engine)");
  }
  const EngineName name = engine_name(cells.text("engine"));
  cells.set("engine", name.profile);
  if (!name.version.empty()) cells.set_default("engine_version", name.version);
  infer_weights(cells, "weight_dtype");
  if (cells.has("model_config")) require(cells, "weight_dtype", place);
  infer_layout(cells);
  require(cells, "tp", place);
  require(cells, "input_tokens", place);
  require(cells, "output_tokens", place);
}

void FactCompleter::complete_log(ImportCells& cells, const std::string& place) {
  state(cells);
  if (cells.has("gpu")) {
    resolve_accelerator(cells, "gpu", place, false);
    cells.set("accelerator", cells.text("gpu"));
  } else {
    note("accelerator not stated: the pool cannot be predicted from scratch (--accelerator)");
  }
  if (const auto visible = cells.number("visible_gib"))
    cells.set("gpu", fmt::format("{} ({} GiB)", cells.text("gpu"), *visible));
  resolve_model(cells, place);
  if (cells.has("weight_dtype")) cells.set("quant", cells.text("weight_dtype"));
  cells.erase("weight_dtype");
  const std::string quant = lower(cells.text("quant"));
  if (quant == "compressed-tensors" || quant == "modelopt") cells.erase("quant");
  infer_weights(cells, "quant");
  if (cells.has("engine")) {
    const std::string version = cells.text("engine_version");
    const std::string engine =
        cells.text("engine") == "llamacpp" ? "llama.cpp" : cells.text("engine");
    cells.set("engine_version", engine + (version.empty() ? "" : " " + version));
  }
  infer_layout(cells);
  if (!cells.has("tp")) {
    cells.set("tp", 1);
    note("tensor parallel degree not stated, taken as 1 (--tp)");
  }
  // The rows count devices of an engine, attention groups included.
  if (const double groups = cells.number("attention_dp").value_or(1); groups > 1) {
    if (cells.text("engine").find("vllm") == 0) cells.set("tp", *cells.number("tp") * groups);
    cells.set("notes", cells.text("notes") + fmt::format("; dp{} dp-attention", groups));
  }
}

}  // namespace tokenroof::io
