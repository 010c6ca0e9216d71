#include "io/import/run_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tokenroof/core/error.hpp"
#include "tokenroof/core/units.hpp"

namespace tokenroof::io {
namespace {

struct KindColumns {
  std::string_view kind;
  std::vector<std::string> columns;
};
const KindColumns layouts[] = {
    {"closed_loop", {"id",       "model",        "model_config",   "gpu",
                     "num_gpus", "engine",       "engine_version", "weight_dtype",
                     "kv_dtype", "input_tokens", "output_tokens",  "concurrency",
                     "tp",       "pp",           "attention_dp",   "ep",
                     "lengths",  "origin",       "requests",       "ttft_ms",
                     "tpot_ms"}},
    {"open_loop",
     {"id",
      "model",
      "model_config",
      "gpu",
      "num_gpus",
      "engine",
      "engine_version",
      "weight_dtype",
      "kv_dtype",
      "input_tokens",
      "output_tokens",
      "request_rate_per_s",
      "duration_s",
      "tp",
      "pp",
      "attention_dp",
      "ep",
      "origin",
      "ttft_mean_ms",
      "itl_mean_ms",
      "e2e_mean_ms",
      "ttft_p90_ms",
      "ttft_p99_ms",
      "e2e_p90_ms",
      "e2e_p99_ms"}},
    {"measurements",
     {"id",         "source", "gpu",          "num_gpus",      "tp",           "pp",
      "ep",         "dp",     "model",        "model_config",  "weight_dtype", "kv_dtype",
      "quant_note", "engine", "input_tokens", "output_tokens", "batch",        "requests",
      "metric",     "value",  "notes"}},
    {"capacity",
     {"id",
      "engine_version",
      "model",
      "model_config",
      "dtype",
      "kv_dtype",
      "quant",
      "tp",
      "pp",
      "gpu",
      "accelerator",
      "gpu_memory_utilization",
      "max_model_len",
      "weights_gib_per_gpu",
      "kv_cache_tokens",
      "kv_gib_available_per_gpu",
      "max_concurrency_x",
      "notes",
      "activation_gib",
      "non_torch_gib",
      "graphs_gib"}},
};

/// The mean where it is stated, else the median.
double latency(const ImportCells& cells, const std::string& name, FactCompleter& facts) {
  if (const auto mean = cells.number(name + "_mean_ms")) return *mean;
  const auto median = cells.number(name + "_p50_ms");
  if (!median) throw SpecError("", "", "states no mean " + name);
  facts.note("mean " + name + " not stated, median taken");
  return *median;
}

/// Whether requests that arrived at a rate waited for the limit on their number: by Little's law
/// the limit was then the number in the system.
bool limited_by_concurrency(const ImportCells& cells) {
  const auto most = cells.number("concurrency");
  if (!most) return false;
  if (!cells.number("request_rate_per_s")) return true;
  const auto rate = cells.number("requests_per_s"), ttft = cells.number("ttft_mean_ms"),
             tpot = cells.number("tpot_mean_ms"), outputs = cells.number("output_tokens");
  if (!rate || !ttft || !tpot || !outputs) return false;
  const double residence = (*ttft + (*outputs - 1) * *tpot) / 1e3;
  return *rate * residence >= 0.9 * *most;
}

void shape_closed_loop(ImportCells& cells, FactCompleter& facts) {
  cells.set("ttft_ms", latency(cells, "ttft", facts));
  cells.set("tpot_ms", latency(cells, "tpot", facts));
  if (!cells.has("lengths")) {
    cells.set("lengths", "fixed");
    facts.note("spread of lengths not stated, taken as fixed (--lengths)");
  }
}

void shape_open_loop(ImportCells& cells, FactCompleter& facts) {
  if (const auto tpot = cells.number("tpot_mean_ms")) cells.set_default("itl_mean_ms", *tpot);
  cells.set("ttft_mean_ms", latency(cells, "ttft", facts));
  const double burstiness = cells.number("burstiness").value_or(1);
  if (burstiness != 1)
    facts.note(fmt::format("arrivals of burstiness {} are predicted as Poisson", burstiness));
}

void shape_measurement(ImportCells& cells) {
  if (!cells.has("metric") || !cells.has("value")) {
    const auto rate = cells.number("output_tokens_per_s_total");
    if (!rate) throw SpecError("", "", "states neither a load nor the output tokens per second");
    cells.set("metric", "output_tokens_per_s_total");
    cells.set("value", *rate);
    cells.set_default("notes", "maximum throughput, all requests sent at once");
  }
  for (const char* column : {"input_tokens", "output_tokens"})
    cells.set(column, std::round(*cells.number(column)));
  const std::string version = cells.text("engine_version");
  cells.set("engine", cells.text("engine") + (version.empty() ? "" : " v" + version));
  cells.set("dp", cells.number("attention_dp"));
}

}  // namespace

std::string shape_run(ImportCells& cells, FactCompleter& facts) {
  if (cells.has("metric") && cells.has("value")) {
    shape_measurement(cells);
    return "measurements";
  }
  if (limited_by_concurrency(cells)) {
    shape_closed_loop(cells, facts);
    return "closed_loop";
  }
  if (cells.has("request_rate_per_s")) {
    shape_open_loop(cells, facts);
    return "open_loop";
  }
  shape_measurement(cells);
  return "measurements";
}

ImportCells log_row(const EngineStart& start) {
  using Q = LogQuantity;
  ImportCells cells;
  const auto gib = [&](Q quantity) -> std::optional<double> {
    const auto bytes = start.value(quantity);
    return bytes ? std::optional(*bytes / (1 * gibibyte).base()) : std::nullopt;
  };
  cells.set("engine", start.engine);
  cells.set("engine_version", start.version);
  cells.set("model", start.model);
  cells.set("dtype", start.dtype == "bfloat16"  ? "bf16"
                     : start.dtype == "float16" ? "fp16"
                                                : start.dtype);
  cells.set("kv_dtype", start.kv_dtype);
  cells.set("quant", start.quantization);
  cells.set("tp", start.value(Q::tensor_parallel));
  cells.set("pp", start.value(Q::pipeline_parallel).value_or(1));
  cells.set("attention_dp", start.value(Q::data_parallel));
  cells.set("gpu_memory_utilization", start.value(Q::memory_fraction));
  const auto concurrency_length = start.value(Q::concurrency_length);
  cells.set("max_model_len", concurrency_length ? concurrency_length : start.value(Q::max_length));
  cells.set("weights_gib_per_gpu", gib(Q::weights));
  cells.set("kv_cache_tokens", start.kv_tokens());
  cells.set("kv_gib_available_per_gpu", gib(Q::kv_pool));
  cells.set("max_concurrency_x", start.value(Q::concurrency));
  cells.set("activation_gib", gib(Q::activations));
  cells.set("non_torch_gib", gib(Q::runtime));
  cells.set("graphs_gib", gib(Q::graphs));
  cells.set("visible_gib", gib(Q::visible));
  std::string notes = start.refused ? "refused to start" : "start-up log";
  if (const auto most = start.value(Q::max_sequences))
    notes += fmt::format("; max_num_seqs={}", *most);
  if (const auto most = start.value(Q::max_batched_tokens))
    notes += fmt::format("; max-num-batched-tokens={}", *most);
  cells.set("notes", notes);
  return cells;
}

std::vector<std::string> leading_columns(std::string_view kind) {
  for (const KindColumns& layout : layouts)
    if (layout.kind == kind) return layout.columns;
  return {};
}

}  // namespace tokenroof::io
