// Quantiles of a law known by its tail.
#pragma once

#include <algorithm>
#include <cmath>

namespace tokenroof {

/// Where the falling `tail` reaches `share` in (0, 1): the (1 - share)-quantile, 0 when the tail is
/// not above it at 0, 1e12 or more when it never gets there. `guess` > 0 is of its scale. Regula
/// falsi on the logarithm, halving where that crawls, to 1e-7 of the answer; then the straight line
/// between the ends, so that the result moves smoothly with the law. A jump is met to 1e-7.
template <class Tail>
[[nodiscard]] double tail_point(Tail&& tail, double share, double guess) {
  const auto distance = [&](double t) { return std::log(std::max(1e-300, tail(t)) / share); };
  double low = 0, high = guess, at_low = distance(0), at_high = distance(high);
  if (at_low <= 0) return 0;
  while (at_high > 0 && high < 1e12) {
    low = high;
    at_low = at_high;
    high *= 2;
    at_high = distance(high);
  }
  if (at_high > 0) return high;
  const auto crossing = [&] { return low + (high - low) * at_low / (at_low - at_high); };
  for (int i = 0; i < 200 && high - low > 1e-7 * high && high > 1e-15; ++i) {
    const double width = high - low;
    const double inner = std::clamp(crossing(), low + 0.01 * width, high - 0.01 * width);
    const double middle = i % 3 == 2 ? 0.5 * (low + high) : inner;
    const double at = distance(middle);
    (at > 0 ? low : high) = middle;
    (at > 0 ? at_low : at_high) = at;
  }
  return crossing();
}

}  // namespace tokenroof
