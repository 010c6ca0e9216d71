// What the simulator is given of a scenario: the limits of one replica's engine, requests, and the
// time of a step.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "tokenroof/decide/replica.hpp"
#include "tokenroof/serving/simulation.hpp"

namespace tokenroof {

/// Limits and KV pool of one replica. Engines with data-parallel attention schedule each rank by
/// itself, pipelined ones each micro-batch; the simulator sees their sum.
[[nodiscard]] inline SimulatedEngine simulated_engine(const Scenario& scenario,
                                                      const Replica& replica) {
  const int ranks = scenario.deployment.attention_data_parallel;
  SimulatedEngine engine;
  engine.max_sequences = scenario.engine.max_sequences * ranks;
  engine.token_budget = scenario.engine.max_batched_tokens * static_cast<int>(replica.lanes());
  engine.chunked = scenario.engine.chunked_prefill;
  engine.scheduled_ahead = replica.model.async_scheduling;
  engine.block_tokens = scenario.engine.block_tokens;
  const double blocks = std::floor(replica.memory.kv_tokens.base() / engine.block_tokens) * ranks;
  if (scenario.speculation) {
    engine.draft_tokens = scenario.speculation->draft_tokens;
    engine.acceptance = scenario.speculation->acceptance;
  }
  // Models whose cache does not grow have no token limit.
  if (blocks < 1e15) engine.kv_blocks = static_cast<std::int64_t>(std::max(1.0, blocks));
  return engine;
}

namespace detail {

/// Makes the drawn prompts the questions of conversations: each belongs to one of the system
/// prompts and is one of the turns, all equally likely. What the first to use a system prompt
/// computes the others share; a later turn finds all before its question.
inline void put_in_sessions(const Workload& workload, std::uint64_t seed,
                            std::vector<SimulatedRequest>& requests) {
  const Sessions& sessions = *workload.sessions;
  Random random(seed + 1);
  const auto draw = [&](double count) {
    return static_cast<int>(random.below(static_cast<std::uint64_t>(std::max(1.0, count))));
  };
  const double factor = workload.lengths.mean_factor();
  const double turn = factor * (workload.input.base() + workload.output.base());
  for (SimulatedRequest& r : requests) {
    const int before = sessions.multi_turn ? draw(sessions.turns) : 0;
    r.prefix_group = draw(sessions.distinct_system_prompts);
    r.prefix_tokens = static_cast<int>(sessions.system_prompt_tokens);
    const int found = r.prefix_tokens + static_cast<int>(before * turn);
    r.input += found;
    if (before > 0) r.cached = found;
    if (sessions.same_question)
      r.cached = std::max(r.cached, r.input - 8);  // half a block, as there
  }
}

}  // namespace detail

/// Requests drawn from the workload's laws: the share of one replica in the arrivals, or all of
/// them where pools are separate.
[[nodiscard]] inline std::vector<SimulatedRequest> simulated_requests(const Scenario& scenario,
                                                                      std::size_t requests,
                                                                      std::uint64_t seed) {
  const double shares = scenario.disaggregation ? 1 : scenario.deployment.replicas;
  const Workload& workload = scenario.workload;
  StreamLaw law;
  law.requests = requests;
  law.seed = seed;
  if (const auto* open = std::get_if<OpenLoop>(&workload.traffic)) {
    law.arrival_rate = open->arrival_rate / shares;
    law.arrival_squared_cv = open->arrival_squared_cv;
  }
  law.input = workload.input;
  law.output = workload.output;
  law.input_law = law.output_law = workload.lengths;
  law.prefix_hit_share = workload.prefix_hit_rate;
  std::vector<SimulatedRequest> drawn = draw_requests(law);
  if (workload.sessions) detail::put_in_sessions(workload, seed, drawn);
  return drawn;
}

/// Every n-th request of a trace, as round-robin routing over `replicas` gives them to the first.
[[nodiscard]] inline std::vector<SimulatedRequest> share_of(
    const std::vector<SimulatedRequest>& trace, int replicas) {
  std::vector<SimulatedRequest> share;
  for (std::size_t i = 0; i < trace.size(); i += static_cast<std::size_t>(replicas))
    share.push_back(trace[i]);
  return share;
}

namespace detail {

/// Prompts among which the time of a step with fewer is divided: those of `lanes()` where prompts
/// run alone, else those that ride with decodes at least.
[[nodiscard]] inline double least_prompts(const Replica& replica) {
  return replica.prompts_first ? replica.lanes() : replica.least_prompts_beside();
}

/// Own prompt time beyond the share that simulated steps are charged: a prompt still passes through
/// every stage. Lengths are the means of the workload. 0 where each prompt is charged whole.
[[nodiscard]] inline Seconds own_prompt_beyond_share(const Replica& replica) {
  const double least = least_prompts(replica);
  const WorkloadLengths& lengths = replica.lengths;
  return (least - 1) / least *
         replica.step(prefill_load(least, lengths.computed(), lengths.cached())).total();
}

}  // namespace detail

/// Time of an iteration, drafts included: its decodes at their mean context, its prompts at their
/// mean length and prefix, which keeps the number of query-key pairs for one prompt and nearly for
/// several. Prompts too few to fill the stages, or ranks that run them together, add their share of
/// what enough of them would: micro-batches of other stages go on meanwhile.
[[nodiscard]] inline Seconds simulated_step_time(const Replica& replica,
                                                 const SimulatedStep& step) {
  StepLoad<double> load;
  Seconds decodes;
  if (step.decoding > 0) {
    load.sequences = step.decoding;
    load.context = step.decode_context / step.decoding;
    load.query_tokens = replica.draft_tokens + 1;
  }
  double filled = 1;  // share of the prompts that the time is taken of
  if (step.prefill_sequences > 0) {
    const double prompts = step.prefill_sequences;
    load.prompt_tokens = step.prefill_tokens / prompts;
    const double own = load.prompt_tokens * (load.prompt_tokens + 1) / 2;
    load.prefix_tokens = std::max(0.0, (step.prefill_pairs / prompts - own) / load.prompt_tokens);
    filled = std::min(1.0, prompts / detail::least_prompts(replica));
    if (filled < 1 && step.decoding > 0) decodes = replica.step(load).total();
    load.prompts = prompts / filled;
  }
  const Seconds time = decodes + filled * (replica.step(load).total() - decodes);
  if (replica.draft_tokens == 0 || step.decoding == 0) return time;
  const StepLoad<double> draft = decode_load(load.sequences, load.context);
  return time + replica.draft_tokens * replica.draft_cost * replica.step(draft).total();
}

}  // namespace tokenroof
