// Time to first token of an engine under load, given the law of its batch: the parts of the mean,
// and the tail for the quantiles. engine_estimate.hpp assembles them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "tokenroof/core/units.hpp"
#include "tokenroof/serving/decode_clock.hpp"
#include "tokenroof/serving/engine_load.hpp"

namespace tokenroof {
namespace detail {

/// Most points of a prefill law that are evaluated; later ones are ignored.
inline constexpr std::size_t most_prefill_points = 48;

/// Parts of the TTFT of a request that finds a place, in s.
struct FreeArrival {
  double residual = 0;           ///< mean rest of the running step
  double queue = 0;              ///< mean work of other prompts before the own one
  double queue_probability = 0;  ///< that there is any, or that others share the own step
  double lump = 0;               ///< E[w^2] / E[w] of one piece of such work
  double lump_load = 0;          ///< load of the server of such work
  std::array<double, most_prefill_points> own_steps{};  ///< decode parts of own prompt steps
  std::array<double, most_prefill_points> shared{};     ///< prompts behind that share the last step
  double mean_own_steps = 0, mean_shared = 0;
  double blocked = 0;  ///< for a request that had to wait: what follows its admission, but t_p
};

/// `limit` is the rate at which decode places run out, `budget_load` the arrivals over the rate at
/// which the token budget does (0: later than places).
[[nodiscard]] inline FreeArrival free_arrival(const EngineWork& w, const DecodeLaw& law,
                                              double limit, double budget_load) {
  FreeArrival f;
  const double busy = 1 - law.empty, T = law.step, rho = w.rho_p;
  f.residual = T > 0 ? busy * 0.5 * law.step_square / T : 0;
  // Requests that leave together at the end of a step are replaced together.
  const double full = w.step(static_cast<double>(w.steps.size()));
  const double leaving = limit * full / std::max(0.02, 1 - limit * w.tp);
  const double alone = 0.5 * w.spread / (1 - rho);  // Pollaczek-Khinchine
  f.lump = w.tp * (1 + w.cp2);
  f.lump_load = rho;
  // Bursts that are short against a step meet inside it, at any load: half the excess dispersion if
  // all are (batch arrivals); 0.4 of that fits gamma arrivals in the simulator.
  const double clustered = 0.4 * 0.5 * std::max(0.0, w.load.arrival_squared_cv - 1);
  if (!w.chunked) {
    // Packed prompts: a break is a chain of packs, each of the arrivals during the one before.
    const double packing = w.packing();
    const double stage = (busy * T * (1 - rho) + w.spread) / (1 - rho * rho);
    const double packed = std::max(0.0, 0.5 * (1 + 2 * rho) * stage - f.residual);
    f.queue = packing * packed + (1 - packing) * alone + clustered * w.tp;
    f.queue_probability = 1 - (1 - rho) * std::exp(-packing * w.lambda * T) / (1 + clustered);
    f.blocked = 0.5 * (1 + packing) * leaving * w.tp;
    return f;
  }
  const double c = w.room(law.running);
  const EngineWork::Service s = w.service(c, T);
  double load = std::min(0.999, w.lambda * s.mean);
  const double bursts = (w.load.arrival_squared_cv + w.cp2) / (1 + w.cp2);
  double others = 0.5 * w.lambda * s.square * bursts / (1 - load);
  if (budget_load > load) {
    // Near saturation of the budget a queue outlives a batch: then a request takes P + D tokens of
    // the budget, not P of what the batch leaves, and waits E[(P + D)^2] / E[P^2] (P / (P + D))^2
    // times what the load of the limit says. In between by the times that both take to settle.
    const double share = w.load.prompt.base() / (w.load.prompt.base() + w.decodes);
    const double ratio = (1 - share) / share;
    const double squares =
        1 + (2 * ratio + ratio * ratio * (1 + w.load.output_squared_cv)) / (1 + w.cp2);
    const double settled =
        0.5 * w.lambda * s.square * bursts / (1 - budget_load) * squares * share * share;
    const double queue_settles = 0.5 * s.square / s.mean / ((1 - load) * (1 - load));
    const double batch_settles = 2 * w.decodes * T / (1 - rho);
    const double slow = queue_settles / (queue_settles + batch_settles);
    others += slow * (settled - others);
    load += slow * (budget_load - load);
  }
  const double fits = std::max(0.0, 1 - w.load.prompt.base() / c);
  f.queue = others + fits * busy * T * rho / (1 - rho) + clustered * s.mean;
  f.queue_probability =
      1 - (1 - load) * std::exp(-w.lambda * (f.residual + f.queue)) / (1 + clustered);
  f.lump = s.mean > 0 ? 0.75 * s.square / s.mean : 0;  // some of it is already done on arrival
  f.lump_load = load;
  for (std::size_t i = 0; i < std::min(w.load.prefill.size(), most_prefill_points); ++i) {
    const double t = w.load.prefill[i].time.base();
    const double steps = w.prompt_steps(t, c);
    const double room = steps * c * w.token_time - t;  // left over in the last step
    const double exposed = f.residual + f.queue + (steps - 1) * (T + c * w.token_time);
    const double piece = std::min(w.tp, room);
    f.own_steps[i] = steps * T;
    f.shared[i] = room > 0 ? room * -std::expm1(-w.lambda * exposed * piece / room) : 0;
    f.mean_own_steps += w.load.prefill[i].weight * f.own_steps[i];
    f.mean_shared += w.load.prefill[i].weight * f.shared[i];
  }
  f.blocked = 0.5 * (1 + fits) * leaving * w.tp + f.mean_own_steps;
  return f;
}

/// P(U + W > t), U uniform on (0, step), W = 0 but for probability p, then d + exponential with the
/// mean and mean square of the other prompts' work.
[[nodiscard]] inline double queue_tail(const FreeArrival& f, bool one_by_one, double step,
                                       double work, double t) {
  const double p = f.queue_probability;
  if (!(work > 1e-15) || !(p > 1e-12)) return residual_wait_tail(step * second, 0, {}, t * second);
  const double mean = work / p;
  if (one_by_one) return residual_wait_tail(step * second, p, mean * second, t * second);
  const double square = work * f.lump + work * work * (1 + f.lump_load);
  double spread = std::sqrt(std::max(0.0, square / p - mean * mean));
  spread = std::clamp(spread, 1e-9, mean);
  const double shift = mean - spread;
  const double none = residual_wait_tail(step * second, 0, {}, t * second);
  const double some =
      t < shift ? 1 : residual_wait_tail(step * second, 1, spread * second, (t - shift) * second);
  return (1 - p) * none + p * some;
}

/// P(TTFT > t). `drain` is the decay rate of the wait for a place.
[[nodiscard]] inline double first_token_tail(const EngineWork& w, const DecodeLaw& law,
                                             const FreeArrival& f, double drain, double t) {
  const bool one_by_one = w.load.mode == PrefillMode::one_by_one;
  double tail = 0;
  const std::size_t points = std::min(w.load.prefill.size(), most_prefill_points);
  for (std::size_t i = 0; i < std::max<std::size_t>(1, points); ++i) {
    const double weight = points > 0 ? w.load.prefill[i].weight : 1;
    const double time = points > 0 ? w.load.prefill[i].time.base() : 0;
    const double past = t - time - f.own_steps[i];
    if (past < 0) {
      tail += weight;
      continue;
    }
    const double work = f.queue + f.shared[i];
    const double free = (1 - law.empty) * queue_tail(f, one_by_one, law.step, work, past) +
                        law.empty * queue_tail(f, one_by_one, 0, work, past);
    const double after = past - (f.blocked - f.mean_own_steps);
    const double blocked = std::min(1.0, std::exp(-drain * after));
    tail += weight * ((1 - law.waiting) * free + law.waiting * blocked);
  }
  return tail;
}

[[nodiscard]] inline Seconds first_token_quantile(const EngineWork& w, const DecodeLaw& law,
                                                  const FreeArrival& f, double drain, double p) {
  double low = 0, high = 1e-3;
  while (high < 1e9 && first_token_tail(w, law, f, drain, high) > 1 - p) {
    low = high;
    high *= 2;
  }
  while (high - low > 1e-7 * high && high > 1e-12) {
    const double middle = 0.5 * (low + high);
    (first_token_tail(w, law, f, drain, middle) > 1 - p ? low : high) = middle;
  }
  return high * second;
}

}  // namespace detail
}  // namespace tokenroof
