// A replica under traffic: one step, a closed loop, an open loop, or separate pools.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tokenroof/decide/answer.hpp"
#include "tokenroof/decide/objective.hpp"
#include "tokenroof/decide/preemption.hpp"
#include "tokenroof/decide/replica.hpp"
#include "tokenroof/decide/replica_load.hpp"
#include "tokenroof/serving/closed_loop.hpp"
#include "tokenroof/serving/closed_loop_quantiles.hpp"
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

/// What users see of an engine or of pools, `overhead` on top of every first token.
template <class Estimate>
void set_latencies(ServingAnswer& serving, const Estimate& e, Seconds overhead) {
  serving.ttft = {e.ttft + overhead, e.ttft_p50 + overhead, e.ttft_p95 + overhead,
                  e.ttft_p99 + overhead};
  serving.tpot.mean = e.tpot * token;
  serving.tpot.p95 = e.tpot_p95 * token;
  serving.e2e.mean = e.e2e + overhead;
  if (e.e2e_p95 > Seconds{}) serving.e2e.p95 = e.e2e_p95 + overhead;
}

/// Whether latencies keep to the objective; unset limits always hold.
template <class Estimate>
[[nodiscard]] bool keeps(const Objective& objective, const Estimate& e, Seconds overhead) {
  ServingAnswer serving;
  set_latencies(serving, e, overhead);
  return tokenroof::keeps(objective, serving);
}

/// `arrivals` at or beyond `limit`, which `replicas` sustain together; 0 replicas: separate pools.
inline void set_unstable(TrafficAnswer& answer, RequestsPerSecond arrivals, RequestsPerSecond limit,
                         double replicas, const std::string& why) {
  answer.serving.stable = false;
  std::string more = "add replicas";
  if (replicas > 0 && limit > RequestsPerSecond{} && arrivals / limit * replicas < 1e6)
    more = "replicas " + std::to_string(std::llround(std::floor(arrivals / limit * replicas) + 1));
  answer.verdict = {Outcome::unstable,
                    "arrivals exceed the " + number_text(limit.base()) +
                        " requests/s that the deployment completes: " + why,
                    more + ", a lower rate, or shorter prompts and outputs"};
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
  load.arrival_interval = scenario.engine.schedule_interval;
  load.scheduled_ahead = replica.model.async_scheduling;
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
  const ClosedLoopTimes times = closed_loop_times(replica, load);
  const ClosedLoop loop = closed_loop(load, loop_constants(replica), times);
  const ClosedLoopQuantiles late =
      closed_loop_quantiles(loop, load, loop_constants(replica), times, scenario.workload.lengths);
  TrafficAnswer answer;
  answer.running = n;
  ServingAnswer& serving = answer.serving;
  serving.concurrency = closed.concurrency;
  serving.running = n * request;
  serving.ttft = {loop.ttft, late.ttft_p50, late.ttft_p95, late.ttft_p99};
  serving.tpot.mean = loop.tpot;
  serving.tpot.p95 = late.tpot_p95;
  serving.e2e.mean = loop.residence;
  serving.e2e.p95 = late.e2e_p95;
  serving.preemption_probability = pool_overflow(replica, n, n < load.capacity ? 0 : 1, 0);
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
  detail::ReplicaAtRate at{replica, scenario, steps, load,
                           detail::full_load_law(replica, scenario, load, steps)};
  const RequestsPerSecond limit = at.limit();
  TrafficAnswer answer;
  ServingAnswer& serving = answer.serving;
  serving.limit_rate = limit * replicas;
  serving.utilization = open.arrival_rate / *serving.limit_rate;
  const Seconds overhead = detail::request_overhead(replica) + detail::lane_time(replica);
  serving.objective_rate = serving.limit_rate;
  if (asks(scenario.objective))
    serving.objective_rate = replicas * largest_rate_below(limit, [&](RequestsPerSecond rate) {
                               const EngineEstimate e = at(rate);
                               const Seconds late = overhead + detail::scheduled_step(replica, e);
                               return e.stable && detail::keeps(scenario.objective, e, late);
                             });

  at.load.outputs = &scenario.workload.lengths;
  const EngineEstimate e = at(load.arrivals);
  if (!e.stable) {
    answer.running = replica.admission;
    detail::set_unstable(
        answer, open.arrival_rate, *serving.limit_rate, replicas,
        e.prefill_bound ? "prompts fill the token budget" : "every place in the batch is taken");
    return answer;
  }
  serving.stable = true;
  answer.running = e.running.base();
  serving.running = e.running;
  detail::set_latencies(serving, e, overhead + detail::scheduled_step(replica, e));
  serving.preemption_probability =
      pool_overflow(replica, (load.arrivals * (e.e2e - e.admission)).base(), e.waiting_probability,
                    e.running_variance);
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

  load.load.outputs = &scenario.workload.lengths;
  const DisaggregatedEstimate e = disaggregated_estimate(load);
  TrafficAnswer answer;
  ServingAnswer& serving = answer.serving;
  serving.limit_rate = e.limit;
  serving.utilization = open.arrival_rate / e.limit;
  const Seconds overhead = detail::request_overhead(replica) + detail::lane_time(alone);
  serving.objective_rate = e.limit;
  if (asks(scenario.objective))
    serving.objective_rate = largest_rate(load, [&](const DisaggregatedEstimate& at) {
      return detail::keeps(scenario.objective, at, overhead);
    });
  if (!e.stable) {
    answer.running = replica.admission;
    detail::set_unstable(answer, open.arrival_rate, e.limit, 0,
                         e.prefill_bound ? "the prefill pool is full" : "the decode pool is full");
    return answer;
  }
  serving.stable = true;
  answer.running = e.decode.running.base();
  serving.running = e.decode.running;
  detail::set_latencies(serving, e, overhead);
  serving.preemption_probability = pool_overflow(
      replica, e.decode.running.base(), e.decode.waiting_probability, e.decode.running_variance);
  serving.worst_gap = e.decode.longest_gap;
  serving.request_rate = open.arrival_rate;
  serving.concurrency = open.arrival_rate * *serving.e2e.mean;
  return answer;
}

}  // namespace tokenroof
