// calibrate FILE: an engine profile learned from measurements, with its fit error; with --log, what
// a start-up log says about memory against a scenario.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "cli/calibrate_log.hpp"
#include "cli/import_options.hpp"
#include "cli/output.hpp"
#include "cli/verb.hpp"
#include "io/json_out.hpp"
#include "io/page.hpp"
#include "tokenroof/io/calibrate.hpp"
#include "tokenroof/io/output_file.hpp"

namespace tokenroof::cli {
namespace {

struct CalibrateOptions {
  std::string file, profile, log;
  io::CalibrateOptions how;
};

io::Json error_json(const FitError& error) {
  if (error.rows == 0) return nullptr;
  return {{"rows", error.rows},
          {"median_ape", io::number(error.median_ape)},
          {"mean_ape", io::number(error.mean_ape)},
          {"p90_ape", io::number(error.p90_ape)},
          {"median_ratio", io::number(error.median_ratio)}};
}

std::string json_text(const io::EngineCalibration& result) {
  const Calibration& fit = result.fit;
  io::Json json = io::document("calibrate", TOKENROOF_VERSION);
  json["engine"] = result.profile.engine.name;
  json["refusal"] = fit.refusal;
  json["rows"] = fit.rows;
  json["groups"] = fit.groups;
  json["condition"] = io::number(fit.condition);
  json["in_sample"] = error_json(fit.in_sample);
  json["left_out"] = error_json(fit.left_out);
  json["error_band"] = {{"p10", io::number(fit.spread_low)}, {"p90", io::number(fit.spread_high)}};
  json["constants"] = io::Json::array();
  for (const FittedParameter& p : fit.parameters)
    json["constants"].push_back(
        {{"name", p.name},
         {"value", io::number(p.value)},
         {"fitted", p.fitted},
         {"at_bound", p.at_bound},
         {"standard_error", p.fitted ? io::number(p.standard_error) : io::Json(nullptr)},
         {"reason", p.reason}});
  json["skipped"] = io::Json::array();
  for (const io::Skipped& row : result.skipped)
    json["skipped"].push_back({{"id", row.id}, {"reason", row.reason}});
  json["profile"] =
      fit.ok() ? io::parse_json(io::write_engine(result.profile), "profile") : io::Json(nullptr);
  json["missing"] = io::Json::array();
  const auto missing = [&](const char* metric, const std::string& reason) {
    json["missing"].push_back({{"metric", metric}, {"reason", reason}});
  };
  if (!fit.ok()) missing("profile", fit.refusal);
  if (fit.in_sample.rows == 0) missing("in_sample", fit.refusal);
  if (fit.left_out.rows == 0)
    missing("left_out", fit.ok() ? "needs rows of at least two groups" : fit.refusal);
  return io::dump(json);
}

std::string text(const io::EngineCalibration& result, io::Markup markup) {
  const Calibration& fit = result.fit;
  io::Page page(markup);
  page.title(fmt::format("{}: {} rows in {} groups, {} skipped", result.profile.engine.name,
                         fit.rows, fit.groups, result.skipped.size()));
  if (!fit.ok()) page.line(fmt::format("Nothing was learned: {}.", fit.refusal));
  const auto error = [&](const char* name, const FitError& e) {
    if (e.rows > 0)
      page.line(
          fmt::format("{}: median error {}, mean {}, p90 {}; median of predicted over "
                      "measured {:.3f}.",
                      name, io::percent_text(e.median_ape), io::percent_text(e.mean_ape),
                      io::percent_text(e.p90_ape), e.median_ratio));
  };
  error("On the rows learned from", fit.in_sample);
  error("On groups left out of the fit", fit.left_out);
  io::TextTable table({"constant", "value", "+-", "remark"});
  for (const FittedParameter& p : fit.parameters)
    table.row({p.name, fmt::format("{:.4g}", p.value),
               p.fitted ? fmt::format("{:.2g}", p.standard_error) : "",
               p.fitted ? (p.at_bound ? "at its bound" : "") : "kept: " + p.reason});
  if (!table.empty()) page.section("Constants (base units)").table(table);
  return page.text();
}

void csv_rows(const io::EngineCalibration& result, std::ostream& out, io::CsvDialect dialect) {
  io::CsvWriter csv(out, dialect);
  csv.header({"constant", "value", "fitted", "at_bound", "standard_error", "reason"});
  for (const FittedParameter& p : result.fit.parameters) {
    csv.cell(p.name).cell(p.value).cell(p.fitted).cell(p.at_bound);
    csv.cell(p.fitted ? std::optional(p.standard_error) : std::nullopt).cell(p.reason).end_row();
  }
}

int run(const Options& options, const CalibrateOptions& own) {
  if (!own.log.empty()) return calibrate_log(options, own.log, own.file);
  const io::EngineCalibration result = io::calibrate_file(own.file, catalog(options), own.how);
  if (result.fit.ok() && !own.profile.empty())
    io::write_file(own.profile, io::write_engine(result.profile));
  deliver(options, {.text = [&](io::Markup markup) { return text(result, markup); },
                    .json = [&] { return json_text(result); },
                    .csv = [&](std::ostream& out,
                               io::CsvDialect dialect) { csv_rows(result, out, dialect); }});
  return result.fit.ok() ? answered : infeasible;
}

Action declare(CLI::App& app, Options& options) {
  auto own = std::make_shared<CalibrateOptions>();
  app.add_option(
         "FILE", own->file,
         "CSV of measurements (closed_loop or measurements) or a benchmark result that import "
         "reads; with --log, a scenario")
      ->required()
      ->type_name("FILE");
  CLI::Option* log = app.add_option("--log", own->log,
                                    "Start-up log to compare with the scenario FILE, - for "
                                    "standard input")
                         ->type_name("FILE");
  app.add_option("--profile", own->profile,
                 "Also write the profile here; scenarios take it as \"engine\": \"FILE\"")
      ->type_name("FILE")
      ->excludes(log);
  app.add_option("--engine", own->how.engine, "Profile to start from")
      ->type_name("ENGINE")
      ->capture_default_str();
  app.add_option("--engine-version", own->how.version, "Era to learn. Default: the newest");
  app.add_option("--constant", own->how.constants,
                 "Constant to learn, repeatable. Default: those that the profile states")
      ->allow_extra_args(false)
      ->excludes(log);
  app.add_option("--models", own->how.models_dir, "Folder where model configurations are looked up")
      ->type_name("FOLDER");
  add_stated_options(app, own->how.stated, {"--engine", "--engine-version"});
  return [&options, own] { return run(options, *own); };
}

}  // namespace

extern const Verb calibrate_verb;
const Verb calibrate_verb{"calibrate", "An engine profile learned from measurements",
                          "  tokenroof calibrate runs.csv --engine vllm --profile my-vllm.json\n"
                          "  tokenroof calibrate runs.csv --engine vllm --constant step "
                          "--constant per_layer\n"
                          "  tokenroof calibrate bench.json --accelerator h100-sxm-80gb --tp 8 "
                          "--engine vllm\n"
                          "  tokenroof calibrate --log server.log scenario.json\n"
                          "Exit code 1 when the data cannot tell the constants apart.",
                          declare};

}  // namespace tokenroof::cli
