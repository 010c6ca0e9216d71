// The inverse question: which deployment meets the objective at the least cost.
//
// Every valid layout of every candidate is enumerated; cheap bounds (fleet_bounds.hpp) discard most
// before any queue is evaluated, and none of them can discard an optimum:
//   fit     all weights over all devices of a replica exceed what they may fill
//   floor   reading the multiplied weights once, or the prompt's arithmetic, is already slower than
//           the objective
//   cost    the fewest replicas that could carry the traffic cost more than `cost_window` times one
//           deployment already found, or as much as one on the same accelerator that is as fast as
//           so many replicas could be
// What is left is evaluated exactly: memory plan, calibrated steps, largest rate that meets the
// objective, whole replicas with headroom and spares. Tested against brute force on small spaces:
// the cheapest of all and of each accelerator, and the frontier up to the window, are never lost.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "tokenroof/decide/fleet_evaluation.hpp"

namespace tokenroof {

/// What became of the enumerated layouts.
struct FleetCounts {
  std::size_t enumerated = 0, invalid = 0, does_not_fit = 0, below_floor = 0, too_costly = 0,
              evaluated = 0, objective_missed = 0;
};

struct FleetPlan {
  std::vector<PlannedDeployment> deployments;  ///< cheapest first
  std::vector<std::size_t> pareto;  ///< into `deployments`: no other is cheaper and as fast
  FleetCounts counts;
  Verdict verdict;
};

namespace detail {

/// Deployments of one accelerator that nothing found so far beats in both cost and speed, cheapest
/// first: cost in $/s, speed in tokens/s of a user.
class KnownFrontier {
 public:
  void add(double cost, double speed) {
    if (speed <= speed_at(cost)) return;
    std::erase_if(points_, [&](const Point& p) { return p.cost >= cost && p.speed <= speed; });
    const auto after =
        std::find_if(points_.begin(), points_.end(), [&](const Point& p) { return p.cost > cost; });
    points_.insert(after, {cost, speed});
  }

  /// Whether every deployment of `layout` costs as much as a known one that is as fast, or more
  /// than `most` $/s. `step` is a lower bound of its step time: between the costs of two known
  /// deployments, the most replicas that this buys are the fastest.
  template <class Step>
  [[nodiscard]] bool beats(const FleetRequest& wanted, const FleetLayout& layout,
                           const ReplicaLimits& limits, const Step& step, double most) const {
    const double least = layout.least_cost.base();
    if (least > most) return true;
    if (points_.empty() || least < points_.front().cost) return false;
    const double arrivals =
        std::get<OpenLoop>(wanted.scenario.workload.traffic).arrival_rate.base();
    const double replica_cost = wanted.candidates[layout.candidate].accelerator.price->base() *
                                layout.deployment.devices_per_replica();
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const double next = i + 1 < points_.size() ? points_[i + 1].cost : most;
      if (next < least || points_[i].speed >= layout.fastest) continue;
      const double replicas = std::floor(next / replica_cost + 1e-9) - wanted.spare_replicas;
      if (replicas < layout.least_replicas) continue;
      if (fastest_user(limits, arrivals / replicas, step) > points_[i].speed) return false;
    }
    return true;
  }

 private:
  struct Point {
    double cost, speed;
  };
  [[nodiscard]] double speed_at(double cost) const {
    double speed = 0;
    for (const Point& p : points_)
      if (p.cost <= cost) speed = p.speed;
    return speed;
  }
  std::vector<Point> points_;
};

/// Indices of `sorted` (cheapest first) that are faster than everything before them.
[[nodiscard]] inline std::vector<std::size_t> pareto_of(
    const std::vector<PlannedDeployment>& sorted) {
  std::vector<std::size_t> set;
  double fastest = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i].per_user.base() <= fastest) continue;
    fastest = sorted[i].per_user.base();
    set.push_back(i);
  }
  return set;
}

/// A layout in the order of its least cost so far.
struct Waiting {
  double least_cost;
  std::size_t index;  ///< of the layout; ties keep the order of enumeration
  bool calibrated;    ///< bounds are from calibrated steps
  [[nodiscard]] bool operator>(const Waiting& other) const {
    return least_cost != other.least_cost ? least_cost > other.least_cost : index > other.index;
  }
};

/// Best first: the layout of the least bound is looked at more closely, and put back or evaluated.
class FleetSearch {
 public:
  FleetSearch(const FleetRequest& wanted, const KernelConstants& kernels, FleetPlan& plan,
              std::vector<FleetLayout>& kept)
      : wanted_(wanted), kernels_(kernels), plan_(plan), kept_(kept) {
    for (const FleetCandidate& candidate : wanted.candidates) {
      const auto known = std::find(devices_.begin(), devices_.end(), candidate.accelerator.id);
      device_of_.push_back(static_cast<std::size_t>(known - devices_.begin()));
      if (known == devices_.end()) devices_.push_back(candidate.accelerator.id);
    }
    frontiers_.resize(devices_.size());
    scenarios_.resize(wanted.candidates.size());
  }

  /// Evaluates every valid layout.
  void exhaust(std::vector<FleetLayout>& layouts) {
    prune_ = false;
    for (const FleetLayout& layout : layouts)
      if (layout.discard == FleetLayout::Discard::invalid)
        ++plan_.counts.invalid;
      else
        evaluate(layout);
  }

  void prune_and_evaluate(std::vector<FleetLayout>& layouts) {
    std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> queue;
    for (std::size_t i = 0; i < layouts.size(); ++i)
      if (!discarded(layouts[i])) queue.push({layouts[i].least_cost.base(), i, false});
    while (!queue.empty()) {
      const Waiting next = queue.top();
      FleetLayout& layout = layouts[next.index];
      if (next.least_cost > most_) break;
      queue.pop();
      if (next.calibrated) {
        evaluate(layout);
      } else if (frontier(layout).beats(wanted_, layout, layout.limits, layout.step, most_)) {
        ++plan_.counts.too_costly;
      } else {
        tighten(layout);
        if (!discarded(layout)) queue.push({layout.least_cost.base(), next.index, true});
      }
    }
    plan_.counts.too_costly += queue.size();
  }

 private:
  [[nodiscard]] KnownFrontier& frontier(const FleetLayout& layout) {
    return frontiers_[device_of_[layout.candidate]];
  }

  [[nodiscard]] bool discarded(const FleetLayout& layout) {
    switch (layout.discard) {
      case FleetLayout::Discard::none:
        return false;
      case FleetLayout::Discard::invalid:
        return ++plan_.counts.invalid > 0;
      case FleetLayout::Discard::does_not_fit:
        return ++plan_.counts.does_not_fit > 0;
      case FleetLayout::Discard::below_floor:
        return ++plan_.counts.below_floor > 0;
    }
    return false;
  }

  /// The scenario of `layout`; one per candidate is kept, for it owns a model and strings.
  [[nodiscard]] const Scenario& scenario_of(const FleetLayout& layout) {
    std::optional<Scenario>& scenario = scenarios_[layout.candidate];
    if (!scenario) scenario = layout_scenario(wanted_, layout);
    scenario->deployment = layout.deployment;
    return *scenario;
  }

  /// The limits of a replica whose times are known.
  [[nodiscard]] static ReplicaLimits calibrated_limits(const FleetLayout& layout,
                                                       const Replica& replica) {
    ReplicaLimits limits = layout.limits;
    const Seconds prompt = replica.prompt_time(replica.lengths.computed(), replica.lengths.cached(),
                                               std::max(1.0, 0.25 * limits.places));
    limits.prompt = std::max(limits.prompt, prompt.base() * bound_slack);
    return limits;
  }

  /// Replaces datasheet bounds by those of calibrated steps.
  void tighten(FleetLayout& layout) {
    const Scenario& scenario = scenario_of(layout);
    const Replica replica = reduce_times(scenario, Fidelity::calibrated, kernels_);
    const auto step = [&](double n) { return replica.token_time(n).base(); };
    const ReplicaLimits limits = calibrated_limits(layout, replica);
    const double alone = step(1) * bound_slack;
    layout.fastest = std::min(layout.fastest, 1 / alone);
    set_least_cost(wanted_, most_rate(limits, step), layout);
    if (alone > limits.slowest ||
        limits.prompt > slowest_first_token(scenario.objective, scenario.workload.lengths))
      layout.discard = FleetLayout::Discard::below_floor;
  }

  void evaluate(const FleetLayout& layout) {
    const Scenario& scenario = scenario_of(layout);
    Replica replica = reduce_times(scenario, Fidelity::calibrated, kernels_);
    if (prune_ && frontier(layout).beats(
                      wanted_, layout, calibrated_limits(layout, replica),
                      [&](double n) { return replica.token_time(n).base(); }, most_)) {
      ++plan_.counts.too_costly;
      return;
    }
    PlannedDeployment planned;
    switch (evaluate_layout(wanted_, layout, scenario, replica, most_, planned)) {
      case Evaluation::does_not_fit:
        ++plan_.counts.does_not_fit;
        return;
      case Evaluation::too_costly:
        ++plan_.counts.too_costly;
        return;
      case Evaluation::misses:
        ++plan_.counts.evaluated;
        ++plan_.counts.objective_missed;
        return;
      case Evaluation::meets:
        ++plan_.counts.evaluated;
    }
    plan_.deployments.push_back(planned);
    kept_.push_back(layout);
    if (!prune_) return;
    frontier(layout).add(planned.cost.base(), planned.per_user.base());
    most_ = std::min(most_, planned.cost.base() * wanted_.cost_window);
  }

  const FleetRequest& wanted_;
  const KernelConstants& kernels_;
  FleetPlan& plan_;
  std::vector<FleetLayout>& kept_;
  std::vector<std::string> devices_;
  std::vector<std::size_t> device_of_;  ///< index of a candidate's device
  std::vector<KnownFrontier> frontiers_;
  std::vector<std::optional<Scenario>> scenarios_;
  double most_ = std::numeric_limits<double>::infinity();  ///< $/s of interest
  bool prune_ = true;
};

[[nodiscard]] inline Verdict plan_verdict(const FleetPlan& plan) {
  if (!plan.deployments.empty()) return {};
  const FleetCounts& c = plan.counts;
  const auto count = [](std::size_t n, const char* what) {
    return n > 0 ? std::to_string(n) + what : std::string();
  };
  Verdict verdict{Outcome::objective_missed,
                  "none of " + std::to_string(c.enumerated) + " deployments will do: ",
                  "relax the objective, allow more devices or replicas, or narrower weights"};
  verdict.reason += count(c.invalid, " have an invalid layout, ") +
                    count(c.does_not_fit, " do not fit, ") +
                    count(c.below_floor, " cannot be fast enough at any batch, ") +
                    count(c.objective_missed, " miss the objective under load, ");
  verdict.reason.resize(verdict.reason.size() - 2);
  if (c.does_not_fit + c.invalid == c.enumerated) verdict.outcome = Outcome::does_not_fit;
  if (c.below_floor > 0 && c.objective_missed == 0) verdict.outcome = Outcome::below_latency_floor;
  return verdict;
}

}  // namespace detail

/// The deployments that meet `wanted`, cheapest first. The scenario's workload must have an
/// arrival rate, every candidate a price; `prune` = false evaluates every layout (for tests).
[[nodiscard]] inline FleetPlan plan_fleet(const FleetRequest& wanted,
                                          const KernelConstants& kernels = {}, bool prune = true) {
  FleetPlan plan;
  std::vector<FleetLayout> layouts = fleet_space(wanted), kept;
  plan.counts.enumerated = layouts.size();
  detail::FleetSearch search(wanted, kernels, plan, kept);
  prune ? search.prune_and_evaluate(layouts) : search.exhaust(layouts);
  if (wanted.separate_pools) {
    for (std::size_t i = 0; i < plan.deployments.size(); ++i)
      if (plan.deployments[i].deployment.replicas > 2)
        detail::try_split(wanted, kept[i], kernels, plan.deployments[i]);
  }
  std::stable_sort(plan.deployments.begin(), plan.deployments.end(),
                   [](const PlannedDeployment& a, const PlannedDeployment& b) {
                     if (a.cost != b.cost) return a.cost < b.cost;
                     return a.per_user > b.per_user;
                   });
  plan.pareto = detail::pareto_of(plan.deployments);
  plan.verdict = detail::plan_verdict(plan);
  return plan;
}

}  // namespace tokenroof
