// validate FILE: predictions against measurements.
#include "tokenroof/io/validate.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/output.hpp"
#include "cli/verb.hpp"

namespace tokenroof::cli {
namespace {

struct ValidateOptions {
  std::string file;
  io::ValidateOptions how;
};

int run(const Options& options, const ValidateOptions& own) {
  const io::ValidationReport report = io::validate_file(own.file, catalog(options), own.how);
  deliver(options, {.text = [&](io::Markup markup) { return io::validation_text(report, markup); },
                    .json = [&] { return io::validation_json(report, TOKENROOF_VERSION); },
                    .csv = [&](std::ostream& out) { io::write_validation_csv(report, out); }});
  return answered;
}

Action declare(CLI::App& app, Options& options) {
  auto own = std::make_shared<ValidateOptions>();
  app.add_option("FILE", own->file, "CSV or JSON of measurements, - for standard input")
      ->required();
  app.add_option("--models", own->how.models_dir,
                 "Folder where model configurations are looked up");
  app.add_option("--engine", own->how.engine, "Profile for every row, whatever the row names");
  return [&options, own] { return run(options, *own); };
}

}  // namespace

extern const Verb validate_verb;
const Verb validate_verb{"validate", "Predictions against measurements, by row and by group",
                         "  tokenroof validate runs.csv\n"
                         "  tokenroof validate runs.csv --models configs/ --engine vllm\n"
                         "  tokenroof validate runs.csv -o rows.csv     one line a row: "
                         "id,metric,measured,predicted,ape",
                         declare};

}  // namespace tokenroof::cli
