// bill S: who pays what, and what an API would charge for the same traffic.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cli/output.hpp"
#include "cli/verb.hpp"
#include "tokenroof/decide/estimate.hpp"
#include "tokenroof/io/bill.hpp"
#include "tokenroof/io/prices.hpp"

namespace tokenroof::cli {
namespace {

struct BillOptions {
  std::string api, prices;
};

int run(const Options& options, const BillOptions& own) {
  const io::Catalog data = catalog(options);
  const io::ScenarioEntry entry = scenario(options, data);
  std::optional<ApiPrice> api;
  if (!own.api.empty())
    api = (own.prices.empty() ? io::shipped_prices(data) : io::read_prices_file(own.prices))
              .at(own.api);
  const Answer answer = estimate(entry.scenario, fidelity(options), data.kernels().constants);
  const bool step = std::holds_alternative<SingleStep>(entry.scenario.workload.traffic);
  if (!step && !answer.serving.request_rate) {  // a verdict is an answer
    std::cerr << "Nothing to pay for: " << answer.verdict.reason
              << "\nWhat would help: " << answer.verdict.remedy << '\n';
    return infeasible;
  }
  if (own.api.empty() && !own.prices.empty()) throw UsageError("--prices needs --api MODEL");
  const io::BillReport report =
      io::bill_report(entry, fidelity(options), data.kernels().constants, api ? &*api : nullptr);
  deliver(options,
          {.text = [&](io::Markup markup) { return io::bill_text(report, entry.scenario, markup); },
           .json = [&] { return io::bill_json(report, TOKENROOF_VERSION); },
           .csv = [&](std::ostream& out,
                      io::CsvDialect dialect) { io::write_bill_csv(report, out, dialect); }});
  return answered;
}

Action declare(CLI::App& app, Options& options) {
  add_scenario_options(app, options);
  const auto own = std::make_shared<BillOptions>();
  app.add_option("--api", own->api, "Compare with this model of the price list")
      ->type_name("MODEL");
  app.add_option("--prices", own->prices,
                 "Price list in place of the one that ships, as LiteLLM writes it")
      ->type_name("FILE");
  return [&options, own] { return run(options, *own); };
}

}  // namespace

extern const Verb bill_verb;
const Verb bill_verb{
    "bill", "What each class of tokens and each kind of requests pays, against an API",
    "  tokenroof bill scenario.json\n"
    "  tokenroof bill scenario.json --api deepseek-v3\n"
    "  tokenroof bill scenario.json --prices model_prices_and_context_window.json --api gpt-4o\n"
    "Several kinds of requests: workload.classes, a list of {name, share, input_tokens,\n"
    "output_tokens, prefix_hit_rate}.",
    declare};

}  // namespace tokenroof::cli
