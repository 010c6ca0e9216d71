// The law of a wait known by three figures: how likely it is, its mean and its mean square.
#pragma once

#include <algorithm>
#include <cmath>

#include "tokenroof/core/units.hpp"
#include "tokenroof/serving/engine_queue.hpp"

namespace tokenroof::detail {

/// W = 0 but for the probability `some`; then `least` plus an exponential of mean `usual`, or, with
/// the probability `seldom`, of mean `rare`. In s.
struct WaitLaw {
  double some = 0, least = 0, usual = 0, seldom = 0, rare = 0;
};

/// `mean` and `square` of W with the zeros, `some` in (0, 1]. Given that there is a wait: a shifted
/// exponential where its squared coefficient of variation is below 1, above it a mixture of two
/// exponentials that each bring half the mean.
[[nodiscard]] inline WaitLaw wait_law(double mean, double square, double some) {
  WaitLaw law;
  if (!(mean > 1e-15) || !(some > 1e-12)) return law;
  law.some = some;
  const double given = mean / some;
  const double squared_cv = std::max(1e-9, square / some / (given * given) - 1);
  if (squared_cv <= 1) {
    law.usual = given * std::sqrt(squared_cv);
    law.least = given - law.usual;
    return law;
  }
  law.seldom = 0.5 * (1 - std::sqrt((squared_cv - 1) / (squared_cv + 1)));
  law.usual = 0.5 * given / (1 - law.seldom);
  law.rare = 0.5 * given / law.seldom;
  return law;
}

/// P(U + W > t), U uniform on (0, `step`) and independent of W; all in s.
[[nodiscard]] inline double residual_tail(const WaitLaw& law, double step, double t) {
  const double none = residual_wait_tail(step * second, 0, {}, t * second);
  if (!(law.some > 0)) return none;
  double some = 1;
  if (t >= law.least) {
    const Seconds past = (t - law.least) * second;
    some = (1 - law.seldom) * residual_wait_tail(step * second, 1, law.usual * second, past);
    if (law.seldom > 0)
      some += law.seldom * residual_wait_tail(step * second, 1, law.rare * second, past);
  }
  return (1 - law.some) * none + law.some * some;
}

}  // namespace tokenroof::detail
