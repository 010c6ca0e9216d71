// Serving runs at a fixed number of concurrent requests: ttft_ms, tpot_ms, residence_ms.
//
// What the rows leave open is filled in by rules of the field, not by row: which parts of a
// checkpoint are quantised, the cache format that an engine takes by default, the length of a run.
#include <algorithm>
#include <memory>

#include "io/validate/engine_rows.hpp"
#include "tokenroof/decide/traffic.hpp"

namespace tokenroof::io {
namespace {

/// These benchmarks send about ten requests for each concurrent one, the first of them together;
/// column `requests` says how many otherwise.
constexpr double requests_per_slot = 10;

constexpr std::string_view columns[] = {
    "gpu",         "engine", "weight_dtype", "input_tokens", "output_tokens",
    "concurrency", "tp",     "lengths",      "ttft_ms",      "tpot_ms"};

Format format_of(const Row& row, std::string_view column, std::string_view name) {
  const auto known = format(name);
  if (!known) row.fail(column, "unknown data type \"" + std::string(name) + "\"");
  return *known;
}

/// Formats of a published checkpoint. fp8: Llama is scaled per tensor and statically, the others by
/// block. 4-bit mixtures keep their attention in 16 bits; int4 and mxfp4 quantise experts alone.
Precision precision_of(const Row& row, const Model& model) {
  const std::string_view dense =
      row.text("gemm_dtype").empty() ? row.required_text("weight_dtype") : row.text("gemm_dtype");
  const std::string_view expert =
      row.text("expert_dtype").empty() ? dense : row.text("expert_dtype");
  const bool mixture = std::any_of(model.groups.begin(), model.groups.end(), [](const auto& g) {
    return g.feed_forward.kind == FeedForwardKind::mixture;
  });
  const auto named = [&](std::string_view column, std::string_view name) {
    if (name == "fp8" && model.family != "llama") return formats::fp8_block;
    if (name == "int4") return formats::int4_g32;
    return format_of(row, column, name);
  };
  Precision precision;
  Format narrow = named("gemm_dtype", dense);
  if (dense == "int4" && mixture) narrow = formats::bf16;
  const bool attention_wide = mixture && (dense == "nvfp4" || dense == "int4");
  precision.set(Part::attention, attention_wide ? formats::bf16 : narrow);
  precision.set(Part::dense_feed_forward, narrow);
  precision.set(Part::shared_experts, narrow);
  precision.set(Part::routed_experts, named("expert_dtype", expert));
  return precision;
}

/// As stated (column `kv_dtype`), else 8-bit where checkpoint or engine ask for it: 4-bit and
/// static fp8 checkpoints carry cache scales, TensorRT-LLM follows the weights, Blackwell recipes
/// set it.
Format cache_of(const Row& row, const Model& model, const Accelerator& device) {
  if (const std::string_view stated = row.text("kv_dtype"); !stated.empty() && stated != "auto")
    return format_of(row, "kv_dtype", stated);
  const std::string_view weights = row.required_text("weight_dtype");
  if (weights != "fp8" && weights != "nvfp4") return formats::bf16;
  const bool blackwell = device.peak(DataType::fp4) > FlopsPerSecond{};
  const bool scales = weights == "nvfp4" || model.family == "llama";
  return scales || blackwell || row.text("engine") == "trtllm" ? formats::fp8 : formats::bf16;
}

LengthLaw lengths_of(const Row& row) {
  const std::string_view text = row.required_text("lengths");
  LengthLaw law;
  if (text == "fixed") return law;
  law.kind = LengthLaw::Kind::uniform;
  const std::string rest(text.substr(std::min(text.size(), text.find(' '))));
  const std::size_t dash = rest.find('-');
  if (!text.starts_with("uniform ") || dash == std::string::npos)
    row.fail("lengths",
             "expected \"fixed\" or \"uniform LOW-HIGH\", got \"" + std::string(text) + "\"");
  law.low = std::strtod(rest.c_str(), nullptr);
  law.high = std::strtod(rest.c_str() + dash + 1, nullptr);
  if (!(law.low > 0 && law.low <= law.high))
    row.fail("lengths", "expected 0 < LOW <= HIGH, got \"" + std::string(text) + "\"");
  return law;
}

/// Where a row does not say `schedule_interval`: the SGLang recipes for Blackwell of the InferenceX
/// sweep set it, all others leave it at 1.
double recipe_interval(const Row& row, const Accelerator& device, double concurrency) {
  const bool blackwell = device.peak(DataType::fp4) > FlopsPerSecond{};
  if (row.text("engine") != "sglang" || row.text("origin") != "inferencex" || !blackwell) return 1;
  return concurrency < 16 ? 10 : 30;
}

Scenario scenario_of(const Row& row, Lookups& lookups) {
  Scenario scenario;
  scenario.model = lookups.model(row.required_text("model_config"));
  scenario.accelerator = lookups.device(row.required_text("gpu")).accelerator;
  const std::string_view engine = row.required_text("engine");
  std::string version(row.text("engine_version"));
  // Published runs that do not say so are of images before version tags were recorded.
  if (engine == "sglang" && (version.empty() || version == "nightly-dev")) version = "0.5.9";
  if (engine == "vllm" && version.empty() && row.text("origin") == "inferencex") version = "0.11";
  scenario.engine = lookups.engine(engine, version).engine;
  scenario.precision = precision_of(row, scenario.model);
  scenario.precision.kv_cache = cache_of(row, scenario.model, scenario.accelerator);
  Deployment& layout = scenario.deployment;
  layout.tensor_parallel = static_cast<int>(row.count("tp"));
  layout.attention_data_parallel = static_cast<int>(row.count_or("attention_dp", 1));
  layout.expert_parallel = static_cast<int>(row.count_or("ep", 1));
  layout.pipeline_parallel = static_cast<int>(row.count_or("pp", 1));
  scenario.workload.input = row.positive("input_tokens") * token / request;
  scenario.workload.output = row.positive("output_tokens") * token / request;
  scenario.workload.lengths = lengths_of(row);
  const double concurrency = row.positive("concurrency");
  scenario.workload.traffic = ClosedLoopTraffic{concurrency * request};
  scenario.engine.max_sequences =
      std::max(scenario.engine.max_sequences, static_cast<int>(concurrency));
  scenario.engine.schedule_interval = static_cast<int>(
      row.count_or("schedule_interval", recipe_interval(row, scenario.accelerator, concurrency)));
  return scenario;
}

/// The family of the model, or the model itself where the row names none.
std::string_view family_of(const Row& row) {
  const std::string_view family = row.text("family");
  return family.empty() ? row.text("model_config") : family;
}

std::string configuration(const Row& row) {
  return std::string(family_of(row)) + " " + std::string(row.text("gpu")) + " " +
         std::string(row.text("engine"));
}

/// A row reduced to what predicts it.
struct Run {
  Replica replica;
  ClosedLoopLoad load;

  Run(const Row& row, const Scenario& scenario, const KernelConstants& kernels)
      : replica(reduce(scenario, Fidelity::calibrated, kernels)) {
    if (replica.memory.verdict.outcome == Outcome::invalid_layout)
      throw SpecError("", "", replica.memory.verdict.reason);
    const double concurrency = row.positive("concurrency");
    load = closed_loop_load(replica, scenario, concurrency);
    load.capacity = std::max(load.capacity, 1.0);  // it was measured, so at least one ran
    const double requests = row.count_or("requests", requests_per_slot * concurrency);
    load.start_share = std::min(1.0, concurrency / requests);
  }
  [[nodiscard]] ClosedLoop loop() const {
    return closed_loop(load, replica.model.engine, closed_loop_times(replica, load));
  }
};

void predict(Row& row, Lookups& lookups) {
  const double ttft = row.positive("ttft_ms"), tpot = row.positive("tpot_ms");
  const Scenario scenario = scenario_of(row, lookups);
  row.group("family", family_of(row));
  for (const std::string_view dimension : {"gpu", "engine", "weight_dtype", "lengths"})
    row.group(dimension, row.text(dimension));
  row.group("configuration", configuration(row));
  const Run run(row, scenario, lookups.kernels());
  const ClosedLoop loop = run.loop();
  const double outputs = run.replica.lengths.output;
  row.predict("tpot_ms", tpot, loop.tpot / millisecond);
  row.predict("ttft_ms", ttft, loop.ttft / millisecond);
  row.predict("residence_ms", ttft + (outputs - 1) * tpot, loop.residence / millisecond);
}

}  // namespace

EngineRow closed_loop_engine_row(const Row& row, Lookups& lookups) {
  const double ttft = row.positive("ttft_ms"), tpot = row.positive("tpot_ms");
  const Scenario scenario = scenario_of(row, lookups);
  const auto run = std::make_shared<Run>(row, scenario, lookups.kernels());
  EngineRow one{scenario.engine.name,
                scenario.engine.has_profile,
                scenario.engine.version,
                configuration(row),
                {}};
  const double outputs = run->replica.lengths.output;
  const auto with = [run](const Engine& engine) {
    run->replica.model.engine = engine.constants;
    return run->loop();
  };
  one.figures = {{ttft + (outputs - 1) * tpot, 1,
                  [with](const Engine& e) { return with(e).residence / millisecond; }},
                 {ttft, 0.5, [with](const Engine& e) { return with(e).ttft / millisecond; }}};
  return one;
}

extern const Kind closed_loop_kind;
const Kind closed_loop_kind{"closed_loop", columns, predict, nullptr};

}  // namespace tokenroof::io
