// Static batching: wait until a batch is full, then run until its longest member ends. What
// continuous batching (engine_queue.hpp) saves over it.
// Sources: order statistics; Orca (OSDI 2022); theory.md 10.2.
#pragma once

#include <algorithm>
#include <cmath>

#include "tokenroof/core/units.hpp"

namespace tokenroof {

/// Mean wait of a request for its batch of `batch` >= 1 to fill: (b - 1) / (2 lambda). `timeout`
/// caps the wait of the first member, (b - 1) / lambda in the mean, and so the mean at half of it;
/// pass a large time for none. `arrivals` > 0.
[[nodiscard]] constexpr Seconds batch_fill_wait(int batch, RequestsPerSecond arrivals,
                                                Seconds timeout = 1e300 * second) {
  const Seconds first = (batch - 1) * request / arrivals;
  return 0.5 * (timeout < first ? timeout : first);
}

/// E[longest] / E[length] of `batch` >= 1 exponential lengths: the harmonic number 1 + ... + 1/b.
[[nodiscard]] constexpr double padding_loss_exponential(int batch) {
  double sum = 0;
  for (int i = batch; i >= 1; --i) sum += 1.0 / i;
  return sum;
}

/// The same for geometric lengths on 1, 2, ... of mean `mean` >= 1: the sum over t >= 0 of
/// 1 - (1 - q^t)^b, q = 1 - 1/mean, over the mean. Tends to the harmonic number; 1 at mean 1.
[[nodiscard]] inline double padding_loss_geometric(int batch, double mean) {
  if (!(mean > 1)) return 1;
  const double log_q = std::log1p(-1 / mean);
  double sum = 0;
  for (double t = 0;; ++t) {
    const double survives = std::exp(t * log_q);
    const double term = survives < 1 ? -std::expm1(batch * std::log1p(-survives)) : 1;
    sum += term;
    if (term < 1e-18) break;
  }
  return sum / mean;
}

/// The same for any length with this squared coefficient of variation, by the lognormal law, whose
/// quantile is known: a quadrature over the longest of `batch`. Fixed lengths (0) lose nothing.
[[nodiscard]] inline double padding_loss_lognormal(int batch, double squared_cv) {
  if (!(squared_cv > 0) || batch <= 1) return 1;
  const double s = std::sqrt(std::log1p(squared_cv));
  // E[max] = integral over z of exp(s z - s^2 / 2) b Phi(z)^{b-1} phi(z) dz, trapezoid in z.
  const double step = 0.01;
  double sum = 0;
  for (double z = -9; z <= 9 + s; z += step) {
    const double cdf = 0.5 * std::erfc(-z * 0.70710678118654752);
    const double density = 0.39894228040143268 * std::exp(-0.5 * z * z);
    sum += std::exp(s * z - 0.5 * s * s) * batch * std::pow(cdf, batch - 1) * density;
  }
  return std::max(1.0, sum * step);
}

/// Completion rate of a static batch: b requests in prefill + the longest output's steps. `step` is
/// the step time at this batch, `longest` = loss x mean output in tokens.
[[nodiscard]] constexpr RequestsPerSecond static_batch_rate(int batch, Seconds prefill,
                                                            Seconds step, double longest) {
  return batch * request / (batch * prefill + longest * step);
}

}  // namespace tokenroof
