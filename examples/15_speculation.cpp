// 15  Where does speculative decoding win, and where does it lose?
#include "support.hpp"
#include "tokenroof/decide/replica.hpp"

using namespace tokenroof;
using namespace example;

int main(int argc, char** argv) {
  return run(argc, argv, [](const Spec& spec, Report& report) {
    const Scenario first = spec.scenario();
    const Speculation draft = *first.speculation;
    const int most = static_cast<int>(spec.one("most_drafts"));
    const double expected = expected_tokens(draft.acceptance, draft.draft_tokens);
    TextbookModel<> model = textbook_model(first, token);
    model.all_reduces = 0;
    const TextbookMachine<> machine = textbook_machine(first);
    const auto speedup = [&](double verification) {
      return speculative_speedup(draft.acceptance, draft.draft_tokens, draft.draft_cost,
                                 verification);
    };

    Rows rows;
    int wins = 0, losses = 0;
    DraftChoice longest;
    for (const std::string& text : spec.texts("contexts")) {
      const Scenario scenario = spec.scenario({"workload.context_tokens=" + text});
      const TokensPerRequest context = std::get<SingleStep>(scenario.workload.traffic).context;
      const Replica replica = reduce(scenario, Fidelity::calibrated);
      for (const double batch : spec.list<double>("batches")) {
        const auto step = [&](int drafts) {
          StepLoad<double> load = decode_load(batch, context.base());
          load.query_tokens = drafts + 1;
          return replica.step(load).total();
        };
        const auto textbook = [&](int drafts) {
          return textbook_step(model, machine, batch * request, context,
                               (drafts + 1) * one_token_each)
              .time();
        };
        const double v = step(draft.draft_tokens) / step(0);
        const DraftChoice best =
            best_speculation(draft.acceptance, draft.draft_cost, most,
                             [&](int drafts) { return step(drafts) / step(0); });
        if (best.drafts > longest.drafts) longest = best;
        (speedup(v) > 1 ? wins : losses) += 1;
        const double least = breakeven_acceptance(draft.draft_tokens, draft.draft_cost, v);
        rows.push_back({context, batch,
                        batch <= replica.memory.max_concurrency.base() ? "yes" : "no",
                        speedup(textbook(draft.draft_tokens) / textbook(0)), v, speedup(v),
                        least <= 1 ? Cell(least) : Cell(), best.drafts, best.speedup});
      }
    }
    report.say(
        "A draft proposes {} tokens, each accepted with probability {}; a draft step takes {} of a "
        "step of {}. A step then yields {} tokens and may take up to {} times as long before "
        "speculation loses.",
        draft.draft_tokens, draft.acceptance, draft.draft_cost, first.model.id, expected,
        breakeven_verification(draft.acceptance, draft.draft_tokens, draft.draft_cost));
    report.say("Claim: speculation makes decoding 2 to 3 times faster, with the same answers.");
    report.say(
        "Right while a step is bound by memory: {} times at most here. Verifying computes {} "
        "tokens per sequence and reads weights and cache once, so it is nearly free for few "
        "sequences or long contexts and costs most with many short ones. Of the {} cases {} lose. "
        "Speed-up of the textbook step (no communication) and of the calibrated one, the time to "
        "verify over the time of a plain step, the least acceptance that pays, and the best of 0 "
        "to {} drafts (0: do without); \"fits\" says whether memory holds the batch:",
        speedup(1), draft.draft_tokens + 1, wins + losses, losses, most);
    report.table({"context", "batch", "fits", "textbook_speedup", "verification", "speedup",
                  "least_acceptance", "best_drafts", "best_speedup"},
                 rows);
    report.say(
        "The same devices give the cost per token divided by the speed-up: where it is below 1, "
        "every user is slower and every token dearer. {} drafts are the most that pay anywhere.",
        longest.drafts);
  });
}
