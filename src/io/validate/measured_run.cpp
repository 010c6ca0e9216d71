// What a row of published figures describes: model, formats, layout, engine.
#include "io/validate/measured_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "io/validate/model_names.hpp"
#include "tokenroof/physics/memory.hpp"

namespace tokenroof::io {
namespace {

constexpr std::string_view columns[] = {"gpu",          "num_gpus",      "model", "engine",
                                        "weight_dtype", "input_tokens",  "batch", "metric",
                                        "value",        "output_tokens", "notes"};

// FasterTransformer's guide describes its models in words: plain transformers, heads all distinct.
std::optional<Model> described_model(std::string_view notes) {
  const std::size_t at = notes.find("arch: ");
  int layers = 0, heads = 0, width = 0, vocabulary = 0, factor = 0;
  if (at == std::string_view::npos ||
      std::sscanf(std::string(notes.substr(at)).c_str(),
                  "arch: %d layers, %d heads x %d, vocab %d; %d*d MLP", &layers, &heads, &width,
                  &vocabulary, &factor) != 5)
    return std::nullopt;
  Model model;
  model.id = model.family = "gpt";
  model.hidden = static_cast<std::int64_t>(heads) * width;
  model.vocabulary = vocabulary;
  model.tied_embeddings = true;
  model.embedding_parameters = model.vocabulary * model.hidden;
  LayerGroup group;
  group.attention.query_heads = group.attention.kv_heads = heads;
  group.attention.key_dim = group.attention.value_dim = width;
  group.feed_forward.width = factor * model.hidden;
  group.feed_forward.gated = false;
  group.count = layers;
  model.groups = {group};
  model.order.assign(static_cast<std::size_t>(layers), 0);
  return model;
}

Model model_of(const Row& row, Lookups& lookups) {
  if (auto described = described_model(row.text("notes"))) return *described;
  return named_model(lookups, row.text("model_config"), row.required_text("model"));
}

bool is_mixture(const Model& model) {
  return std::any_of(model.groups.begin(), model.groups.end(), [](const LayerGroup& group) {
    return group.feed_forward.kind == FeedForwardKind::mixture;
  });
}

struct FormatWords {
  std::string_view type;
  std::string_view words;  ///< of the quantisation note; empty: any
  Format format;
};
constexpr FormatWords format_words[] = {
    {"int8", "GPTQ", formats::int8_weight_only},
    {"int4", "AWQ", formats::awq},
    {"int4", "GPTQ", formats::gptq},
    {"int4", "", formats::int4_g32},
    {"f16", "", formats::fp16},
};

Format weight_format(const Row& row) {
  const std::string_view type = row.text("weight_dtype");
  const std::string_view note = row.text("quant_note");
  for (const FormatWords& line : format_words)
    if (type == line.type && note.find(line.words) != std::string_view::npos) return line.format;
  if (type.empty()) row.fail("weight_dtype", "is not stated");
  if (const auto known = format(type)) return *known;
  row.fail("weight_dtype", fmt::format("unknown data type \"{}\"", type));
}

// The cache: as stated, with "int3" standing for all research formats of about half a byte; else 8
// bits where weights have less than 16 and activations are quantised with them.
Format cache_format(const Row& row, const Format& weights) {
  const std::string_view type = row.text("kv_dtype");
  if (type.empty()) return weights.quantizes_activations ? formats::fp8 : formats::bf16;
  if (const auto known = format(type.substr(0, type.find(' ')))) return *known;
  if (type.starts_with("int3")) return Format{"int3", 0.5};
  row.fail("kv_dtype", fmt::format("unknown data type \"{}\"", type));
}

// Whole GGUF files are quantised; engines quantise the large multiplies; mxfp4 the experts.
Precision precision_of(const Row& row, const Model& model) {
  const Format format = weight_format(row);
  const std::string_view note = row.text("quant_note");
  Precision precision;
  if (format == formats::fp16) precision.activations = formats::fp16;
  const bool file = note.starts_with("GGUF") || note.starts_with("GGML");
  if (file || format.bytes_per_element >= 2) {
    precision.weights.fill(format);
  } else {
    // A checkpoint that is published in this type says itself how it is scaled.
    const auto as_published = [&](Part part) {
      const Format& own = model.checkpoint.precision.of(part);
      return own.name.starts_with(format.name) ? own : format;
    };
    const bool experts_alone = format == formats::mxfp4;
    for (const Part part : {Part::attention, Part::dense_feed_forward, Part::shared_experts})
      if (!experts_alone) precision.set(part, as_published(part));
    precision.set(Part::routed_experts, as_published(Part::routed_experts));
    if (note.find("moe=fp8_block") != std::string_view::npos)
      precision.set(Part::routed_experts, formats::fp8_block);
    if (note.find("FP8 attention") != std::string_view::npos)
      precision.set(Part::attention, formats::fp8_block);
  }
  if (row.text("activation_dtype") == "fp16") precision.activations = formats::fp16;
  precision.kv_cache = cache_format(row, format);
  return precision;
}

Deployment deployment_of(const Row& row, const Model& model, const RunTraits& traits) {
  const auto degree = [&](std::string_view column) {
    return static_cast<int>(row.count_or(column, 1));
  };
  const int devices = degree("num_gpus");
  if (devices > 1 && row.text("tp").empty() && row.text("dp").empty())
    row.fail("tp", "the layout of several devices is not stated");
  Deployment layout;
  layout.tensor_parallel = degree("tp");
  layout.pipeline_parallel = degree("pp");
  layout.expert_parallel = degree("ep");
  layout.attention_data_parallel = degree("dp");
  const bool mixture = is_mixture(model);
  if (traits.rank_is_device && mixture && layout.pipeline_parallel == 1) {
    layout.tensor_parallel = 1;
    layout.attention_data_parallel = devices;
  }
  if (mixture && layout.attention_data_parallel > 1) layout.expert_parallel = devices;
  if (!mixture) layout.expert_parallel = 1;
  if (const Verdict verdict = layout_verdict(model, layout); !verdict.ok())
    row.fail("tp", verdict.reason);
  return layout;
}

/// Sixteen lanes of PCIe 4.
const Link host_bus{"pcie4", 31.5e9 * byte / second, std::nullopt, 1, false};

}  // namespace

std::span<const std::string_view> run_columns() { return columns; }

MeasuredRun read_run(const Row& row, Lookups& lookups) {
  MeasuredRun run;
  run.metric = row.required_text("metric");
  run.value = row.positive("value");
  const std::string_view engine_text = row.text("engine");
  run.traits = run_traits(std::string(row.text("notes")) + " " + std::string(engine_text));
  run.batch = row.count_or("batch", 0);
  run.traits.closed_loop = run.traits.closed_loop && run.batch > 1;
  run.prompt = row.count_or("input_tokens", 1, 0);
  run.output = std::max(1.0, row.count_or("output_tokens", 128, 0));
  const EngineName name = engine_name(engine_text);
  run.engine = lookups.engine(name.profile, name.version).engine;
  // llama.cpp's tests generate from an empty context; their rows state the mean.
  run.context = run.engine.local_runtime
                    ? row.count_or("context_tokens", run.prompt + run.output / 2, 0)
                    : run.prompt + run.output / 2;
  run.prompt = std::max(run.prompt, 1.0);
  run.devices = row.count_or("num_gpus", 1);
  run.requests = row.count_or("requests", 0);
  if (run.traits.eager) run.engine.constants.graph_context = 1;

  const Model model = model_of(row, lookups);
  Accelerator device = lookups.device(row.required_text("gpu")).accelerator;
  if (run.traits.no_bridge && device.scale_up.domain_size == 2) device.scale_up = host_bus;
  const Precision precision = precision_of(row, model);
  const Deployment layout = deployment_of(row, model, run.traits);
  run.model = step_model(model, device, run.engine, precision, layout, lookups.kernels());
  const MemoryPlan plan = memory_lines(model, device, run.engine, precision, layout,
                                       (run.prompt + run.output) * token / request);
  run.capacity = std::max(1.0, plan.concurrency) * layout.attention_data_parallel;
  // It was measured, so it fitted, whatever the engine's usual reserves would say.
  if (plan.deficit > Bytes{}) run.capacity = std::max(1.0, run.batch);
  return run;
}

void MeasuredRun::set_constants(const Engine& constants) {
  const double graphs = engine.constants.graph_context;
  engine.constants = constants.constants;
  if (traits.eager) engine.constants.graph_context = graphs;
  engine.local_runtime = constants.local_runtime;
  model.engine = engine.constants;
  model.local_runtime = engine.local_runtime;
}

}  // namespace tokenroof::io
