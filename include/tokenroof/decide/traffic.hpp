// A replica under traffic: one step, a closed loop, an open loop, or separate pools.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tokenroof/decide/answer.hpp"
#include "tokenroof/decide/replica.hpp"
#include "tokenroof/serving/closed_loop.hpp"
#include "tokenroof/serving/disaggregation.hpp"
#include "tokenroof/serving/engine_estimate.hpp"

namespace tokenroof {

/// What traffic makes of a deployment.
struct TrafficAnswer {
  double running = 0;  ///< sequences of one replica while it works
  ServingAnswer serving;
  Verdict verdict;  ///< `unstable` or feasible
};

namespace detail {

[[nodiscard]] inline Seconds times_tokens(SecondsPerToken each, double tokens) {
  return each * (tokens * token);
}

/// What a request waits before the engine sees it, and after its last token.
[[nodiscard]] inline Seconds request_overhead(const Replica& replica) {
  if (replica.fidelity != Fidelity::calibrated) return {};
  const EngineConstants& engine = replica.model.engine;
  return engine.request_overhead + replica.lengths.prompt * engine.per_prompt_token;
}

/// A prompt takes longer than its share of the engine where several lanes work at once.
[[nodiscard]] inline Seconds lane_time(const Replica& replica) {
  return (replica.lanes() - 1) *
         replica.prefill_share(replica.lengths.computed(), replica.lengths.cached());
}

/// Law of prompt times while about `running` sequences decode and `together` prompts share a step.
[[nodiscard]] inline PrefillLaw prompt_law(const Replica& replica, const Workload& workload,
                                           double running, double together = 1) {
  const double hits = replica.lengths.hit_share;
  const auto time = [&](double tokens) {
    const double cached = tokens / std::max(1e-9, 1 - hits) * hits;
    return replica.prompt_time(tokens, cached, running, together);
  };
  return prefill_law(workload.lengths, TokensPerRequest::from_base(replica.lengths.computed()),
                     time);
}

/// Prompts that share a step when `rate` arrive a second and `running` decode: those that come
/// during a step, as far as the token budget holds them.
[[nodiscard]] inline double prompts_together(const Replica& replica, const Engine& engine,
                                             RequestsPerSecond rate, double running) {
  const double computed = replica.lengths.computed();
  const Seconds prompt = replica.prompt_time(computed, replica.lengths.cached(), running);
  const double coming = rate.base() * (replica.token_time(running) + prompt).base();
  return std::clamp(coming, 1.0,
                    std::max(1.0, replica.lanes() * engine.max_batched_tokens / computed));
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

/// Law of prompt times at `rate` arrivals a second to this replica.
[[nodiscard]] inline PrefillLaw law_at(const Replica& replica, const Scenario& scenario,
                                       RequestsPerSecond rate, double running) {
  return prompt_law(replica, scenario.workload, running,
                    prompts_together(replica, scenario.engine, rate, running));
}

/// The same of a replica at its limit: a full batch, prompts sharing steps as they would then. What
/// a deployment can do must not depend on what is asked of it.
[[nodiscard]] inline PrefillLaw full_load_law(const Replica& replica, const Scenario& scenario,
                                              EngineLoad load, StepTimes steps) {
  const double most = std::max(1.0, replica.admission);
  const PrefillLaw alone = law_at(replica, scenario, {}, most);
  load.prefill = alone.shares();
  return law_at(replica, scenario, engine_limit(load, steps), most);
}

/// Whether latencies keep to the objective; unset limits always hold.
template <class Estimate>
[[nodiscard]] bool keeps(const Objective& objective, const Estimate& e, Seconds overhead) {
  const auto within = [](const auto& limit, Seconds time) { return !limit || time <= *limit; };
  const Seconds tpot = e.tpot * token;
  bool ok = within(objective.ttft_p95, e.ttft_p95 + overhead) && within(objective.tpot_mean, tpot);
  if constexpr (requires { e.ttft_p50; }) {
    ok = ok && within(objective.ttft_p50, e.ttft_p50 + overhead) &&
         within(objective.ttft_p99, e.ttft_p99 + overhead) &&
         within(objective.tpot_p95, e.tpot_p95 * token);
  }
  if (objective.tokens_per_second_per_user)
    ok = ok && tpot <= 1 * token / *objective.tokens_per_second_per_user;
  if (objective.e2e_p95) ok = ok && e.e2e <= *objective.e2e_p95;
  return ok;
}

inline void set_unstable(TrafficAnswer& answer, RequestsPerSecond limit, const std::string& why) {
  answer.serving.stable = false;
  answer.verdict = {Outcome::unstable,
                    "arrivals exceed the " + std::to_string(limit.base()) +
                        " requests/s that the deployment completes: " + why,
                    "lower the rate, add replicas, or shorten prompts and outputs"};
}

}  // namespace detail

/// The loop that `concurrency` requests in one replica make.
[[nodiscard]] inline ClosedLoopLoad closed_loop_load(const Replica& replica,
                                                     const Scenario& scenario, double concurrency) {
  ClosedLoopLoad load;
  load.concurrency = concurrency;
  load.capacity = replica.admission;
  load.prompt = replica.lengths.prompt;
  load.output = replica.lengths.output;
  load.prompts_per_step =
      std::max(1.0, scenario.engine.max_batched_tokens / replica.lengths.computed());
  load.lanes = replica.lanes();
  load.lengths_vary = scenario.workload.lengths.kind != LengthLaw::Kind::fixed;
  load.prompts_first = replica.prompts_first;
  return load;
}

/// Step and prompt times at the number of requests that run in `load`.
[[nodiscard]] inline ClosedLoopTimes closed_loop_times(const Replica& replica,
                                                       const ClosedLoopLoad& load) {
  const double n = std::min(load.concurrency, load.capacity);
  return {replica.token_time(n), replica.token_time(std::max(1.0, 0.5 * n)),
          replica.prompt_time(replica.lengths.computed(), replica.lengths.cached(), n)};
}

/// Engine constants of the loop: those of an engine only where it is calibrated.
[[nodiscard]] inline EngineConstants loop_constants(const Replica& replica) {
  return replica.fidelity == Fidelity::calibrated ? replica.model.engine : EngineConstants{};
}

/// A closed loop of the whole deployment's `closed.concurrency`, split evenly over replicas.
[[nodiscard]] inline TrafficAnswer closed_traffic(const Replica& replica, const Scenario& scenario,
                                                  const ClosedLoopTraffic& closed) {
  const double replicas = scenario.deployment.replicas;
  const ClosedLoopLoad load =
      closed_loop_load(replica, scenario, closed.concurrency.base() / replicas);
  const double n = std::min(load.concurrency, load.capacity);
  const ClosedLoop loop =
      closed_loop(load, loop_constants(replica), closed_loop_times(replica, load));
  TrafficAnswer answer;
  answer.running = n;
  ServingAnswer& serving = answer.serving;
  serving.concurrency = closed.concurrency;
  serving.running = n * request;
  serving.ttft.mean = loop.ttft;
  serving.tpot.mean = loop.tpot;
  serving.e2e.mean = loop.residence;
  serving.request_rate = loop.rate * replicas;
  serving.limit_rate = serving.request_rate;
  serving.utilization = 1;
  serving.stable = true;
  return answer;
}

/// An open loop whose arrivals are split evenly over replicas.
[[nodiscard]] inline TrafficAnswer open_traffic(const Replica& replica, const Scenario& scenario,
                                                const OpenLoop& open) {
  const double replicas = scenario.deployment.replicas;
  const std::vector<Seconds> steps = replica.token_times();
  EngineLoad load = detail::engine_load(replica, scenario, open, replicas);
  PrefillLaw law = detail::full_load_law(replica, scenario, load, steps);
  load.prefill = law.shares();
  TrafficAnswer answer;
  ServingAnswer& serving = answer.serving;
  serving.limit_rate = engine_limit(load, steps) * replicas;
  serving.utilization = open.arrival_rate / *serving.limit_rate;
  const Seconds overhead = detail::request_overhead(replica) + detail::lane_time(replica);
  serving.objective_rate = replicas * largest_rate(load, steps, [&](const EngineEstimate& at) {
                             return detail::keeps(scenario.objective, at, overhead);
                           });

  EngineEstimate e = engine_estimate(load, steps);
  for (int pass = 0; pass < 2 && e.stable; ++pass) {  // prompt times depend on the batch they meet
    law = detail::law_at(replica, scenario, load.arrivals, std::max(1.0, e.running.base()));
    load.prefill = law.shares();
    e = engine_estimate(load, steps);
  }
  if (!e.stable) {
    answer.running = replica.admission;
    detail::set_unstable(
        answer, *serving.limit_rate,
        e.prefill_bound ? "prompts fill the token budget" : "every place in the batch is taken");
    return answer;
  }
  serving.stable = true;
  answer.running = e.running.base();
  serving.running = e.running;
  serving.ttft = {e.ttft + overhead, e.ttft_p50 + overhead, e.ttft_p95 + overhead,
                  e.ttft_p99 + overhead};
  serving.tpot.mean = e.tpot * token;
  serving.tpot.p95 = e.tpot_p95 * token;
  serving.e2e.mean = e.e2e + overhead;
  serving.worst_gap = e.longest_gap;
  serving.request_rate = open.arrival_rate;
  serving.concurrency = open.arrival_rate * *serving.e2e.mean;
  return answer;
}

/// Separate pools: x replicas prefill, y decode; `deployment.replicas` is not used.
[[nodiscard]] inline TrafficAnswer split_traffic(const Replica& replica, const Scenario& scenario,
                                                 const OpenLoop& open,
                                                 const Disaggregation& pools) {
  const std::vector<Seconds> steps = replica.token_times();
  DisaggregatedLoad load;
  load.load = detail::engine_load(replica, scenario, open, 1);
  Replica alone = replica;
  alone.prompts_first = true;
  const PrefillLaw law = detail::prompt_law(alone, scenario.workload, 0);
  load.load.prefill = law.shares();
  load.prefill_workers = pools.prefill_replicas;
  load.decode_workers = pools.decode_replicas;
  load.decode_steps = steps;
  load.transfer =
      detail::cache_transfer(scenario, replica.lengths.prompt, pools.transfer_bandwidth);

  const DisaggregatedEstimate e = disaggregated_estimate(load);
  TrafficAnswer answer;
  ServingAnswer& serving = answer.serving;
  serving.limit_rate = e.limit;
  serving.utilization = open.arrival_rate / e.limit;
  const Seconds overhead = detail::request_overhead(replica) + detail::lane_time(replica);
  if (!e.stable) {
    answer.running = replica.admission;
    detail::set_unstable(answer, e.limit,
                         e.prefill_bound ? "the prefill pool is full" : "the decode pool is full");
    return answer;
  }
  serving.stable = true;
  answer.running = e.decode.running.base();
  serving.running = e.decode.running;
  serving.ttft.mean = e.ttft + overhead;
  serving.ttft.p95 = e.ttft_p95 + overhead;
  serving.tpot.mean = e.tpot * token;
  serving.tpot.p95 = e.decode.tpot_p95 * token;
  serving.e2e.mean = e.e2e + overhead;
  serving.worst_gap = e.decode.longest_gap;
  serving.request_rate = open.arrival_rate;
  serving.concurrency = open.arrival_rate * *serving.e2e.mean;
  return answer;
}

}  // namespace tokenroof
