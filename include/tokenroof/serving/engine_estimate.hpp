// What an engine under load does to its users: the closed form behind `estimate`. It starts from
// theory.md 10.3 to 10.5 (engine_queue.hpp) and mends what simulation shows to be wrong there:
//   1. the batch is the law of decode_clock.hpp, so prefill-heavy traffic waits as long as it does;
//   2. prompts that are computed together, or share a step, wait for each other;
//   3. with chunked prefill a prompt needs whole steps, and holds a place while it is under way;
//   4. the law of prefill times enters the quantiles, not its mean alone;
//   5. a request's first gap is longer than its others (the prompts behind it are computed first),
//      which short answers feel: the mean TPOT of requests exceeds that of tokens.
// Error against simulation (docs/queue_grid.md: 168 Poisson cases, 0.2 to 0.97 of the limit),
// median and worst: running batch and TPOT 0.5 and 8 % (within 3 % but for five cases, all with
// half the engine in prompts); mean TTFT 1.1 and 12 % up to load 0.92, 4.6 and 31 % at 0.97 (the
// worst: the token budget itself the limit, a third of it taken by the batch); P95 TTFT 3.3 and 32
// %, 6.4 and 51 %; P95 end to end 0.9 and 25 %, 3.2 and 11 %. Bursty arrivals: mean TTFT 7 and 16
// %, P95 8 and 26 %.
#pragma once

#include <algorithm>
#include <cmath>

#include "tokenroof/core/units.hpp"
#include "tokenroof/serving/decode_clock.hpp"
#include "tokenroof/serving/end_to_end.hpp"
#include "tokenroof/serving/engine_first_token.hpp"
#include "tokenroof/serving/engine_load.hpp"

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
/// of one token (O = 1) are all prefill. Costs about K + 100 points of the prefill law flops;
/// allocates for the quantile end to end alone.
[[nodiscard]] inline EngineEstimate engine_estimate(const EngineLoad& load, StepTimes steps) {
  const detail::EngineWork w(load, steps);
  const detail::Saturation full = detail::saturation(w);
  EngineEstimate e;
  e.limit = full.rate * request / second;
  e.load = full.rate > 0 ? w.lambda / full.rate : 0;
  e.prefill_bound = full.prefill_bound;
  e.stable = e.load < 1;
  if (!e.stable) return e;

  double places = static_cast<double>(steps.size());
  if (w.chunked)
    places =
        std::max(std::min(full.places, places), places - w.places_under_way(w.lambda, full.places));
  const double decode_limit = w.rate_at(full.places);  // beyond it the wait for a place grows
  DecodeLaw law;
  law.step = steps.front().base();
  law.step_square = law.step * law.step;
  double batch = 1;
  if (w.lambda > 0 && w.decodes > 0) {
    batch = joining_batch(w.rho_p, w.cp2, load.output_squared_cv, load.arrival_squared_cv);
    law = decode_law(steps, places, w.lambda / (1 - w.rho_p), w.decodes, batch);
  }
  const detail::FreeArrival f =
      detail::free_arrival(w, law, decode_limit, e.prefill_bound ? e.load : 0);

  // Wait for a place: Kimura's variability factor on service = decode share + prefill.
  const double r = w.lambda / decode_limit;
  const double decode_share =
      w.decodes * w.step(places) / (w.decodes * w.step(places) + places * w.tp);
  const double service_cv2 = decode_share * decode_share * load.output_squared_cv +
                             (1 - decode_share) * (1 - decode_share) * w.cp2;
  double variability = 1;
  if (r > 0)
    variability = kimura_ratio(service_cv2, cosmetatos_ratio(static_cast<int>(steps.size()), r)) *
                  burstiness_factor(load.arrival_squared_cv, service_cv2);
  const double drain = (decode_limit - w.lambda) / variability;
  const double queue = (law.overflow / (1 - r) + law.short_queue) * variability;

  const double P = law.waiting;
  e.waiting = queue * request;
  e.waiting_probability = P;
  if (P < 1) {
    const double fewer = (law.running - P * places) / (1 - P);
    const double square = (law.running_square - P * places * places) / (1 - P);
    e.running_variance = std::max(0.0, square - fewer * fewer);
  }
  e.step = law.step * second;
  e.busy = 1 - law.empty * (1 - w.rho_p);
  e.admission = (w.lambda > 0 ? queue / w.lambda : 0) * second;
  e.prefill = w.tp * second;
  e.scheduling = ((1 - P) * f.residual + f.mean_own_steps) * second;
  e.prefill_queue =
      ((1 - P) * (f.queue + f.mean_shared) + P * (f.blocked - f.mean_own_steps)) * second;
  e.ttft = e.admission + e.scheduling + e.prefill_queue + e.prefill;
  e.ttft_p50 = detail::first_token_quantile(w, law, f, drain, 0.50);
  e.ttft_p95 = detail::first_token_quantile(w, law, f, drain, 0.95);
  e.ttft_p99 = detail::first_token_quantile(w, law, f, drain, 0.99);

  // While prompts are computed, those that came earlier in the same break already count as running;
  // in a full engine the place of the prompt itself is missing.
  const double free = 1 - w.rho_p;
  const double packing = w.packing();
  const double joined = joined_before(w.rho_p, w.cp2, packing);
  double before = 0;
  if (batch > 1) before = (law.met - law.found) * joined / (batch - 1);
  double met = law.found + before;
  if (!w.chunked)  // those of the last step have not joined
    met -= w.lambda * law.step / free * ((1 - packing) * 0.5 + packing / (1 + w.rho_p));
  // In a full engine those that leave in one step are replaced together: as many as it happens, or,
  // where outputs are equal, all that once joined together.
  const double leaving = decode_limit * w.step(places) / std::max(0.02, 1 - decode_limit * w.tp);
  const double outputs_differ = load.output_squared_cv * w.decodes * w.decodes;
  const double beside = std::max(0.5 * leaving, before / (1 + outputs_differ));
  const double limit = static_cast<double>(steps.size());
  const double blocked =
      std::max(1.0, w.chunked ? std::min(places, limit - 1 - 2 * beside) : limit - 1 - beside);
  double running = free * law.running + w.rho_p * (law.placed * met + (1 - law.placed) * blocked);
  running = w.decodes > 0 ? std::max(running, 0.0) : 0;
  e.running = running * request;
  const double tpot =
      w.lambda * w.decodes > 0 ? running / (w.lambda * w.decodes) : steps.front().base();
  const double inverse = w.decodes > 0 ? load.mean_inverse_decodes > 0
                                             ? load.mean_inverse_decodes
                                             : (1 + load.output_squared_cv) / w.decodes
                                       : 0;
  double first_gap = 0;  // above the other gaps
  if (!w.chunked && free > 0) {
    const double exposed = f.queue + w.tp + (load.mode == PrefillMode::one_by_one ? f.residual : 0);
    first_gap = w.rho_p / free * (exposed - law.step) * (1 - P);
  }
  const double request_tpot =
      w.decodes > 0 ? tpot + first_gap * std::max(0.0, inverse - std::min(1.0, 1 / w.decodes))
                    : tpot;
  e.tpot = SecondsPerToken::from_base(tpot);
  e.tpot_request = SecondsPerToken::from_base(request_tpot);
  // Spread over requests: the batch over a life (two thirds of its variance remain), and the number
  // of prompts that fall into it.
  const double step_variance = std::max(0.0, law.step_square - law.step * law.step);
  const double batch_variance = 2.0 / 3 * step_variance / (free * free);
  const double prompt_variance = w.chunked || w.rho_p > 0 ? w.spread * tpot * inverse : 0;
  e.tpot_p95 = SecondsPerToken::from_base(request_tpot +
                                          1.645 * std::sqrt(batch_variance + prompt_variance));
  if (w.chunked) {
    e.longest_gap = (w.step(places) + w.room(law.running) * w.token_time) * second;
  } else {
    const double any = -std::expm1(-w.lambda * law.step);
    const double served = 1 / (free > 0 ? free : 1);
    const double prompts =
        any > 1e-3 ? 1 + (served > 1 ? std::log(any / 1e-3) / -std::log1p(-1 / served) : 0) : 0;
    e.longest_gap = (w.step(places) + prompts * w.tp) * second;
  }
  e.e2e = e.ttft + w.decodes * tpot * second;
  if (load.outputs != nullptr) {
    ResponseParts parts;
    parts.least = shortest_prefill(load.prefill);
    parts.p50 = e.ttft_p50.base();
    parts.p95 = e.ttft_p95.base();
    parts.p99 = e.ttft_p99.base();
    parts.tpot = tpot;
    parts.step_deviation = std::sqrt(batch_variance);
    parts.prompt_variance = w.spread * tpot;
    e.e2e_p95 = end_to_end_quantile(parts, *load.outputs, load.output.base(), 0.95);
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
