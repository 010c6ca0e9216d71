// estimate S: the main job.
#include "tokenroof/decide/estimate.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>

#include "cli/output.hpp"
#include "cli/verb.hpp"
#include "tokenroof/io/answer_io.hpp"
#include "tokenroof/io/table.hpp"

namespace tokenroof::cli {
namespace {

int run(const Options& options) {
  const io::Catalog data = catalog(options);
  const io::ScenarioEntry entry = scenario(options, data);
  const Answer answer = estimate(entry.scenario, fidelity(options), data.kernels().constants);
  deliver(options, {.text =
                        [&](io::Markup markup) {
                          const bool colour =
                              options.output == "-" && io::colour_welcome(STDOUT_FILENO);
                          return io::answer_text(answer, entry, markup, colour);
                        },
                    .json = [&] { return io::answer_json(answer, entry, TOKENROOF_VERSION); },
                    .csv = [&](std::ostream& out) { io::write_answer_csv(answer, entry, out); }});
  return exit_of(answer.verdict);
}

Action declare(CLI::App& app, Options& options) {
  add_scenario_options(app, options);
  return [&options] { return run(options); };
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
    "Exit code 1 when it does not fit, is unstable or misses the objective.",
    declare};

}  // namespace tokenroof::cli
