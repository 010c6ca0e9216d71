// The batch of an engine under load: its law on the decode clock, the queue for a place, and how
// many run in the mean. engine_estimate.hpp adds what a request feels of it.
#pragma once

#include <algorithm>
#include <cmath>

#include "tokenroof/serving/decode_clock.hpp"
#include "tokenroof/serving/engine_load.hpp"
#include "tokenroof/serving/queueing.hpp"

namespace tokenroof::detail {

struct EngineBatch {
  DecodeLaw law;
  double places = 0;               ///< that may decode, prompts under way taken off
  double limit = 0;                ///< rate in 1/s at which the wait for a place grows without end
  double waiting = 0;              ///< mean number without a place
  double waiting_probability = 0;  ///< that a request waits for a place
  double running = 0;              ///< mean number decoding
};

/// Decoding sequences if they did not vary: n = (lambda / (1 - rho_p)) (O - 1) T(n).
[[nodiscard]] inline double steady_batch(const EngineWork& w) {
  double n = 1;
  for (int i = 0; i < 40; ++i) n = w.lambda / (1 - w.rho_p) * w.decodes * w.step(n);
  return std::min(n, static_cast<double>(w.steps.size()));
}

/// Share of a break's company that is together for a whole decoding. With chunked prefill decoding
/// goes on during a break: its prompts join over 2 load E[s^2] / E[s] / (1 - load)^2, the
/// relaxation time of the queue of prompts, here in tokens of a sequence.
[[nodiscard]] inline double lasting_company(const EngineWork& w) {
  if (!w.chunked) return 1;
  const double n = steady_batch(w), c = w.room(n), T = w.step(n);
  const EngineWork::Service s = w.service(c, T);
  const double load = std::min(0.999, w.lambda * s.mean);
  const double relaxed = load * s.square / s.mean / ((1 - load) * (1 - load));
  const double in_steps = std::min(1.0, w.load.prompt.base() / c);
  const double whole = T * w.load.step_tokens + c * w.token_time;
  return 1 / (1 + 2 * in_steps * relaxed / whole * w.load.step_tokens / w.decodes);
}

/// Mean number decoding while prompts are computed. Requests join at the numbers at which others
/// leave (the flows across each cut are equal): E[n | one leaves] - 1, less those of the same break
/// that have not joined yet, and less half of those that leave together.
[[nodiscard]] inline double running_in_breaks(const EngineWork& w, const DecodeLaw& law) {
  const double free = 1 - w.rho_p, outputs_cv2 = w.load.output_squared_cv;
  const double in_break = break_before(w.rho_p, w.cp2);
  const double generation = generation_before(w.rho_p, w.cp2);
  const double in_a_step = w.lambda * law.step / free;  // that leave, or join, by chance
  double share = w.packing(), unjoined = share * generation, chance;
  if (w.chunked) {
    const double c = w.room(law.running), P = w.load.prompt.base();
    share = std::max(0.0, 1 - P / c);
    // A prompt begins in the step in which the one before it ends.
    const double load = std::min(1.0, w.lambda * w.service(c, law.step).mean);
    unjoined = share * generation + 0.5 * load * (1 - share) * std::min(1.0, c / P);
    chance = -0.5 * in_a_step * (1 - share);  // those that leave after a prompt's step ran in it
  } else {
    chance = 0.5 * in_a_step * (1 + share * free / (1 + w.rho_p));
  }
  // Equal outputs end together where prompts joined together: in one break, or, in a full engine,
  // where such a group's places were taken by others. Unequal ones differ by more than a step.
  const double clumps = 0.5 * std::max(0.0, w.load.arrival_squared_cv - 1) / (free * free);
  const double late = 1 - law.placed;
  const double kept = w.chunked ? law.placed : std::sqrt(law.placed);
  const double group = kept * (in_break + clumps) + (w.chunked ? late * share * generation : 0);
  const double together = group / (1 + outputs_cv2 * w.decodes * w.decodes);
  return std::max(0.0, law.left - 1 - unjoined - together - chance);
}

/// Needs arrivals below the limit.
[[nodiscard]] inline EngineBatch engine_batch(const EngineWork& w, const Saturation& full) {
  EngineBatch b;
  const double all = static_cast<double>(w.steps.size());
  b.places = all;
  if (w.chunked)
    b.places =
        std::max(std::min(full.places, all), all - w.places_under_way(w.lambda, full.places));
  b.limit = w.rate_at(full.places);
  b.law.step = w.steps.front().base();
  b.law.step_square = b.law.step * b.law.step;
  if (!(w.lambda > 0 && w.decodes > 0)) return b;
  const double free = 1 - w.rho_p;
  const JoiningBatches batches = joining_batches(w.rho_p, w.cp2, w.load.output_squared_cv,
                                                 w.load.arrival_squared_cv, lasting_company(w));
  b.law = decode_law(w.steps, b.places, w.lambda / free, w.decodes, batches);

  // Kimura's variability factor on service = decode share + prefill.
  const double r = w.lambda / b.limit;
  const double decoding = w.decodes * w.step(b.places);
  const double share = decoding / (decoding + b.places * w.tp);
  const double service_cv2 =
      share * share * w.load.output_squared_cv + (1 - share) * (1 - share) * w.cp2;
  const double variability =
      kimura_ratio(service_cv2, cosmetatos_ratio(static_cast<int>(w.steps.size()), r)) *
      burstiness_factor(w.load.arrival_squared_cv, service_cv2);
  // A break that fills the engine leaves prompts waiting already: (1 - rho_p) of those it would
  // still have served, and the queue starts from there, not from one.
  const double left_over = free / (1 - joining_batches(w.rho_p, w.cp2, 1, 1, 1).stay);
  b.waiting = (b.law.overflow / (1 - r) + b.law.short_queue) * variability +
              b.law.overflow * std::max(0.0, left_over - 1);
  b.waiting_probability = w.chunked ? std::max(b.law.waiting, 1 - b.law.placed) : b.law.waiting;
  b.running = free * b.law.running + w.rho_p * running_in_breaks(w, b.law);
  return b;
}

}  // namespace tokenroof::detail
