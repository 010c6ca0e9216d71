// Predictions against measurements: a file of measured rows in, an error for each row out.
//
// The kind of a file is told by its columns (or the keys of its JSON objects): gemm,
// attention_decode, attention_prefill, moe, allreduce, nccl, models, capacity, ... (docs/). A row
// that cannot be read or predicted is skipped with its line and the reason; the others are
// evaluated. Errors are fractions: 0.1 is 10 %.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenroof/io/catalog.hpp"
#include "tokenroof/io/csv.hpp"

namespace tokenroof::io {

/// One measured number and ours, in the unit that the metric's name ends with.
struct Prediction {
  std::string id;        ///< column `id`, else "row N" with the line of the file
  std::size_t line = 0;  ///< where the row starts
  std::string metric;
  double measured = 0;   ///< > 0
  double predicted = 0;  ///< > 0
  /// What the row belongs to: {"gpu", "h100-sxm-80gb"}, {"dtype", "fp8"}, ...
  std::vector<std::pair<std::string, std::string>> groups;

  [[nodiscard]] double ratio() const { return predicted / measured; }
  /// Absolute relative error |predicted / measured - 1|.
  [[nodiscard]] double ape() const { return ratio() > 1 ? ratio() - 1 : 1 - ratio(); }
};

/// A row without any prediction, or (with `metric`) one figure of a row that has others.
struct Skipped {
  std::string id;
  std::string reason;  ///< begins with the line
  std::string metric;  ///< empty: the whole row
};

/// Errors of one metric over a set of rows.
struct MetricSummary {
  std::string metric;
  std::size_t rows = 0;
  double median_ape = 0;
  double mean_ape = 0;
  double p90_ape = 0;       ///< 90th percentile, interpolated between rows
  double median_ratio = 0;  ///< predicted / measured: below 1 is too low
};

/// Errors of the rows that have `key` ("gpu=l40s") in common.
struct GroupSummary {
  std::string key;
  std::size_t rows = 0;
  std::vector<MetricSummary> metrics;
};

/// What became of a file. rows = evaluated + skipped.size().
struct ValidationReport {
  std::string file;
  std::string kind;
  std::size_t rows = 0;
  std::size_t evaluated = 0;       ///< rows with at least one prediction
  std::vector<Skipped> skipped;    ///< whole rows, in file order
  std::vector<Skipped> omitted;    ///< single figures of evaluated rows
  std::vector<std::string> notes;  ///< of an imported file: what was inferred
  std::vector<Prediction> predictions;

  /// By metric, in order of first appearance.
  [[nodiscard]] std::vector<MetricSummary> metrics() const;
  /// By each value of each dimension: dimensions in order of first appearance, values sorted.
  [[nodiscard]] std::vector<GroupSummary> groups() const;
  /// The predictions that are off by the largest factors, largest first, exact ones never. Pointers
  /// into `predictions`.
  [[nodiscard]] std::vector<const Prediction*> worst(std::size_t most = 20) const;
};

/// What a caller may add.
struct ValidateOptions {
  /// Where `model_config` files are looked up first. Then: beside the measurements, in models/
  /// beside them, in the catalogue by file name or by Hugging Face id.
  std::filesystem::path models_dir;
  std::string engine;  ///< profile for every row, whatever it names; empty: the row's own
  /// Facts that an imported file does not state, as in ImportOptions.
  std::vector<std::pair<std::string, std::string>> stated;
};

/// Reads and predicts `path`, "-" for standard input. What import.hpp reads (benchmark results,
/// start-up logs) is imported first; its rows have no lines. Throws SpecError only when the file as
/// a whole is unusable: not there, of no known kind, columns missing (with suggestions).
[[nodiscard]] ValidationReport validate_file(const std::filesystem::path& path,
                                             const Catalog& catalog,
                                             const ValidateOptions& options = {});

/// Names of the kinds.
[[nodiscard]] std::vector<std::string_view> measurement_kinds();

/// The report as JSON text: kind, rows, evaluated, skipped[{id, reason}], metrics{NAME{rows,
/// median_ape, mean_ape, p90_ape, median_ratio}}, groups[{key, rows, metrics}], omitted[{id,
/// metric, reason}], worst[{id, metric, measured, predicted, ape}], schema, tokenroof_version.
[[nodiscard]] std::string validation_json(const ValidationReport& report, std::string_view version);

/// How text tables are marked up.
enum class Markup { plain, markdown };

/// The same for people: summary, groups, the worst rows, what was skipped and why.
[[nodiscard]] std::string validation_text(const ValidationReport& report,
                                          Markup markup = Markup::plain);

/// One line a prediction: id,metric,measured,predicted,ape.
void write_validation_csv(const ValidationReport& report, std::ostream& out,
                          CsvDialect dialect = {});

}  // namespace tokenroof::io
