// What traffic asks of a replica: the load of its engine, laws of prompt times, overheads.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "tokenroof/decide/replica.hpp"
#include "tokenroof/serving/engine_estimate.hpp"

namespace tokenroof::detail {

/// What a request waits before the engine sees it, and after its last token.
[[nodiscard]] inline Seconds request_overhead(const Replica& replica) {
  if (replica.fidelity != Fidelity::calibrated) return {};
  const EngineConstants& engine = replica.model.engine;
  return engine.request_overhead + replica.lengths.prompt * engine.per_prompt_token;
}

/// What an arrival waits where the step after the running one is already scheduled: a step as long
/// as the gap between tokens, unless the engine idles or a place is waited for anyway.
[[nodiscard]] inline Seconds scheduled_step(const Replica& replica, const EngineEstimate& e) {
  if (!replica.model.async_scheduling) return {};
  return e.busy * (1 - e.waiting_probability) * replica.tokens_per_step * (e.tpot * token);
}

/// A prompt takes longer than its share of the engine where several lanes work at once.
[[nodiscard]] inline Seconds lane_time(const Replica& replica) {
  const double least = replica.prompts_first ? replica.lanes() : replica.least_prompts_beside();
  return (least - 1) / least *
         replica.step(prefill_load(least, replica.lengths.computed(), replica.lengths.cached()))
             .total();
}

/// Prompt tokens that a step of one lane has room for beside `running` decodes of all lanes; a
/// prompt that runs alone may be larger than any budget.
[[nodiscard]] inline double prompt_room(const Replica& replica, const Engine& engine,
                                        double running) {
  if (replica.prompts_first) return std::numeric_limits<double>::infinity();
  return std::max(1.0, engine.max_batched_tokens - running / replica.lanes());
}

/// Law of prompt times while about `running` sequences decode and `together` prompts share a step.
/// Those larger than `room` come in chunks of that, each a step's work, by the chunk in the middle:
/// what a step adds is near a straight line in the tokens before it.
[[nodiscard]] inline PrefillLaw prompt_law(const Replica& replica, const Workload& workload,
                                           double running, double together = 1,
                                           double room = std::numeric_limits<double>::infinity()) {
  const double hits = replica.lengths.cached() / replica.lengths.computed();
  const auto time = [&](double tokens) {
    const double cached = tokens * hits;
    if (tokens <= room) return replica.prompt_time(tokens, cached, running, together);
    return tokens / room * replica.prompt_time(room, cached + 0.5 * (tokens - room), running);
  };
  return prefill_law(workload.lengths, TokensPerRequest::from_base(replica.lengths.computed()),
                     time);
}

/// Prompts that share a step when `rate` arrive a second and `running` decode: those that come
/// during a step with as many, as far as the token budget holds them.
[[nodiscard]] inline double prompts_together(const Replica& replica, const Engine& engine,
                                             RequestsPerSecond rate, double running) {
  const double computed = replica.lengths.computed(), cached = replica.lengths.cached();
  const double budget =
      std::min<double>(engine.max_batched_tokens, prompt_room(replica, engine, running));
  const double most = std::max(1.0, replica.lanes() * budget / computed);
  const double step = replica.token_time(running).base();
  double together = 1;
  for (int i = 0; i < 4 && most > 1; ++i) {
    const double prompts =
        together * replica.prompt_time(computed, cached, running, together).base();
    const double coming = rate.base() * (step + prompts);
    const double before = together;
    together = std::clamp(coming > 1e-6 ? coming / -std::expm1(-coming) : 1, 1.0, most);
    if (std::abs(together - before) < 0.001 * before) break;
  }
  return together;
}

[[nodiscard]] inline EngineLoad engine_load(const Replica& replica, const Scenario& scenario,
                                            const OpenLoop& open, double replicas) {
  EngineLoad load;
  load.arrivals = open.arrival_rate / replicas;
  load.arrival_squared_cv = open.arrival_squared_cv;
  load.output = TokensPerRequest::from_base(replica.lengths.output);
  load.output_squared_cv = scenario.workload.lengths.squared_cv(replica.lengths.output);
  load.mean_inverse_decodes = mean_inverse_decodes(scenario.workload.lengths, load.output);
  load.mode = replica.prompts_first ? PrefillMode::packed : PrefillMode::chunked;
  load.prompt = TokensPerRequest::from_base(replica.lengths.computed());
  load.token_budget = replica.lanes() * scenario.engine.max_batched_tokens * token;
  load.step_tokens = replica.tokens_per_step;
  load.scheduled_ahead = replica.model.async_scheduling;
  if (scenario.objective.e2e_p95 || scenario.objective.tpot_p95)
    load.outputs = &scenario.workload.lengths;
  return load;
}

/// Time to move the cache of a prompt of `tokens` between two replicas, over all their devices'
/// network links (or what is stated).
[[nodiscard]] inline Seconds cache_transfer(const Scenario& scenario, double tokens,
                                            const std::optional<BytesPerSecond>& stated) {
  const KvGeometry cache = kv_geometry(scenario.model, scenario.precision.kv_cache);
  const Bytes moved = cache.bytes_at(TokensPerRequest::from_base(tokens));
  BytesPerSecond link = scenario.accelerator.scale_up.bandwidth;
  if (scenario.accelerator.scale_out) link = scenario.accelerator.scale_out->bandwidth;
  if (stated) return moved / *stated;
  return moved / (link * static_cast<double>(scenario.deployment.devices_per_replica()));
}

/// Law of prompt times while about `running` decode and `together` prompts share a step, in chunks.
[[nodiscard]] inline PrefillLaw chunked_law(const Replica& replica, const Scenario& scenario,
                                            double running, double together) {
  return prompt_law(replica, scenario.workload, running, together,
                    prompt_room(replica, scenario.engine, running));
}

/// Law of prompt times at `rate` arrivals a second to this replica.
[[nodiscard]] inline PrefillLaw law_at(const Replica& replica, const Scenario& scenario,
                                       RequestsPerSecond rate, double running) {
  return chunked_law(replica, scenario, running,
                     prompts_together(replica, scenario.engine, rate, running));
}

/// The same of a replica at its limit: a full batch, prompts sharing steps as they would then. What
/// a deployment can do must not depend on what is asked of it.
[[nodiscard]] inline PrefillLaw full_load_law(const Replica& replica, const Scenario& scenario,
                                              EngineLoad load, StepTimes steps) {
  double most = replica.admission;
  if (!replica.prompts_first) {
    // Decodes take no more of the token budget than prompts leave: O - 1 tokens for each P.
    const double decodes = replica.lengths.output - 1, prompt = replica.lengths.computed();
    most = std::min(most, load.token_budget.base() * decodes / (decodes + prompt));
  }
  most = std::max(1.0, most);
  double together = 1;
  PrefillLaw law = chunked_law(replica, scenario, most, together);
  for (int round = 0; round < 3; ++round) {
    load.prefill = law.shares();
    const double more = prompts_together(replica, scenario.engine, engine_limit(load, steps), most);
    if (std::abs(more - together) < 0.01 * together) break;
    together = more;
    law = chunked_law(replica, scenario, most, together);
  }
  return law;
}

/// One replica at any rate. Prompt times depend on the batch that they meet, which depends on them:
/// two rounds, from a replica at its limit.
struct ReplicaAtRate {
  const Replica& replica;
  const Scenario& scenario;
  const std::vector<Seconds>& steps;
  EngineLoad load;
  PrefillLaw full;  ///< law of prompts at the limit

  [[nodiscard]] EngineEstimate operator()(RequestsPerSecond arrivals) const {
    EngineLoad at = load;
    at.arrivals = arrivals;
    PrefillLaw law = full;
    at.prefill = law.shares();
    EngineEstimate e = engine_estimate(at, steps);
    for (int round = 0; round < 2 && e.stable; ++round) {
      law = law_at(replica, scenario, arrivals, std::max(1.0, e.running.base()));
      at.prefill = law.shares();
      const EngineEstimate next = engine_estimate(at, steps);
      // Prompts share steps less than at the limit: near it the queue grows until they do.
      if (!next.stable) break;
      e = next;
    }
    return e;
  }
  [[nodiscard]] RequestsPerSecond limit() const {
    EngineLoad at = load;
    at.prefill = full.shares();
    return engine_limit(at, steps);
  }
};

}  // namespace tokenroof::detail
