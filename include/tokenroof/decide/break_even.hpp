// Self-hosting against an API: an API is paid by the token, devices by the hour and in whole nodes.
//
//   nodes(rate)    smallest n with n x rate of a node >= rate, at least the least that serves at
//   all break even     the smallest rate from which the nodes cost no more than the API
//
// The cost of whole nodes is a staircase: just above a step the API may be cheaper again, so there
// is a first rate that breaks even and a last one that does not.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "tokenroof/core/units.hpp"

namespace tokenroof {

/// What it takes to serve a request oneself, or to buy it.
struct SelfHosting {
  DollarsPerSecond node;        ///< price of a whole node
  RequestsPerSecond node_rate;  ///< requests/s that a node serves within the objective, > 0
  int least_nodes = 1;          ///< that serve anything at all (spares included)
  Dollars api;                  ///< price of the same request at the API, > 0
};

/// Nodes for `rate` requests/s: whole ones.
[[nodiscard]] inline double nodes_for(const SelfHosting& choice, RequestsPerSecond rate) {
  return std::max<double>(choice.least_nodes, std::ceil(rate / choice.node_rate - 1e-12));
}

/// $/s of serving `rate` oneself.
[[nodiscard]] inline DollarsPerSecond hosting_cost(const SelfHosting& choice,
                                                   RequestsPerSecond rate) {
  return choice.node * nodes_for(choice, rate);
}

/// $/s of buying `rate` from the API.
[[nodiscard]] inline DollarsPerSecond api_spend(const SelfHosting& choice, RequestsPerSecond rate) {
  return rate * choice.api / request;
}

/// Where hosting starts to pay.
struct BreakEven {
  RequestsPerSecond first;  ///< smallest rate at which the nodes cost no more than the API
  double utilization = 0;   ///< of the nodes at `first`
  /// From here on they never cost more again; empty: only nodes that are full to the brim pay.
  std::optional<RequestsPerSecond> always;
};

/// Where hosting pays; none: a full node costs more than the API for what it serves, at any volume.
[[nodiscard]] inline std::optional<BreakEven> break_even(const SelfHosting& choice) {
  // With n nodes the API costs as much at rate n x `per_node`; they serve n x node_rate.
  const double per_node = choice.node.base() / choice.api.base();
  const double serves = choice.node_rate.base();
  if (per_node > serves) return std::nullopt;
  const double least = choice.least_nodes;
  BreakEven found{least * per_node * request / second, per_node / serves, std::nullopt};
  // Rates just above (n - 1) x serves take n nodes, and cost no more than the API when
  // (n - 1) x serves >= n x per_node. The last n for which that fails pays from n x per_node on.
  const double gap = serves - per_node;
  if (gap > 0) {
    const double last = std::max(least, std::ceil(per_node / gap - 1e-12));
    found.always = last * per_node * request / second;
  }
  return found;
}

}  // namespace tokenroof
