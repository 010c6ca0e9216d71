// A closed loop: C requests circulate, each one that ends is replaced at once, K may be admitted.
// Nothing random arrives, so work is conserved exactly:
//   residence = C / X,  X = n / ((O - 1) T(n) + n t_p),  n = min(C, K),
// and TTFT + (O - 1) TPOT = residence. What is left to find is how the residence splits, which the
// scheduling of prompts decides: newcomers come at the end of a step, in the company of those that
// ended in the same step, and no step is left to wait for.
// Sources: operational laws (Denning and Buzen 1978); own derivation for the split, checked against
// the simulator by benchmarks/queue_grid.cpp.
#pragma once

#include <algorithm>
#include <cmath>

#include "tokenroof/core/units.hpp"
#include "tokenroof/serving/engine_load.hpp"

namespace tokenroof {

/// Averages of a closed loop in its steady state.
struct ClosedQueue {
  Requests admitted;       ///< min(C, K): decoding and prefilling together
  Requests decoding;       ///< of these, past their first token, time average
  RequestsPerSecond rate;  ///< completions
  Seconds residence;       ///< C / rate, by Little's law
  Seconds admission;       ///< waiting for a place: (C - K) / rate when C > K
  Seconds ttft;            ///< mean
  SecondsPerToken tpot;    ///< mean over tokens; 0 for answers of one token
};

/// `concurrency` = C >= 1; `load.arrivals` is ignored. `synchrony` in [0, 1]: 0 when the requests
/// have spread out over their lives (any variation of lengths does that in time), 1 when all still
/// start together, as equal lengths under exclusive prefill keep doing: then a request waits in the
/// mean for half (one by one) or all (packed) of the others' prompts.
[[nodiscard]] inline ClosedQueue closed_queue(const EngineLoad& load, StepTimes steps,
                                              Requests concurrency, double synchrony = 0) {
  const detail::EngineWork w(load, steps);
  const double C = std::max(1.0, concurrency.base());
  const double n = std::min(C, static_cast<double>(steps.size()));
  ClosedQueue q;
  q.admitted = n * request;

  // Under chunked prefill some of the n are in prefill while a step decodes the others.
  double decoding = n, own = w.tp, others = 0;
  const double together = w.decodes > 0 ? n / w.decodes : n;  // mean replaced at the end of a step
  if (w.chunked) {
    double rate = 0;
    for (int i = 0; i < 40; ++i) {
      const double c = w.room(decoding), T = w.step(decoding);
      const detail::EngineWork::Service s = w.service(c, T);
      rate = std::min(w.decodes > 0 ? w.rate_at(decoding) : 1 / s.mean, 1 / s.mean);
      const double busy = std::min(0.999, rate * s.mean);
      own = s.steps * T + w.tp;
      // Seen from a newcomer n - 1 others are there; they come with steps, hence the batch term.
      others = std::min(0.5 * rate * s.square / (1 - busy) * (n - 1) / n, 0.5 * (n - 1) * s.mean);
      const double mixed = T / std::max(0.02, 1 - rate * w.tp);
      const double under_way = rate * mixed * (s.steps + others / (T + c * w.token_time));
      decoding = 0.5 * (decoding + std::max(n > 1 ? 0.5 : 1.0, n - under_way));
    }
    if (n <= 1) {
      decoding = 1;
      rate = 1 / (w.decodes * w.step(1) + own);
    }
    q.rate = rate * request / second;
  } else {
    q.rate = w.rate_at(n) * request / second;
    const double ahead = load.mode == PrefillMode::packed ? 1.0 : 0.5;
    // Independent ends: Poisson(together) a step, seen by one of them; in step: all n.
    others =
        ((1 - synchrony) * ahead * std::min(together, n - 1) + synchrony * ahead * (n - 1)) * w.tp;
  }
  q.residence = C * request / q.rate;
  q.admission = (C - n) * request / q.rate;
  q.ttft = q.admission + (own + others) * second;
  const double rest = (q.residence - q.ttft).base();
  q.tpot = SecondsPerToken::from_base(w.decodes > 0 ? std::max(0.0, rest) / w.decodes : 0);
  q.decoding = q.rate * std::max(0.0, rest) * second;
  return q;
}

}  // namespace tokenroof
