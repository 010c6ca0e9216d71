// A scenario in the discrete-event simulator: one replica with its share of the traffic, or
// separate pools, and the step model of the chosen fidelity as the clock. Shares nothing with the
// closed forms of traffic.hpp but the step.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tokenroof/decide/objective.hpp"
#include "tokenroof/decide/replica.hpp"
#include "tokenroof/decide/replica_load.hpp"
#include "tokenroof/decide/simulated_pools.hpp"
#include "tokenroof/decide/simulated_stream.hpp"
#include "tokenroof/serving/simulation.hpp"

namespace tokenroof {

/// How a scenario is simulated.
struct ScenarioRun {
  std::size_t requests = 10000;  ///< of one replica
  std::uint64_t seed = 1;
  std::vector<SimulatedRequest> trace{};  ///< of the whole deployment; not empty: replayed
  SimulationPlan plan;                    ///< its concurrency is taken from the scenario
};

/// What came out. Rates are of the whole deployment, everything else of one replica.
struct ScenarioRunResult {
  Verdict verdict;
  SimulationResult run;  ///< empty when the memory verdict forbids a run
  double replicas = 1;
  bool stable = true;  ///< the queue does not grow with the length of the run
};

namespace detail {

inline void shift(TimeSummary& times, Seconds by) {
  for (Seconds TimeSummary::*field :
       {&TimeSummary::mean, &TimeSummary::p50, &TimeSummary::p90, &TimeSummary::p95,
        &TimeSummary::p99, &TimeSummary::p999, &TimeSummary::max})
    times.*field += by;
}

/// A queue that grows is still long when the last request has arrived. Answers under way then are
/// no queue, unless more requests waited all the while than the chance of so many arrivals explains
/// (their deviation is the root of their number): preemptions stretch answers without end.
[[nodiscard]] inline bool drains_soon(const SimulationResult& run,
                                      const std::vector<SimulatedRequest>& requests) {
  const Seconds last = requests.back().arrival;
  const Seconds service = run.e2e.mean - run.admission.mean;
  const double by_chance = 2 * std::sqrt(static_cast<double>(requests.size()));
  const double answers = run.mean_waiting.base() > by_chance ? 0 : 4;
  return run.duration - last <= 0.05 * last + answers * service;
}

[[nodiscard]] inline Verdict run_verdict(const Objective& objective, const SimulationResult& run) {
  ServingAnswer seen;
  seen.ttft = {run.ttft.mean, run.ttft.p50, run.ttft.p95, run.ttft.p99};
  seen.tpot.mean = run.tpot.mean;
  seen.tpot.p95 = run.tpot.p95;
  seen.e2e.p95 = run.e2e.p95;
  const std::string missed = missed_objective(objective, seen);
  if (missed.empty()) return {};
  return {Outcome::objective_missed, missed, "lower the rate or the batch, or add devices"};
}

}  // namespace detail

/// Simulates `scenario`, whose traffic must be an open loop, or a closed one on one pool.
/// Deterministic for a seed. A replica that holds no sequence gives its verdict alone.
[[nodiscard]] inline ScenarioRunResult simulate_scenario(const Scenario& scenario,
                                                         const ScenarioRun& how,
                                                         Fidelity fidelity = Fidelity::calibrated,
                                                         const KernelConstants& kernels = {}) {
  ScenarioRunResult result;
  const Replica replica = reduce(scenario, fidelity, kernels);
  result.verdict = replica.memory.verdict;
  const auto& pools = scenario.disaggregation;
  const int replicas = pools ? pools->decode_replicas : scenario.deployment.replicas;
  result.replicas = replicas;
  if (!result.verdict.ok()) return result;

  const std::vector<SimulatedRequest> requests =
      how.trace.empty() ? simulated_requests(scenario, how.requests, how.seed)
                        : share_of(how.trace, pools ? 1 : replicas);
  if (requests.empty()) return result;
  SimulationPlan plan = how.plan;
  const auto* closed = std::get_if<ClosedLoopTraffic>(&scenario.workload.traffic);
  if (closed)
    plan.concurrency = static_cast<int>(std::max(1.0, closed->concurrency.base() / replicas));
  const auto clock = [&](const SimulatedStep& step) { return simulated_step_time(replica, step); };
  SimulationResult& run = result.run;
  run = pools ? simulate_pools(scenario, replica, *pools, requests, plan)
              : simulate(requests, simulated_engine(scenario, replica), plan, clock);
  if (!closed) result.stable = detail::drains_soon(run, requests);
  const Seconds overhead = detail::request_overhead(replica);
  Replica prefills = replica;  // a pool of its own computes prompts alone
  prefills.prompts_first = true;
  const Seconds first_token =
      overhead + (pools ? detail::lane_time(prefills) : detail::own_prompt_beyond_share(replica));
  detail::shift(run.ttft, first_token);
  detail::shift(run.e2e, first_token);
  for (RequestRecord& record : run.records) {
    record.admitted += overhead;
    record.first_token += first_token;
    record.finished += first_token;
  }
  run.request_rate *= static_cast<double>(replicas);
  run.token_rate *= static_cast<double>(replicas);
  result.verdict = detail::run_verdict(scenario.objective, run);
  if (!result.stable)
    result.verdict = {Outcome::unstable, "the queue was still growing when the last request came",
                      "lower the rate, add replicas, or shorten prompts and outputs"};
  return result;
}

}  // namespace tokenroof
