// 20  What does a mixture of experts do to the optimal batch, and which limit binds it?
#include "support.hpp"
#include "tokenroof/physics/optimal_batch.hpp"

using namespace tokenroof;
using namespace example;

namespace {
/// Largest batch, up to `most`, whose step keeps to `limit`; the weights read grow with the batch.
Requests by_latency(const Scenario& scenario, TokensPerRequest context, Seconds limit,
                    Requests most, Seconds all_reduce) {
  const auto meets = [&](std::int64_t n) {
    const Requests batch = static_cast<double>(n) * request;
    return textbook_step(textbook_model(scenario, batch * one_token_each),
                         textbook_machine(scenario, all_reduce), batch, context)
               .time() <= limit;
  };
  return static_cast<double>(largest_where(static_cast<std::int64_t>(most / request), meets)) *
         request;
}
}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv, [](const Spec& spec, Report& report) {
    const TokensPerRequest context = std::get<SingleStep>(spec.scenario().workload.traffic).context;
    const auto limit = spec.one<Seconds>("time_per_token");
    const auto domain = spec.one("spread_devices");
    Rows rows;
    for (std::size_t i = 0; i < spec.texts("models").size(); ++i) {
      const Scenario scenario = spec.scenario(
          {"model=" + spec.texts("models")[i], "precision.weights=" + spec.texts("weights").at(i)});
      const FeedForward& layer = scenario.model.groups.back().feed_forward;
      const bool mixture = layer.kind == FeedForwardKind::mixture;
      const double experts = mixture ? layer.experts : 1, chosen = mixture ? layer.top_k : 1;
      const double sparsity = weights_read(scenario, 1e9 * token) / weights_read(scenario, token);
      const FlopsPerByte ridge = ridge_intensity(roof_of(scenario));
      const Bytes weight = bytes_per_weight(scenario);
      const Tokens balanced = balanced_batch(ridge, weight, sparsity);
      const Requests fits =
          capacity_batch(cache_pool(scenario), textbook_model(scenario, token).kv * context);
      const Requests fast = by_latency(scenario, context, limit, 1e5 * request,
                                       spec.one<Seconds>("all_reduce_latency"));
      const BatchLimit best = optimal_batch(fits, fast);
      rows.push_back({scenario.model.id, sparsity, balanced,
                      expert_balanced_batch(ridge, weight, experts, chosen), fits, fast, best.batch,
                      best.bound == Bound::capacity ? "memory" : "time per token",
                      tokens_per_expert(best.batch * one_token_each, experts, chosen),
                      best.batch * one_token_each / balanced, balanced / domain});
    }
    report.say("Claim: experts make the optimal batch smaller (think of sparsity).");
    report.say(
        "It does not. All resident weights must be read, and only the active ones multiply, so "
        "the batch B* at which arithmetic takes as long as reading grows with total / active. "
        "What is small is something else: the tokens that each expert sees, the tokens per device "
        "once experts are spread ({} devices here), and the batch that fits. Throughput never "
        "falls with the batch, so the best one is the largest that memory and the time per token "
        "({}) allow, at {} tokens of context:",
        domain, limit, context);
    report.table(
        {"model", "total_over_active", "balanced_batch", "balanced_batch_for_each_expert",
         "batch_that_fits", "batch_in_time", "best_batch", "binds", "tokens_per_expert_at_best",
         "best_over_balanced", "balanced_tokens_per_spread_device"},
        rows);
    report.say(
        "For {} memory ends the batch at {} of the one that balances. Spreading experts over more "
        "devices leaves room for the cache of more users: that is why such models are served on "
        "dozens of devices.",
        rows.back()[0].text, percent(*rows.back()[9].number));
    report.say(
        "Who reads sparsity as active / total has to divide: 300 / sparsity. A lecture's 8 x 300 "
        "= 2,400 took 32 of 256 experts for DeepSeek-V3, which picks 8.");
  });
}
