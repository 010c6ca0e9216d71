// 03  What does a batch share, what does each user pay alone, and what would no KV cache cost?
#include "support.hpp"
#include "tokenroof/physics/attention.hpp"

using namespace tokenroof;
using namespace example;

int main(int argc, char** argv) {
  return run(argc, argv, [](const Spec& spec, Report& report) {
    const Scenario scenario = spec.scenario();
    const TextbookModel<> model = textbook_model(scenario, token);
    const TextbookMachine<> machine = textbook_machine(scenario);
    const Tokens answer = spec.one<Tokens>("answer_tokens");

    report.say(
        "Every output token reads all {} of weights once. An answer of {} tokens is {} steps, "
        "one after another, so its user causes {} of reads. A batch shares each read among "
        "users; it cannot share reads among one user's own tokens.",
        model.weights_read, answer / token, answer / token, model.weights_read * (answer / token));

    Rows rows;
    for (const TokensPerRequest context : spec.list<TokensPerRequest>("contexts")) {
      for (const Requests batch : spec.list<Requests>("batches")) {
        const TextbookStep<> step = textbook_step(model, machine, batch, context);
        rows.push_back({context.base(), batch / request,
                        model.weights_read / (batch / request) / megabyte,
                        model.kv * context * request / megabyte,
                        (model.linear + model.attention * context.base()) * token / gigaflop,
                        step.weight_reads / millisecond, step.kv_reads / millisecond,
                        (step.linear_math + step.attention_math) / millisecond,
                        step.whole_step_maximum() / millisecond});
      }
    }
    report.say(
        "Per output token: the weights' share falls as 1 / batch; the cache, {} of context, is "
        "private and does not fall; neither does the arithmetic. In a step: weights are fixed, "
        "cache grows with users and with context, arithmetic with users. Time = max(moving, "
        "computing).",
        model.kv);
    report.table({"context_tokens", "batch", "weights_mb_per_token", "cache_mb_per_token",
                  "gflop_per_token", "weights_ms", "cache_ms", "computing_ms", "step_ms"},
                 rows);

    report.say("Claim: without a KV cache the waste is exponential.");
    report.say(
        "Right: it is polynomial. Every step would put the whole text through again: the tokens "
        "computed grow as n^2, the attention pairs as n^3. When the length doubles, these grow 4 "
        "and 8 times; something exponential would square.");
    const Tokens prompt = spec.one<Tokens>("prompt_tokens");
    Rows none;
    GenerationWork before{};
    for (const Tokens output : spec.list<Tokens>("answers_without_cache")) {
      const GenerationWork with = generation_with_cache(prompt, output);
      const GenerationWork without = generation_without_cache(prompt, output);
      const auto work = [&](const GenerationWork& w) {
        return model.linear * w.tokens + model.attention * w.pairs;
      };
      const bool first = before.tokens == Tokens{};
      none.push_back({output / token, without.tokens / token, without.pairs / token,
                      work(without) / work(with),
                      first ? Cell() : Cell(without.tokens / before.tokens),
                      first ? Cell() : Cell(without.pairs / before.pairs)});
      before = without;
    }
    report.say("{} prompt tokens, answers of growing length, no cache:", prompt / token);
    report.text_table({"answer_tokens", "tokens_computed", "attention_pairs", "flop_over_cached",
                       "tokens_growth", "pairs_growth"},
                      none);
  });
}
