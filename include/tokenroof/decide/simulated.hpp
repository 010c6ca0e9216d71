// A scenario as the discrete-event simulator takes it: one replica with its share of the traffic,
// and the step model of the chosen fidelity as its clock. Shares nothing with the closed forms of
// traffic.hpp but the step.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tokenroof/decide/replica.hpp"
#include "tokenroof/decide/traffic.hpp"
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

/// Limits and KV pool of one replica. Engines with data-parallel attention schedule each rank by
/// itself; the simulator sees their sum.
[[nodiscard]] inline SimulatedEngine simulated_engine(const Scenario& scenario,
                                                      const Replica& replica) {
  const int ranks = scenario.deployment.attention_data_parallel;
  SimulatedEngine engine;
  engine.max_sequences = scenario.engine.max_sequences * ranks;
  engine.token_budget = scenario.engine.max_batched_tokens * ranks;
  engine.chunked = scenario.engine.chunked_prefill;
  engine.block_tokens = scenario.engine.block_tokens;
  const double blocks = std::floor(replica.memory.kv_tokens.base() / engine.block_tokens) * ranks;
  // Models whose cache does not grow have no token limit.
  if (blocks < 1e15) engine.kv_blocks = static_cast<std::int64_t>(std::max(1.0, blocks));
  return engine;
}

/// The requests of one replica: drawn from the workload's laws, its share of the arrivals.
[[nodiscard]] inline std::vector<SimulatedRequest> simulated_requests(const Scenario& scenario,
                                                                      std::size_t requests,
                                                                      std::uint64_t seed) {
  const Workload& workload = scenario.workload;
  StreamLaw law;
  law.requests = requests;
  law.seed = seed;
  if (const auto* open = std::get_if<OpenLoop>(&workload.traffic)) {
    law.arrival_rate = open->arrival_rate / static_cast<double>(scenario.deployment.replicas);
    law.arrival_squared_cv = open->arrival_squared_cv;
  }
  law.input = workload.input;
  law.output = workload.output;
  law.input_law = law.output_law = workload.lengths;
  law.prefix_hit_share = workload.prefix_hit_rate;
  return draw_requests(law);
}

/// Every n-th request of a trace, as round-robin routing over `replicas` gives them to the first.
[[nodiscard]] inline std::vector<SimulatedRequest> share_of(
    const std::vector<SimulatedRequest>& trace, int replicas) {
  std::vector<SimulatedRequest> share;
  for (std::size_t i = 0; i < trace.size(); i += static_cast<std::size_t>(replicas))
    share.push_back(trace[i]);
  return share;
}

/// Time of an iteration: its decodes at their mean context, its prompts at their mean length and
/// prefix, which keeps the number of query-key pairs for one prompt and nearly for several.
[[nodiscard]] inline Seconds simulated_step_time(const Replica& replica,
                                                 const SimulatedStep& step) {
  StepLoad<double> load;
  if (step.decoding > 0) {
    load.sequences = step.decoding;
    load.context = step.decode_context / step.decoding;
  }
  if (step.prefill_sequences > 0) {
    load.prompts = step.prefill_sequences;
    load.prompt_tokens = step.prefill_tokens / load.prompts;
    const double own = load.prompt_tokens * (load.prompt_tokens + 1) / 2;
    load.prefix_tokens =
        std::max(0.0, (step.prefill_pairs / load.prompts - own) / load.prompt_tokens);
  }
  return replica.step(load).total();
}

namespace detail {

inline void shift(TimeSummary& times, Seconds by) {
  for (Seconds TimeSummary::*field :
       {&TimeSummary::mean, &TimeSummary::p50, &TimeSummary::p90, &TimeSummary::p95,
        &TimeSummary::p99, &TimeSummary::p999, &TimeSummary::max})
    times.*field += by;
}

/// A queue that grows is still long when the last request has arrived.
[[nodiscard]] inline bool drains_soon(const SimulationResult& run,
                                      const std::vector<SimulatedRequest>& requests) {
  const Seconds last = requests.back().arrival;
  const Seconds service = run.e2e.mean - run.admission.mean;
  return run.duration - last <= 0.05 * last + 4 * service;
}

[[nodiscard]] inline Verdict run_verdict(const Objective& objective, const SimulationResult& run) {
  const std::pair<const char*, std::pair<std::optional<Seconds>, Seconds>> limits[] = {
      {"ttft_p50", {objective.ttft_p50, run.ttft.p50}},
      {"ttft_p95", {objective.ttft_p95, run.ttft.p95}},
      {"ttft_p99", {objective.ttft_p99, run.ttft.p99}},
      {"tpot_mean", {objective.tpot_mean, run.tpot.mean}},
      {"tpot_p95", {objective.tpot_p95, run.tpot.p95}},
      {"e2e_p95", {objective.e2e_p95, run.e2e.p95}},
      {"time per token for tokens_per_s_per_user",
       {objective.tokens_per_second_per_user
            ? std::optional<Seconds>(1 * token / *objective.tokens_per_second_per_user)
            : std::nullopt,
        run.tpot.mean}}};
  for (const auto& [name, limit] : limits)
    if (limit.first && limit.second > *limit.first)
      return {Outcome::objective_missed,
              std::string(name) + " is " + std::to_string(limit.second / millisecond) +
                  " ms, the limit " + std::to_string(*limit.first / millisecond) + " ms",
              "lower the rate or the batch, or add devices"};
  return {};
}

}  // namespace detail

/// Simulates `scenario`, whose traffic must be an open or a closed loop on one pool, without
/// speculation. Deterministic for a seed. A replica that holds no sequence gives its verdict alone.
[[nodiscard]] inline ScenarioRunResult simulate_scenario(const Scenario& scenario,
                                                         const ScenarioRun& how,
                                                         Fidelity fidelity = Fidelity::calibrated,
                                                         const KernelConstants& kernels = {}) {
  ScenarioRunResult result;
  const Replica replica = reduce(scenario, fidelity, kernels);
  result.verdict = replica.memory.verdict;
  const int replicas = scenario.deployment.replicas;
  result.replicas = replicas;
  if (!result.verdict.ok()) return result;

  const std::vector<SimulatedRequest> requests =
      how.trace.empty() ? simulated_requests(scenario, how.requests, how.seed)
                        : share_of(how.trace, replicas);
  if (requests.empty()) return result;
  SimulationPlan plan = how.plan;
  const auto* closed = std::get_if<ClosedLoopTraffic>(&scenario.workload.traffic);
  if (closed)
    plan.concurrency = static_cast<int>(std::max(1.0, closed->concurrency.base() / replicas));
  result.run =
      simulate(requests, simulated_engine(scenario, replica), plan,
               [&](const SimulatedStep& step) { return simulated_step_time(replica, step); });

  SimulationResult& run = result.run;
  if (!closed) result.stable = detail::drains_soon(run, requests);
  const Seconds overhead = detail::request_overhead(replica);
  detail::shift(run.ttft, overhead);
  detail::shift(run.e2e, overhead);
  for (RequestRecord& record : run.records) {
    record.admitted += overhead;
    record.first_token += overhead;
    record.finished += overhead;
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
