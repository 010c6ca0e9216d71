// Discrete-event simulation of a continuous-batching engine, iteration by iteration: first come
// first served admission under a sequence limit and paged KV blocks, chunked or exclusive prefill,
// preemption by recompute, prefix-cache hits, open and closed loops. It takes the step time from a
// callable and shares nothing with the queueing formulas, so that each can check the other.
// Source: the scheduling rules of Orca (OSDI 2022), vLLM (2309.06180) and Sarathi (2403.02310).
#pragma once

#include <vector>

#include "tokenroof/serving/simulation_engine.hpp"
#include "tokenroof/serving/simulation_types.hpp"

namespace tokenroof {

/// Runs `requests` (sorted by arrival) through `engine`. `step_time(const SimulatedStep&) ->
/// Seconds` must be positive for a load that is not empty. Deterministic: no clock, no hidden
/// randomness. A request that could never fit the pool is rejected and counted; nothing throws.
/// Time grows with steps, not tokens: 9,000 requests of 250 tokens take some milliseconds.
template <class StepTime>
[[nodiscard]] SimulationResult simulate(const std::vector<SimulatedRequest>& requests,
                                        const SimulatedEngine& engine, const SimulationPlan& plan,
                                        StepTime&& step_time) {
  detail::EngineRun run(requests, engine, plan);
  return run(step_time);
}

}  // namespace tokenroof
