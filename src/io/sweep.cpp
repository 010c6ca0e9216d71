// A grid of scenarios, row by row.
#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <ostream>

#include "tokenroof/decide/estimate.hpp"
#include "tokenroof/io/answer_io.hpp"
#include "tokenroof/io/sweep_io.hpp"
#include "tokenroof/io/units_text.hpp"

namespace tokenroof::io {
namespace {

constexpr std::string_view batch_key = "workload.batch", context_key = "workload.context_tokens";

/// Plain numbers that may be put into the workload without reading the scenario again.
bool all_numbers(const Axis& axis, double least, bool whole) {
  return std::all_of(axis.values.begin(), axis.values.end(), [&](const std::string& text) {
    const Parsed<double> number = parse_quantity<double>(text, Sign::any);
    return number && *number.value >= least &&
           (!whole || std::floor(*number.value) == *number.value);
  });
}

/// Evaluates points for one thread. Scenarios are read once per value of the axes that need
/// reading; batch and context change numbers of a scenario that is already there.
class PointReader {
 public:
  PointReader(const ScenarioDocument& document, const Catalog& catalog, const Grid& grid,
              const KernelConstants& kernels, const SweepOptions& options)
      : document_(document), catalog_(catalog), grid_(grid), kernels_(kernels), options_(options) {
    for (const Axis& axis : grid.axes)
      direct_.push_back((axis.key == batch_key && all_numbers(axis, 1, true)) ||
                        (axis.key == context_key && all_numbers(axis, 0, false)));
  }

  SweepRow row(std::uint64_t point) {
    const std::vector<std::size_t> index = grid_.at(point);
    SweepRow row;
    for (std::size_t i = 0; i < index.size(); ++i)
      row.values.push_back(grid_.axes[i].values[index[i]]);
    const ScenarioEntry& read = entry(index);
    Scenario& scenario = place(read.scenario, &read);
    for (std::size_t i = 0; i < index.size(); ++i)
      if (direct_[i]) put(scenario, read, grid_.axes[i].key, row.values[i]);
    const Answer answer = estimate(scenario, options_.fidelity, kernels_);
    for (const Metric* metric : options_.metrics)
      row.numbers.push_back(reported_number(answer, *metric));
    if (answer.decode) row.decode_bound = answer.decode->bound;
    row.status = answer.verdict.outcome;
    row.reason = reason(answer, scenario);
    return row;
  }

 private:
  const ScenarioEntry& entry(std::vector<std::size_t> index) {
    for (std::size_t i = 0; i < index.size(); ++i)
      if (direct_[i]) index[i] = 0;
    const auto known = read_.find(index);
    if (known != read_.end()) return known->second;
    if (read_.size() >= 256) {
      read_.clear();
      changing_of_ = nullptr;
    }
    ScenarioDocument document = document_;
    std::string where;
    for (std::size_t i = 0; i < index.size(); ++i) {
      const std::string assignment = grid_.axes[i].key + "=" + grid_.axes[i].values[index[i]];
      where += (where.empty() ? "" : ", ") + assignment;
      document.set(assignment, catalog_, "--axis");
    }
    try {
      return read_.emplace(index, document.read(catalog_)).first->second;
    } catch (const SpecError& error) {
      if (where.empty()) throw;
      throw SpecError("sweep, at " + where, "", error.what() + how_to_give_units(error));
    }
  }

  /// How an axis of plain numbers gets the unit that `error` says is missing.
  [[nodiscard]] std::string how_to_give_units(const SpecError& error) const {
    for (const Fault& fault : error.faults())
      for (const Axis& axis : grid_.axes) {
        std::string pointer = "/" + axis.key;
        std::replace(pointer.begin(), pointer.end(), '.', '/');
        if (fault.json_pointer != pointer || !axis.unit.empty()) continue;
        // "expected a rate of requests such as "4 req/s", found 1": the unit of the sample.
        const std::string sample = "such as \"";
        const std::size_t at = fault.reason.find(sample);
        if (at == std::string::npos) continue;
        const std::size_t begin = at + sample.size();
        const std::size_t end = fault.reason.find('"', begin),
                          space = fault.reason.find(' ', begin);
        if (end == std::string::npos || space > end) continue;
        return "; a unit behind the last value is that of all: --axis '" + axis.key + "=1:8:x2" +
               fault.reason.substr(space, end - space) + "'";
      }
    return "";
  }

  /// A copy of the scenario to change, kept while the same one is asked for.
  Scenario& place(const Scenario& scenario, const ScenarioEntry* of) {
    if (changing_of_ != of) {
      changing_ = scenario;
      changing_of_ = of;
    }
    return changing_;
  }

  static void put(Scenario& scenario, const ScenarioEntry& read, const std::string& key,
                  const std::string& text) {
    auto& step = std::get<SingleStep>(scenario.workload.traffic);
    const double value = *parse_quantity<double>(text, Sign::any).value;
    if (key == batch_key) {
      step.batch = value * request;
      return;
    }
    step.context = TokensPerRequest::from_base(value);
    // A step's prompt is its context unless the scenario says otherwise.
    for (const DefaultUsed& used : read.defaults_used)
      if (used.pointer == "/workload/input_tokens") scenario.workload.input = step.context;
  }

  [[nodiscard]] std::string reason(const Answer& answer, const Scenario& scenario) const {
    std::string text = answer.verdict.reason;
    if (!answer.verdict.remedy.empty()) text += "; would help: " + answer.verdict.remedy;
    std::vector<std::string> said{answer.verdict.reason};
    for (const Missing& missing : missing_numbers(answer, scenario)) {
      const bool asked =
          std::any_of(options_.metrics.begin(), options_.metrics.end(),
                      [&](const Metric* metric) { return metric->key == missing.metric; });
      if (!asked || std::find(said.begin(), said.end(), missing.reason) != said.end()) continue;
      said.push_back(missing.reason);
      text += (text.empty() ? "" : "; ") + missing.metric + ": " + missing.reason;
    }
    return text;
  }

  const ScenarioDocument& document_;
  const Catalog& catalog_;
  const Grid& grid_;
  const KernelConstants& kernels_;
  const SweepOptions& options_;
  std::vector<bool> direct_;
  std::map<std::vector<std::size_t>, ScenarioEntry> read_;
  Scenario changing_;
  const ScenarioEntry* changing_of_ = nullptr;
};

/// The document without the kinds of traffic that the axes replace.
ScenarioDocument with_traffic_of(const Grid& grid, ScenarioDocument document,
                                 const Catalog& catalog) {
  const auto is_axis = [&](std::string_view key) {
    return std::any_of(grid.axes.begin(), grid.axes.end(),
                       [&](const Axis& axis) { return axis.key == key; });
  };
  const std::vector<std::string_view> kinds[] = {
      {"workload.arrival_rate", "workload.arrival_squared_cv"},
      {"workload.concurrency"},
      {batch_key, context_key}};
  for (const auto& kind : kinds) {
    if (!is_axis(kind.front()) && !(kind.front() == batch_key && is_axis(context_key))) continue;
    for (const auto& other : kinds)
      for (const std::string_view key : other)
        if (&other != &kind && !is_axis(key)) document.set(std::string(key) + "=null", catalog);
  }
  return document;
}

}  // namespace

void sweep(const ScenarioDocument& document, const Catalog& catalog, const Grid& grid,
           const SweepOptions& options, const std::function<void(const SweepRow&)>& take) {
  constexpr std::uint64_t rows_at_once = 32;
  const std::uint64_t first = options.shard.first(grid.size());
  const std::uint64_t count = options.shard.last(grid.size()) - first;
  const std::uint64_t items = count / rows_at_once + (count % rows_at_once > 0);
  const ScenarioDocument base = with_traffic_of(grid, document, catalog);
  const KernelConstants kernels = catalog.kernels().constants;
  const auto threads =
      static_cast<unsigned>(std::clamp<std::uint64_t>(items, 1, std::max(1u, options.threads)));
  std::vector<PointReader> readers(threads, PointReader(base, catalog, grid, kernels, options));
  std::uint64_t done = 0;
  in_order(
      items, threads,
      [&](unsigned worker, std::uint64_t item) {
        std::vector<SweepRow> rows;
        const std::uint64_t from = item * rows_at_once;
        for (std::uint64_t i = from; i < std::min(count, from + rows_at_once); ++i)
          rows.push_back(readers[worker].row(first + i));
        return rows;
      },
      [&](const std::vector<SweepRow>& rows) {
        for (const SweepRow& row : rows) take(row);
        done += rows.size();
        if (options.progress) options.progress(done, count);
      });
}

std::optional<double> axis_number(const Axis& axis, const std::string& value) {
  return parse_quantity<double>(axis.number_text(value), Sign::any).value;
}

std::vector<std::string> sweep_columns(const Grid& grid, const SweepOptions& options) {
  std::vector<std::string> names;
  for (const Axis& axis : grid.axes) names.push_back(axis.column());
  for (const Metric* metric : options.metrics) names.push_back(metric->column());
  for (const char* name : {"decode_bound", "status", "reason", "schema_version"})
    names.emplace_back(name);
  return names;
}

void write_sweep_csv(const ScenarioDocument& document, const Catalog& catalog, const Grid& grid,
                     const SweepOptions& options, std::ostream& out, CsvDialect dialect) {
  if (options.shard.number > 1) dialect.byte_order_mark = false;
  CsvWriter csv(out, dialect);
  bool begun = options.shard.number > 1;  // no header before it is known that there will be rows
  sweep(document, catalog, grid, options, [&](const SweepRow& row) {
    if (!begun) csv.header(sweep_columns(grid, options));
    begun = true;
    for (std::size_t i = 0; i < row.values.size(); ++i) {
      const std::optional<double> number = axis_number(grid.axes[i], row.values[i]);
      if (number)
        csv.cell(*number);
      else
        csv.cell(row.values[i]);
    }
    for (const std::optional<double>& number : row.numbers) csv.cell(number);
    if (row.decode_bound)
      csv.cell(to_string(*row.decode_bound));
    else
      csv.missing();
    csv.cell(to_string(row.status)).cell(row.reason).cell(1).end_row();
  });
  if (!begun) csv.header(sweep_columns(grid, options));
}

}  // namespace tokenroof::io
