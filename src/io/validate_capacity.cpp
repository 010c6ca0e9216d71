#include "tokenroof/io/validate_capacity.hpp"

#include "tokenroof/physics/memory_verdict.hpp"

namespace tokenroof::io {
namespace {

/// vLLM's default limits. Since 0.8: 1,024 sequences and 8,192 tokens on devices of 70 GiB and more
/// other than the A100, 256 and 2,048 elsewhere. Before: 256 sequences and whole prompts (at least
/// 2,048 tokens; 2,560 before 0.3), in chunks of 512 for lengths beyond 32k since 0.4.
void set_vllm_limits(Engine& engine, const CapacityQuestion& question, Bytes visible,
                     double max_length) {
  const bool a100 = question.accelerator.rfind("a100", 0) == 0;
  const bool large = visible >= 70 * gibibyte && !a100;
  if (version_at_least(engine.version, "0.8")) {
    engine.max_sequences = large ? 1024 : 256;
    engine.max_batched_tokens = large ? 8192 : 2048;
    engine.chunked_prefill = true;
    return;
  }
  engine.max_sequences = 256;
  engine.max_batched_tokens = version_at_least(engine.version, "0.3") ? 2048 : 2560;
  engine.chunked_prefill = max_length > 32768 && version_at_least(engine.version, "0.4");
  if (engine.chunked_prefill) engine.max_batched_tokens = 512;
}

}  // namespace

std::vector<CapacityRow> read_capacity(CsvReader& reader) {
  const auto column = [&](const char* name) { return reader.required_column(name); };
  const std::size_t id = column("id"), engine = column("engine_version"), model = column("model"),
                    config = column("model_config"), dtype = column("dtype"),
                    kv_dtype = column("kv_dtype"), quant = column("quant"), tp = column("tp"),
                    pp = column("pp"), gpu = column("gpu"),
                    fraction = column("gpu_memory_utilization"), length = column("max_model_len"),
                    weights = column("weights_gib_per_gpu"), tokens = column("kv_cache_tokens"),
                    pool = column("kv_gib_available_per_gpu"),
                    concurrency = column("max_concurrency_x"), notes = column("notes");
  std::vector<CapacityRow> rows;
  while (reader.next()) {
    CapacityRow row;
    const auto text = [&](std::size_t at) { return std::string(reader.text(at)); };
    const auto degree = [&](std::size_t at) {
      const auto value = reader.integer(at).value_or(1);
      if (value < 1 || value > 100000) reader.fail(at, "must be a parallel degree >= 1");
      return static_cast<int>(value);
    };
    row.id = text(id);
    row.engine = text(engine);
    row.model = text(model);
    row.model_config = text(config);
    row.dtype = text(dtype);
    row.kv_dtype = text(kv_dtype);
    row.quantization = text(quant);
    row.gpu = text(gpu);
    row.notes = text(notes);
    row.memory_fraction = text(fraction);
    row.tensor_parallel = degree(tp);
    row.pipeline_parallel = degree(pp);
    row.max_length = reader.number(length);
    row.weights_gib = reader.number(weights);
    row.kv_tokens = reader.number(tokens);
    row.kv_pool_gib = reader.number(pool);
    row.max_concurrency = reader.number(concurrency);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<CapacityFigure> predict_capacity(const CapacityRow& row, const Model& model,
                                             const Engine& profile,
                                             const std::optional<Accelerator>& device) {
  const CapacityQuestion question = interpret(row, model);
  std::vector<CapacityFigure> figures;
  const auto state = [&](const char* metric, const std::optional<double>& measured) {
    if (measured) figures.push_back({metric, *measured, {}, {}});
  };
  state("weights_gib_per_gpu", row.weights_gib);
  if (row.kv_pool_gib) state("kv_tokens", row.kv_tokens);
  if (row.kv_pool_gib && *row.kv_pool_gib > 0) state("kv_pool_gib", row.kv_pool_gib);
  if (row.max_length) state("max_concurrency_x", row.max_concurrency);

  const Verdict layout = layout_verdict(model, question.deployment);
  Accelerator accelerator = device.value_or(Accelerator{});
  if (question.visible) accelerator.memory_visible = *question.visible;
  const bool known_device = accelerator.memory_visible > Bytes{};
  const bool from_scratch = known_device && question.fraction.has_value();

  Engine engine = profile;
  engine.version = question.version;
  engine.memory_fraction = question.fraction.value_or(profile.memory_fraction);
  if (question.engine == "vllm")
    set_vllm_limits(engine, question, accelerator.memory_visible, row.max_length.value_or(0));
  engine.max_sequences = question.max_sequences.value_or(engine.max_sequences);
  engine.max_batched_tokens = question.max_batched_tokens.value_or(engine.max_batched_tokens);

  // An engine that is not told otherwise takes the longest context of the checkpoint.
  const TokensPerRequest context = TokensPerRequest::from_base(
      row.max_length.value_or(static_cast<double>(model.maximum_context)));
  const auto plan_with = [&](const std::optional<Bytes>& pool) {
    MemoryOptions options;
    options.kv_pool = pool;
    if (!question.first_stage)
      return memory_lines(model, accelerator, engine, question.precision, question.deployment,
                          context, options);
    MemoryPlan plan = detail::stage_lines(model, accelerator, engine, question.precision,
                                          question.deployment, context, 0, options);
    detail::fill_pool(plan, model, question.deployment);
    return plan;
  };
  for (CapacityFigure& figure : figures) {
    if (!layout.ok()) {
      figure.reason = layout.reason;
      continue;
    }
    if (figure.metric == "weights_gib_per_gpu") {
      if (row.notes.find("initial used") != std::string::npos) {
        figure.reason = "the figure is all memory in use, not weights";
        continue;
      }
      const Deployment& d = question.deployment;
      const RankWeights first =
          rank_weights(model, question.precision, d, 0, weight_loading(engine, question.precision));
      figure.predicted = first.total() / gibibyte;
    } else if (figure.metric == "kv_pool_gib") {
      if (from_scratch)
        figure.predicted = plan_with(std::nullopt).kv_pool / gibibyte;
      else
        figure.reason = known_device ? "memory fraction not stated" : "device not stated";
    } else if (row.kv_pool_gib || from_scratch) {
      const std::optional<Bytes> pool =
          row.kv_pool_gib ? std::optional<Bytes>(*row.kv_pool_gib * gibibyte) : std::nullopt;
      const MemoryPlan plan = plan_with(pool);
      figure.predicted = figure.metric == "kv_tokens" ? plan.kv_tokens.base() : plan.concurrency;
    } else {
      figure.reason = "neither the pool nor the device and fraction are stated";
    }
  }
  return figures;
}

}  // namespace tokenroof::io
