// Published figures of runs: static batches, single requests, maximum throughput. Formulas:
//
//   dec        decode step of the batch at its mean context, all pipeline stages busy
//   pre        prefill of the batch in passes of at most max_batched_tokens per attention rank
//   total      pre + (output - 1) dec         all requests at once, the first token from prefill
//   saturated  n output / (output dec + pre)  n from memory; the last wave of requests is short
//
// Output tokens count and prompts take time, unless the row says otherwise (measured_words.cpp).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "io/validate/engine_rows.hpp"
#include "io/validate/measured_run.hpp"

namespace tokenroof::io {
namespace {

/// Requests of NVIDIA's throughput benchmark by lengths; they matter where few waves of them run.
struct BenchmarkRequests {
  double prompt, output, requests;
};
constexpr BenchmarkRequests benchmark_requests[] = {
    {128, 128, 30000},  {128, 4096, 1500}, {1024, 2048, 1500},
    {2048, 2048, 1500}, {5000, 500, 1500}, {20000, 2000, 1000},
};
double requests_of(const MeasuredRun& run) {
  if (run.requests > 0) return run.requests;
  for (const BenchmarkRequests& line : benchmark_requests)
    if (line.prompt == run.prompt && line.output == run.output) return line.requests;
  return 3000;
}

/// Times of one run.
class RunTimes {
 public:
  explicit RunTimes(const MeasuredRun& run)
      : run_(run),
        ranks_(run.model.operators.attention_ranks),
        stages_(run.model.operators.stages) {}

  [[nodiscard]] double decode(double sequences) const {
    return step(decode_load(sequences, run_.context));
  }

  /// Until the prompts of `n` requests are through all stages, micro-batches following each other.
  [[nodiscard]] double prefill(double n) const {
    if (run_.engine.local_runtime) return n * step(prefill_load(1.0, run_.prompt));
    const double each = std::max(1.0, n / (ranks_ * stages_));
    const double batches = std::min(stages_, std::max(1.0, n / ranks_));
    return passes(each) * (batches + stages_ - 1) / stages_;
  }

  /// Per prompt when all stages and ranks prefill all the time.
  [[nodiscard]] double prefill_each() const {
    const double each = std::max(1.0, budget() / run_.prompt);
    return passes(each) / (each * ranks_ * stages_);
  }

  /// Requests that run together.
  [[nodiscard]] double together() const {
    if (run_.batch > 0)
      return run_.traits.closed_loop ? std::min(run_.batch, run_.capacity) : run_.batch;
    const double requests = requests_of(run_);
    const double most = std::min({run_.capacity, run_.engine.max_sequences * ranks_, requests});
    return requests / std::ceil(requests / most);
  }

 private:
  [[nodiscard]] double step(const StepLoad<double>& load) const {
    return calibrated_step(run_.model, load).total().base();
  }
  /// Tokens of a rank in one pass. A prefill that is measured alone runs whole.
  [[nodiscard]] double budget() const {
    return run_.metric == "prefill_latency_s" ? 1e12 : run_.engine.max_batched_tokens;
  }
  /// `each` prompts on every rank of one micro-batch, in as many passes as the budget asks.
  [[nodiscard]] double passes(double each) const {
    const double tokens = each * run_.prompt;
    const double count = std::max(1.0, tokens / budget());
    const double length = std::min(run_.prompt, tokens / count);
    const double prompts = tokens / count / length;
    return count *
           step(prefill_load(prompts * ranks_ * stages_, length, 0.5 * (run_.prompt - length)));
  }

  const MeasuredRun& run_;
  double ranks_, stages_;
};

/// What metrics are made of.
struct RunFigures {
  double n, decode, prefill, total;
};

double output_rate(const MeasuredRun& run, const RunFigures& f) {
  if (run.traits.prompts_only) return f.n * run.prompt / f.prefill;
  if (run.traits.decode_only) return f.n / f.decode;
  return f.n * run.output / f.total;
}

struct MetricFormula {
  std::string_view name;
  double (*value)(const MeasuredRun&, const RunFigures&);
};
constexpr MetricFormula metric_formulas[] = {
    {"output_tokens_per_s_total", output_rate},
    {"tokens_per_s_per_gpu",
     [](const MeasuredRun& r, const RunFigures& f) { return output_rate(r, f) / r.devices; }},
    {"total_tokens_per_s",
     [](const MeasuredRun& r, const RunFigures& f) {
       return f.n * (r.prompt + r.output) / f.total;
     }},
    {"prefill_latency_s", [](const MeasuredRun&, const RunFigures& f) { return f.prefill; }},
    {"prefill_tokens_per_s_total",
     [](const MeasuredRun& r, const RunFigures& f) { return f.n * r.prompt / f.prefill; }},
    {"ttft_s",
     [](const MeasuredRun& r, const RunFigures& f) {
       if (r.traits.in_turn) return f.prefill * (f.n + 1) / (2 * f.n);  // the mean one
       // In a closed loop a prompt meets a step that has begun.
       return r.traits.closed_loop && !r.traits.together ? RunTimes(r).prefill(1) + f.decode / 2
                                                         : f.prefill;
     }},
    {"tpot_s",
     [](const MeasuredRun& r, const RunFigures& f) {
       const double others = r.traits.closed_loop ? f.prefill * (f.n - 1) / f.n / r.output : 0;
       return f.decode + others;
     }},
    {"decode_tokens_per_s_per_seq",
     [](const MeasuredRun&, const RunFigures& f) { return 1 / f.decode; }},
    {"e2e_latency_s",
     [](const MeasuredRun& r, const RunFigures& f) {
       return f.total * (r.traits.closed_loop ? r.batch / f.n : 1);  // beyond capacity they queue
     }},
};

constexpr std::string_view row_groups[] = {"source", "gpu", "model", "weight_dtype"};

void predict(Row& row, Lookups& lookups) {
  const MeasuredRun run = read_run(row, lookups);
  for (const std::string_view dimension : row_groups) row.group(dimension, row.text(dimension));
  row.group("engine", run.engine.has_profile ? run.engine.name : "default");
  row.group("load", run.batch > 0 ? "known batch" : "maximum throughput");
  row.predict(run.metric, run.value, run.predict());
}

}  // namespace

double MeasuredRun::predict() const {
  const auto formula = std::find_if(std::begin(metric_formulas), std::end(metric_formulas),
                                    [&](const MetricFormula& f) { return f.name == metric; });
  if (formula == std::end(metric_formulas))
    throw SpecError("", "metric", fmt::format("unknown metric \"{}\"", metric));
  const RunTimes times(*this);
  RunFigures figures{};
  figures.n = times.together();
  const bool saturated = batch == 0;
  figures.decode = times.decode(figures.n);
  figures.prefill = saturated ? figures.n * times.prefill_each() : times.prefill(figures.n);
  figures.total = figures.prefill + (saturated ? output : output - 1) * figures.decode;
  return formula->value(*this, figures);
}

EngineRow measured_engine_row(const Row& row, Lookups& lookups) {
  const auto run = std::make_shared<MeasuredRun>(read_run(row, lookups));
  EngineRow one{run->engine.name, run->engine.has_profile, run->engine.version, {}, {}};
  for (const std::string_view column : {"source", "gpu", "model"})
    one.group += std::string(row.text(column)) + "|";
  one.figures.push_back({run->value, 1, [run](const Engine& engine) {
                           run->set_constants(engine);
                           return run->predict();
                         }});
  return one;
}

extern const Kind measurements_kind;
const Kind measurements_kind{"measurements", run_columns(), predict, nullptr};

}  // namespace tokenroof::io
