// The running batch seen on the decode clock, which stands still while prompts are computed.
//
// On that clock a decode step finds, where it ends, all requests whose prompts were computed since
// the step before: they join in batches, at the rate lambda / (1 - rho_p) (rho_p = lambda t_p, the
// prefill load), since prompts that arrive during a prefill are computed in the same break. A break
// is a busy period of an M/G/1 queue; the number served in it has E[B^2] / E[B] = (1 + rho_p^2
// c_p^2) / (1 - rho_p)^2. The plain birth-death queue of theory.md 10.3 lets requests join one by
// one; its batch varies too little when prefill takes much of the engine, and the wait of a nearly
// full engine comes out up to half too short. With geometric batches the law needs one recursion:
//   mu(n) pi_n = (lambda_d / b) S_n,  S_{n+1} = (1 - 1/b) S_n + pi_n,  mu(n) = n / ((O - 1) T(n)),
// the balance across the cut below n. Outputs that are not geometric change how much the batches
// matter: the variance of the work that a batch brings, against that of its residual, gives
//   (c^2 + E[B^2]/E[B]) / (1 + c^2) = b,
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
  double waiting = 0;         ///< P(an arrival has to wait for a place)
  double overflow = 0;        ///< P(requests wait)
  double short_queue = 0;     ///< mean waiting because the last place is only partly there
  // What a request finds whose prompt is computed at once, not after a wait for a place:
  double placed = 1;  ///< share of such requests
  double found = 0;   ///< mean decoding when its break began
  double met = 0;  ///< mean decoding when its turn comes: those before it in the break have joined
};

/// Mean size of the geometric batches in which requests join: (c^2 + E[B^2]/E[B]) / (1 + c^2), at
/// least 1. `prefill_load` = lambda t_p in [0, 1).
[[nodiscard]] constexpr double joining_batch(double prefill_load, double prefill_squared_cv,
                                             double output_squared_cv, double arrival_squared_cv) {
  const double free = 1 - prefill_load;
  const double bursts =
      (arrival_squared_cv + prefill_load * prefill_load * prefill_squared_cv) / (free * free);
  return std::max(1.0, (output_squared_cv + bursts) / (1 + output_squared_cv));
}

/// Requests of the same break that decode already while a prompt is computed. `packed` = 0: prompts
/// one after the other, so all before it: (E[B^2] / E[B] - 1) / 2. `packed` = 1: those that arrive
/// during a pack make the next one, and only earlier packs count: of the generations Z_g of a
/// branching process, sum over g < h of E[Z_g Z_h] / E[B] =
///   rho / (1 - rho^2) (1 + (rho + rho^2 c_p^2) / (1 - rho)).
[[nodiscard]] constexpr double joined_before(double prefill_load, double prefill_squared_cv,
                                             double packed) {
  const double rho = prefill_load, free = 1 - rho;
  const double excess = rho * rho * prefill_squared_cv;
  const double alone = 0.5 * ((1 + excess) / (free * free) - 1);
  const double generations = rho / (1 - rho * rho) * (1 + (rho + excess) / free);
  return (1 - packed) * alone + packed * generations;
}

/// `joining` = lambda / (1 - rho_p) in 1/s, `decodes` = O - 1 > 0, `places` in (0, K] sequences
/// that may decode (not whole when prompts under way hold places), `batch` >= 1. Needs joining <
/// mu(places).
[[nodiscard]] inline DecodeLaw decode_law(StepTimes steps, double places, double joining,
                                          double decodes, double batch) {
  constexpr double huge = 1e100, negligible = 1e-290;
  const int last = std::max(1, static_cast<int>(std::ceil(places - 1e-9)));
  const double missing = std::max(0.0, last - places);
  const double stay = 1 - 1 / batch;
  double weight = 1, before = 1, sum = 1;  // of the state at hand, the one before, and S
  double total = 1, empty = 1, running = 0, squares = 0, time = 0, square = 0;
  double base = 0, turns = 0, met = 0, found = 0;  // base: S with each state times its number
  for (int n = 1; n <= last; ++n) {
    const double held = std::min<double>(n, places);
    turns += sum;
    met += (n - 1) * sum;
    found += base;
    const double step =
        n == last ? step_seconds(steps, held) : steps[static_cast<std::size_t>(n) - 1].base();
    before = weight;
    weight = joining / batch * sum * decodes * step / held;
    sum = stay * sum + weight;
    base = stay * base + n * weight;
    total += weight;
    running += held * weight;
    squares += held * held * weight;
    time += step * weight;
    square += step * step * weight;
    if (weight > huge) {
      for (double* x : {&weight, &before, &sum, &total, &empty, &running, &squares, &time, &square,
                        &base, &turns, &met, &found})
        *x /= huge;
    }
    if (sum < negligible * total) break;  // denormal numbers are slow, and these are nothing
  }
  const double step = step_seconds(steps, places);
  const double drain = places / (decodes * step);
  const double overflow = joining * sum / (drain - joining);
  total += overflow;
  running += places * overflow;
  squares += places * places * overflow;
  time += step * overflow;
  square += step * step * overflow;
  DecodeLaw law;
  law.placed = std::min(1.0, turns / batch / total);
  law.met = met / turns;
  law.found = found / turns;
  law.empty = empty / total;
  law.running = running / total;
  law.running_square = squares / total;
  law.step = time / (total - empty);
  law.step_square = square / (total - empty);
  law.overflow = overflow / total;
  law.short_queue = weight * missing / total;
  law.waiting = (overflow + weight + before * missing) / total;
  return law;
}

}  // namespace tokenroof
