// 09  What does a mixture of experts read at a batch, and what is its best batch?
#include "support.hpp"
#include "tokenroof/physics/experts.hpp"
#include "tokenroof/physics/optimal_batch.hpp"
#include "tokenroof/physics/parameters.hpp"

using namespace tokenroof;
using namespace example;

namespace {
// Every weight that multiplies: what an endless batch reads.
Bytes resident(const Scenario& scenario) { return weights_read(scenario, 1e9 * token); }

Tokens balanced(const Scenario& scenario, double sparsity) {
  return balanced_batch(ridge_intensity(roof_of(scenario)), bytes_per_weight(scenario), sparsity);
}
}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv, [](const Spec& spec, Report& report) {
    const Scenario scenario = spec.scenario();
    const ParameterCount count = parameter_count(scenario.model);
    const FeedForward& layer = scenario.model.groups.back().feed_forward;
    const auto [batch, context] = std::get<SingleStep>(scenario.workload.traffic);
    const Bytes all = resident(scenario), one = weights_read(scenario, token);
    const auto exponents = spec.list<double>("zipf_exponents");

    const auto billions = [](std::int64_t n) { return static_cast<double>(n) / 1e9; };
    report.say(
        "{}: {} of {} experts per token and layer. {} billion parameters, {} active, {} "
        "multiplied: a token costs {} of the arithmetic of a dense model of this size.",
        scenario.model.id, layer.top_k, layer.experts, billions(count.total),
        billions(count.active), billions(count.matmul), percent(one / all));
    report.say("Claim: so only the active parameters are read.");
    report.say(
        "Right for one token: {} of {}. A batch picks other experts for every token: {} tokens "
        "read {} of the weights.",
        one, all, batch, percent(weights_read(scenario, batch * one_token_each) / all));
    Columns columns{"batch",        "distinct_experts", "weights_read_gb", "share_of_weights",
                    "gb_per_token", "tokens_per_expert"};
    for (const double s : exponents) columns.push_back("distinct_at_zipf_" + io::to_text(s));
    Rows rows;
    for (const Tokens tokens : spec.list<Tokens>("batches")) {
      const Bytes read = weights_read(scenario, tokens);
      rows.push_back({tokens, distinct_experts<double>(layer.experts, layer.top_k, tokens),
                      read / gigabyte, read / all, read / gigabyte / (tokens / token),
                      tokens_per_expert(tokens, layer.experts, layer.top_k)});
      for (const double s : exponents)
        rows.back().emplace_back(distinct_experts<double>(
            inclusion_probabilities(zipf_popularity(layer.experts, s), layer.top_k), tokens));
    }
    report.table(columns, rows);

    report.say("Claim: sparsity makes the best batch smaller.");
    Rows balance;
    for (std::size_t i = 0; i < spec.texts("balance_of").size(); ++i) {
      const std::string weights = spec.texts("balance_weights").at(i);
      const Scenario other =
          spec.scenario({"model=" + spec.texts("balance_of")[i], "precision.weights=" + weights});
      const double sparsity = resident(other) / weights_read(other, token);
      balance.push_back({other.model.id, weights, sparsity, balanced(other, sparsity)});
    }
    report.say(
        "Right: larger. Reading all weights must be paid by arithmetic on the active ones, so "
        "the batch that balances is about 300 x total / active:");
    report.text_table({"model", "weights", "total_over_active", "balanced_batch"}, balance);

    const Scenario big = spec.scenario({"accelerator=" + spec.text("capacity_accelerator")});
    const Requests fits = capacity_batch(cache_pool(big), textbook_model(big, token).kv * context);
    const Tokens there = balanced(big, all / one);
    report.say(
        "Smaller are the tokens per expert ({} tokens would bring each to the ridge), the tokens "
        "per device once experts are spread, and what memory allows: {} x {} hold {} sequences "
        "of {} tokens, {} of the {} that would balance there.",
        balanced(scenario, layer.experts / layer.top_k), big.deployment.devices_per_replica(),
        big.accelerator.id, fits, context, percent(fits * one_token_each / there), there);
  });
}
