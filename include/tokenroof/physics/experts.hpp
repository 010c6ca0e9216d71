// Mixture of experts: how many distinct experts a batch touches, hence how many weights are read.
//
//   distinct = sum over experts of 1 - (1 - probability that a token picks it)^tokens
//
// Exact when tokens choose independently, whatever the dependence between the choices of one token.
// `tokens` are those that pass the layer in one step of the whole replica, speculative ones
// included. Source: linearity of expectation; Blom 1958 for the expected largest of normal
// variables; skew by the exponential-race form of successive sampling. Symbols: docs/formulas.md.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "tokenroof/core/normal.hpp"
#include "tokenroof/core/scalar.hpp"

namespace tokenroof {

/// Expected distinct experts E (1 - (1 - k/E)^tokens) of one layer when every expert is equally
/// likely. `experts` E >= 1, `per_token` k in [0, E], `tokens` >= 0. 0 at no tokens, k at one,
/// towards E.
template <Scalar S>
[[nodiscard]] S distinct_experts(double experts, double per_token, const With<Tokens, S>& tokens) {
  if (tokens <= With<Tokens, S>{}) return S(0);
  if (per_token >= experts) return S(experts);
  return experts * (1.0 - exp(tokens.base() * std::log1p(-per_token / experts)));
}

/// Expected distinct experts of one layer when expert e is picked by a token with probability
/// `inclusion[e]` in [0, 1]. `tokens` >= 0.
template <Scalar S>
[[nodiscard]] S distinct_experts(std::span<const double> inclusion, const With<Tokens, S>& tokens) {
  if (tokens <= With<Tokens, S>{}) return S(0);
  S distinct(0);
  for (const double p : inclusion)
    distinct += p >= 1 ? S(1) : 1.0 - exp(tokens.base() * std::log1p(-p));
  return distinct;
}

/// Tokens ln(1 - share) / ln(1 - k/E) at which a batch touches `share` in [0, 1) of the experts of
/// a layer. `per_token` k in (0, E); with k = E one token touches all: answer 0.
[[nodiscard]] inline Tokens tokens_touching(double experts, double per_token, double share) {
  if (per_token >= experts) return {};
  return std::log1p(-share) / std::log1p(-per_token / experts) * token;
}

/// Popularity weights rank^-exponent, rank = 1..experts (Zipf). `exponent` 0 is uniform.
[[nodiscard]] inline std::vector<double> zipf_popularity(int experts, double exponent) {
  std::vector<double> popularity(static_cast<std::size_t>(std::max(experts, 0)));
  for (std::size_t e = 0; e < popularity.size(); ++e)
    popularity[e] = std::pow(static_cast<double>(e + 1), -exponent);
  return popularity;
}

/// Probabilities 1 - exp(-tau w_e) that one token picks expert e, with tau such that they sum to
/// `per_token`; found by bisection to the last bits. `popularity` > 0 in any scale, `per_token`
/// in [0, number of experts]; at the upper end, and above it, every expert is picked for sure.
[[nodiscard]] inline std::vector<double> inclusion_probabilities(std::span<const double> popularity,
                                                                 double per_token) {
  if (per_token <= 0) return std::vector<double>(popularity.size(), 0.0);
  std::vector<double> inclusion(popularity.size(), 1.0);
  if (per_token >= static_cast<double>(popularity.size())) return inclusion;
  const auto picks = [&](double tau) {
    double sum = 0;
    for (const double w : popularity) sum -= std::expm1(-tau * w);
    return sum;
  };
  double low = 0;
  double high = 1;
  while (picks(high) < per_token) high *= 2;
  for (int step = 0; step < 200 && low < high; ++step) {
    const double middle = 0.5 * (low + high);
    if (middle == low || middle == high) break;
    (picks(middle) < per_token ? low : high) = middle;
  }
  for (std::size_t e = 0; e < inclusion.size(); ++e)
    inclusion[e] = -std::expm1(-0.5 * (low + high) * popularity[e]);
  return inclusion;
}

/// Bytes always + distinct x one_expert of weights read in a step. `always`: everything that is
/// read whatever the routing; `one_expert`: one routed expert summed over the mixture layers;
/// `distinct`: expected distinct experts per layer.
template <Scalar S>
[[nodiscard]] constexpr With<Bytes, S> mixture_weights_read(const With<Bytes, S>& always,
                                                            const With<Bytes, S>& one_expert,
                                                            const S& distinct) {
  return always + one_expert * distinct;
}

/// Expected load of the busiest of `ranks` relative to the mean under uniform routing:
/// 1 + z sigma/mu, mu = tokens k/ranks, sigma^2 = tokens k (1/ranks)(1 - 1/ranks)(E - k)/(E - 1),
/// z the normal quantile of (ranks - 0.375)/(ranks + 0.25). At least 1; 1 for one rank, for no
/// tokens and for k = E. A normal approximation: too low for fewer than some tokens per expert.
template <Scalar S>
[[nodiscard]] S rank_imbalance(double experts, double per_token, int ranks,
                               const With<Tokens, S>& tokens) {
  if (ranks <= 1 || experts <= 1 || per_token <= 0 || tokens <= With<Tokens, S>{}) return S(1);
  const double z = normal_quantile((ranks - 0.375) / (ranks + 0.25));
  const double spread =
      (ranks - 1.0) / per_token * std::max(experts - per_token, 0.0) / (experts - 1);
  return 1.0 + z * sqrt(spread / tokens.base());
}

}  // namespace tokenroof
