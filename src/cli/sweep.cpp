// sweep S: a grid over any keys of the scenario.
#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <memory>
#include <thread>

#include "cli/plot.hpp"
#include "cli/verb.hpp"
#include "io/json_out.hpp"
#include "io/page.hpp"
#include "tokenroof/io/sweep_io.hpp"
#include "tokenroof/io/units_text.hpp"

namespace tokenroof::cli {
namespace {

struct SweepArguments {
  std::vector<std::string> axes, metrics;
  std::string shard = "1/1";
  unsigned threads = 0;
  PlotOptions plot;
};

/// The first metric that was asked for, evaluated again by itself: rows are not kept while they are
/// written.
io::Picture picture_of(const io::ScenarioDocument& document, const io::Catalog& data,
                       const Grid& grid, io::SweepOptions sweep, const std::string& metric,
                       const std::string& spec) {
  sweep.metrics = io::choose_metrics({metric});
  sweep.progress = {};
  std::vector<io::SweepRow> rows;
  io::sweep(document, data, grid, sweep, [&](const io::SweepRow& row) { rows.push_back(row); });
  return io::sweep_picture(grid, *sweep.metrics.front(), rows,
                           spec == "-" ? "standard input" : spec, TOKENROOF_VERSION);
}

/// A line on a terminal that overwrites itself; ends when all is done.
std::function<void(std::uint64_t, std::uint64_t)> progress_line(const Options& options) {
  if (!progress_welcome(options)) return {};
  using Clock = std::chrono::steady_clock;
  return [start = Clock::now(), shown = Clock::time_point{}](std::uint64_t done,
                                                             std::uint64_t total) mutable {
    const auto now = Clock::now();
    if (done < total && now - shown < std::chrono::milliseconds(200)) return;
    if (shown == Clock::time_point{} && done == total) return;  // too short to be worth a line
    shown = now;
    const double seconds = std::chrono::duration<double>(now - start).count();
    std::cerr << "\r" << done << " of " << total << " points, "
              << io::to_text(static_cast<double>(done) / seconds, 3) << " a second   "
              << (done == total ? "\n" : "") << std::flush;
  };
}

io::Json row_json(const io::SweepRow& row, const Grid& grid, const io::SweepOptions& sweep) {
  io::Json json;
  for (std::size_t i = 0; i < row.values.size(); ++i) {
    const auto number = io::parse_quantity<double>(row.values[i], io::Sign::any);
    json[grid.axes[i].key] = number ? io::number(*number.value) : io::Json(row.values[i]);
  }
  for (std::size_t i = 0; i < row.numbers.size(); ++i)
    json[std::string(sweep.metrics[i]->key)] = io::number(row.numbers[i]);
  json["decode.bound"] = row.decode_bound ? io::Json(to_string(*row.decode_bound)) : io::Json();
  json["status"] = to_string(row.status);
  json["reason"] = row.reason;
  return json;
}

std::vector<std::string> row_cells(const io::SweepRow& row) {
  std::vector<std::string> cells = row.values;
  for (const std::optional<double>& number : row.numbers)
    cells.push_back(number ? io::to_text(*number) : "");
  cells.emplace_back(row.decode_bound ? to_string(*row.decode_bound) : "");
  cells.emplace_back(to_string(row.status));
  return cells;
}

int run(Options options, const SweepArguments& arguments) {
  Grid grid;
  for (const std::string& text : arguments.axes) {
    grid.axes.push_back(from_command_line([&] { return io::parse_axis(text); }));
    for (std::size_t i = 0; i + 1 < grid.axes.size(); ++i)
      if (grid.axes[i].key == grid.axes.back().key)
        throw UsageError("--axis " + grid.axes.back().key + ": given twice");
  }
  const io::Catalog data = catalog(options);
  io::ScenarioDocument document = io::ScenarioDocument::load(options.spec);
  for (const std::string& assignment : options.overrides) document.set(assignment, data);

  // A grid is for a file or a program, unless people ask for a table.
  if (options.format.empty() && output_format(options) == OutputFormat::table &&
      arguments.plot.file != "-")
    options.format = "csv";
  std::vector<std::string> names = arguments.metrics;
  const bool for_people = output_format(options) == OutputFormat::table ||
                          output_format(options) == OutputFormat::markdown;
  if (for_people && names.empty())
    names = {"decode.step_s", "decode.tokens_per_s_per_sequence", "decode.tokens_per_s_total",
             "prefill.time_s", "economics.usd_per_mtok_output"};
  io::SweepOptions sweep{
      .fidelity = fidelity(options),
      .metrics = from_command_line([&] { return io::choose_metrics(names); }),
      .shard = from_command_line([&] { return io::parse_shard(arguments.shard); }),
      .threads = arguments.threads,
      .progress = progress_line(options)};
  if (sweep.threads == 0) sweep.threads = std::max(1u, std::thread::hardware_concurrency());
  return deliver_with_plot(
      options, arguments.plot,
      {.text =
           [&](io::Markup markup) {
             std::vector<std::string> header = io::sweep_columns(grid, sweep);
             header.resize(header.size() - 2);  // reason and schema_version are for files
             io::TextTable table(header);
             io::sweep(document, data, grid, sweep,
                       [&](const io::SweepRow& row) { table.row(row_cells(row)); });
             return io::Page(markup).table(table).text();
           },
       .json =
           [&] {
             io::Json json = io::document("sweep", TOKENROOF_VERSION);
             json["fidelity"] = to_string(sweep.fidelity);
             json["rows"] = io::Json::array();
             io::sweep(document, data, grid, sweep, [&](const io::SweepRow& row) {
               json["rows"].push_back(row_json(row, grid, sweep));
             });
             return io::dump(json);
           },
       .csv =
           [&](std::ostream& out, io::CsvDialect dialect) {
             io::write_sweep_csv(document, data, grid, sweep, out, dialect);
           }},
      [&] {
        return picture_of(
            document, data, grid, sweep,
            arguments.metrics.empty() ? "decode.tokens_per_s_total" : arguments.metrics.front(),
            options.spec);
      },
      answered);
}

Action declare(CLI::App& app, Options& options) {
  auto arguments = std::make_shared<SweepArguments>();
  add_scenario_options(app, options);
  app.add_option("--axis", arguments->axes,
                 "KEY=VALUES: a comma list of values and of ranges FIRST:LAST:xFACTOR or "
                 "FIRST:LAST:+STEP. Repeatable; the last axis is the fastest")
      ->type_name("KEY=VALUES")
      ->allow_extra_args(false)
      ->required();
  app.add_option("--metric", arguments->metrics,
                 "Only these columns, as `tokenroof list metrics` names them. Repeatable")
      ->type_name("METRIC")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--shard", arguments->shard,
                 "K/N: the K-th of N contiguous parts. Parts one after another are the whole; only "
                 "the first has a header")
      ->capture_default_str();
  app.add_option("--threads", arguments->threads, "0: as many as there are processors")
      ->capture_default_str();
  add_plot_options(app, arguments->plot);
  return [&options, arguments] { return run(options, *arguments); };
}

}  // namespace

extern const Verb sweep_verb;
const Verb sweep_verb{
    "sweep", "A grid over any keys of a scenario, as CSV",
    "  tokenroof sweep scenario.json --axis batch=1:512:x2 --axis context=1k,8k,64k -o grid.csv\n"
    "  tokenroof sweep scenario.json --axis accelerator=h100,h200,b200 --format table\n"
    "  tokenroof sweep scenario.json --axis workload.concurrency=1:256:x2 --metric decode.step_s\n"
    "  tokenroof sweep scenario.json --axis batch=1:512:x2 --axis context=1k,8k -o grid.csv --plot "
    "grid.svg\n"
    "  parallel --keep-order tokenroof sweep scenario.json --axis batch=1:4096:+1 --shard {}/8 ::: "
    "{1..8} > grid.csv",
    declare};

}  // namespace tokenroof::cli
