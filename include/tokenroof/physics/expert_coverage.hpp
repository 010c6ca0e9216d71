// A tabulated coverage curve: distinct experts against tokens, for any routing skew, evaluated
// without a loop over the experts and without allocation.
//
// The table holds ln(-ln(1 - D/E)) over ln(tokens), where uniform routing is a straight line and
// skewed routing a gentle bend, and interpolates with a cubic. Uniform routing is reproduced to
// rounding, Zipf skew up to exponent 2 to 5e-5 of the experts (tested).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>

#include "tokenroof/core/scalar.hpp"

namespace tokenroof {

/// Expected distinct experts of one layer as a function of the tokens in a step.
class ExpertCoverage {
 public:
  /// Nothing is routed: 0 experts at any batch.
  ExpertCoverage() = default;

  /// Coverage under per-token `inclusion` probabilities in [0, 1], one per expert.
  explicit ExpertCoverage(std::span<const double> inclusion)
      : experts_(static_cast<double>(inclusion.size())) {
    for (std::size_t i = 0; i < points; ++i)
      log_hazard_[i] = log_hazard(inclusion, first * std::exp(step * static_cast<double>(i)));
  }

  /// Experts of the layer.
  [[nodiscard]] double experts() const { return experts_; }

  /// Expected distinct experts; `tokens` >= 0. Below half a token the curve starts at the origin
  /// along the first hazard; beyond the table (2^24 tokens) every expert that can be picked is.
  template <Scalar S>
  [[nodiscard]] S distinct(const With<Tokens, S>& tokens) const {
    if (experts_ == 0 || tokens <= With<Tokens, S>{}) return S(0);
    if (std::isinf(log_hazard_[0])) return S(log_hazard_[0] > 0 ? experts_ : 0);
    const S x = log(tokens.base() / first) / step;
    const double position = value_of(x);
    if (position <= 0) return covered(tokens.base() / first * std::exp(log_hazard_[0]));
    if (position >= points - 1) return covered(S(std::exp(log_hazard_[points - 1])));
    const auto i = static_cast<std::size_t>(position);
    return covered(exp(cubic(i, x - static_cast<double>(i))));
  }

 private:
  static constexpr std::size_t points = 51;
  static constexpr double first = 0.5;                 // tokens: one token is not at the edge
  static constexpr double step = 0.34657359027997264;  // ln(2) / 2: up to 2^24 tokens

  /// ln(-ln(share of experts that nobody picked)).
  static double log_hazard(std::span<const double> inclusion, double tokens) {
    double likeliest = -HUGE_VAL;
    for (const double p : inclusion) likeliest = std::max(likeliest, tokens * std::log1p(-p));
    if (std::isinf(likeliest)) return HUGE_VAL;
    double sum = 0;
    for (const double p : inclusion) sum += std::exp(tokens * std::log1p(-p) - likeliest);
    const double log_missed = likeliest + std::log(sum / static_cast<double>(inclusion.size()));
    return std::log(-log_missed);
  }

  template <Scalar S>
  [[nodiscard]] S covered(const S& hazard) const {
    return experts_ * (1.0 - exp(-hazard));
  }

  /// Slope of the table at point `i`, per step.
  [[nodiscard]] double slope(std::size_t i) const {
    const std::size_t below = i == 0 ? 0 : i - 1;
    const std::size_t above = i + 1 == points ? i : i + 1;
    return (log_hazard_[above] - log_hazard_[below]) / static_cast<double>(above - below);
  }

  /// Hermite cubic between points `i` and `i` + 1 at `t` in [0, 1].
  template <Scalar S>
  [[nodiscard]] S cubic(std::size_t i, const S& t) const {
    const double from = log_hazard_[i];
    const double to = log_hazard_[i + 1];
    const double leaving = slope(i);
    const double arriving = slope(i + 1);
    const double c2 = 3 * (to - from) - 2 * leaving - arriving;
    const double c3 = 2 * (from - to) + leaving + arriving;
    return from + t * (leaving + t * (c2 + t * c3));
  }

  double experts_ = 0;
  std::array<double, points> log_hazard_{};
};

}  // namespace tokenroof
