// The wait of a prompt for other prompts when they ride in the steps of decoding (chunked prefill).
#pragma once

#include <algorithm>
#include <cmath>

#include "tokenroof/serving/decode_clock.hpp"
#include "tokenroof/serving/engine_load.hpp"

namespace tokenroof::detail {

/// What a changing batch does to the wait for other prompts.
struct VariedWait {
  double mean = 1;    ///< E[W(n)] / W(E[n])
  double square = 1;  ///< E[W(n)^2] / E[W(n)]^2
};

/// A large batch leaves little of the budget, for as long as it lasts: prompts see the load rho(n)
/// and the wait W(n), which grows from nothing for the time tau that the batch takes to settle.
/// With the drift d = 1 - rho(n) and the variance v of the work that comes in a second
///   W(n) = (sqrt(d^2 tau^2 + 2 v tau) - d tau) / 2:
/// v / (2 d) where d > 0 and tau is long, -d tau where d < 0. n is taken as normal (five points of
/// Gauss and Hermite). 1 / tau = (1 - n T'/T) / life + what a smaller batch adds to the rate at
/// which prompts join it while some wait. `c` tokens of room at the mean batch, `s` the service
/// there, `bursts` (c_a^2 + c_p^2) / (1 + c_p^2).
[[nodiscard]] inline VariedWait varied_wait(const EngineWork& w, const DecodeLaw& law, double c,
                                            const EngineWork::Service& s, double bursts) {
  const double n = law.running, T = law.step;
  const double slope = w.step_slope(n);
  const double per_step = w.load.step_tokens / w.token_time;
  const double pace = 1 + T / c * per_step;  // time of a prompt's chunks over its own
  const double busy = std::min(1.0, w.lambda * s.mean);
  const double life = w.decodes * T / (1 - w.rho_p);
  const double tau = 1 / ((1 - std::min(1.0, n * slope / T)) / life +
                          busy * (1 - 1 / pace) * (slope / T + 1 / c) / s.mean);
  const double deviation = std::sqrt(std::max(0.0, law.running_square - n * n));
  constexpr double point[] = {0, 1.355626, -1.355626, 2.856970, -2.856970};
  constexpr double weight[] = {0.5333333, 0.2220759, 0.2220759, 0.01125741, 0.01125741};
  double middle = 0, sum = 0, squares = 0;
  for (int i = 0; i < 5; ++i) {
    const double at =
        std::clamp(n + point[i] * deviation, 1.0, static_cast<double>(w.steps.size()));
    const double slower = 1 + w.step(at) / w.room(at) * per_step;
    const double drift = (1 - w.lambda * w.tp * slower) * tau;
    const double noise = w.lambda * s.square * bursts * (slower / pace) * (slower / pace) * tau;
    const double root = std::sqrt(drift * drift + 2 * noise);
    const double wait = drift > 0 ? 2 * noise / (root + drift) : root - drift;
    if (i == 0) middle = wait;
    sum += weight[i] * wait;
    squares += weight[i] * wait * wait;
  }
  VariedWait varied;
  if (middle > 0) varied = {sum / middle, squares / (sum * sum)};
  return varied;
}

/// Mean length of the step that an arrival meets, where prompts that came during a step are
/// computed in the next one.
[[nodiscard]] inline double gated_step_met(const EngineWork& w, double T) {
  return w.spread / (1 - w.rho_p * w.rho_p) + T / (1 - w.rho_p);
}

/// Variance of the time from arrival to the end of the step after the running one, but the decode
/// part and the own prompt: prompts that fit into a step are computed together in the next one.
/// Steps S' = T + the prompts that came during S; their cumulants follow from those of a compound
/// Poisson law, the running step is met in proportion to its length.
[[nodiscard]] inline double gated_variance(const EngineWork& w, double T) {
  const double rho = w.rho_p;
  const double mean = T / (1 - rho);
  const double variance = w.spread * mean / (1 - rho * rho);
  const double third =
      (w.lambda * w.cube * mean + 3 * rho * w.spread * variance) / (1 - rho * rho * rho);
  const double met = gated_step_met(w, T);
  const double met_square = third / mean + 3 * variance + mean * mean;
  const double seen = 0.5 + rho;  // of a step: its rest, and what comes during all of it
  return met_square / 12 + w.spread * met + seen * seen * (met_square - met * met);
}

}  // namespace tokenroof::detail
