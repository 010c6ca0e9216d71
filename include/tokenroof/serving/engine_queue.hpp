// A serving engine with continuous batching as a state-dependent birth-death queue: the textbook
// form of theory.md 10.3 to 10.5, each formula a pure function. engine_estimate.hpp corrects what
// simulation shows to be wrong with it and is what an estimate should use.
//
// n running requests share the engine; a step of T(n) gives each one token; a request needs O - 1
// decode steps (its first token comes out of prefill) and t_p of the engine alone for its prompt.
//   mu(n) = n / ((O - 1) T(n) + n t_p),  n <= K;   mu(n) = mu(K) beyond.
// With K unlimited this is generalised processor sharing, insensitive to the law of the output
// length (Cohen 1979); with K finite the wait is sensitive, hence the variability factor.
// Sources: Cohen 1979; Kimura 1986; Fuhrmann-Cooper 1985; Sarathi 2403.02310; theory.md 10.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "tokenroof/core/units.hpp"
#include "tokenroof/serving/birth_death.hpp"
#include "tokenroof/serving/queueing.hpp"
#include "tokenroof/serving/tail_point.hpp"

namespace tokenroof {

/// Requests as one engine replica sees them. Times are of the engine, calibrated or not.
struct EngineTraffic {
  RequestsPerSecond arrivals;                                ///< of this replica, >= 0
  double arrival_squared_cv = 1;                             ///< of inter-arrival times; 1 Poisson
  TokensPerRequest output = TokensPerRequest::from_base(1);  ///< mean O >= 1
  double output_squared_cv = 0;                              ///< 0 fixed, 1 - 1/O geometric
  Seconds prefill;                ///< mean t_p >= 0 of the prompt alone, prefix hits taken off
  double prefill_squared_cv = 0;  ///< of that time over requests
};

/// Decode step times T(1), ..., T(K) in the mean live context; K = size is the admission limit.
using StepTimes = std::span<const Seconds>;

/// mu(n): completions a second while n >= 1 requests run (more than K count as K). 0 when a
/// request takes no time at all is not meant: T(n) (O - 1) + t_p must be > 0.
[[nodiscard]] inline RequestsPerSecond completion_rate(const EngineTraffic& traffic,
                                                       StepTimes steps, int running) {
  const double n = std::min<double>(running, static_cast<double>(steps.size()));
  const Seconds step = steps[static_cast<std::size_t>(n) - 1];
  return n / ((traffic.output.base() - 1) * step + n * traffic.prefill).base() * request / second;
}

/// lambda_max = mu(K): arrivals at or above it are not sustained. With mu(n) non-decreasing, as
/// every engine that batches at all has it, this is also the best the engine can do.
[[nodiscard]] inline RequestsPerSecond limit_rate(const EngineTraffic& traffic, StepTimes steps) {
  return completion_rate(traffic, steps, static_cast<int>(steps.size()));
}

/// zeta: what the variability of service does to the wait of a full engine of K places at load
/// `load` = lambda / mu(K) in (0, 1), against exponential service. c^2 mixes output and prefill
/// variability by their shares of the engine's time.
[[nodiscard]] inline double variability_factor(const EngineTraffic& traffic, StepTimes steps,
                                               double load) {
  const double places = static_cast<double>(steps.size());
  const double decode = (traffic.output.base() - 1) * steps.back().base();
  const double share = decode / (decode + places * traffic.prefill.base());
  const double squared_cv = share * share * traffic.output_squared_cv +
                            (1 - share) * (1 - share) * traffic.prefill_squared_cv;
  return kimura_ratio(squared_cv, cosmetatos_ratio(static_cast<int>(steps.size()), load));
}

/// P(U + W > t): U uniform on (0, `step`), the rest of the running step; W = 0 with probability
/// 1 - `load`, else exponential with mean `mean`: the queue among prefills. theory.md 10.4.
[[nodiscard]] inline double residual_wait_tail(Seconds step, double load, Seconds mean, Seconds t) {
  const double T = step.base(), m = mean.base(), x = t.base();
  if (x < 0) return 1;
  const bool queue = load > 0 && m > 0;
  if (x < T) {
    const double ends = 1 - x / T;
    if (!queue) return ends;
    return (1 - load) * ends + load * (ends + (m / T) * -std::expm1(-x / m));
  }
  if (!queue) return 0;
  if (!(T > 0)) return load * std::exp(-x / m);
  return load * (m / T) * (std::exp(-(x - T) / m) - std::exp(-x / m));
}

/// The parts of a time to first token, and what follows from the same law. Where `stable` is false
/// only `load` and `limit` are set.
struct EngineQueue {
  bool stable = false;
  double load = 0;          ///< lambda / mu(K)
  RequestsPerSecond limit;  ///< mu(K)
  StationaryLaw law;        ///< of the number present; `value` is the step time in s
  double variability = 1;   ///< zeta, burstiness included
  Requests running;         ///< mean running
  double waiting_probability = 0;
  Seconds admission;      ///< W_adm: mean wait for a place
  double drain = 0;       ///< theta in 1/s: P(W_adm > t) = P_w e^{-theta t}
  Seconds residual;       ///< R: mean rest of the step that an unblocked arrival meets
  Seconds prefill_queue;  ///< W_pf: mean wait behind other prompts
  Seconds prefill;        ///< t_p
  Seconds step;           ///< mean step time while busy
  Seconds ttft;           ///< mean
  SecondsPerToken tpot;   ///< mean over tokens: running / (lambda (O - 1))
};

/// The engine at rest with its traffic, prompts run alone and first. `steps` not empty. lambda = 0
/// gives an idle engine: TTFT = t_p. lambda t_p >= 1 or lambda >= mu(K): not stable.
[[nodiscard]] inline EngineQueue engine_queue(const EngineTraffic& traffic, StepTimes steps) {
  EngineQueue q;
  const int places = static_cast<int>(steps.size());
  const double lambda = traffic.arrivals.base();
  const double tp = traffic.prefill.base();
  const double decodes = traffic.output.base() - 1;
  q.limit = limit_rate(traffic, steps);
  q.load = traffic.arrivals / q.limit;
  q.stable = q.load < 1 && lambda * tp < 1;
  if (!q.stable) return q;
  const auto step = [&](int n) { return steps[static_cast<std::size_t>(n) - 1].base(); };
  q.prefill = traffic.prefill;
  if (!(lambda > 0)) {
    q.ttft = traffic.prefill;
    q.tpot = SecondsPerToken::from_base(step(1));
    q.step = steps.front();
    return q;
  }
  q.law = stationary_law(
      places, q.load, [&](int n) { return std::log(lambda * (decodes * step(n) / n + tp)); }, step);
  q.variability = variability_factor(traffic, steps, q.load) *
                  burstiness_factor(traffic.arrival_squared_cv, traffic.output_squared_cv);
  q.running = q.law.running * request;
  q.waiting_probability = q.law.full;
  q.admission = q.law.queue / lambda * q.variability * second;
  q.drain = (q.limit.base() - lambda) / q.variability;
  q.step = q.law.value * second;
  q.residual = (1 - q.law.empty) * 0.5 * q.step;
  q.prefill_queue =
      0.5 * lambda * tp * tp * (1 + traffic.prefill_squared_cv) / (1 - lambda * tp) * second;
  q.ttft = q.admission + (1 - q.law.full) * q.residual + q.prefill_queue + q.prefill;
  q.tpot = SecondsPerToken::from_base(decodes > 0 ? q.law.running / (lambda * decodes) : 0);
  return q;
}

/// P(TTFT > t) of that queue, t measured from the arrival; 1 when not stable. theory.md 10.4.
[[nodiscard]] inline double ttft_tail(const EngineQueue& q, RequestsPerSecond arrivals, Seconds t) {
  if (!q.stable) return 1;
  const Seconds past = t - q.prefill;
  if (past.base() < 0) return 1;
  const double prompt_load = arrivals.base() * q.prefill.base();
  const Seconds mean = prompt_load > 0 ? q.prefill_queue / prompt_load : Seconds{};
  const double busy = residual_wait_tail(q.step, prompt_load, mean, past);
  const double idle = residual_wait_tail(Seconds{}, prompt_load, mean, past);
  const double free = (1 - q.law.empty) * busy + q.law.empty * idle;
  const double blocked = std::min(1.0, std::exp(-q.drain * (past - q.prefill_queue).base()));
  return (1 - q.law.full) * free + q.law.full * blocked;
}

/// TTFT that a share p in (0, 1) of requests does not exceed. Meaningless when not stable.
[[nodiscard]] inline Seconds ttft_quantile(const EngineQueue& q, RequestsPerSecond arrivals,
                                           double p) {
  const auto tail = [&](double t) { return ttft_tail(q, arrivals, q.prefill + t * second); };
  return q.prefill + tail_point(tail, 1 - p, std::max(1e-6, q.ttft.base())) * second;
}

/// Chunked prefill: prompts ride along with decode steps, `budget` prompt tokens a step.
struct ChunkedPrefill {
  TokensPerRequest prompt;     ///< P: mean prompt tokens computed, prefix hits taken off
  Tokens budget;               ///< C: prompt tokens a step, > 0
  SecondsPerToken token_time;  ///< tau: prefill time of a token on top of the decode step
};

/// TTFT under chunked prefill, by theory.md 10.5.
struct ChunkedQueue {
  bool stable = false;              ///< both conditions: lambda < mu(K) and lambda s < 1
  Seconds step;                     ///< decode part of a step at the mean batch
  Seconds service;                  ///< s = (P / C) (T + C tau)
  Seconds prefill_queue;            ///< lambda s^2 / (2 (1 - lambda s))
  Seconds ttft;                     ///< T / 2 + queue + s + admission
  Seconds longest_gap;              ///< T + C tau: the worst inter-token gap
  RequestsPerSecond prefill_limit;  ///< 1 / s: the second stability limit
};

/// `q` is engine_queue with `traffic.prefill` = P tau; `steps` its step times.
[[nodiscard]] inline ChunkedQueue chunked_queue(const EngineQueue& q, const EngineTraffic& traffic,
                                                StepTimes steps, const ChunkedPrefill& chunks) {
  ChunkedQueue c;
  if (!q.stable) return c;
  // T is read between its whole-number entries: the mean batch is not a whole number.
  const double n = std::clamp(q.running.base(), 1.0, static_cast<double>(steps.size()));
  const std::size_t below = static_cast<std::size_t>(n) - 1;
  const std::size_t above = std::min(below + 1, steps.size() - 1);
  // Below one running request T is continued in a straight line.
  const double offset = q.running.base() - static_cast<double>(below + 1);
  c.step = steps[below] + (above > below ? offset : 0.0) * (steps[above] - steps[below]);
  const Seconds full = c.step + chunks.budget * chunks.token_time;
  c.longest_gap = full;
  c.service = chunks.prompt.base() / chunks.budget.base() * full;
  const double lambda = traffic.arrivals.base();
  const double busy = lambda * c.service.base();
  c.prefill_limit = c.service.base() > 0 ? 1 / c.service.base() * request / second
                                         : std::numeric_limits<double>::max() * request / second;
  c.stable = busy < 1;
  if (!c.stable) return c;
  c.prefill_queue = 0.5 * busy / (1 - busy) * c.service;
  c.ttft = 0.5 * c.step + c.prefill_queue + c.service + q.admission;
  return c;
}

/// Worst inter-token gap with exclusive prefill: a step and `prompts` back to back.
[[nodiscard]] constexpr Seconds longest_gap(Seconds step, Seconds prefill, int prompts) {
  return step + prompts * prefill;
}

}  // namespace tokenroof
