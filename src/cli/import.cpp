// import FILE...: benchmark results and start-up logs as rows that validate and calibrate read.
#include "tokenroof/io/import.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cli/import_options.hpp"
#include "cli/output.hpp"
#include "cli/verb.hpp"

namespace tokenroof::cli {
namespace {

struct ImportArguments {
  std::vector<std::string> files;
  io::ImportOptions how;
};

std::vector<std::string> names(const std::vector<std::string_view>& views) {
  return {views.begin(), views.end()};
}

/// What was inferred and left out, where it does not disturb the rows.
void report(const io::ImportedRows& rows) {
  constexpr std::size_t most = 20;
  for (const std::string& note : rows.notes) std::cerr << "note: " << note << '\n';
  for (std::size_t i = 0; i < rows.skipped.size() && i < most; ++i)
    std::cerr << "skipped: " << rows.skipped[i].id << ": " << rows.skipped[i].reason << '\n';
  if (!rows.skipped.empty())
    std::cerr << rows.rows.size() << " rows, " << rows.skipped.size() << " skipped\n";
}

int run(const Options& options, const ImportArguments& own) {
  std::vector<std::filesystem::path> paths(own.files.begin(), own.files.end());
  const io::ImportedRows rows = io::import_files(paths, catalog(options), own.how);
  Options as_rows = options;  // rows are for programs: CSV unless another format is asked for
  if (options.format.empty() && output_format(options) == OutputFormat::table)
    as_rows.format = "csv";
  deliver(as_rows,
          {.text = [&](io::Markup markup) { return io::import_text(rows, markup); },
           .json = [&] { return io::import_json(rows, TOKENROOF_VERSION); },
           .csv = [&](std::ostream& out,
                      io::CsvDialect dialect) { io::write_import_csv(rows, out, dialect); }});
  const OutputFormat format = output_format(as_rows);
  if (!options.quiet && format == OutputFormat::csv) report(rows);
  return answered;
}

Action declare(CLI::App& app, Options& options) {
  auto own = std::make_shared<ImportArguments>();
  app.add_option("FILE", own->files, "Files to import, - for standard input")
      ->required()
      ->type_name("FILE");
  app.add_option("--from", own->how.from, "Kind of the files. Default: told from their content")
      ->check(CLI::IsMember(names(io::import_kinds())));
  app.add_option("--as", own->how.as, "Kind of rows to keep, where a file has several")
      ->check(CLI::IsMember({"closed_loop", "open_loop", "measurements", "capacity"}));
  app.add_option("--models", own->how.models_dir, "Folder where model configurations are looked up")
      ->type_name("FOLDER");
  add_stated_options(app, own->how.stated);
  return [&options, own] { return run(options, *own); };
}

}  // namespace

extern const Verb import_verb;
const Verb import_verb{
    "import", "Benchmark results and start-up logs as rows for validate and calibrate",
    "  tokenroof import bench.json --accelerator h100-sxm-80gb --tp 8 -o rows.csv\n"
    "  tokenroof import bench.json --accelerator h100-sxm-80gb --tp 8 | tokenroof validate -\n"
    "  tokenroof import server.log --accelerator h100-sxm-80gb --format table\n"
    "  tokenroof import agg_*.json --as closed_loop -o rows.csv\n"
    "  tokenroof import profile_export.jsonl --model qwen3-32b --accelerator h100 --tp 2 "
    "--concurrency 32\n"
    "Reads vllm bench serve, AIPerf, GenAI-Perf, InferenceX, aiconfigurator, and the logs of\n"
    "vLLM, SGLang, TensorRT-LLM and llama.cpp.",
    declare};

}  // namespace tokenroof::cli
