// The running batch seen on the decode clock, which stands still while prompts are computed.
//
// On that clock a decode step finds, where it ends, all requests whose prompts were computed since
// the step before: they join in batches, at the rate lambda / (1 - rho_p) (rho_p = lambda t_p, the
// prefill load), since prompts that arrive during a prefill are computed in the same break. A break
// is a busy period of an M/G/1 queue; it serves E[B] = 1 / (1 - rho_p) prompts, and E[B^2] / E[B] =
// (1 + rho_p^2 c_p^2) / (1 - rho_p)^2. The plain birth-death queue of theory.md 10.3 lets requests
// join one by one; its batch varies too little when prefill takes much of the engine, and the wait
// of a nearly full engine comes out up to half too short. Most breaks serve one prompt and few
// serve many: P(B > j) = m s^(j-1), j >= 1, has both moments and one recursion (cut below n):
//   mu(n) pi_n = (joining / E[B]) (pi_(n-1) + m G_n),   G_(n+1) = s G_n + pi_(n-1),
//   mu(n) = n / ((O - 1) T(n)).
// Outputs that are not geometric change how much the batches matter: the variance of the work that
// a batch brings, against that of its residual, gives in place of E[B^2] / E[B]
//   2 b - 1,   b = (c^2 + E[B^2] / E[B]) / (1 + c^2),
// which is 1 without prefill, whatever c^2: processor sharing is insensitive (Cohen 1979).
// Sources: own derivation (diffusion limit as in Gupta and Zhang, QUESTA 2014); checked against the
// simulator by benchmarks/queue_grid.cpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "tokenroof/core/units.hpp"
#include "tokenroof/serving/engine_queue.hpp"

namespace tokenroof {

/// T(n) in seconds between whole numbers, 1 <= n <= K; a straight line between neighbours.
[[nodiscard]] inline double step_seconds(StepTimes steps, double n) {
  const double bounded = std::clamp(n, 1.0, static_cast<double>(steps.size()));
  const std::size_t below = static_cast<std::size_t>(bounded) - 1;
  const double offset = bounded - static_cast<double>(below + 1);
  const double low = steps[below].base();
  return offset > 0 ? low + offset * (steps[below + 1].base() - low) : low;
}

/// The law of the running batch on the decode clock.
struct DecodeLaw {
  double empty = 1;           ///< P(nothing decodes)
  double running = 0;         ///< mean decoding sequences
  double running_square = 0;  ///< mean of its square
  double step = 0;            ///< mean T in s, given that something decodes
  double step_square = 0;     ///< mean T^2 in s^2
  double waiting = 0;         ///< P(every place is taken)
  double placed = 1;          ///< share of requests that find a place where their break puts them
  double overflow = 0;        ///< P(requests wait)
  double short_queue = 0;     ///< mean waiting because the last place is only partly there
  double left = 1;            ///< mean decoding, itself included, that a request leaves
};

/// Sizes B of the batches in which requests join.
struct JoiningBatches {
  double spread = 1;  ///< b: (E[B^2] / E[B] + 1) / 2, corrected for the law of outputs
  double mean = 1;    ///< E[B]
  double more = 0;    ///< P(B > 1)
  double stay = 0;    ///< P(B > j + 1 | B > j) from j = 1 on
};

/// Batches at the prefill load `prefill_load` = lambda t_p in [0, 1). `lasting` in [0, 1] of the
/// company in a break counts. Arrivals that come in bursts make the mean larger, as groups of
/// (1 + c_a^2) / 2. Where no law of this form has mean and spread, the mean is the largest that
/// fits.
[[nodiscard]] inline JoiningBatches joining_batches(double prefill_load, double prefill_squared_cv,
                                                    double output_squared_cv,
                                                    double arrival_squared_cv, double lasting = 1) {
  const double free = 1 - prefill_load;
  const double bursts =
      (arrival_squared_cv + prefill_load * prefill_load * prefill_squared_cv) / (free * free);
  JoiningBatches b;
  b.spread = std::max(1.0, (output_squared_cv + bursts) / (1 + output_squared_cv));
  b.spread = 1 + lasting * (b.spread - 1);
  const double square = 2 * b.spread - 1;  // over the mean
  double mean = 0.5 * (1 + std::max(1.0, arrival_squared_cv)) / free;
  const double excess = b.spread - 1;  // P(B > 1) <= 1, and no tail lighter than none
  mean = std::min(mean, 1 + 0.5 * (excess + std::sqrt(excess * excess + 4 * excess)));
  if (excess < 1) mean = std::min(mean, 1 / (1 - excess));
  if (!(square > 1) || !(mean > 1)) return b;
  const double beyond = std::max(0.0, 0.5 * ((mean * square - 1) / (mean - 1) - 3));
  b.mean = mean;
  b.stay = beyond / (1 + beyond);
  b.more = (mean - 1) * (1 - b.stay);
  return b;
}

/// Requests of the same break before a prompt: (E[B^2] / E[B] - 1) / 2.
[[nodiscard]] constexpr double break_before(double prefill_load, double prefill_squared_cv) {
  const double free = 1 - prefill_load;
  return 0.5 * ((1 + prefill_load * prefill_load * prefill_squared_cv) / (free * free) - 1);
}

/// Of these, those of the same generation. Prompts that arrive while others are computed make the
/// next generation; earlier ones count, of the generations Z_g of a branching process,
///   sum over g < h of E[Z_g Z_h] / E[B] = rho / (1 - rho^2) (1 + (rho + rho^2 c_p^2) / (1 - rho)).
[[nodiscard]] constexpr double generation_before(double prefill_load, double prefill_squared_cv) {
  const double rho = prefill_load, excess = rho * rho * prefill_squared_cv;
  return break_before(rho, prefill_squared_cv) -
         rho / (1 - rho * rho) * (1 + (rho + excess) / (1 - rho));
}

/// `joining` = lambda / (1 - rho_p) in 1/s, `decodes` = O - 1 > 0, `places` in (0, K] sequences
/// that may decode (not whole when prompts under way hold places). Needs joining < mu(places).
[[nodiscard]] inline DecodeLaw decode_law(StepTimes steps, double places, double joining,
                                          double decodes, const JoiningBatches& batch) {
  constexpr double huge = 1e100, negligible = 1e-290;
  const int last = std::max(1, static_cast<int>(std::ceil(places - 1e-9)));
  const double missing = std::max(0.0, last - places);
  const double rate = joining / batch.mean;
  double weight = 1, before = 1, later = 0;  // of the state at hand, the one before, and G
  double empty = 1, busy = 0, running = 0, squares = 0, time = 0, square = 0;
  double turns = 0, levels = 0;  // who joins, and the number there then; as many leave
  for (int n = 1; n <= last; ++n) {
    const double held = std::min<double>(n, places);
    const double step =
        n == last ? step_seconds(steps, held) : steps[static_cast<std::size_t>(n) - 1].base();
    const double sum = weight + batch.more * later;
    later = batch.stay * later + weight;
    before = weight;
    weight = rate * sum * decodes * step / held;
    turns += sum;
    levels += held * sum;
    busy += weight;
    running += held * weight;
    squares += held * held * weight;
    time += step * weight;
    square += step * step * weight;
    if (weight > huge) {
      for (double* x : {&weight, &before, &later, &empty, &busy, &running, &squares, &time, &square,
                        &turns, &levels})
        *x /= huge;
    }
    // Denormal numbers are slow, and these are nothing.
    if (weight + later < negligible * (empty + busy)) break;
  }
  const double step = step_seconds(steps, places);
  const double drain = places / (decodes * step);
  const double beyond = batch.mean * weight + batch.more / (1 - batch.stay) * later;
  const double overflow = rate * beyond / (drain - joining);
  busy += overflow;
  running += places * overflow;
  squares += places * places * overflow;
  time += step * overflow;
  square += step * step * overflow;
  const double total = empty + busy, leaving = rate * turns, late = drain * overflow;
  DecodeLaw law;
  law.empty = empty / total;
  law.running = running / total;
  law.running_square = squares / total;
  law.step = time / busy;
  law.step_square = square / busy;
  law.overflow = overflow / total;
  law.short_queue = weight * missing / total;
  law.waiting = (overflow + weight + before * missing) / total;
  law.placed = std::min(1.0, turns / batch.mean / total);
  law.left = (rate * levels + places * late) / (leaving + late);
  return law;
}

}  // namespace tokenroof
