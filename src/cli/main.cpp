// tokenroof VERB [SPEC] [options]: reads the command line, runs a verb, turns what goes wrong into
// one message on standard error and an exit code.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <new>

#include "cli/verb.hpp"
#include "io/json_reader.hpp"
#include "tokenroof/core/error.hpp"

namespace tokenroof::cli {
namespace {

/// Options of every verb.
void add_common_options(CLI::App& app, Options& options) {
  app.add_option("-o,--output", options.output, "File to write, - for standard output")
      ->type_name("FILE")
      ->capture_default_str();
  app.add_flag("--quiet", options.quiet, "No progress on standard error");
}

/// Options of every verb that gives an answer.
void add_answer_options(CLI::App& app, Options& options) {
  auto* format = app.add_option("--format", options.format,
                                "Default: by the ending of -o, else a table for people")
                     ->check(CLI::IsMember({"table", "json", "csv", "markdown"}));
  app.add_flag_callback(
         "--json", [&options] { options.format = "json"; }, "Same as --format json")
      ->excludes(format);
  app.add_option("--csv-dialect", options.csv_dialect,
                 "semicolon: CSV for spreadsheets whose decimals have a comma")
      ->check(CLI::IsMember({"comma", "semicolon"}))
      ->capture_default_str();
  app.add_option("--data", options.data,
                 "Folder with accelerators, models and engines, in place of the built-in ones "
                 "[environment: TOKENROOF_DATA]")
      ->type_name("FOLDER");
}

/// The message about a command line that cannot be read, with what was probably meant.
std::string complaint(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> rest = app.remaining(true);
  const auto chosen = app.get_subcommands();
  std::vector<std::string> candidates;
  if (chosen.empty()) {
    const auto word = std::find_if(rest.begin(), rest.end(),
                                   [](const std::string& text) { return !text.starts_with("-"); });
    if (word == rest.end()) return error.what();
    for (const Verb* verb : verbs()) candidates.emplace_back(verb->name);
    return "unknown verb \"" + *word + "\"" + io::did_you_mean(*word, candidates);
  }
  std::string text = chosen.front()->get_name() + ": " + error.what();
  for (const CLI::Option* option : chosen.front()->get_options())
    for (const std::string& name : option->get_lnames()) candidates.push_back("--" + name);
  for (const std::string& word : rest)
    if (word.starts_with("--"))
      text += io::did_you_mean(word.substr(0, word.find('=')), candidates);
  return text;
}

int run(int argc, char** argv) {
  CLI::App app(
      "Does a language model fit on these devices, how fast is it, how many users does it "
      "serve, and what does a million tokens cost.",
      "tokenroof");
  app.set_version_flag("-v,--version", "tokenroof " TOKENROOF_VERSION);
  app.require_subcommand(1);
  std::string exits;
  for (const ExitMeaning& one : exit_meanings)
    exits +=
        (exits.empty() ? "" : ", ") + std::to_string(one.exit) + " " + std::string(one.meaning);
  app.footer(
      "Examples:\n"
      "  tokenroof model llama-3.1-70b\n"
      "  tokenroof estimate scenario.json\n"
      "  tokenroof estimate scenario.json --set workload.concurrency=128 --json\n"
      "  tokenroof list accelerators\n"
      "`tokenroof VERB --help` explains a verb. Exit codes:\n" +
      exits + ".");
  Options options;
  Action chosen;
  for (const Verb* verb : verbs()) {
    CLI::App& sub = *app.add_subcommand(std::string(verb->name), std::string(verb->summary));
    Action action = verb->declare(sub, options);
    if (verb->gives == Gives::answer) add_answer_options(sub, options);
    add_common_options(sub, options);
    sub.footer("Examples:\n" + std::string(verb->examples));
    sub.callback([&chosen, action = std::move(action)] { chosen = action; });
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error, std::cout, std::cerr);  // --help
    std::cerr << "tokenroof: " << complaint(app, error)
              << "\nRun `tokenroof --help` or `tokenroof VERB --help`.\n";
    return usage;
  }
  try {
    return chosen();
  } catch (const UsageError& error) {
    const std::string verb = app.get_subcommands().front()->get_name();
    std::cerr << "tokenroof: " << verb << ": " << error.what() << "\nRun `tokenroof " << verb
              << " --help`.\n";
    return usage;
  }
}

}  // namespace
}  // namespace tokenroof::cli

int main(int argc, char** argv) {
  using namespace tokenroof;
  try {
    return cli::run(argc, argv);
  } catch (const SpecError& error) {
    std::cerr << error.what() << '\n';
    return cli::bad_input;
  } catch (const std::filesystem::filesystem_error& error) {
    std::cerr << error.path1().string() << ": " << error.code().message() << '\n';
    return cli::bad_input;
  } catch (const std::bad_alloc&) {
    std::cerr << "tokenroof: this needs more memory than there is\n";
    return cli::bad_input;
  } catch (const std::exception& error) {
    std::cerr << "tokenroof: internal error: " << error.what() << '\n';
    return cli::internal;
  }
}
