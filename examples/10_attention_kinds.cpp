// 10  What do MHA, GQA, MQA and MLA cost, side by side?
#include "support.hpp"
#include "tokenroof/physics/crossover.hpp"
#include "tokenroof/physics/optimal_batch.hpp"
#include "tokenroof/physics/parameters.hpp"
#include "tokenroof/physics/tensor_parallel.hpp"

using namespace tokenroof;
using namespace example;

namespace {

const char* kind_of(const Attention& attention) {
  if (attention.kind == AttentionKind::latent) return "MLA";
  if (attention.kv_heads == attention.query_heads) return "MHA";
  return attention.kv_heads == 1 ? "MQA" : "GQA";
}

// The latent is whole on every rank, as if it were one KV head.
int shared_heads(const Attention& attention) {
  return attention.kind == AttentionKind::latent ? 1 : attention.kv_heads;
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv, [](const Spec& spec, Report& report) {
    Scenario scenario = spec.scenario();
    const auto [batch, context] = std::get<SingleStep>(scenario.workload.traffic);
    const TextbookMachine<> machine = textbook_machine(scenario);
    Attention& attention = scenario.model.groups.front().attention;
    std::vector<Attention> variants;
    for (const double heads : spec.list<double>("kv_heads")) {
      variants.push_back(attention);
      variants.back().kv_heads = static_cast<int>(heads);
    }
    variants.push_back(attention);
    variants.back().kind = AttentionKind::latent;
    variants.back().latent_rank = static_cast<int>(spec.one("latent_rank"));
    variants.back().rotary_dim = static_cast<int>(spec.one("rotary_dim"));

    Rows rows;
    std::array<Seconds, 3> base{};
    for (const Attention& variant : variants) {
      attention = variant;
      const TextbookModel<> model = textbook_model(scenario, token);
      const double copies = kv_replication(shared_heads(variant), machine.devices);
      TextbookModel<> copied = model;
      copied.kv *= copies;
      const std::array steps{textbook_step(copied, machine, request, context).whole_step_maximum(),
                             textbook_step(copied, machine, batch, context).whole_step_maximum(),
                             textbook_step(model, machine, batch, context).whole_step_maximum()};
      if (rows.empty()) base = steps;
      const Bytes pool =
          scenario.engine.memory_fraction * machine.devices * scenario.accelerator.memory_nominal -
          static_cast<double>(parameter_count(scenario.model).total) * bytes_per_weight(scenario);
      rows.push_back({kind_of(variant), model.kv,
                      decode_attention_intensity(model.attention, model.kv),
                      model.weights_read / gigabyte, copies, base[0] / steps[0], base[1] / steps[1],
                      base[2] / steps[2], capacity_batch(pool, copied.kv * context),
                      capacity_batch(pool, model.kv * context)});
    }
    report.table({"kind", "kv_bytes_per_token", "attention_flop_per_byte", "weights_gb",
                  "copies_at_tp", "speedup_one_user", "speedup_batch", "speedup_batch_no_copies",
                  "sequences", "sequences_no_copies"},
                 rows);
  });
}
