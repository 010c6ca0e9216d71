// The textbook decode step: four sums and one all-reduce, with every efficiency and latency an
// argument. Small enough to check by hand; the operator-by-operator model is step.hpp.
//
//   T = max(weight bytes / memory, linear FLOPs / peak)       linear layers
//     + max(KV bytes / memory, attention FLOPs / peak)        attention
//     + all-reduces x (latency + 2 (n-1)/n message / link)    communication
//     + fixed
//
// Sources: JAX scaling book, "Theoretical step time"; Pope et al., arXiv 2211.05102.
// Symbols: docs/formulas.md.
#pragma once

#include "tokenroof/core/scalar.hpp"
#include "tokenroof/physics/batching.hpp"
#include "tokenroof/physics/collective.hpp"

namespace tokenroof {

/// A model as numbers of one step.
template <Scalar S = double>
struct TextbookModel {
  With<Bytes, S> weights_read;       ///< W at this batch; dense: bytes per weight x weights
  With<FlopsPerToken, S> linear;     ///< 2 per weight that multiplies a token
  With<FlopsPerToken, S> attention;  ///< of a query token per context token
  With<BytesPerToken, S> kv;         ///< KV bytes per context token, replication included
  double all_reduces = 0;            ///< of a step: two per layer
  With<BytesPerToken, S> message;    ///< hidden size x bytes per activation
};

/// Devices that work on one replica, and what each sustains: peaks times efficiencies.
template <Scalar S = double>
struct TextbookMachine {
  int devices = 1;
  With<FlopsPerSecond, S> linear_peak;
  With<FlopsPerSecond, S> attention_peak;
  With<BytesPerSecond, S> weight_bandwidth;
  With<BytesPerSecond, S> kv_bandwidth;
  With<Seconds, S> all_reduce_latency;  ///< of one call, whatever the number of devices
  With<BytesPerSecond, S> link;         ///< one direction of one device
  With<Seconds, S> fixed;               ///< of a step: launches, scheduler

  /// `devices` of one roof, the same for linear layers and attention.
  [[nodiscard]] static constexpr TextbookMachine of(int devices,
                                                    const With<FlopsPerSecond, S>& peak,
                                                    const With<BytesPerSecond, S>& bandwidth,
                                                    const With<Seconds, S>& latency,
                                                    const With<BytesPerSecond, S>& link) {
    return {devices, peak, peak, bandwidth, bandwidth, latency, link, {}};
  }
};

/// A step taken apart, in seconds.
template <Scalar S = double>
struct TextbookStep {
  With<Seconds, S> weight_reads;
  With<Seconds, S> linear_math;
  With<Seconds, S> kv_reads;
  With<Seconds, S> attention_math;
  With<Seconds, S> communication;
  With<Seconds, S> fixed;

  /// Linear layers, then attention, each bound by its slower resource; then the rest.
  [[nodiscard]] constexpr With<Seconds, S> time() const {
    return max(weight_reads, linear_math) + max(kv_reads, attention_math) + communication + fixed;
  }
  /// One maximum over the whole step: never more than `time`, equal when both parts are bound
  /// alike.
  [[nodiscard]] constexpr With<Seconds, S> whole_step_maximum() const {
    return max(weight_reads + kv_reads, linear_math + attention_math) + communication + fixed;
  }
  /// No overlap anywhere: never less than `time`.
  [[nodiscard]] constexpr With<Seconds, S> sum() const {
    return weight_reads + linear_math + kv_reads + attention_math + communication + fixed;
  }
};

/// One decode step of `batch` sequences with `context` tokens each. Speculation passes more than
/// one token per sequence: arithmetic and messages grow with it, the cache is still read once.
/// Batch 0 takes no time; context 0 reads no cache. The weight bytes must be those of this batch.
template <Scalar S>
[[nodiscard]] constexpr TextbookStep<S> textbook_step(const TextbookModel<S>& model,
                                                      const TextbookMachine<S>& machine,
                                                      const With<Requests, S>& batch,
                                                      const With<TokensPerRequest, S>& context,
                                                      TokensPerRequest each = one_token_each) {
  if (batch <= With<Requests, S>{}) return {};
  const double n = machine.devices;
  const With<Tokens, S> tokens = batch * each;
  TextbookStep<S> step;
  step.weight_reads = model.weights_read / (n * machine.weight_bandwidth);
  step.linear_math = model.linear * tokens / (n * machine.linear_peak);
  step.kv_reads = model.kv * (batch * context) / (n * machine.kv_bandwidth);
  step.attention_math =
      model.attention * (batch * context) * (each / one_token_each) / (n * machine.attention_peak);
  if (machine.devices > 1)
    step.communication =
        model.all_reduces *
        (machine.all_reduce_latency + model.message * tokens *
                                          all_reduce_volume(AllReduce::two_shot, machine.devices) /
                                          machine.link);
  step.fixed = machine.fixed;
  return step;
}

/// Rate tokens / T of a whole replica, in tokens/s; 0 for an empty batch.
template <Scalar S>
[[nodiscard]] constexpr With<TokensPerSecond, S> replica_rate(
    const With<Requests, S>& batch, const With<Seconds, S>& step,
    TokensPerRequest each = one_token_each) {
  if (batch <= With<Requests, S>{}) return {};
  return batch * each / step;
}

}  // namespace tokenroof
