// The frontier of speed and cost: what a faster answer costs, and what an advertised fast tier
// gives away about the batch behind it.
//
// A step takes a fixed time (weights) and a time per sequence (its cache). With x = per-sequence
// time x batch / fixed time, shrinking the batch r times makes the step
//
//   speed = (1 + x) / (1 + x / r)     price = r / speed
//
// Source: derived here from the memory-bound step. Symbols: docs/formulas.md.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "tokenroof/core/scalar.hpp"

namespace tokenroof {

/// One way to serve, as its user and its owner see it.
struct ServingPoint {
  int devices = 1;
  Requests batch;
  TokensPerSecond speed;  ///< of one user
  DollarsPerToken cost;
};

/// The points that no other beats in both speed and cost, by rising speed; cost rises too. Of equal
/// points one is kept.
[[nodiscard]] inline std::vector<ServingPoint> speed_cost_frontier(
    std::span<const ServingPoint> points) {
  std::vector<ServingPoint> sorted(points.begin(), points.end());
  std::sort(sorted.begin(), sorted.end(), [](const ServingPoint& a, const ServingPoint& b) {
    return a.speed > b.speed || (a.speed == b.speed && a.cost < b.cost);
  });
  std::vector<ServingPoint> frontier;
  for (const ServingPoint& point : sorted)
    if (frontier.empty() || point.cost < frontier.back().cost) frontier.push_back(point);
  std::reverse(frontier.begin(), frontier.end());
  return frontier;
}

/// Speed and price of a changed offer over the original's.
template <Scalar S = double>
struct SpeedPrice {
  S speed{};
  S price{};
};

/// Forward: shrink the batch by `shrink` r >= 1 when the cache takes `kv_over_fixed` x >= 0 times
/// as long as the weights. Speed never passes 1 + x.
template <Scalar S>
[[nodiscard]] constexpr SpeedPrice<S> smaller_batch(const S& kv_over_fixed, const S& shrink) {
  const S speed = (1.0 + kv_over_fixed) / (1.0 + kv_over_fixed / shrink);
  return {speed, shrink / speed};
}

/// What a fast tier implies if a smaller batch is all there is to it.
template <Scalar S = double>
struct FastTier {
  S shrink{};         ///< how many times smaller the batch is: r = speed x price
  S kv_over_fixed{};  ///< x = (speed - 1) / (1 - speed / r)
  [[nodiscard]] constexpr S fastest() const { return 1.0 + kv_over_fixed; }
};

/// Inversion of an advertised tier. None unless speed >= 1 and price > 1: then something other than
/// the batch pays for the speed.
template <Scalar S>
[[nodiscard]] constexpr std::optional<FastTier<S>> fast_tier(const SpeedPrice<S>& offer) {
  if (offer.speed < 1.0 || offer.price <= 1.0) return std::nullopt;
  return FastTier<S>{offer.speed * offer.price, (offer.speed - 1.0) / (1.0 - 1.0 / offer.price)};
}

}  // namespace tokenroof
