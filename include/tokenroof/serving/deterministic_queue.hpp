// M/D/1: Poisson arrivals, one server, equal service times: the exact law of the wait.
// Sources: Erlang 1909 (the sum); Franx, Oper. Res. Lett. 29, 2001 (the form without cancellation).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "tokenroof/core/units.hpp"

namespace tokenroof {

/// Erlang's P(W <= t) = (1 - rho) sum_{j <= t/D} (lambda (jD - t))^j / j! e^{-lambda (jD - t)}.
/// The terms alternate and grow: good to 1e-12 for t / D <= 8 or so and only then; kept as the
/// textbook reference of `md1_wait_cdf`. 0 < rho < 1, t >= 0, `service` > 0.
[[nodiscard]] inline double md1_wait_cdf_erlang(double rho, Seconds service, Seconds t) {
  const double x = t / service;
  double sum = 0;
  for (int j = 0; j <= static_cast<int>(x); ++j) {
    const double a = rho * (j - x);
    sum += (j == 0 ? 1 : std::pow(a, j) / std::tgamma(j + 1.0)) * std::exp(-a);
  }
  return (1 - rho) * sum;
}

/// P(W <= t) of M/D/1 at load 0 < rho < 1, `service` > 0, t >= 0 (0 for t < 0); 0 when rho >= 1.
/// With t = (m + 1) D - u, 0 < u <= D: sum over j <= m of P(at most m - j wait) times the Poisson
/// probability of j arrivals in u. All terms are positive, so it holds to 1e-13 for any t; beyond
/// 200 service times the tail is continued with its own decay, where it is below 1e-16 unless
/// rho > 0.9. Costs O((t/D)^2).
[[nodiscard]] inline double md1_wait_cdf(double rho, Seconds service, Seconds t) {
  constexpr int most = 200;
  if (!(rho < 1) || t.base() < 0) return 0;
  if (!(rho > 0)) return 1;
  const double x = t / service;
  if (x >= most - 1) {
    const double near = 1 - md1_wait_cdf(rho, service, (most - 2.0) * service);
    const double before = 1 - md1_wait_cdf(rho, service, (most - 3.0) * service);
    if (!(near > 1e-13) || !(before > near)) return 1;
    return 1 - near * std::pow(near / before, x - (most - 2));
  }
  const int m = static_cast<int>(x);
  // above[k] = P(at least k arrivals in one service); the law of the number in system follows from
  // the balance across each cut, with positive terms only.
  std::array<double, most + 2> above{}, system{};
  double poisson = std::exp(-rho);
  const double none = poisson;
  std::array<double, most + 2> arrivals{};
  for (int k = 0; k <= m + 1; ++k) {
    arrivals[static_cast<std::size_t>(k)] = poisson;
    poisson *= rho / (k + 1);
  }
  double tail = 0;  // P(at least m + 2), by its own series
  for (int k = m + 2; k < m + 40; ++k) {
    tail += poisson;
    poisson *= rho / (k + 1);
  }
  for (int k = m + 1; k >= 0; --k) {
    tail += arrivals[static_cast<std::size_t>(k)];
    above[static_cast<std::size_t>(k)] = tail;
  }
  system[0] = 1 - rho;
  for (int j = 1; j <= m + 1; ++j) {
    double up = system[0] * above[static_cast<std::size_t>(j)];
    for (int i = 1; i < j; ++i)
      up += system[static_cast<std::size_t>(i)] * above[static_cast<std::size_t>(j - i + 1)];
    system[static_cast<std::size_t>(j)] = up / none;
  }
  // waiting[k] = P(at most k wait) = P(at most k + 1 in the system).
  std::array<double, most + 2> waiting{};
  double cumulated = system[0];
  for (int k = 0; k <= m; ++k) {
    cumulated += system[static_cast<std::size_t>(k + 1)];
    waiting[static_cast<std::size_t>(k)] = cumulated;
  }
  const double mean = rho * (m + 1 - x);
  double term = std::exp(-mean), probability = 0;
  for (int j = 0; j <= m; ++j) {
    probability += waiting[static_cast<std::size_t>(m - j)] * term;
    term *= mean / (j + 1);
  }
  return std::min(1.0, probability);
}

/// The wait that a share p in [0, 1) does not exceed; 0 when at least p do not wait at all.
[[nodiscard]] inline Seconds md1_wait_quantile(double rho, Seconds service, double p) {
  if (md1_wait_cdf(rho, service, Seconds{}) >= p) return {};
  double low = 0, high = 1;
  while (md1_wait_cdf(rho, service, high * service) < p && high < 1e6) high *= 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (md1_wait_cdf(rho, service, middle * service) < p ? low : high) = middle;
  }
  return high * service;
}

}  // namespace tokenroof
