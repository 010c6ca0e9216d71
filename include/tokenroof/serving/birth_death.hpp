// Stationary law of a birth-death queue whose death rate depends on the number present up to a
// limit and not beyond: n requests share an engine of K places, the rest wait.
//   pi_n = pi_0 prod_{i <= n} r_i,  r_i = lambda / mu(i) for i <= K,  r_i = tail beyond.
// Weights are kept relative to the largest so far, so nothing overflows at K in the thousands, and
// nothing is stored. Source: birth-death processes; theory.md 10.3.
#pragma once

#include <cmath>
#include <cstddef>

#include "tokenroof/core/units.hpp"

namespace tokenroof {

/// Sums over a stationary law. `value` means are over the states in which somebody is present.
struct StationaryLaw {
  double empty = 1;         ///< pi_0
  double full = 0;          ///< P(n >= K): probability that an arrival has to wait (PASTA)
  double queue = 0;         ///< mean number waiting
  double inside = 0;        ///< mean number present, waiting ones included
  double running = 0;       ///< mean of min(n, K)
  double value = 0;         ///< mean of `value(min(n, K))` given n >= 1
  double value_square = 0;  ///< mean of its square given n >= 1
};

/// The law for limit `places` = K >= 1. `log_ratio(n)` = log r_n for 1 <= n <= K; `value(n)` is any
/// function of the number running; `tail` in [0, 1) is the ratio beyond K; `boundary` multiplies
/// the weight of the waiting states against state K (1: a plain birth-death queue).
template <class LogRatio, class Value>
[[nodiscard]] StationaryLaw stationary_law(int places, double tail, LogRatio&& log_ratio,
                                           Value&& value, double boundary = 1) {
  double weight = 1;  // of the state at hand, in units of the largest so far
  double total = 1, empty = 1, running = 0, sum = 0, squares = 0;
  for (int n = 1; n <= places; ++n) {
    weight *= std::exp(log_ratio(n));
    if (weight > 1) {  // a new largest: all that was summed shrinks
      const double scale = 1 / weight;
      total *= scale;
      empty *= scale;
      running *= scale;
      sum *= scale;
      squares *= scale;
      weight = 1;
    }
    const double v = value(n);
    total += weight;
    running += n * weight;
    sum += v * weight;
    squares += v * v * weight;
  }
  // Waiting states: boundary * weight * (tail + tail^2 + ...).
  const double waiting = boundary * weight * tail / (1 - tail);
  const double v = value(places);
  total += waiting;
  running += places * waiting;
  sum += v * waiting;
  squares += v * v * waiting;
  StationaryLaw law;
  law.empty = empty / total;
  law.full = (weight + waiting) / total;
  law.queue = waiting / (1 - tail) / total;
  law.running = running / total;
  law.inside = law.running + law.queue;
  const double busy = total - empty;
  if (busy > 0) {
    law.value = sum / busy;
    law.value_square = squares / busy;
  }
  return law;
}

}  // namespace tokenroof
