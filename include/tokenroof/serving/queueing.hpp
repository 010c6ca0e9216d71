// Waiting in the standard open queues. A formula that has no answer because arrivals exceed
// service returns std::nullopt, never a negative time.
// Sources: Erlang 1917; Pollaczek-Khinchine; Allen-Cunneen; Kimura 1986; Cosmetatos 1976;
// theory.md 10.2. Boost.Math and event simulation are the oracles of the tests.
//
//   erlang_b(c, A), erlang_c(c, A)            loss and waiting probability
//   mmc_wait, mmc_wait_tail, mmc_wait_quantile
//   mg1_wait, mg1_second_moment, mg1_wait_tail, mg1_wait_quantile
//   allen_cunneen_wait, cosmetatos_wait, kimura_wait     c servers, general service
//   burstiness_factor, pooling_ratio
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "tokenroof/core/units.hpp"

namespace tokenroof {

/// Probability that an arrival finds all `servers` >= 0 busy and is lost, `offered` >= 0 erlangs:
/// B_0 = 1, B_i = A B_{i-1} / (i + A B_{i-1}). Stable for any number of servers.
[[nodiscard]] constexpr double erlang_b(int servers, double offered) {
  double b = 1;
  for (int i = 1; i <= servers; ++i) b = offered * b / (i + offered * b);
  return b;
}

/// Probability that an arrival has to wait: C = B / (1 - rho (1 - B)), rho = A / c. 1 at or above
/// saturation (everybody waits). C(1, A) = A; C <= rho.
[[nodiscard]] constexpr double erlang_c(int servers, double offered) {
  const double rho = offered / servers;
  if (!(rho < 1)) return 1;
  const double b = erlang_b(servers, offered);
  return b / (1 - rho * (1 - b));
}

/// A queue of `servers` equal servers, first come first served, Poisson arrivals.
struct ServerQueue {
  RequestsPerSecond arrivals;     ///< > 0
  Seconds service;                ///< mean service time of a request, > 0
  int servers = 1;                ///< >= 1
  double service_squared_cv = 1;  ///< 0 fixed, 1 exponential

  /// A = lambda s, in erlangs.
  [[nodiscard]] constexpr double offered() const { return arrivals.base() * service.base(); }
  /// rho = A / c.
  [[nodiscard]] constexpr double load() const { return offered() / servers; }
  [[nodiscard]] constexpr bool stable() const { return load() < 1; }
  /// c / s: the rate that may not be reached.
  [[nodiscard]] constexpr RequestsPerSecond limit_rate() const {
    return servers / service.base() * request / second;
  }
};

/// M/M/c mean wait before service: C / (c mu - lambda). Nothing when unstable.
[[nodiscard]] constexpr std::optional<Seconds> mmc_wait(const ServerQueue& q) {
  if (!q.stable()) return std::nullopt;
  return erlang_c(q.servers, q.offered()) / (q.servers / q.service.base() - q.arrivals.base()) *
         second;
}

/// M/M/c: P(W > t) = C e^{-(c mu - lambda) t}, t >= 0; 1 when unstable.
[[nodiscard]] inline double mmc_wait_tail(const ServerQueue& q, Seconds t) {
  if (!q.stable()) return 1;
  const double drain = q.servers / q.service.base() - q.arrivals.base();
  return erlang_c(q.servers, q.offered()) * std::exp(-drain * t.base());
}

/// M/M/c: the wait that a share p in [0, 1) of requests does not exceed; 0 for the share that does
/// not wait at all. Nothing when unstable.
[[nodiscard]] inline std::optional<Seconds> mmc_wait_quantile(const ServerQueue& q, double p) {
  if (!q.stable()) return std::nullopt;
  const double drain = q.servers / q.service.base() - q.arrivals.base();
  const double waiting = erlang_c(q.servers, q.offered());
  return std::max(0.0, std::log(waiting / (1 - p)) / drain) * second;
}

/// M/G/1 mean wait (Pollaczek-Khinchine): rho s (1 + c_s^2) / (2 (1 - rho)). `servers` is taken
/// as 1. Nothing when unstable.
[[nodiscard]] constexpr std::optional<Seconds> mg1_wait(const ServerQueue& q) {
  const double rho = q.offered();
  if (!(rho < 1)) return std::nullopt;
  return rho * (1 + q.service_squared_cv) / (2 * (1 - rho)) * q.service;
}

/// M/G/1 second moment of the wait in s^2: 2 W^2 + lambda E[s^3] / (3 (1 - rho)).
/// `third_moment` = E[s^3] in s^3. Nothing when unstable.
[[nodiscard]] constexpr std::optional<double> mg1_wait_second_moment(const ServerQueue& q,
                                                                     double third_moment) {
  const auto wait = mg1_wait(q);
  if (!wait) return std::nullopt;
  return 2 * wait->base() * wait->base() +
         q.arrivals.base() * third_moment / (3 * (1 - q.offered()));
}

/// M/G/1 tail, approximately rho e^{-rho t / W}: exact for exponential service. 1 when unstable.
[[nodiscard]] inline double mg1_wait_tail(const ServerQueue& q, Seconds t) {
  const auto wait = mg1_wait(q);
  if (!wait) return 1;
  const double rho = q.offered();
  return wait->base() > 0 ? rho * std::exp(-rho * (t / *wait)) : 0;
}

/// M/G/1 quantile from that tail, p in [0, 1): max(0, ln(rho / (1 - p)) W / rho).
[[nodiscard]] inline std::optional<Seconds> mg1_wait_quantile(const ServerQueue& q, double p) {
  const auto wait = mg1_wait(q);
  if (!wait) return std::nullopt;
  const double rho = q.offered();
  return rho > 0 ? std::max(0.0, std::log(rho / (1 - p)) / rho) * *wait : Seconds{};
}

/// M/D/c wait over M/M/c wait (Cosmetatos): (1 + (1 - rho)(c - 1)(sqrt(4 + 5c) - 2) / (16 rho c))
/// / 2, clamped to 1, which it would pass as rho -> 0. 0 < rho < 1.
[[nodiscard]] inline double cosmetatos_ratio(int servers, double rho) {
  const double c = servers;
  const double excess = (1 - rho) * (c - 1) * (std::sqrt(4 + 5 * c) - 2) / (16 * rho * c);
  return std::min(1.0, 0.5 * (1 + excess));
}

/// M/G/c wait over M/M/c wait (Kimura): (1 + c^2) / (2 c^2 + (1 - c^2) / ratio_d), with `ratio_d`
/// the M/D/c ratio in (0, 1]. c^2 = 1 gives 1, c^2 = 0 gives ratio_d. For c^2 > 1 the denominator
/// falls; it is kept above zero by falling back to (1 + c^2) / 2 when it would reach a quarter.
[[nodiscard]] constexpr double kimura_ratio(double squared_cv, double ratio_d) {
  const double denominator = 2 * squared_cv + (1 - squared_cv) / ratio_d;
  return denominator > 0.25 ? (1 + squared_cv) / denominator : 0.5 * (1 + squared_cv);
}

/// M/D/c mean wait: M/M/c times `cosmetatos_ratio`. Nothing when unstable.
[[nodiscard]] inline std::optional<Seconds> cosmetatos_wait(const ServerQueue& q) {
  const auto wait = mmc_wait(q);
  if (!wait) return std::nullopt;
  return cosmetatos_ratio(q.servers, q.load()) * *wait;
}

/// M/G/c mean wait (Kimura): M/M/c times `kimura_ratio`. Nothing when unstable.
[[nodiscard]] inline std::optional<Seconds> kimura_wait(const ServerQueue& q) {
  const auto wait = mmc_wait(q);
  if (!wait) return std::nullopt;
  return kimura_ratio(q.service_squared_cv, cosmetatos_ratio(q.servers, q.load())) * *wait;
}

/// G/G/c mean wait (Allen-Cunneen): M/M/c times (c_a^2 + c_s^2) / 2, c_a^2 of inter-arrival times.
/// Exact for M/G/1. Nothing when unstable.
[[nodiscard]] constexpr std::optional<Seconds> allen_cunneen_wait(const ServerQueue& q,
                                                                  double arrival_squared_cv = 1) {
  const auto wait = mmc_wait(q);
  if (!wait) return std::nullopt;
  return 0.5 * (arrival_squared_cv + q.service_squared_cv) * *wait;
}

/// What bursty arrivals do to a wait: (c_a^2 + c_s^2) / (1 + c_s^2), 1 for Poisson.
[[nodiscard]] constexpr double burstiness_factor(double arrival_squared_cv,
                                                 double service_squared_cv) {
  return (arrival_squared_cv + service_squared_cv) / (1 + service_squared_cv);
}

/// Wait in one queue before `servers` servers over the wait in as many separate queues at the same
/// load rho: C / (c rho). 0 < rho < 1. Ten servers at 0.8: 0.051, twenty times less waiting.
[[nodiscard]] constexpr double pooling_ratio(int servers, double rho) {
  return erlang_c(servers, servers * rho) / (servers * rho);
}

}  // namespace tokenroof
