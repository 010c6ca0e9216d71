// 04  At which context does the KV cache cost more than the rest, and what does a price step say?
#include "support.hpp"
#include "tokenroof/decide/economics.hpp"
#include "tokenroof/physics/crossover.hpp"

using namespace tokenroof;
using namespace example;

int main(int argc, char** argv) {
  return run(argc, argv, [](const Spec& spec, Report& report) {
    const Scenario scenario = spec.scenario();
    const auto [batch, step] = std::get<SingleStep>(scenario.workload.traffic);
    const TextbookModel<> model = textbook_model(scenario, batch * one_token_each);
    report.say("Claim: {} tokens are the point where KV traffic passes weight traffic.", step);
    report.say(
        "Right: there are three such points. KV bytes = weight bytes depends on the batch: {} at "
        "a batch of {} gets there at {} tokens, others elsewhere. KV time = compute time depends "
        "on the device and not on the batch; for public models it is some thousands of tokens. "
        "With the arithmetic of attention counted it lies further out, or nowhere.",
        scenario.model.id, batch, kv_weights_crossover(model.weights_read, model.kv, batch));
    Rows table;
    for (std::size_t i = 0; i < spec.texts("models").size(); ++i)
      for (const std::string& device : spec.texts("accelerators")) {
        const Scenario one =
            spec.scenario({"model=" + spec.texts("models")[i], "accelerator=" + device,
                           "precision.weights=" + spec.texts("weights").at(i),
                           "precision.kv_cache=" + spec.texts("kv_cache").at(i)});
        const TextbookModel<> m = textbook_model(one, token);
        const Roof<> roof = roof_of(one);
        const auto all = kv_compute_crossover_with_attention(m.linear, m.attention, m.kv, roof,
                                                             textbook_machine(one).attention_peak);
        const auto linear = kv_compute_crossover(m.linear, m.kv, roof);
        const char* reason = all ? "" : "decode attention itself is compute bound";
        for (const Requests n : spec.list<Requests>("batches")) {
          const Bytes read = weights_read(one, n * one_token_each);
          table.push_back({one.model.id, spec.texts("weights")[i], spec.texts("kv_cache")[i],
                           one.accelerator.id, n, m.kv, kv_weights_crossover(read, m.kv, n), linear,
                           all, reason});
        }
      }
    report.table({"model", "weights", "kv_cache", "accelerator", "batch", "kv_bytes_per_token",
                  "kv_equals_weights_tokens", "kv_equals_linear_tokens", "kv_equals_compute_tokens",
                  "reason"},
                 table);

    const double lecture = spec.one("lecture_multiply_adds_per_byte");
    const auto active = spec.list<double>("active_weights");
    const auto implied = [at = step](double weights, FlopsPerByte ridge) {
      return kv_implied_by_price_step(weights * flops_per_weight, ridge, at);
    };
    Rows rows;
    for (const double weights : active)
      for (const std::string& format : spec.texts("formats")) {
        const Roof<> roof = roof_of(spec.scenario({"precision.weights=" + format}));
        const BytesPerToken kv = implied(weights, ridge_intensity(roof));
        rows.push_back({weights / 1e9, format, ridge_intensity(roof), kv, model.kv / kv});
      }
    report.say(
        "Inversion: if a price step sits where KV time = compute time, a token's cache takes 2 x "
        "active weights / (ridge x {}). A lecture's {} comes from {} multiply-adds a byte, twice "
        "as many FLOP. Such a cache is far smaller, or the step prices something else:",
        step, implied(active.front(), 2 * lecture * (flop / byte)), lecture);
    report.text_table({"active_billions", "weights", "ridge_flop_per_byte", "kv_bytes_per_token",
                       "times_below_" + scenario.model.id},
                      rows);
    const auto out = spec.list<Dollars>("output_price_per_mtok");
    const auto in = spec.list<Dollars>("input_price_per_mtok");
    const auto tier = spec.list<TokensPerRequest>("mean_context_of_tier");
    report.say("Claim: above the step a token costs half as much again.");
    report.say(
        "Right: an output token does ({} to {} a million); an input token's price doubles ({} to "
        "{}). One maximum gives {} times for tiers of {} and {} tokens in the mean.",
        out.at(0), out.at(1), in.at(0), in.at(1),
        output_surcharge<double>(0, tier.at(0) / step, tier.at(1) / step, StepOverlap::whole_step),
        tier[0], tier[1]);
  });
}
