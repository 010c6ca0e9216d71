// Speculative decoding and multi-token prediction: a draft proposes, one pass of the target checks.
// Symbols: alpha, the probability that a drafted token is accepted given all before it are; gamma,
// tokens drafted a step; c, draft step time over target step time at the same batch; v, time to
// verify gamma + 1 tokens over time of one. v comes from the step model: M = B (gamma + 1) tokens
// pass the linear layers, the KV cache is read once.
// Sources: Leviathan 2211.17192; Chen 2302.01318; theory.md 9.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "tokenroof/core/scalar.hpp"
#include "tokenroof/core/units.hpp"
#include "tokenroof/serving/random.hpp"

namespace tokenroof {

/// Tokens a step yields in the mean: E = 1 + alpha + ... + alpha^gamma, which is
/// (1 - alpha^{gamma+1}) / (1 - alpha), and gamma + 1 at alpha = 1. 0 <= alpha <= 1, `drafts` >= 0.
/// Summed, not divided, so that it is exact and differentiable at alpha = 1.
template <Scalar S>
[[nodiscard]] constexpr S expected_tokens(const S& acceptance, int drafts) {
  S sum(1), power(1);
  for (int i = 0; i < drafts; ++i) {
    power = power * acceptance;
    sum = sum + power;
  }
  return sum;
}

/// The same from acceptances by position, each given that all before it were accepted:
/// 1 + sum over i of the product of the first i.
[[nodiscard]] constexpr double expected_tokens(std::span<const double> acceptance) {
  double sum = 1, power = 1;
  for (const double a : acceptance) {
    power *= a;
    sum += power;
  }
  return sum;
}

/// Steps until `tokens` >= 0 tokens are out when each step yields one and as many of `drafts` as
/// are accepted in a row; drawn.
[[nodiscard]] inline int draw_speculative_steps(Random& random, double acceptance, int drafts,
                                                int tokens) {
  int steps = 0;
  for (; tokens > 0; ++steps) {
    --tokens;
    for (int i = 0; i < drafts && random.uniform() < acceptance; ++i) --tokens;
  }
  return steps;
}

/// Drafted tokens that are thrown away a step: gamma - (E - 1).
[[nodiscard]] constexpr double wasted_drafts(double acceptance, int drafts) {
  return drafts - (expected_tokens(acceptance, drafts) - 1);
}

/// Speed-up over plain decoding: S = E / (gamma c + v), 1 when nothing is drafted. `draft_cost` = c
/// >= 0, `verification` = v >= 1. Below 1 speculation loses; the cost per token is divided by S
/// too.
template <Scalar S>
[[nodiscard]] constexpr S speculative_speedup(const S& acceptance, int drafts, const S& draft_cost,
                                              const S& verification) {
  if (drafts <= 0) return S(1);
  return expected_tokens(acceptance, drafts) /
         (static_cast<double>(drafts) * draft_cost + verification);
}

/// Verification ratio above which speculation loses: v* = E - gamma c.
[[nodiscard]] constexpr double breakeven_verification(double acceptance, int drafts,
                                                      double draft_cost) {
  return expected_tokens(acceptance, drafts) - drafts * draft_cost;
}

/// Least acceptance at which speculation does not lose: E(alpha) = gamma c + v, by bisection
/// (iterative, 1e-15). 0 when it never loses, 2 (> 1: impossible) when even alpha = 1 loses.
[[nodiscard]] constexpr double breakeven_acceptance(int drafts, double draft_cost,
                                                    double verification) {
  const double cost = drafts * draft_cost + verification;
  if (cost <= 1) return 0;
  if (cost > drafts + 1) return 2;
  double low = 0, high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (expected_tokens(middle, drafts) < cost ? low : high) = middle;
  }
  return high;
}

/// Overhead of the step that a measured speed-up implies: E / S - 1, both > 0. DeepSeek-V3's MTP:
/// acceptance 0.875, 1.8 times the tokens: 4 %.
[[nodiscard]] constexpr double implied_overhead(double expected, double speedup) {
  return expected / speedup - 1;
}

/// A draft length and what it yields.
struct DraftChoice {
  int drafts = 0;  ///< gamma; 0: do not speculate
  double tokens_per_step = 1;
  double verification = 1;  ///< v at this gamma
  double speedup = 1;
};

/// The draft length of 0 .. `most_drafts` with the largest speed-up (the smallest on a tie).
/// `verification(gamma)` gives v for gamma >= 1; all are tried, since v need not be convex.
template <class Verification>
[[nodiscard]] constexpr DraftChoice best_speculation(double acceptance, double draft_cost,
                                                     int most_drafts, Verification&& verification) {
  DraftChoice best;
  for (int drafts = 1; drafts <= most_drafts; ++drafts) {
    const double v = verification(drafts);
    const double speedup = speculative_speedup(acceptance, drafts, draft_cost, v);
    if (speedup > best.speedup) best = {drafts, expected_tokens(acceptance, drafts), v, speedup};
  }
  return best;
}

/// Times of one speculative step at a given batch, from the step model.
struct SpeculativeStep {
  Seconds target;        ///< plain decode step
  Seconds verification;  ///< step over gamma + 1 tokens a sequence, KV read once
  Seconds draft;         ///< one draft step (an MTP head: its layer and its share of the head)
};

/// Time per accepted token of one sequence: (gamma draft + verification) / E.
[[nodiscard]] constexpr Seconds speculative_token_time(const SpeculativeStep& step,
                                                       double acceptance, int drafts) {
  if (drafts <= 0) return step.target;
  return (drafts * step.draft + step.verification) / expected_tokens(acceptance, drafts);
}

/// KV pool that is left when a draft model moves in: its weights, then its own cache beside the
/// target's. Returns the part of `pool` that the target's cache may use; 0 when the draft does not
/// fit. `target_per_token` > 0 and `draft_per_token` >= 0 are KV bytes per token (0 for MTP heads
/// that share the target's cache).
[[nodiscard]] constexpr Bytes pool_beside_draft(Bytes pool, Bytes draft_weights,
                                                BytesPerToken target_per_token,
                                                BytesPerToken draft_per_token) {
  if (!(draft_weights < pool)) return {};
  return (pool - draft_weights) * (target_per_token / (target_per_token + draft_per_token));
}

}  // namespace tokenroof
