// Traffic and scheduling of an engine replica, and where it saturates.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "tokenroof/core/units.hpp"
#include "tokenroof/serving/decode_clock.hpp"
#include "tokenroof/serving/engine_queue.hpp"
#include "tokenroof/serving/prefill_law.hpp"

namespace tokenroof {

/// How prompts get their turn.
enum class PrefillMode {
  one_by_one,  ///< a prompt alone in a step, before any decode
  packed,      ///< waiting prompts together in a step up to the token budget, before any decode
  chunked,     ///< prompts ride with decode steps, as many tokens as the budget leaves
};

/// Traffic and scheduling of one engine replica.
struct EngineLoad {
  RequestsPerSecond arrivals;                                ///< >= 0
  double arrival_squared_cv = 1;                             ///< of inter-arrival times; 1 Poisson
  TokensPerRequest output = TokensPerRequest::from_base(1);  ///< mean O >= 1
  double output_squared_cv = 0;
  double mean_inverse_decodes = 0;        ///< E[1/(O-1)], see there; 0: (1 + c^2)/(O - 1)
  std::span<const PrefillShare> prefill;  ///< law of t_p; empty: no prefill here
  PrefillMode mode = PrefillMode::chunked;
  TokensPerRequest prompt;             ///< mean prompt tokens computed, prefix hits taken off
  Tokens token_budget = 8192 * token;  ///< tokens of a step; decodes take theirs first
  double step_tokens = 1;  ///< of a sequence in a step, > 1 with speculation; T(n) is per token
  bool scheduled_ahead = false;        ///< a step takes what had come when the one before it began
  const LengthLaw* outputs = nullptr;  ///< law of output lengths; none: no quantiles end to end
};

namespace detail {

/// Numbers of one evaluation, in base units.
struct EngineWork {
  StepTimes steps;
  const EngineLoad& load;
  std::span<const PrefillShare> prompts;  ///< law of t_p, never empty
  double lambda, decodes, tp, cp2, token_time, rho_p;
  double spread;    ///< lambda E[t_p^2], with bursts
  double cube = 0;  ///< E[t_p^3]
  bool chunked;

  EngineWork(const EngineLoad& l, StepTimes s) : steps(s), load(l) {
    static constexpr PrefillShare none{{}, 1};
    prompts = l.prefill.empty() ? std::span(&none, 1)
                                : l.prefill.first(std::min(l.prefill.size(), PrefillLaw::most));
    lambda = l.arrivals.base();
    decodes = l.output.base() - 1;
    tp = prefill_mean(l.prefill).base();
    cp2 = prefill_squared_cv(l.prefill);
    token_time = l.prompt.base() > 0 ? tp / l.prompt.base() : 0;
    rho_p = lambda * tp;
    for (const PrefillShare& share : prompts) {
      const double t = share.time.base();
      cube += share.weight * t * t * t;
    }
    spread = lambda * tp * tp * (l.arrival_squared_cv + cp2);
    chunked = l.mode == PrefillMode::chunked && token_time > 0;
  }
  [[nodiscard]] double step(double n) const { return step_seconds(steps, n); }
  /// T'(n), s per sequence.
  [[nodiscard]] double step_slope(double n) const {
    const double low = std::max(1.0, n - 1);
    const double high = std::min(static_cast<double>(steps.size()), n + 1);
    return high > low ? (step(high) - step(low)) / (high - low) : 0;
  }
  /// E[1 / (O - 1)], 0 when all is prefill.
  [[nodiscard]] double mean_inverse_decodes() const {
    if (!(decodes > 0)) return 0;
    return load.mean_inverse_decodes > 0 ? load.mean_inverse_decodes
                                         : (1 + load.output_squared_cv) / decodes;
  }
  /// Prompt tokens a step has room for beside `n` decodes.
  [[nodiscard]] double room(double n) const { return std::max(1.0, load.token_budget.base() - n); }
  /// Share of a prompt's company that is computed in the same step as itself, not before it.
  [[nodiscard]] double packing() const {
    if (load.mode == PrefillMode::one_by_one || !(token_time > 0)) return 0;
    const double fit = load.token_budget.base() / load.prompt.base();
    return fit >= 2 ? 1 - 1 / fit : 0;
  }
  /// Steps that a prompt of exclusive time `t` needs at `c` tokens a step.
  [[nodiscard]] double prompt_steps(double t, double c) const {
    return std::max(1.0, std::ceil(t / token_time / c - 1e-9));
  }
  /// Engine time of a prompt at `c` tokens a step whose decode part is `T` a token: mean, mean
  /// square, cube.
  struct Service {
    double mean = 0, square = 0, cube = 0;
  };
  [[nodiscard]] Service service(double c, double T) const {
    const double slower = 1 + T * load.step_tokens / (c * token_time);
    return {tp * slower, tp * tp * (1 + cp2) * slower * slower, cube * slower * slower * slower};
  }
  /// Places held, averaged over steps, by prompts under way when `n` decode.
  [[nodiscard]] double places_under_way(double rate, double n) const {
    const double c = room(n), T = step(n);
    const Service s = service(c, T);
    const double busy = std::min(0.98, rate * s.mean);
    const double queue = 0.5 * rate * s.square / (1 - busy);
    // The mean step, prompts included.
    const double mixed = T * load.step_tokens / std::max(0.02, 1 - rate * tp);
    double own = 0;  // steps of a prompt
    for (const PrefillShare& share : prompts)
      own += share.weight * prompt_steps(share.time.base(), c);
    return rate * mixed * (own + queue / (T * load.step_tokens + c * token_time));
  }
  [[nodiscard]] double rate_at(double n) const { return n / (decodes * step(n) + n * tp); }
};

/// Where the engine saturates: places left for decoding, and the rate.
struct Saturation {
  double places, rate;
  bool prefill_bound;
};
[[nodiscard]] inline Saturation saturation(const EngineWork& w) {
  const double limit = static_cast<double>(w.steps.size());
  Saturation s{limit, 0, false};
  if (w.chunked) {
    for (int i = 0; i < 30; ++i) {
      const double left = limit - w.places_under_way(w.rate_at(s.places), s.places);
      s.places = std::max(1.0, 0.5 * (s.places + left));
    }
  }
  s.rate = w.rate_at(s.places);
  if (w.chunked) {
    // Prompts cannot come faster than the budget carries them; the batch is small where that binds.
    double n = s.places;
    for (int i = 0; i < 40; ++i) {
      const double rate = 1 / w.service(w.room(n), w.step(n)).mean;
      if (rate >= s.rate && i == 0) return s;
      const double decoding = rate * w.decodes * w.step(n) / std::max(0.02, 1 - rate * w.tp);
      n = 0.5 * (n + std::clamp(decoding, 1.0, s.places));
    }
    const double rate = 1 / w.service(w.room(n), w.step(n)).mean;
    s.prefill_bound = rate < s.rate;
    s.rate = std::min(s.rate, rate);
  } else if (w.tp > 0 && 1 / w.tp < s.rate) {
    s.rate = 1 / w.tp;
    s.prefill_bound = true;
  }
  return s;
}

}  // namespace detail

/// Largest rate that the engine does not sustain any more, by which resource: decode places or the
/// prompt budget. `steps` = T(1) .. T(K), not empty.
[[nodiscard]] inline RequestsPerSecond engine_limit(const EngineLoad& load, StepTimes steps) {
  return detail::saturation(detail::EngineWork(load, steps)).rate * request / second;
}

}  // namespace tokenroof
