// validate-spec FILE: is the scenario well formed, and which defaults would it rest on.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <ostream>

#include "cli/output.hpp"
#include "cli/verb.hpp"
#include "io/json_out.hpp"
#include "io/page.hpp"

namespace tokenroof::cli {
namespace {

std::string text(const io::ScenarioEntry& entry, const Options& options, io::Markup markup) {
  io::Page page(markup);
  page.line(fmt::format("{}: valid", options.spec));
  io::TextTable table({"default used", "value", "origin"});
  for (const io::DefaultUsed& used : entry.defaults_used)
    table.row({used.pointer, used.value, used.origin});
  if (!table.empty()) page.table(table);
  return page.text();
}

std::string json_text(const io::ScenarioEntry& entry) {
  io::Json json = io::document("validate-spec", TOKENROOF_VERSION);
  json["valid"] = true;
  json["defaults_used"] = io::Json::array();
  for (const io::DefaultUsed& used : entry.defaults_used)
    json["defaults_used"].push_back(
        {{"key", used.pointer}, {"value", used.value}, {"origin", used.origin}});
  return io::dump(json);
}

void csv_rows(const io::ScenarioEntry& entry, std::ostream& out) {
  io::CsvWriter csv(out);
  csv.header({"key", "value", "origin"});
  for (const io::DefaultUsed& used : entry.defaults_used)
    csv.cell(used.pointer).cell(used.value).cell(used.origin).end_row();
}

int run(const Options& options) {
  const io::ScenarioEntry entry = scenario(options, catalog(options));
  deliver(options, {.text = [&](io::Markup markup) { return text(entry, options, markup); },
                    .json = [&] { return json_text(entry); },
                    .csv = [&](std::ostream& out) { csv_rows(entry, out); }});
  return answered;
}

Action declare(CLI::App& app, Options& options) {
  add_scenario_options(app, options);
  return [&options] { return run(options); };
}

}  // namespace

extern const Verb validate_spec_verb;
const Verb validate_spec_verb{"validate-spec", "Checks a scenario file, all faults at once",
                              "  tokenroof validate-spec scenario.json\n"
                              "  cat scenario.json | tokenroof validate-spec -\n"
                              "Exit code 3 and one line a fault when it is not valid.",
                              declare};

}  // namespace tokenroof::cli
