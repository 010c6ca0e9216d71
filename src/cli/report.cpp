// report S: a page for those who decide.
#include "tokenroof/io/report.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "cli/verb.hpp"
#include "tokenroof/io/output_file.hpp"

namespace tokenroof::cli {
namespace {

struct ReportOptions {
  std::string format;  ///< html, markdown; empty: by the ending of -o
  bool pictures = false;
};

bool wants_html(const Options& options, const ReportOptions& own) {
  const std::string& file = options.output;
  if (!own.format.empty()) return own.format == "html";
  if (file.ends_with(".html") || file.ends_with(".htm")) return true;
  if (file == "-" || file.ends_with(".md") || file.ends_with(".markdown")) return false;
  throw UsageError("-o " + file +
                   ": expected a file that ends with .html, .htm or .md, or --format");
}

int run(const Options& options, const ReportOptions& own) {
  const bool html = wants_html(options, own);
  if (own.pictures && html)
    throw UsageError("--pictures: HTML has its pictures inside; it is for markdown");
  if (own.pictures && options.output == "-")
    throw UsageError("--pictures writes files beside the report: name it with -o");
  const io::Catalog data = catalog(options);
  io::ScenarioDocument document = io::ScenarioDocument::load(options.spec);
  for (const std::string& assignment : options.overrides) document.set(assignment, data);
  const io::Report report = io::make_report(document, data, {fidelity(options), TOKENROOF_VERSION});

  const std::string stem =
      own.pictures ? std::filesystem::path(options.output).replace_extension().string() : "";
  std::vector<std::unique_ptr<io::OutputFile>> files;  // all are written before one is in place
  const auto write = [&](const std::string& path, const std::string& text) {
    files.push_back(std::make_unique<io::OutputFile>(path));
    files.back()->stream() << text;
  };
  if (own.pictures)
    for (const io::ReportFigure* figure : io::figures(report))
      write(io::picture_path(stem, figure->name), io::svg(figure->chart));
  write(options.output, html ? io::report_html(report) : io::report_markdown(report, stem));
  for (const auto& file : files) file->commit();
  return exit_of(report.verdict);
}

Action declare(CLI::App& app, Options& options) {
  add_scenario_options(app, options);
  const auto own = std::make_shared<ReportOptions>();
  app.add_option("--format", own->format,
                 "Default: by the ending of -o (.html, .htm, .md), else markdown")
      ->check(CLI::IsMember({"html", "markdown"}));
  app.add_flag("--pictures", own->pictures,
               "With markdown: also FILE-NAME.svg for each picture, beside FILE.md. HTML has them "
               "inside");
  app.add_option("--data", options.data,
                 "Folder with accelerators, models and engines, in place of the built-in ones "
                 "[environment: TOKENROOF_DATA]")
      ->type_name("FOLDER");
  return [&options, own] { return run(options, *own); };
}

}  // namespace

extern const Verb report_verb;
const Verb report_verb{
    "report", "A page for those who decide: question, answer, pictures, assumptions, sources",
    "  tokenroof report scenario.json -o report.html      one file, nothing from a network\n"
    "  tokenroof report scenario.json -o report.md --pictures\n"
    "  tokenroof report scenario.json --set accelerator=h200-sxm-141gb -o h200.html\n"
    "The texts `question` and `comment` of the scenario are quoted. The same inputs give the same\n"
    "file: it has no date. Exit code 1 when it does not fit, is unstable or misses the objective;\n"
    "the report is written all the same and says what would help.",
    declare, Gives::text};

}  // namespace tokenroof::cli
