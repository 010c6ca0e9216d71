// 21  If memory were ten times as fast, what would happen to API prices?
#include "support.hpp"
#include "tokenroof/decide/levers.hpp"
#include "tokenroof/physics/crossover.hpp"
#include "tokenroof/physics/parameters.hpp"
#include "tokenroof/physics/prefill.hpp"

using namespace tokenroof;
using namespace example;

namespace {
// Linear layers, attention and messages follow each other: the longest of them leads.
std::string_view largest(const TextbookStep<>& step) {
  const Seconds linear = max(step.weight_reads, step.linear_math);
  const Seconds attention = max(step.kv_reads, step.attention_math);
  if (step.communication > max(linear, attention)) return "communication";
  if (linear > attention) return linear > step.linear_math ? "weights" : "arithmetic";
  return attention > step.attention_math ? "cache" : "attention arithmetic";
}
}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv, [](const Spec& spec, Report& report) {
    const Scenario scenario = spec.scenario();
    const double factor = spec.one("bandwidth_factor");
    const TextbookModel<> model = textbook_model(scenario, token);
    TextbookModel<> silent = model;
    silent.all_reduces = 0;
    const TextbookMachine<> before =
        textbook_machine(scenario, spec.one<Seconds>("all_reduce_latency"));
    const TextbookMachine<> after = with_memory_bandwidth(before, factor);
    const DollarsPerSecond node = *scenario.price.accelerator * before.devices;
    const auto dollars = [&](Seconds each) { return node * each / (1e-6 * dollar); };
    const FlopsPerToken head = static_cast<double>(head_weights(scenario.model)) * flops_per_weight;
    const PrefillCost<> prompt{model.linear - head, head, model.attention};
    const auto rate = before.devices * spec.one("prefill_efficiency") * before.linear_peak;
    Rows rows;
    for (std::size_t i = 0; i < spec.texts("batches").size(); ++i) {
      const auto batch = spec.list<Requests>("batches")[i];
      const auto context = spec.list<TokensPerRequest>("contexts").at(i);
      const auto input = spec.list<Tokens>("inputs").at(i);
      const auto output = spec.list<Tokens>("outputs").at(i);
      const auto was = textbook_step(model, before, batch, context);
      const auto is = textbook_step(model, after, batch, context);
      const Seconds prefill = prefill_flops(prompt, input) / rate;
      const Seconds decode = was.time() * (output / (batch * one_token_each));
      const double share = decode / (prefill + decode), gain = was.time() / is.time();
      rows.push_back({batch, context, was.time() / millisecond, is.time() / millisecond, gain,
                      bandwidth_gain(silent, before, batch, context, factor), largest(was),
                      largest(is), dollars(prefill / (input / token)),
                      dollars(was.time() / (batch / request)),
                      dollars(is.time() / (batch / request)), whole_gain(share, gain),
                      whole_gain(share, HUGE_VAL)});
    }
    report.say(
        "Question: memory gets {} times as fast. What happens to API prices? Input tokens keep "
        "their price, for prefill is bound by arithmetic. Output tokens get "
        "cheaper by less than {}, since all-reduces and arithmetic stay; then those lead. A whole "
        "request gains less again (last columns: gain, and its limit were decoding free). {} "
        "devices at {}, prefill at {} of the peak:",
        factor, factor, before.devices, *scenario.price.accelerator,
        percent(spec.one("prefill_efficiency")));
    report.table({"batch", "context_tokens", "step_before_ms", "step_after_ms", "decode_gain",
                  "decode_gain_without_communication", "largest_before", "largest_after",
                  "input_usd_per_mtok", "output_before_usd_per_mtok", "output_after_usd_per_mtok",
                  "request_gain", "request_gain_limit"},
                 rows);
    const Roof<> roof = roof_of(scenario), fast{roof.math, factor * roof.memory};
    const Bytes all = scenario.accelerator.memory_nominal;
    report.say(
        "The ridge falls from {} to {} FLOP/B and with it the batch that balances; KV traffic "
        "passes arithmetic at {} tokens in place of {}, so a surcharge for long contexts moves "
        "out as far; reading all memory takes {} in place of {}, so capacity binds the batch. "
        "Output prices fall towards input prices; fast tiers get cheap.",
        ridge_intensity(roof).base(), ridge_intensity(fast).base(),
        kv_compute_crossover(model.linear, model.kv, fast).base(),
        kv_compute_crossover(model.linear, model.kv, roof).base(), drain_time(all, fast.memory),
        drain_time(all, roof.memory));
  });
}
