// 07  How many devices make one token fastest, and why tensor parallel inside a node?
#include "support.hpp"
#include "tokenroof/physics/pipeline_parallel.hpp"
#include "tokenroof/physics/tensor_parallel.hpp"

using namespace tokenroof;
using namespace example;

int main(int argc, char** argv) {
  return run(argc, argv, [](const Spec& spec, Report& report) {
    const Scenario scenario = spec.scenario();
    const Accelerator& device = scenario.accelerator;
    const TextbookModel<> model = textbook_model(scenario, token);
    const Attention& attention = scenario.model.groups.front().attention;
    const Channel<> inside{spec.one<Seconds>("hop_latency"), device.scale_up.bandwidth};
    const Channel<> network{device.scale_out->latency.value(), device.scale_out->bandwidth};
    const auto step = [&](double batch, const Channel<>& channel) {
      return ShardedStep<>{model.weights_read / device.memory_bandwidth, model.all_reduces,
                           model.message * (batch * token), channel};
    };
    const Seconds once = spec.one<Seconds>("call_latency");  // paid in two halves by two-shot
    const ShardedStep<> ring = step(1, inside), constant = step(1, {once / 2, inside.bandwidth});

    Rows rows;
    for (const double degree : spec.list<double>("degrees")) {
      const int t = static_cast<int>(degree);
      const Seconds time = sharded_time(ring, AllReduce::ring, t);
      rows.push_back({t, time / millisecond, parallel_efficiency(ring.single, time, t),
                      sharded_time(ring, AllReduce::tree, t) / millisecond,
                      sharded_time(constant, AllReduce::two_shot, t) / millisecond,
                      kv_replication(attention.kv_heads, t)});
    }
    report.say("T(t) = {} / t + {} all-reduces of {} each.", ring.single, ring.calls, ring.message);
    report.table(
        {"degree", "ring_ms", "ring_efficiency", "tree_ms", "constant_latency_ms", "kv_copies"},
        rows);
    const int most = static_cast<int>(spec.list<double>("degrees").back());
    const DegreeChoice best = fastest_degree(
        attention.query_heads, most, [&](int t) { return sharded_time(ring, AllReduce::ring, t); });
    report.say(
        "Ring: communication grows with t, so there is a balance point, {} devices ({}); of the "
        "degrees that divide {} heads {} is best ({}). Tree: {}. With a constant latency per "
        "call there is no best degree, only a floor: {}.",
        best_ring_degree(ring), least_ring_time(ring), attention.query_heads, best.degree,
        best.time, best_tree_degree(ring),
        latency_floor(constant.calls, once, constant.message, inside.bandwidth));
    report.say("Claim: T(1) / (t x T(t)) is weak scaling.");
    report.say(
        "Right: it is strong scaling, one fixed step over more devices. Weak scaling would let "
        "the batch grow with the devices. Beyond {} devices the KV heads are copied.",
        attention.kv_heads);

    const int t = scenario.deployment.tensor_parallel, n = scenario.deployment.pipeline_parallel;
    Rows layouts;
    for (const double batch : spec.list<double>("layout_batches")) {
      const ShardedStep<> all = step(batch, network), stage = step(max(batch / n, 1.0), inside);
      const auto row = [&](const char* name, int degree, Seconds time) {
        layouts.push_back({batch, name, time / millisecond, batch / (time / second),
                           kv_replication(attention.kv_heads, degree)});
      };
      row("tensor over both nodes, one ring", t * n, sharded_time(all, AllReduce::ring, t * n));
      const Seconds call = hierarchical_all_reduce_time(all.message, t, n, inside, network);
      row("tensor over both nodes, node-aware", t * n, all.single / (t * n) + all.calls * call);
      const Seconds whole = sharded_time(stage, AllReduce::ring, t);
      row("tensor inside, pipeline across", t,
          pipeline_token_time(whole, n, stage.message, network));
    }
    report.say("{} nodes of {}, the network {} and {} a message:", n, t, network.bandwidth,
               network.latency);
    report.text_table({"batch", "layout", "token_ms", "tokens_per_s", "kv_copies"}, layouts);
    const int micro_batches = static_cast<int>(spec.one("micro_batches"));
    report.say(
        "One ring over the network ruins the step. A node-aware all-reduce gives a single user "
        "the faster token. The pipeline never shortens one, for its stages follow each other; "
        "with all stages busy it gives the higher rate, copies no cache, and idles for {} of a "
        "pass of {} micro-batches.",
        percent(pipeline_bubble(n, micro_batches)), micro_batches);
  });
}
