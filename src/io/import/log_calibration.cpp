#include "tokenroof/io/log_calibration.hpp"

#include <fmt/format.h>

#include <cmath>

#include "tokenroof/decide/replica.hpp"
#include "tokenroof/io/units_text.hpp"

namespace tokenroof::io {
namespace {

using Q = LogQuantity;

/// Tokens of the sequences that the log counts, else of the workload.
TokensPerRequest context_of(const EngineStart& start, const Scenario& scenario) {
  for (const Q length : {Q::concurrency_length, Q::max_length})
    if (const auto tokens = start.value(length)) return TokensPerRequest::from_base(*tokens);
  return TokensPerRequest::from_base(workload_lengths(scenario.workload).longest);
}

class Comparison {
 public:
  Comparison(const EngineStart& start, const Scenario& scenario)
      : start_(start), scenario_(scenario) {}

  LogComparison make() && {
    if (const Verdict layout = layout_verdict(scenario_.model, scenario_.deployment); !layout.ok())
      throw SpecError("", "/deployment", layout.reason);
    plan_ = plan_with({});
    memory_lines_of_device();
    cache_lines();
    differences();
    imply_reserve();
    return std::move(result_);
  }

 private:
  [[nodiscard]] MemoryPlan plan_with(const std::optional<Bytes>& pool) const {
    MemoryOptions options = detail::memory_options(scenario_);
    options.kv_pool = pool;
    return memory_lines(scenario_.model, scenario_.accelerator, scenario_.engine,
                        scenario_.precision, scenario_.deployment, context_of(start_, scenario_),
                        options);
  }

  void add(const char* quantity, const char* unit, Q logged, std::optional<double> predicted,
           const char* reason = "") {
    const auto& figure = start_.figure(logged);
    if (!figure) return;
    result_.lines.push_back({quantity, unit, figure->line, figure->value, predicted,
                             predicted ? "" : reason, figure->text});
  }

  void memory_lines_of_device() {
    const bool by_line = scenario_.engine.reserve_auto;
    const auto reserved = [&](Bytes bytes) {
      return by_line ? std::optional(bytes.base()) : std::nullopt;
    };
    const char* stated = "the scenario states one reserve for all";
    add("visible", "B", Q::visible, plan_.visible.base());
    add("weights", "B", Q::weights, plan_.weights.base());
    add("activations", "B", Q::activations, reserved(plan_.activations), stated);
    add("runtime", "B", Q::runtime, reserved(plan_.runtime + plan_.collectives), stated);
    const char* uncounted = "not counted against the budget by this version";
    const auto graphs = plan_.graphs > Bytes{} ? reserved(plan_.graphs) : std::nullopt;
    const char* why = by_line ? uncounted : stated;
    add("graphs_counted", "B", Q::graphs_counted, graphs, why);
    add("graphs", "B", Q::graphs, graphs, why);
  }

  void cache_lines() {
    add("kv_pool", "B", Q::kv_pool, plan_.kv_pool.base());
    const Q tokens = start_.figure(Q::kv_tokens) ? Q::kv_tokens : Q::kv_blocks;
    const double per_unit = tokens == Q::kv_tokens ? 1 : scenario_.engine.block_tokens;
    const char* name = tokens == Q::kv_tokens ? "kv_tokens" : "kv_blocks";
    const char* unit = tokens == Q::kv_tokens ? "token" : "1";
    add(name, unit, tokens, plan_.kv_tokens.base() / per_unit);
    add("max_concurrency", "1", Q::concurrency, plan_.concurrency);
    const auto logged_pool = start_.value(Q::kv_pool);
    if (!logged_pool || !(*logged_pool > 0)) return;
    // The layout of the cache alone, whatever the reserves are.
    const MemoryPlan in_pool = plan_with(Bytes::from_base(*logged_pool));
    add((std::string(name) + "_in_logged_pool").c_str(), unit, tokens,
        in_pool.kv_tokens.base() / per_unit);
    add("max_concurrency_in_logged_pool", "1", Q::concurrency, in_pool.concurrency);
  }

  void differ(const char* key, const std::optional<double>& logged, double scenario) {
    if (!logged || std::abs(*logged - scenario) <= 1e-9 * scenario) return;
    result_.differences.push_back({key, fmt::format("{}", *logged), fmt::format("{}", scenario)});
  }
  void differ(const char* key, const std::string& logged, const std::string& scenario) {
    if (!logged.empty() && logged != scenario)
      result_.differences.push_back({key, logged, scenario});
  }

  void differences() {
    const Engine& engine = scenario_.engine;
    const Deployment& layout = scenario_.deployment;
    differ("engine.name", start_.engine, engine.name);
    differ("engine.version", start_.version, engine.version);
    differ("engine.memory_fraction", start_.value(Q::memory_fraction), engine.memory_fraction);
    differ("engine.max_sequences", start_.value(Q::max_sequences), engine.max_sequences);
    differ("engine.max_batched_tokens", start_.value(Q::max_batched_tokens),
           engine.max_batched_tokens);
    differ("engine.block_tokens", start_.value(Q::block_tokens), engine.block_tokens);
    differ("deployment.tensor_parallel", start_.value(Q::tensor_parallel), layout.tensor_parallel);
    differ("deployment.pipeline_parallel", start_.value(Q::pipeline_parallel),
           layout.pipeline_parallel);
    const auto visible = start_.value(Q::visible);
    // Logs round to two digits.
    if (visible && std::abs(*visible - plan_.visible.base()) > 0.006 * (1 * gibibyte).base())
      result_.differences.push_back({"accelerator.memory_visible",
                                     to_text(Bytes::from_base(*visible)), to_text(plan_.visible)});
  }

  void imply_reserve() {
    result_.reserve_now = plan_.claimed() - plan_.weights;
    const auto pool = start_.value(Q::kv_pool);
    if (!pool) {
      result_.reserve_reason = "the log does not say how large the pool is";
      return;
    }
    // Another split or other weights: the pool says nothing about this scenario's reserve.
    for (const LogDifference& d : result_.differences)
      if (d.key.starts_with("deployment.")) {
        result_.reserve_reason =
            fmt::format("the log ran with {} {}, the scenario has {}", d.key, d.logged, d.scenario);
        return;
      }
    constexpr double same_weights = 0.1;  // engines pad and repack, by a few per cent
    const auto weights = start_.value(Q::weights);
    if (weights && *weights > 0 && std::abs(plan_.weights.base() / *weights - 1) > same_weights) {
      result_.reserve_reason =
          fmt::format("the log ran with other weights, {} a device against {}",
                      to_text(Bytes::from_base(*weights)), to_text(plan_.weights));
      return;
    }
    const double fraction = scenario_.engine.memory_fraction;
    const double rest = plan_.visible.base() - plan_.weights.base();
    const double reserve =
        reserve_of(scenario_.engine).fraction_of_free
            ? rest - *pool / fraction
            : std::floor(fraction * plan_.visible.base()) - plan_.weights.base() - *pool;
    if (reserve < 0) {
      result_.reserve_reason = fmt::format(
          "the logged pool is {} more than the scenario's budget leaves beside its weights",
          to_text(Bytes::from_base(-reserve)));
      return;
    }
    result_.reserve = Bytes::from_base(std::floor(reserve));
  }

  const EngineStart& start_;
  const Scenario& scenario_;
  MemoryPlan plan_;
  LogComparison result_;
};

}  // namespace

std::optional<double> LogComparisonLine::error() const {
  if (!predicted || !(logged > 0)) return std::nullopt;
  return *predicted / logged - 1;
}

LogComparison compare_log(const EngineStart& start, const Scenario& scenario) {
  return Comparison(start, scenario).make();
}

const EngineStart& last_start(const EngineLog& log, const std::string& file) {
  if (!log.starts.empty()) return log.starts.back();
  if (!log.faults.empty()) throw SpecError(log.faults);
  throw SpecError(file, "",
                  "no line says what vLLM, SGLang, TensorRT-LLM or llama.cpp say about memory");
}

}  // namespace tokenroof::io
