// A verb of the tool is one file: what it is called, what it adds to the command line, and what it
// does. To add one: write src/cli/NAME.cpp that defines `const Verb NAME_verb`, and name it in
// verbs.cpp.
#pragma once

#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tokenroof/core/error.hpp"
#include "tokenroof/describe/scenario.hpp"
#include "tokenroof/io/catalog.hpp"
#include "tokenroof/io/scenario_io.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tokenroof::cli {

/// What the tool's exit tells a script.
enum Exit {
  answered = 0,    ///< and the answer is yes
  infeasible = 1,  ///< a verdict: does not fit, unstable, an objective missed
  usage = 2,
  bad_input = 3,
  internal = 4,
};

/// A command line that can be read and cannot be meant: exit 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What `read` makes of a value on the command line; its SpecError is then the caller's slip.
template <class Read>
auto from_command_line(const Read& read) -> decltype(read()) {
  try {
    return read();
  } catch (const SpecError& error) {
    throw UsageError(error.what());
  }
}

struct ExitMeaning {
  Exit exit;
  std::string_view meaning;
};
inline constexpr ExitMeaning exit_meanings[] = {{answered, "answered"},
                                                {infeasible, "infeasible or objective missed"},
                                                {usage, "usage"},
                                                {bad_input, "bad input"},
                                                {internal, "internal error"}};

/// Options that several verbs share. Every verb has the first block; the second belongs to
/// scenarios, see add_scenario_options.
struct Options {
  std::string format;  ///< table, json, csv, markdown; empty: by the ending of `output`, else table
  std::string output = "-";
  std::string csv_dialect = "comma";  ///< comma, semicolon
  std::string data;                   ///< folder in place of the embedded data
  bool quiet = false;

  std::string spec;
  std::string fidelity = "calibrated";
  std::vector<std::string> overrides;  ///< "key=value"
};

/// What runs when the command line has been read; gives an Exit.
using Action = std::function<int()>;

/// What a verb gives: an answer in any of the formats, or a text about the tool itself.
enum class Gives { answer, text };

/// The type name of an option or argument says what may stand there, to readers of --help and to
/// the shell's completion alike: MODEL, ACCELERATOR, ENGINE and METRIC are names, FILE and FOLDER
/// paths, KEY=VALUE a setting of a scenario.
struct Verb {
  std::string_view name;
  std::string_view summary;   ///< one line
  std::string_view examples;  ///< for --help
  /// Declares the verb's own options on `app`. `options` and `app` outlive the action.
  Action (*declare)(CLI::App& app, Options& options);
  Gives gives = Gives::answer;
};

/// All verbs, in the order of --help.
[[nodiscard]] std::span<const Verb* const> verbs();

/// Declares SPEC, --fidelity and --set, for verbs that take a scenario.
void add_scenario_options(CLI::App& app, Options& options);

/// Declares --set alone.
void add_overrides(CLI::App& app, Options& options);

/// Makes `option` take names of number formats ("fp8", "q4_k_m") and nothing else.
void takes_formats(CLI::Option& option);

[[nodiscard]] io::Catalog catalog(const Options& options);
/// The scenario of SPEC, --set applied.
[[nodiscard]] io::ScenarioEntry scenario(const Options& options, const io::Catalog& catalog);
[[nodiscard]] Fidelity fidelity(const Options& options);
/// The exit that a verdict asks for.
[[nodiscard]] inline int exit_of(const Verdict& verdict) {
  return verdict.ok() ? answered : infeasible;
}

}  // namespace tokenroof::cli
