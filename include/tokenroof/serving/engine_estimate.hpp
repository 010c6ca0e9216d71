// What an engine under load does to its users: the closed form behind `estimate`. It starts from
// theory.md 10.3 to 10.5 (engine_queue.hpp) and mends what simulation shows to be wrong there:
//   1. the batch is the law of decode_clock.hpp, so prefill-heavy traffic waits as long as it does;
//   2. prompts that are computed together, or share a step, wait for each other;
//   3. with chunked prefill a prompt needs whole steps, holds a place while it is under way, and
//      waits longer while the batch is large (engine_prompt_queue.hpp);
//   4. the law of prefill times enters the quantiles, with its third moment;
//   5. a request's first gap is longer than its others (the prompts behind it are computed first),
//      which short answers feel: the mean TPOT of requests exceeds that of tokens.
// Error against simulation: docs/queue_grid.md.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "tokenroof/core/units.hpp"
#include "tokenroof/serving/decode_clock.hpp"
#include "tokenroof/serving/engine_batch.hpp"
#include "tokenroof/serving/engine_first_token.hpp"
#include "tokenroof/serving/engine_load.hpp"
#include "tokenroof/serving/engine_token_times.hpp"

namespace tokenroof {

/// The answer. Where `stable` is false only `load`, `limit` and `prefill_bound` are set.
struct EngineEstimate {
  bool stable = false;
  bool prefill_bound = false;  ///< the token budget, not the decode capacity, sets `limit`
  double load = 0;             ///< arrivals / limit
  RequestsPerSecond limit;     ///< rate that is not sustained any more
  Requests running;            ///< mean decoding
  Requests waiting;            ///< mean without a place
  double waiting_probability = 0;
  double running_variance = 0;  ///< of the number decoding while not every place is taken
  double busy = 0;              ///< share of time in which a step runs
  Seconds step;                 ///< mean decode part of a step
  // Mean TTFT = admission + scheduling + prefill_queue + prefill.
  Seconds admission;   ///< waiting for a place
  Seconds scheduling;  ///< the rest of the running step, and the decode parts of own prompt steps
  Seconds prefill_queue;  ///< other prompts
  Seconds prefill;        ///< own prompt
  Seconds ttft, ttft_p50, ttft_p95, ttft_p99;
  SecondsPerToken tpot;          ///< mean over tokens (mean inter-token gap)
  SecondsPerToken tpot_request;  ///< mean over requests
  SecondsPerToken tpot_p95;      ///< 95th percentile over requests
  Seconds longest_gap;  ///< chunked: bound on a gap; else the gap that one in 1,000 exceeds
  Seconds e2e;          ///< mean, arrival to last token
  Seconds e2e_p95;      ///< 0 unless the load states its output law
};

/// The engine in steady state. `steps` = T(1) .. T(K) in the mean live context, not empty. A rate
/// at or beyond the limit gives `stable` = false; rate 0 the latencies of an idle engine. Answers
/// of one token (O = 1) are all prefill. Microseconds; allocates where the law of outputs is stated
/// alone, and takes some tens of them then.
[[nodiscard]] inline EngineEstimate engine_estimate(const EngineLoad& load, StepTimes steps) {
  const detail::EngineWork w(load, steps);
  const detail::Saturation full = detail::saturation(w);
  EngineEstimate e;
  e.limit = full.rate * request / second;
  e.load = full.rate > 0 ? w.lambda / full.rate : 0;
  e.prefill_bound = full.prefill_bound;
  e.stable = e.load < 1;
  if (!e.stable) return e;

  const detail::EngineBatch b = detail::engine_batch(w, full);
  const DecodeLaw& law = b.law;
  const detail::FreeArrival f = detail::free_arrival(w, law, b.limit, e.prefill_bound ? e.load : 0);
  const double P = b.waiting_probability;
  e.waiting = b.waiting * request;
  e.waiting_probability = P;
  if (const double taken = law.waiting; taken < 1) {
    const double fewer = (law.running - taken * b.places) / (1 - taken);
    const double square = (law.running_square - taken * b.places * b.places) / (1 - taken);
    e.running_variance = std::max(0.0, square - fewer * fewer);
  }
  e.step = law.step * second;
  e.busy = 1 - law.empty * (1 - w.rho_p);
  e.admission = (w.lambda > 0 ? b.waiting / w.lambda : 0) * second;
  e.prefill = w.tp * second;
  e.scheduling = ((1 - P) * f.residual + f.mean_own_steps) * second;
  e.prefill_queue =
      ((1 - P) * (f.queue + f.mean_shared) + P * (f.blocked - f.mean_own_steps)) * second;
  e.ttft = e.admission + e.scheduling + e.prefill_queue + e.prefill;
  e.ttft_p50 = detail::first_token_quantile(w, b, f, 0.50, e.ttft.base());
  e.ttft_p95 = std::max(e.ttft_p50, detail::first_token_quantile(w, b, f, 0.95, e.ttft.base()));
  e.ttft_p99 = std::max(e.ttft_p95, detail::first_token_quantile(w, b, f, 0.99, e.ttft.base()));

  const detail::TokenTimes t = detail::token_times(w, b, f);
  e.running = w.lambda * w.decodes * t.tpot * request;
  e.tpot = SecondsPerToken::from_base(t.tpot);
  e.tpot_request = SecondsPerToken::from_base(t.tpot_request);
  e.longest_gap = t.longest_gap * second;
  e.e2e = e.ttft + w.decodes * t.tpot * second;
  std::vector<detail::TimePoint> decodes;
  if (load.outputs != nullptr) decodes = detail::decode_points(*load.outputs, load.output.base());
  e.tpot_p95 = detail::tpot_p95(w, t, decodes);
  if (load.outputs != nullptr) {
    ResponseParts parts = t.parts;
    parts.least = shortest_prefill(load.prefill);
    parts.p50 = e.ttft_p50.base();
    parts.p95 = e.ttft_p95.base();
    parts.p99 = e.ttft_p99.base();
    e.e2e_p95 = end_to_end_quantile(parts, decodes, 0.95);
  }
  return e;
}

/// Largest rate between 0 and `limit` at which `holds(rate)`, by bisection to a ten-millionth;
/// it must turn from true to false once as the rate grows. 0 when it fails even at rate 0.
template <class Holds>
[[nodiscard]] RequestsPerSecond largest_rate_below(RequestsPerSecond limit, Holds&& holds) {
  RequestsPerSecond low, high = limit;
  if (!holds(low)) return low;
  for (int i = 0; i < 60 && high - low > 1e-7 * high; ++i) {
    const RequestsPerSecond middle = 0.5 * (low + high);
    (holds(middle) ? low : high) = middle;
  }
  return low;
}

/// Largest arrival rate at which `meets(estimate)` holds. 0 when it fails even on an idle engine.
template <class Meets>
[[nodiscard]] RequestsPerSecond largest_rate(EngineLoad load, StepTimes steps, Meets&& meets) {
  return largest_rate_below(engine_limit(load, steps), [&](RequestsPerSecond rate) {
    load.arrivals = rate;
    const EngineEstimate e = engine_estimate(load, steps);
    return e.stable && meets(e);
  });
}

}  // namespace tokenroof
