// 10  What do MHA, GQA, MQA and MLA cost, side by side?
#include <set>

#include "support.hpp"
#include "tokenroof/physics/optimal_batch.hpp"
#include "tokenroof/physics/tensor_parallel.hpp"

using namespace tokenroof;
using namespace example;

namespace {
const char* kind_of(const Attention& a) {
  if (a.kind == AttentionKind::latent) return "MLA";
  return a.kv_heads == a.query_heads ? "MHA" : a.kv_heads == 1 ? "MQA" : "GQA";
}
}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv, [](const Spec& spec, Report& report) {
    Scenario scenario = spec.scenario();
    const auto [batch, context] = std::get<SingleStep>(scenario.workload.traffic);
    const TextbookMachine<> machine = textbook_machine(scenario);
    Attention& attention = scenario.model.groups.front().attention;
    std::vector<Attention> variants;
    for (const double heads : spec.list<double>("kv_heads"))
      variants.emplace_back(attention).kv_heads = static_cast<int>(heads);
    variants.push_back(attention);
    variants.back().kind = AttentionKind::latent;
    variants.back().latent_rank = static_cast<int>(spec.one("latent_rank"));
    variants.back().rotary_dim = static_cast<int>(spec.one("rotary_dim"));

    Rows rows;
    Seconds alone, together;  // of the first row
    for (const Attention& variant : variants) {
      attention = variant;
      // The latent is whole on every device, as if it were one KV head.
      const int heads = variant.kind == AttentionKind::latent ? 1 : variant.kv_heads;
      const double most = kv_replication(heads, machine.devices);
      for (const double copies : std::set{1.0, most}) {
        TextbookModel<> model = textbook_model(scenario, token);
        const BytesPerToken kv = model.kv;
        model.kv *= copies;
        const Seconds one = textbook_step(model, machine, request, context).whole_step_maximum();
        const Seconds all = textbook_step(model, machine, batch, context).whole_step_maximum();
        if (rows.empty()) alone = one, together = all;
        const Requests fit = capacity_batch(cache_pool(scenario), model.kv * context);
        rows.push_back({kind_of(variant), copies, kv, model.attention / kv,
                        resident_weights(scenario) / gigabyte, alone / one, together / all, fit});
      }
    }
    report.say(
        "{}, {} devices, {} tokens of context, one user or {}. Tensor parallel copies KV heads "
        "and latents that are fewer than the devices; with 1 copy every device attends to its "
        "own users. Gains are over the first row.",
        scenario.model.id, machine.devices, context, batch);
    report.table({"kind", "kv_copies", "kv_bytes_per_token", "flop_per_kv_byte", "weights_gb",
                  "gain_alone", "gain_together", "sequences_that_fit"},
                 rows);
    report.say("Claim: grouped queries are {} faster and more.", percent(spec.one("claimed_gain")));
    report.say(
        "Right: it depends on the cache's share of the step. One user gains little, most of it "
        "from smaller weights; a batch gains more and more sequences fit. The arithmetic of "
        "attention stays. Of LLaMA 2, only the largest has grouped queries:");
    Rows released;
    for (const std::string& name : spec.texts("released")) {
      Scenario other = spec.scenario({"model=" + name});
      const Attention own = other.model.groups.front().attention;
      const BytesPerToken kv = textbook_model(other, token).kv;
      for (LayerGroup& group : other.model.groups) {
        group.attention.kind = AttentionKind::grouped;
        group.attention.kv_heads = own.query_heads;
      }
      const BytesPerToken full = textbook_model(other, token).kv;
      released.push_back({name, kind_of(own), own.query_heads, kv, full, full / kv});
    }
    report.text_table(
        {"model", "kind", "query_heads", "kv_bytes_per_token", "if_it_were_mha", "times_smaller"},
        released);
  });
}
