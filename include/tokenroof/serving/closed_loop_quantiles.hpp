// Percentiles of a closed loop, about the means of closed_loop.hpp. A first token is late by four
// things that have little to do with each other; distances of their percentiles from their means
// add as squares do:
//   the length of the own prompt     its law
//   the rest of the running step     uniform
//   other prompts in front           exponential
//   a place, when C > K              the next C - K ends, which are as irregular as the outputs
// A token's time varies with the prompts that fall into a life: ends of K renewal processes, so
// their number has the variance c^2 times its mean (c^2 of the output lengths; fixed ones: none).
// Source: renewal theory (Cox 1962); own derivation, checked by closed_loop_quantiles_test.cpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "tokenroof/core/normal.hpp"
#include "tokenroof/serving/closed_loop.hpp"
#include "tokenroof/serving/end_to_end.hpp"
#include "tokenroof/serving/prefill_law.hpp"

namespace tokenroof {

/// What a user of the loop sees besides the means. Requests of equal length march in step, and in
/// which step they do is decided by how they began: what depends on it is left out.
struct ClosedLoopQuantiles {
  std::optional<Seconds> ttft_p50, ttft_p95, ttft_p99;  ///< where lengths vary
  Seconds tpot_p95;                ///< over requests; 0 for outputs of one token
  std::optional<Seconds> e2e_p95;  ///< where lengths vary, or nobody waits for a place
};

/// The percentiles of `loop`, which `load`, `engine` and `times` gave; `lengths` is the law of
/// prompts and outputs.
[[nodiscard]] inline ClosedLoopQuantiles closed_loop_quantiles(const ClosedLoop& loop,
                                                               const ClosedLoopLoad& load,
                                                               const EngineConstants& engine,
                                                               const ClosedLoopTimes& times,
                                                               const LengthLaw& lengths) {
  const double n = loop.running, rate = loop.rate.base();
  const double prefill = times.prefill.base(), step = times.step.base();
  const double overhead = (engine.request_overhead + load.prompt * engine.per_prompt_token).base();
  const double waiting = std::max(0.0, load.concurrency - n);  // for a place
  const double place = waiting / rate;
  const double spread = lengths.squared_cv(load.output);
  const double place_deviation = std::sqrt(waiting * spread) / rate;
  const double own = overhead + prefill * load.lanes;
  const double mean = loop.ttft.base();
  // What is left over is steps waited for first, one of them only in part, other prompts then.
  const double left = std::max(0.0, mean - place - own);
  const double waited = std::min(left, load.waited_steps() * step);
  const double partly = std::min(waited, step), ahead = left - waited;
  const double samples = sample_mean(lengths);
  const auto quantile = [&](double p) {
    const double z = normal_quantile(p);
    const double prompt =
        prefill * (slice_factor(lengths, load.prompt, p - 0.005, p + 0.005, samples) - 1);
    const double off[] = {prompt, partly * (p - 0.5), ahead * (-std::log(1 - p) - 1),
                          z * place_deviation};
    double above = 0, below = 0;
    for (const double x : off) (x > 0 ? above : below) += x * x;
    return std::max(place > 0 ? 0.0 : own * 0.5, mean + std::sqrt(above) - std::sqrt(below));
  };
  ClosedLoopQuantiles q;
  const double tpot = loop.tpot.base();
  const double prompt_variance =
      rate * prefill * prefill * (spread + lengths.squared_cv(load.prompt)) * tpot;
  if (load.output > 1) {
    const double inverse = mean_inverse_decodes(lengths, TokensPerRequest::from_base(load.output));
    q.tpot_p95 = (tpot + normal_quantile(0.95) * std::sqrt(prompt_variance * inverse)) * second;
  }
  ResponseParts parts;
  parts.p50 = quantile(0.50);
  parts.p95 = quantile(0.95);
  parts.p99 = quantile(0.99);
  parts.least = std::min(own, parts.p50);
  parts.tpot = tpot;
  parts.prompt_variance = prompt_variance;
  if (load.lengths_vary) {
    q.ttft_p50 = parts.p50 * second;
    q.ttft_p95 = parts.p95 * second;
    q.ttft_p99 = parts.p99 * second;
  }
  if (load.lengths_vary || !(waiting > 0))
    q.e2e_p95 = end_to_end_quantile(parts, lengths, load.output, 0.95);
  return q;
}

}  // namespace tokenroof
