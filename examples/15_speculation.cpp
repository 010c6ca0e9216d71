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
    Rows rows;
    int textbook_losses = 0, losses = 0;
    for (const std::string& text : spec.texts("contexts")) {
      const Scenario scenario = spec.scenario({"workload.context_tokens=" + text});
      const TokensPerRequest context = std::get<SingleStep>(scenario.workload.traffic).context;
      const Replica replica = reduce(scenario, Fidelity::calibrated);
      const Bytes pool = pool_beside_draft(
          replica.memory.kv_pool, draft.draft_memory / scenario.deployment.devices_per_replica(),
          model.kv, spec.one<BytesPerToken>("draft_kv"));
      const double places = replica.memory.cache.concurrency(pool, context);
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
        const auto speedup = [&](const auto& time, int drafts) {
          return speculative_speedup(draft.acceptance, drafts, draft.draft_cost,
                                     time(drafts) / time(0));
        };
        const double v = step(draft.draft_tokens) / step(0);
        const double simple = speedup(textbook, draft.draft_tokens);
        const double many = speedup(step, most);
        const DraftChoice best =
            best_speculation(draft.acceptance, draft.draft_cost, most,
                             [&](int drafts) { return step(drafts) / step(0); });
        textbook_losses += simple < 1;
        losses += many < 1;
        const double least = breakeven_acceptance(draft.draft_tokens, draft.draft_cost, v);
        rows.push_back({context, batch, batch <= places ? "yes" : "no", simple, v,
                        speedup(step, draft.draft_tokens), least <= 1 ? Cell(least) : Cell(), many,
                        best.drafts, best.speedup});
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
        "tokens per sequence but reads weights and cache once: nearly free for few sequences or "
        "long contexts, dear for many short ones. Below: speed-up of the textbook step (no "
        "communication; loses in {} rows) and of the calibrated one, its time to verify over that "
        "of a plain step, the least acceptance that pays, the speed-up with {} drafts (loses in {} "
        "rows), and the best number of drafts. \"fits\": memory beside the draft holds the batch.",
        expected / (1 + draft.draft_tokens * draft.draft_cost), draft.draft_tokens + 1,
        textbook_losses, most, losses);
    report.table({"context", "batch", "fits", "textbook_speedup", "verification", "speedup",
                  "least_acceptance", "many_drafts_speedup", "best_drafts", "best_speedup"},
                 rows);
    report.say(
        "The cost per token is divided by the speed-up: below 1 every user is slower and every "
        "token dearer. Drafts should get shorter as the batch grows.");
  });
}
