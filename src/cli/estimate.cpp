// estimate S: the main job.
#include "tokenroof/decide/estimate.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/plot.hpp"
#include "cli/verb.hpp"
#include "tokenroof/io/answer_io.hpp"
#include "tokenroof/io/table.hpp"

namespace tokenroof::cli {
namespace {

struct EstimateOptions {
  PlotOptions plot;
  std::string picture;  ///< empty: by the workload
};

/// The picture that says most: of what does not fit, of traffic, of one step.
std::string_view usual_picture(const Answer& answer, const Workload& workload) {
  if (answer.verdict.outcome == Outcome::does_not_fit ||
      answer.verdict.outcome == Outcome::context_does_not_fit)
    return "memory";
  if (std::holds_alternative<OpenLoop>(workload.traffic)) return "load";
  return std::holds_alternative<ClosedLoopTraffic>(workload.traffic) ? "batch" : "roofline";
}

io::Picture picture_of(const io::ScenarioEntry& entry, const Answer& answer,
                       const EstimateOptions& own, const io::Catalog& data) {
  const std::string_view name =
      own.picture.empty() ? usual_picture(answer, entry.scenario.workload) : own.picture;
  const io::PriceList prices = io::shipped_prices(data);
  for (const io::ScenarioPicture& picture : io::scenario_pictures())
    if (picture.name == name)
      return picture.draw(entry.scenario,
                          {answer.fidelity, data.kernels().constants, TOKENROOF_VERSION},
                          io::find_price(prices, entry.scenario.model.id));
  return {std::nullopt, "unknown"};  // the command line has been checked
}

int run(const Options& options, const EstimateOptions& own) {
  const io::Catalog data = catalog(options);
  const io::ScenarioEntry entry = scenario(options, data);
  const Answer answer = estimate(entry.scenario, fidelity(options), data.kernels().constants);
  return deliver_with_plot(
      options, own.plot,
      {.text =
           [&](io::Markup markup) {
             const bool colour = options.output == "-" && io::colour_welcome(STDOUT_FILENO);
             return io::answer_text(answer, entry, markup, colour);
           },
       .json = [&] { return io::answer_json(answer, entry, TOKENROOF_VERSION); },
       .csv = [&](std::ostream& out,
                  io::CsvDialect dialect) { io::write_answer_csv(answer, entry, out, dialect); }},
      [&] { return picture_of(entry, answer, own, data); }, exit_of(answer.verdict));
}

Action declare(CLI::App& app, Options& options) {
  add_scenario_options(app, options);
  const auto own = std::make_shared<EstimateOptions>();
  add_plot_options(app, own->plot);
  std::string names;
  for (const io::ScenarioPicture& picture : io::scenario_pictures()) {
    names += (names.empty() ? "" : ", ") + std::string(picture.name) + " (" +
             std::string(picture.meaning) + ")";
  }
  app.add_option("--picture", own->picture,
                 "What --plot draws: " + names + ". Default: by the workload")
      ->check(CLI::IsMember([] {
        std::vector<std::string> all;
        for (const io::ScenarioPicture& picture : io::scenario_pictures())
          all.emplace_back(picture.name);
        return all;
      }()));
  return [&options, own] { return run(options, *own); };
}

}  // namespace

extern const Verb estimate_verb;
const Verb estimate_verb{
    "estimate", "Does it fit, how fast is it, how many users, what binds, what does it cost",
    "  tokenroof estimate scenario.json\n"
    "  tokenroof estimate scenario.json --fidelity ideal\n"
    "  tokenroof estimate scenario.json --set workload.concurrency=128 --set engine=sglang\n"
    "  tokenroof estimate - --json < scenario.json | jq .decode.step_s\n"
    "  tokenroof estimate scenario.json -o answer.csv\n"
    "  tokenroof estimate scenario.json --plot roofline.svg --picture roofline\n"
    "  tokenroof estimate scenario.json --plot -\n"
    "Exit code 1 when it does not fit, is unstable or misses the objective.",
    declare};

}  // namespace tokenroof::cli
