// Tensor parallelism: computing shrinks as 1/t, communication grows, so there is a best degree.
//
//   T(t) = C / t + calls x all_reduce(t, message)
//
// C is the time of one device, `calls` is two per layer, the message is tokens x hidden x bytes.
// Sources: Shoeybi et al., arXiv 1909.08053; Pope et al., arXiv 2211.05102. docs/formulas.md.
#pragma once

#include <numbers>

#include "tokenroof/core/scalar.hpp"
#include "tokenroof/physics/collective.hpp"
#include "tokenroof/physics/layout.hpp"

namespace tokenroof {

/// A step to be cut over devices.
template <Scalar S = double>
struct ShardedStep {
  With<Seconds, S> single;  ///< C: time on one device, hypothetical when it does not fit; >= 0
  double calls = 0;         ///< all-reduces of a step, two per layer
  With<Bytes, S> message;   ///< full tensor of one all-reduce
  Channel<S> channel;
};

/// Step time C/t + calls x all-reduce at a whole `degree` >= 1, in seconds.
template <Scalar S>
[[nodiscard]] constexpr With<Seconds, S> sharded_time(const ShardedStep<S>& step,
                                                      AllReduce algorithm, int degree) {
  return step.single / static_cast<double>(degree) +
         step.calls * all_reduce_time(algorithm, step.message, degree, step.channel);
}

/// Step time at a real `degree` >= 1 with ring all-reduces:
/// C/t + calls [2 (t - 1) latency + 2 (1 - 1/t) message / bandwidth].
template <Scalar S>
[[nodiscard]] constexpr With<Seconds, S> ring_sharded_time(const ShardedStep<S>& step,
                                                           const S& degree) {
  return step.single / degree + 2.0 * step.calls *
                                    (step.channel.latency * (degree - 1.0) +
                                     step.message / step.channel.bandwidth * (1.0 - 1.0 / degree));
}

/// Real degree sqrt((C - 2 v / bandwidth) / (2 calls x latency)) with v = calls x message at which
/// ring all-reduces make the step fastest; 1 when communication alone costs more. `latency` > 0,
/// without latency there is no interior optimum.
template <Scalar S>
[[nodiscard]] S best_ring_degree(const ShardedStep<S>& step) {
  const With<Seconds, S> shrinks =
      step.single - 2.0 * step.calls * step.message / step.channel.bandwidth;
  const With<Seconds, S> grows = 2.0 * step.calls * step.channel.latency;
  if (shrinks <= grows) return S(1);
  return sqrt(S(shrinks / grows));
}

/// Time 2 sqrt(shrinks x grows) + 2 v / bandwidth - grows at that degree, in seconds.
template <Scalar S>
[[nodiscard]] With<Seconds, S> least_ring_time(const ShardedStep<S>& step) {
  return ring_sharded_time(step, best_ring_degree(step));
}

/// Real degree C ln 2 / (2 calls x latency) that balances computing against the log2(t) latencies
/// of tree all-reduces (their volume does not depend on t); at least 1.
template <Scalar S>
[[nodiscard]] S best_tree_degree(const ShardedStep<S>& step) {
  return max(S(step.single * std::numbers::ln2 / (2.0 * step.calls * step.channel.latency)), S(1));
}

/// Time calls x (latency of one all-reduce + 2 message / bandwidth), in seconds, that no number of
/// devices goes below when an all-reduce has a constant latency (two-shot, in-switch).
template <Scalar S>
[[nodiscard]] constexpr With<Seconds, S> latency_floor(double calls,
                                                       const With<Seconds, S>& call_latency,
                                                       const With<Bytes, S>& message,
                                                       const With<BytesPerSecond, S>& bandwidth) {
  return calls * (call_latency + 2.0 * message / bandwidth);
}

/// Share T(1) / (t T(t)) of the devices' time that a single device would have needed: strong
/// scaling. 1 at t = 1. `parallel` > 0.
template <Scalar S>
[[nodiscard]] constexpr S parallel_efficiency(const With<Seconds, S>& single,
                                              const With<Seconds, S>& parallel, double degree) {
  return single / (degree * parallel);
}

/// A degree and its time.
struct DegreeChoice {
  int degree = 1;
  Seconds time;
};

/// Fastest degree among the divisors of `query_heads` up to `most`, by trial; the smaller wins a
/// tie. `time_of(degree)` gives Seconds. `query_heads` >= 1; `most` below 1 is taken as 1.
template <class TimeOf>
[[nodiscard]] DegreeChoice fastest_degree(int query_heads, int most, const TimeOf& time_of) {
  DegreeChoice best{1, time_of(1)};
  for (int degree = 2; degree <= most && degree <= query_heads; ++degree) {
    if (query_heads % degree != 0) continue;
    const Seconds time = time_of(degree);
    if (time < best.time) best = {degree, time};
  }
  return best;
}

/// Copies t ceil(kv_heads / t) / kv_heads of the KV cache that tensor parallelism keeps: 1 while t
/// divides the KV heads, t / kv_heads beyond. A latent cache (MLA) counts as one head: t copies.
/// `kv_heads` >= 1, `degree` >= 1.
[[nodiscard]] constexpr double kv_replication(int kv_heads, int degree) {
  return static_cast<double>(degree) * kv_heads_per_rank(kv_heads, degree) / kv_heads;
}

}  // namespace tokenroof
