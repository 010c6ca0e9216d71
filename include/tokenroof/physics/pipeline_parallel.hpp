// Pipeline parallelism: more throughput and memory, never a faster token.
//
//   bubble = (stages - 1) / (micro-batches + stages - 1)
//
// Sources: Huang et al. (GPipe), arXiv 1811.06965; Pope et al., arXiv 2211.05102. docs/formulas.md.
#pragma once

#include "tokenroof/core/scalar.hpp"
#include "tokenroof/physics/collective.hpp"

namespace tokenroof {

/// Share of stage time idle while `micro_batches` >= 1 flow once through `stages` >= 1.
[[nodiscard]] constexpr double pipeline_bubble(int stages, int micro_batches) {
  return (stages - 1.0) / (micro_batches + stages - 1.0);
}

/// Time of one token through all stages, in seconds: the whole model's time at this micro-batch,
/// undivided, and stages - 1 hand-overs of `message` bytes.
template <Scalar S>
[[nodiscard]] constexpr With<Seconds, S> pipeline_token_time(const With<Seconds, S>& whole_model,
                                                             int stages,
                                                             const With<Bytes, S>& message,
                                                             const Channel<S>& channel) {
  return whole_model + (stages - 1.0) * send_time(message, channel);
}

/// Decode rate, in tokens/s, with one micro-batch in each stage: stages x micro_batch tokens per
/// `pipeline_token_time`, reached when stages are alike.
template <Scalar S>
[[nodiscard]] constexpr With<TokensPerSecond, S> pipeline_rate(const With<Tokens, S>& micro_batch,
                                                               int stages,
                                                               const With<Seconds, S>& token_time) {
  return static_cast<double>(stages) * micro_batch / token_time;
}

/// KV bytes on one device of one stage: (kv / stages) x context x (stages x micro_batch), so the
/// number of stages cancels. `micro_batch` in sequences.
template <Scalar S>
[[nodiscard]] constexpr With<Bytes, S> pipeline_kv_per_stage(
    const With<BytesPerToken, S>& kv, const With<TokensPerRequest, S>& context,
    const With<Requests, S>& micro_batch) {
  return kv * context * micro_batch;
}

}  // namespace tokenroof
