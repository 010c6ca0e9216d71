// 12  Why does an output token cost several times an input token?
#include "support.hpp"
#include "tokenroof/decide/economics.hpp"
#include "tokenroof/physics/optimal_batch.hpp"
#include "tokenroof/physics/parameters.hpp"
#include "tokenroof/physics/prefill.hpp"

using namespace tokenroof;
using namespace example;

int main(int argc, char** argv) {
  return run(argc, argv, [](const Spec& spec, Report& report) {
    const Scenario scenario = spec.scenario();
    const int devices = scenario.deployment.devices_per_replica();
    const Price& price = scenario.price;
    const Roof<> one = roof_of(scenario);
    const Roof<> node{devices * spec.one("compute_efficiency") * one.math,
                      devices * spec.one("memory_efficiency") * one.memory};
    const TextbookModel<> model = textbook_model(scenario, token);
    const FlopsPerToken head = static_cast<double>(head_weights(scenario.model)) * flops_per_weight;
    const PrefillCost<> prefill{model.linear - head, head, model.attention};
    const auto dollars = [&](TokensPerSecond rate) {
      return cost_per_token(price.accelerator.value(), devices, rate, price.utilization) /
             dollar_per_million_tokens;
    };

    report.say("Claim: prefill is compute bound, decode memory bound, so output costs more.");
    Rows prompts;
    for (const Tokens prompt : spec.list<Tokens>("prompts")) {
      const Work<> work{prefill_flops(prefill, prompt), model.weights_read};
      prompts.push_back({prompt, traffic_time(work, node) / millisecond,
                         math_time(work, node) / millisecond,
                         dollars(prompt / roofline_time(work, node)),
                         math_time(work, node) > traffic_time(work, node) ? "compute" : "memory"});
    }
    report.say(
        "Right for prompts long enough. One read of the weights serves all tokens of a prompt, "
        "so prefill is bound by arithmetic from about {} tokens on (at these efficiencies); "
        "shorter prompts alone are bound by memory, like decode:",
        critical_batch(ridge_intensity(node), bytes_per_weight(scenario)));
    report.text_table({"prompt_tokens", "moving_ms", "computing_ms", "usd_per_mtok", "bound"},
                      prompts);

    Rows rows;
    const TokensPerSecond input = node.math / prefill.body;
    for (const TokensPerRequest context : spec.list<TokensPerRequest>("contexts")) {
      for (const Requests batch : spec.list<Requests>("batches")) {
        const double ratio =
            output_input_ratio(model.weights_read, model.linear, prefill.body, model.kv, batch,
                               context, node.math, node.math, node.memory);
        rows.push_back({context, batch, dollars(input), dollars(input) * ratio, ratio,
                        capacity_batch(cache_pool(scenario), model.kv * context)});
      }
    }
    report.say(
        "In decode each sequence gets one token from a read of all weights and of its own cache. "
        "{} devices at {} each, busy {} of the paid time:",
        devices, *price.accelerator, percent(price.utilization));
    report.table({"context_tokens", "batch", "input_usd_per_mtok", "output_usd_per_mtok",
                  "output_over_input", "sequences_that_fit"},
                 rows);
    report.say(
        "So the ratio is no constant: it falls with the batch until arithmetic binds there too, "
        "and rises with the context, whose cache no batch shares.");
    const auto in = spec.one<TokensPerSecond>("published_input_rate");
    const auto out = spec.one<TokensPerSecond>("published_output_rate");
    report.say(
        "Check: a service that published {} of input and {} of output per node pays {} times as "
        "much for an output token.",
        in, out, in / out);
  });
}
