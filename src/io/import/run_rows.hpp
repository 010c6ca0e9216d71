// What was read, completed to rows that `validate` takes.
//
// Columns that sources fill: model, gpu, engine, engine_version, weight_dtype, kv_dtype, tp, pp,
// attention_dp, ep, num_gpus, input_tokens, output_tokens, concurrency, request_rate_per_s,
// requests, duration_s, lengths, origin, output_tokens_per_s_total, and latencies such as
// ttft_mean_ms; others are carried along.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "io/validate/lookups.hpp"
#include "tokenroof/io/engine_log.hpp"
#include "tokenroof/io/import.hpp"

namespace tokenroof::io {

/// Completes the facts of runs, and collects what is missing for the whole of a file.
class FactCompleter {
 public:
  FactCompleter(const Catalog& catalog, const ImportOptions& options);

  /// Applies what the user states, resolves names, infers formats and layout. A fact that is
  /// neither stated nor inferred is remembered as missing; an unknown name is a SpecError.
  void complete_run(ImportCells& cells, const std::string& place);
  /// The same for a start-up log, which needs less.
  void complete_log(ImportCells& cells, const std::string& place);
  /// Throws one SpecError with a fault for each missing fact.
  void throw_if_missing(const std::string& file) const;
  /// For sources whose silence about the load does not mean that all requests were sent at once.
  void require_load(const ImportCells& cells, const std::string& place);
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  void note(const std::string& text);

 private:
  void state(ImportCells& cells) const;
  void resolve_model(ImportCells& cells, const std::string& place);
  void resolve_accelerator(ImportCells& cells, const std::string& column, const std::string& place,
                           bool required);
  void infer_weights(ImportCells& cells, const std::string& column);
  void infer_layout(ImportCells& cells);
  void require(const ImportCells& cells, std::string_view column, const std::string& place);

  const Catalog& catalog_;
  const ImportOptions& options_;
  Lookups lookups_;
  std::vector<std::string> notes_;
  std::set<std::string, std::less<>> asked_;
  std::vector<Fault> missing_;
};

/// Turns a completed run into a row: closed_loop where a number of requests was kept running,
/// open_loop where they arrived at a rate, measurements where all were sent at once or the source
/// names one metric and its value. Gives the kind. Throws a SpecError for a run that lacks the
/// figures.
[[nodiscard]] std::string shape_run(ImportCells& cells, FactCompleter& facts);

/// A row of capacity from one start of an engine.
[[nodiscard]] ImportCells log_row(const EngineStart& start);

/// The columns that rows of a kind begin with.
[[nodiscard]] std::vector<std::string> leading_columns(std::string_view kind);

}  // namespace tokenroof::io
