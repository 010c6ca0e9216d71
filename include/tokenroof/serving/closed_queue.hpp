// A closed loop: C requests circulate, each one that ends is replaced at once, K may be admitted.
// Nothing random arrives, so work is conserved exactly:
//   residence = C / X,  X = n / ((O - 1) T(n) + n t_p),  n = min(C, K),
// and TTFT + (O - 1) TPOT = residence. What is left to find is how the residence splits, which the
// scheduling of prompts decides: newcomers come at the end of a step, in the company of those that
// ended in the same step, and no step is left to wait for.
// Sources: operational laws (Denning and Buzen 1978); own derivation for the split. Against the
// simulator (closed_queue_test.cpp) rate and TPOT are within 2 %, TTFT within 8 % where answers are
// long against the batch (n < O - 1) and within 25 % beyond.
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

namespace detail {

/// Chunked prefill in a closed loop of n > 1: newcomers come per step, whatever the step takes, so
/// the prompts form a queue in steps, served m = C / P prompts a step.
struct StepQueue {
  double rate = 0;         ///< completions a second
  double first_token = 0;  ///< s from admission to the first token
};
[[nodiscard]] inline StepQueue step_queue(const EngineWork& w, double n) {
  const double squares = 1 + w.cp2;  // E[P^2] / E[P]^2
  double decoding = n;
  StepQueue q;
  for (int i = 0; i < 60; ++i) {
    const double c = w.room(decoding), T = w.step(decoding);
    const double served = c / w.load.prompt.base();
    const double coming = decoding / w.decodes;
    const double load = coming / served;
    if (load >= 1) {  // the budget is the limit: full steps, the rest of the n wait for it
      const double fewer = std::max(1.0, std::min(n, w.decodes * served));
      decoding = 0.5 * (decoding + fewer);
      q.rate = served / (T + c * w.token_time);
      q.first_token = (n - decoding) / q.rate;
      continue;
    }
    const EngineWork::Service s = w.service(c, T);
    // Work found, in steps (Lindley's equation for a slot that serves 1), and those ahead of one
    // that come with the same step; both leave room in the own steps before they cost further ones.
    const double variance = coming * squares / (served * served);
    const double found = std::max(0.0, 0.5 * (variance + load * load - load) / (1 - load));
    const double beside = 0.5 * std::min(coming, n - 1) / served;
    const double ahead = found + beside;
    const double slack = std::max(0.0, s.steps - 1 / served);
    const double further = ahead > 0 ? ahead * std::exp(-slack / ahead) : 0;
    const double behind = slack > 0 ? slack * -std::expm1(-beside / slack) : 0;
    const double whole = c * w.token_time;
    q.rate = w.rate_at(decoding);
    q.first_token = (s.steps + further) * T + w.tp + (ahead + behind) * whole;
    const double left = n - coming * (s.steps + further);
    decoding = 0.5 * (decoding + std::clamp(left, 0.5, n));
  }
  return q;
}

}  // namespace detail

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

  double after_admission = w.tp;
  if (w.chunked && n > 1 && w.decodes > 0) {
    const detail::StepQueue steady = detail::step_queue(w, n);
    q.rate = steady.rate * request / second;
    after_admission = steady.first_token;
  } else if (w.chunked) {
    const detail::EngineWork::Service s = w.service(w.room(n), w.step(n));
    after_admission = s.steps * w.step(1) + w.tp;
    q.rate = n / (w.decodes * w.step(1) + n * after_admission) * request / second;
  } else {
    // Independent ends are Poisson(n / (O - 1)) a step, as one of them sees it; in step: all n.
    const bool packed = load.mode == PrefillMode::packed;
    const double fit = packed && w.token_time > 0
                           ? std::clamp(load.token_budget.base() / load.prompt.base(), 1.0, n)
                           : 1;
    const double together = std::min(w.decodes > 0 ? n / w.decodes : n, n - 1);
    const double apart = (packed ? 1.0 : 0.5) * together;
    const double in_step = 0.5 * (n + fit) - 1;
    after_admission += ((1 - synchrony) * apart + synchrony * in_step) * w.tp;
    q.rate = w.rate_at(n) * request / second;
  }
  q.residence = C * request / q.rate;
  q.admission = (C - n) * request / q.rate;
  q.ttft = q.admission + after_admission * second;
  const double rest = (q.residence - q.ttft).base();
  q.tpot = SecondsPerToken::from_base(w.decodes > 0 ? std::max(0.0, rest) / w.decodes : 0);
  q.decoding = q.rate * std::max(0.0, rest) * second;
  return q;
}

}  // namespace tokenroof
