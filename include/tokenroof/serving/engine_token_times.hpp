// Time between tokens of an engine under load: means over tokens and over requests, what differs
// between requests, and the longest gap.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "tokenroof/serving/end_to_end.hpp"
#include "tokenroof/serving/engine_batch.hpp"
#include "tokenroof/serving/engine_first_token.hpp"
#include "tokenroof/serving/engine_load.hpp"

namespace tokenroof::detail {

/// In s per token, or s.
struct TokenTimes {
  double tpot = 0;          ///< mean over tokens: Little's law
  double tpot_request = 0;  ///< mean over requests
  double longest_gap = 0;   ///< chunked: bound on a gap; else the gap that one in 1,000 exceeds
  ResponseParts parts;      ///< what differs between requests; no first-token quantiles yet
};

/// Share of a variance that is left of the mean over a life, for a correlation that decays by
/// e^-`lives` in it.
[[nodiscard]] inline double remaining_variance(double lives) {
  const double x = std::max(0.05, lives);
  return 2 * (x + std::expm1(-x)) / (x * x);
}

[[nodiscard]] inline TokenTimes token_times(const EngineWork& w, const EngineBatch& b,
                                            const FreeArrival& f) {
  TokenTimes t;
  const double free = 1 - w.rho_p, found = 1 - b.waiting_probability;
  const double step = b.law.step, whole = step * w.load.step_tokens;  // of a token, of a step

  // Prompts that came behind the own one are computed in its first gaps: all at once where prompts
  // run alone, else up to the budget a step.
  if (w.chunked) {
    t.parts.first_gap = w.rho_p / free * (f.exposed - whole / free) * found;
    t.parts.most_per_gap =
        std::max(0.0, w.room(b.law.running) * w.token_time - w.rho_p / free * whole);
  } else {
    t.parts.first_gap = w.rho_p / free * (f.exposed - whole) * found;
  }
  t.tpot = w.lambda * w.decodes > 0 ? b.running / (w.lambda * w.decodes) : w.steps.front().base();
  if (w.lambda * w.decodes > 0) {
    // Short answers do not outlive the break they joined in, and no law of a batch holds: their
    // gaps one by one. As met, a break lasts 1 / (1 - rho_p)^2 - 1 steps beyond the own one; three
    // times that is long.
    const double first =
        w.chunked ? t.parts.first_gap * (1 - std::pow(w.rho_p, w.decodes)) : t.parts.first_gap;
    const double felt = std::min(first / w.decodes, t.parts.most_per_gap);
    const double within = 3 * (1 / (free * free) - 1) / w.decodes;
    t.tpot += (step / free + felt - t.tpot) * within * within / (1 + within * within);
  }
  t.tpot_request = t.parts.tpot = t.tpot;

  // The batch over a life: a step that grows with it makes it slower to settle than a life is long.
  const double grows = b.law.running / step * w.step_slope(b.law.running);
  const double variance = std::max(0.0, b.law.step_square - step * step) / (free * free);
  t.parts.step_deviation = std::sqrt(remaining_variance(1 - grows) * variance);
  // No batch is larger than a full one, which nearly all meet near the limit.
  const double slowest = std::max(0.0, w.step(b.places) / free - t.tpot);
  t.parts.step_deviation = std::min(t.parts.step_deviation, slowest / 1.645);
  t.parts.prompt_variance = w.spread * t.tpot;
  if (w.rho_p > 0)
    t.parts.gap_variance = std::max(0.0, t.parts.first_gap) * w.spread / w.rho_p / (free * free);
  if (w.decodes > 0) {
    const double behind =
        t.parts.first_gap * std::max(0.0, w.mean_inverse_decodes() - std::min(1.0, 1 / w.decodes));
    t.tpot_request += behind > 0 ? behind / (1 + behind / t.parts.most_per_gap) : behind;
  }

  if (w.chunked) {
    t.longest_gap = w.step(b.places) * w.load.step_tokens + w.room(b.law.running) * w.token_time;
  } else {
    const double any = -std::expm1(-w.lambda * whole);
    const double served = 1 / free;
    const double prompts =
        any > 1e-3 ? 1 + (served > 1 ? std::log(any / 1e-3) / -std::log1p(-1 / served) : 0) : 0;
    t.longest_gap = w.step(b.places) * w.load.step_tokens + prompts * w.tp;
  }
  return t;
}

/// TPOT that 95 % of requests do not exceed, by `decodes`, their decode steps; none: all have the
/// mean number.
[[nodiscard]] inline SecondsPerToken tpot_p95(const EngineWork& w, const TokenTimes& t,
                                              std::span<const TimePoint> decodes) {
  if (!(w.decodes > 0)) return SecondsPerToken::from_base(t.tpot_request);
  const TimePoint mean{w.decodes};
  if (decodes.empty()) decodes = {&mean, 1};
  ResponseParts r = t.parts;  // of the other gaps: the mean over tokens holds the first
  r.tpot -= std::min(r.most_per_gap, r.first_gap * std::min(1.0, 1 / w.decodes));
  const SecondsPerToken p95 = tpot_quantile(r, decodes, 0.95);
  // A mean of gaps is below the longest, of which the normal law knows nothing.
  return std::max(SecondsPerToken::from_base(t.tpot_request),
                  std::min(p95, SecondsPerToken::from_base(t.longest_gap)));
}

}  // namespace tokenroof::detail
