// export xlsx S: the answer as a workbook with live formulas.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/output.hpp"
#include "cli/verb.hpp"
#include "tokenroof/decide/estimate.hpp"
#include "tokenroof/io/output_file.hpp"
#include "tokenroof/io/prices.hpp"
#ifdef TOKENROOF_HAS_XLSX
#include "tokenroof/io/xlsx.hpp"
#endif

namespace tokenroof::cli {
namespace {

struct ExportOptions {
  std::string kind;
  std::string api;
  std::string prices;
};

void check(const Options& options) {
  if (!options.format.empty()) throw UsageError("--format: a workbook has one format, .xlsx");
  if (options.csv_dialect != "comma") throw UsageError("--csv-dialect: a workbook is no CSV");
  if (same_file(options.output, options.spec))
    throw UsageError("-o would replace the file that is read");
  if (options.output == "-" && ::isatty(STDOUT_FILENO) == 1)
    throw UsageError("a workbook is no text for a terminal: name a file with -o");
}

#ifdef TOKENROOF_HAS_XLSX
/// The entry of the price list that was asked for, else the one named like the model.
std::optional<ApiPrice> api_price(const ExportOptions& own, const io::Catalog& data,
                                  const std::string& model) {
  const io::PriceList list =
      own.prices.empty() ? io::shipped_prices(data) : io::read_prices_file(own.prices);
  if (!own.api.empty()) return from_command_line([&] { return list.at(own.api); });
  for (const ApiPrice& price : list.models)
    if (price.model == model) return price;
  return std::nullopt;
}

int run(const Options& options, const ExportOptions& own) {
  const io::Catalog data = catalog(options);
  const io::ScenarioEntry entry = scenario(options, data);
  const io::KernelEntry kernels = data.kernels();
  const Answer answer = estimate(entry.scenario, fidelity(options), kernels.constants);
  if (!answer.decode)
    throw SpecError(options.spec, "/deployment", "nothing to export: " + answer.verdict.reason);
  const std::string workbook =
      io::workbook_xlsx(entry, fidelity(options), kernels,
                        {TOKENROOF_VERSION, api_price(own, data, entry.scenario.model.id)});
  io::write_file(options.output, workbook);
  return exit_of(answer.verdict);
}
#else
int run(const Options&, const ExportOptions&) {
  throw UsageError(
      "this tokenroof was built without workbooks: install libxlsxwriter-dev and build it again, "
      "or take a CSV with `tokenroof estimate SPEC -o FILE.csv`");
}
#endif

Action declare(CLI::App& app, Options& options) {
  auto own = std::make_shared<ExportOptions>();
  app.add_option("KIND", own->kind, "xlsx: a workbook with live formulas")
      ->required()
      ->check(CLI::IsMember({"xlsx"}));
  add_scenario_options(app, options);
  app.add_option("--api", own->api,
                 "Entry of the price list to compare with; default: the one named like the model")
      ->type_name("NAME");
  app.add_option("--prices", own->prices,
                 "Price list in place of the built-in one, such as LiteLLM's")
      ->type_name("FILE");
  return [&options, own] {
    check(options);
    return run(options, *own);
  };
}

}  // namespace

extern const Verb export_verb;
const Verb export_verb{
    "export", "The answer as a workbook: named inputs, live formulas, charts, sources",
    "  tokenroof export xlsx scenario.json -o answer.xlsx\n"
    "  tokenroof export xlsx scenario.json --fidelity ideal -o ideal.xlsx\n"
    "  tokenroof export xlsx scenario.json --api deepseek-r1 -o against_an_api.xlsx\n"
    "Exit code 1 when it does not fit, is unstable or misses the objective; the workbook is\n"
    "written all the same.",
    declare};

}  // namespace tokenroof::cli
