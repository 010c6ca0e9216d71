#include "tokenroof/physics/tensor_parallel.hpp"

#include "oracle.hpp"
#include "properties.hpp"
#include "theory_fixtures.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {
// Llama 70B bf16, one sequence: 160 all-reduces of 8192 x 2 bytes, 1 us a hop, 450 GB/s.
const ShardedStep<> step_70b{llama_70b.weights(2) / h100.bf16_roof().memory,
                             160,
                             16384 * byte,
                             {microsecond, 450.0 * gigabyte / second}};
double ring(int degree) { return sharded_time(step_70b, AllReduce::ring, degree) / second; }
}  // namespace

TEST_CASE("ring times, efficiencies and the best degree", "[tensor_parallel]") {
  for (const int n : {1, 2, 4, 8, 16}) {
    CHECK(ring(n) == closed_form("s8.tp.T.ring.n" + std::to_string(n)));
    if (n > 1)
      CHECK(parallel_efficiency(step_70b.single, ring(n) * second, n) ==
            closed_form("s8.tp.eff.ring.n" + std::to_string(n)));
  }
  CHECK(best_ring_degree(step_70b) == closed_form("s8.tp.nstar.ring.L70.B1"));
  CHECK(least_ring_time(step_70b) / second == closed_form("s8.tp.Tmin.ring.L70.B1"));
  CHECK(best_tree_degree(step_70b) == closed_form("s8.tp.nstar.tree.L70"));
}

TEST_CASE("a constant latency has a floor instead of an optimum", "[tensor_parallel]") {
  ShardedStep<> constant = step_70b;
  constant.channel.latency = 3 * microsecond;  // two-shot pays it twice
  CHECK(sharded_time(constant, AllReduce::two_shot, 8) / second ==
        closed_form("s8.tp.T.const6us.n8"));
  CHECK(sharded_time(constant, AllReduce::two_shot, 72) / second ==
        closed_form("s8.tp.T.const6us.n72"));
  const Seconds floor =
      latency_floor(160, 6 * microsecond, constant.message, constant.channel.bandwidth);
  CHECK(floor / second == closed_form("s8.floor.const6us.L70"));
  CHECK(sharded_time(constant, AllReduce::two_shot, 1000000) / floor == Approx(1).epsilon(1e-4));
}

TEST_CASE("the fastest valid degree by search", "[tensor_parallel]") {
  const auto time = [](int degree) { return ring(degree) * second; };
  CHECK(fastest_degree(64, 64, time).degree == 16);  // 11.4 is no divisor; 16 beats 8
  CHECK(fastest_degree(64, 8, time).degree == 8);
  CHECK(fastest_degree(28, 64, time).degree == 14);
  CHECK(fastest_degree(7, 4, time).degree == 1);
  CHECK(fastest_degree(64, 64, time).time / second == closed_form("s8.tp.T.ring.n16"));
}

TEST_CASE("copies of the KV cache", "[tensor_parallel]") {
  CHECK(kv_replication(8, 8) == oracle("s8.kvrep.L70.tp8"));
  CHECK(kv_replication(8, 16) == oracle("s8.kvrep.L70.tp16"));
  CHECK(kv_replication(1, 8) == oracle("s8.kvrep.DS.tp8"));
  CHECK(kv_replication(4, 8) == oracle("s8.kvrep.Qwen3-30B.tp8"));
  CHECK(327680 * kv_replication(8, 8) / 8 == oracle("s8.kvgpu.L70.tp8"));
  CHECK(327680 * kv_replication(8, 16) / 16 == oracle("s8.kvgpu.L70.tp16"));
}

TEST_CASE("tensor parallelism at its edges", "[tensor_parallel]") {
  ShardedStep<> talk = step_70b;
  talk.single = microsecond;
  CHECK(best_ring_degree(talk) == 1);
  CHECK(least_ring_time(talk) == talk.single);
  CHECK(best_tree_degree(talk) == 1);
  CHECK(ring_sharded_time(step_70b, 1.0) == step_70b.single);
}

TEST_CASE("properties P8 of tensor parallelism", "[tensor_parallel]") {
  property("P8.3 no degree beats the closed form, which is the time there", [] {
    const ShardedStep<> step{
        of_any_size(1e-4, 1) * second,
        2.0 * whole(1, 128),
        of_any_size(1e3, 1e7) * byte,
        {of_any_size(1e-7, 1e-5) * second, of_any_size(1e10, 1e12) * byte / second}};
    const Seconds least = least_ring_time(step);
    for (double t = 1; t < 200; t *= 1.1)
      RC_ASSERT(at_most(least / second, ring_sharded_time(step, t) / second));
    const double best = best_ring_degree(step);
    RC_PRE(best > 1);
    const Seconds volume = 2.0 * step.calls * step.message / step.channel.bandwidth;
    const Seconds hops = 2.0 * step.calls * step.channel.latency;
    const double closed =
        2 * std::sqrt((step.single - volume) / second * (hops / second)) + (volume - hops) / second;
    RC_ASSERT(near(least / second, closed, 1e-9));
  });
  property("P8.4 efficiency is 1 on one device and falls", [] {
    const int t = whole(1, 500);
    const auto e = [](int n) { return parallel_efficiency(step_70b.single, ring(n) * second, n); };
    RC_ASSERT(e(1) == 1);
    RC_ASSERT(e(t + 1) <= e(t));
    RC_ASSERT(e(100000) < 1e-5);
  });
  property("P8.5 replication is 1 while it divides; bytes per rank never grow", [] {
    const int heads = 1 << whole(0, 4);
    const int t = 1 << whole(0, 6);
    RC_ASSERT((kv_replication(heads, t) == 1) == (heads % t == 0));
    RC_ASSERT(kv_replication(heads, 2 * t) / (2 * t) <= kv_replication(heads, t) / t);
    RC_ASSERT(t < heads || kv_replication(heads, t) / t == 1.0 / heads);
  });
  property("differentiates", [] {
    RC_ASSERT(differentiates(
        [](auto latency) {
          using S = decltype(latency);
          const ShardedStep<S> step{
              step_70b.single,
              160,
              step_70b.message,
              {With<Seconds, S>::from_base(latency), step_70b.channel.bandwidth}};
          return least_ring_time(step).base();
        },
        of_any_size(1e-7, 1e-5)));
  });
}
