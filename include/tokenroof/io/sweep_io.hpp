// Sweeps over any keys of a scenario, from text to rows.
//
// An axis is KEY=VALUES, a comma list of values as --set takes them and of ranges:
//   workload.batch=1:512:x2              1, 2, 4 ... 512
//   workload.context_tokens=1k:9k:+2k    1000, 3000 ... 9000     (k = 1000, Ki = 1024)
//   accelerator.memory_bandwidth=2 TB/s:4 TB/s:+1 TB/s
//   workload.arrival_rate=1:8:x2 req/s   a unit behind the last number is that of all
//   accelerator=h100,h200,b200
// The end of a range belongs to it when a step meets it. `batch` and `context` are short for
// workload.batch and workload.context_tokens. An axis over one kind of traffic (a rate, a
// concurrency, a batch with its context) takes the place of what the scenario says of the others.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenroof/analyze/metrics.hpp"
#include "tokenroof/analyze/sweep.hpp"
#include "tokenroof/io/csv.hpp"
#include "tokenroof/io/scenario_io.hpp"

namespace tokenroof::io {

/// Most values of one axis.
inline constexpr std::size_t most_axis_values = 100000;

/// Reads "KEY=VALUES". Throws SpecError.
[[nodiscard]] Axis parse_axis(std::string_view text);
/// The number of a value, in the unit of its axis; none for a text.
[[nodiscard]] std::optional<double> axis_number(const Axis& axis, const std::string& value);
/// Reads "2/8". Throws SpecError.
[[nodiscard]] Shard parse_shard(std::string_view text);
/// The metrics with these keys or column names; all of them for an empty list. Throws SpecError
/// with a did-you-mean.
[[nodiscard]] std::vector<const Metric*> choose_metrics(const std::vector<std::string>& names);

/// What to evaluate, and how.
struct SweepOptions {
  Fidelity fidelity = Fidelity::calibrated;
  std::vector<const Metric*> metrics{};  ///< columns
  Shard shard{};
  unsigned threads = 1;
  /// Told from time to time how many of how many points are done. May be empty.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress{};
};

/// A point of the grid.
struct SweepRow {
  std::vector<std::string> values;             ///< of the axes
  std::vector<std::optional<double>> numbers;  ///< of the metrics
  std::optional<Bound> decode_bound;
  Outcome status = Outcome::feasible;
  std::string reason;  ///< why it is infeasible, and why a number is missing
};

/// Evaluates the shard's points in order and hands each row to `take`. Memory does not grow with
/// the number of points. Throws SpecError for a point whose scenario cannot be read, naming it.
void sweep(const ScenarioDocument& document, const Catalog& catalog, const Grid& grid,
           const SweepOptions& options, const std::function<void(const SweepRow&)>& take);

/// Names of the columns: axes, metrics, decode_bound, status, reason, schema_version.
[[nodiscard]] std::vector<std::string> sweep_columns(const Grid& grid, const SweepOptions& options);

/// The rows as CSV, schema_version 1. The header is in the first shard only, so that shards one
/// after another are the whole, byte for byte.
void write_sweep_csv(const ScenarioDocument& document, const Catalog& catalog, const Grid& grid,
                     const SweepOptions& options, std::ostream& out, CsvDialect dialect = {});

/// docs/csv.md: every column with unit and meaning, from the metric table.
[[nodiscard]] std::string csv_reference();

}  // namespace tokenroof::io
