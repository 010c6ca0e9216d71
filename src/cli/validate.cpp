// validate FILE: predictions against measurements.
#include "tokenroof/io/validate.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/import_options.hpp"
#include "cli/plot.hpp"
#include "cli/verb.hpp"

namespace tokenroof::cli {
namespace {

struct ValidateOptions {
  std::string file;
  io::ValidateOptions how;
  PlotOptions plot;
  std::string metric;  ///< of the picture; empty: the one with most rows
};

int run(const Options& options, const ValidateOptions& own) {
  const io::ValidationReport report = io::validate_file(own.file, catalog(options), own.how);
  // A report without a single prediction says nothing: the same exit as a calibration that could
  // learn nothing.
  return deliver_with_plot(
      options, own.plot,
      {.text = [&](io::Markup markup) { return io::validation_text(report, markup); },
       .json = [&] { return io::validation_json(report, TOKENROOF_VERSION); },
       .csv = [&](std::ostream& out,
                  io::CsvDialect dialect) { io::write_validation_csv(report, out, dialect); }},
      [&] { return io::validation_picture(report, own.metric, TOKENROOF_VERSION); },
      report.evaluated > 0 ? answered : infeasible);
}

Action declare(CLI::App& app, Options& options) {
  auto own = std::make_shared<ValidateOptions>();
  app.add_option(
         "FILE", own->file,
         "CSV or JSON of measurements, or a benchmark result or log that import reads; - for "
         "standard input")
      ->required()
      ->type_name("FILE");
  app.add_option("--models", own->how.models_dir, "Folder where model configurations are looked up")
      ->type_name("FOLDER");
  app.add_option("--engine", own->how.engine, "Profile for every row, whatever the row names")
      ->type_name("ENGINE");
  add_stated_options(app, own->how.stated, {"--engine"});
  add_plot_options(app, own->plot);
  app.add_option("--plot-metric", own->metric,
                 "What --plot draws (default: the metric with most rows)");
  return [&options, own] { return run(options, *own); };
}

}  // namespace

extern const Verb validate_verb;
const Verb validate_verb{"validate", "Predictions against measurements, by row and by group",
                         "  tokenroof validate runs.csv\n"
                         "  tokenroof validate runs.csv --models configs/ --engine vllm\n"
                         "  tokenroof validate bench.json --accelerator h100-sxm-80gb --tp 8\n"
                         "  tokenroof validate runs.csv -o rows.csv     one line a row: "
                         "id,metric,measured,predicted,ape\n"
                         "  tokenroof validate runs.csv --plot scatter.svg --plot-metric tpot_ms\n"
                         "Exit code 1 when no row could be evaluated.",
                         declare};

}  // namespace tokenroof::cli
