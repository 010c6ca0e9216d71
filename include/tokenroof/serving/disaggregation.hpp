// Prefill and decode on separate pools: no prompt ever stalls a decode step, at the price of moving
// each request's KV cache and of two queues where there was one.
//   TTFT = wait of the prefill pool (M/G/c) + t_p + transfer, then the decode pool (10.3, t_p = 0).
// Sources: DistServe 2401.09670; Splitwise 2311.18677; theory.md 10.6 and 5.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "tokenroof/core/units.hpp"
#include "tokenroof/serving/engine_estimate.hpp"
#include "tokenroof/serving/queueing.hpp"

namespace tokenroof {

/// Time to hand the cache of a prompt over: tokens x KV bytes per token / bandwidth. With
/// `pipelined_layers` > 1 layers are sent while later ones are computed, and one of them is
/// exposed. `bandwidth` > 0: of all links between the two workers together.
[[nodiscard]] constexpr Seconds kv_transfer_time(TokensPerRequest prompt,
                                                 BytesPerToken kv_per_token,
                                                 BytesPerSecond bandwidth,
                                                 int pipelined_layers = 1) {
  return Seconds::from_base(prompt.base() * kv_per_token.base() / bandwidth.base() /
                            std::max(1, pipelined_layers));
}

/// A disaggregated deployment under load.
struct DisaggregatedLoad {
  EngineLoad load;          ///< arrivals of the whole deployment; mode and budget are not used
  int prefill_workers = 1;  ///< x of xPyD
  int decode_workers = 1;   ///< y; arrivals are split evenly over them
  Seconds transfer;         ///< of a request's cache, exposed part
  StepTimes decode_steps;   ///< T(1) .. T(K) of one decode worker
};

/// Where a disaggregated deployment is busy and how long a user waits.
struct DisaggregatedEstimate {
  bool stable = false;
  bool prefill_bound = false;  ///< the prefill pool is the fuller one
  double prefill_load = 0;     ///< lambda t_p / x
  EngineEstimate decode;       ///< of one decode worker, without prompts
  RequestsPerSecond limit;     ///< of the deployment: the lesser of both pools
  Seconds prefill_wait;        ///< M/G/c, Kimura, bursts included
  Seconds ttft, ttft_p50, ttft_p95, ttft_p99;
  SecondsPerToken tpot;      ///< mean over tokens; prompts do not enter
  SecondsPerToken tpot_p95;  ///< 95th percentile over requests
  Seconds e2e;
  Seconds e2e_p95;  ///< 0 unless the load states its output law
};

/// The deployment in steady state. The first token comes out of prefill, but a user sees it when
/// the decode worker has the cache: the transfer counts, the decode pool's admission wait falls on
/// the second token, that is on `e2e`. Unstable pools give `stable` = false and the limit.
[[nodiscard]] inline DisaggregatedEstimate disaggregated_estimate(const DisaggregatedLoad& d) {
  DisaggregatedEstimate e;
  const Seconds mean = prefill_mean(d.load.prefill);
  ServerQueue queue;
  queue.arrivals = d.load.arrivals;
  queue.service = mean;
  queue.servers = d.prefill_workers;
  queue.service_squared_cv = prefill_squared_cv(d.load.prefill);
  e.prefill_load = queue.load();

  EngineLoad decode = d.load;
  decode.arrivals = d.load.arrivals / d.decode_workers;
  decode.prefill = {};
  decode.prompt = {};
  decode.mode = PrefillMode::one_by_one;
  decode.outputs = nullptr;  // what follows the first token is only a part of the response
  e.decode = engine_estimate(decode, d.decode_steps);
  const RequestsPerSecond decode_limit = d.decode_workers * e.decode.limit;
  e.limit = decode_limit;
  if (mean.base() > 0 && queue.limit_rate() < decode_limit) {
    e.limit = queue.limit_rate();
    e.prefill_bound = true;
  }
  e.stable = e.decode.stable && queue.stable();
  if (!e.stable) return e;

  const double bursts = burstiness_factor(d.load.arrival_squared_cv, queue.service_squared_cv);
  const bool idle = !(queue.offered() > 0);
  e.prefill_wait = idle ? Seconds{} : bursts * *kimura_wait(queue);
  e.ttft = e.prefill_wait + mean + d.transfer;
  e.tpot = e.decode.tpot;
  e.tpot_p95 = e.decode.tpot_p95;
  // The wait is 0 or exponential; its mean given that there is one follows from Erlang's C.
  const double waits = idle ? 0 : erlang_c(queue.servers, queue.offered());
  const auto tail = [&](double t) {
    double sum = 0;
    for (const PrefillShare& share : d.load.prefill) {
      const double past = t - share.time.base();
      sum += share.weight * (past < 0    ? 1
                             : waits > 0 ? waits * std::exp(-past * waits / e.prefill_wait.base())
                                         : 0);
    }
    return sum;
  };
  const auto quantile = [&](double p) {
    return d.transfer + tail_point(tail, 1 - p, std::max(1e-6, e.ttft.base())) * second;
  };
  e.ttft_p50 = quantile(0.50);
  e.ttft_p95 = quantile(0.95);
  e.ttft_p99 = quantile(0.99);
  e.e2e = e.ttft + e.decode.admission + (d.load.output.base() - 1) * e.tpot.base() * second;
  if (d.load.outputs != nullptr) {
    ResponseParts parts;
    parts.least = d.transfer.base() + shortest_prefill(d.load.prefill);
    parts.p50 = e.ttft_p50.base();
    parts.p95 = e.ttft_p95.base();
    parts.p99 = e.ttft_p99.base();
    parts.tpot = e.tpot.base();
    parts.step_deviation = (e.tpot_p95 - e.decode.tpot_request).base() / normal_quantile(0.95);
    parts.place_probability = e.decode.waiting_probability;
    if (parts.place_probability > 0)
      parts.place_wait = e.decode.admission.base() / parts.place_probability;
    e.e2e_p95 = end_to_end_quantile(parts, *d.load.outputs, d.load.output.base(), 0.95);
  }
  return e;
}

/// Largest arrival rate at which `meets(const DisaggregatedEstimate&)` holds; 0 when it fails even
/// on idle pools.
template <class Meets>
[[nodiscard]] RequestsPerSecond largest_rate(DisaggregatedLoad d, Meets&& meets) {
  d.load.arrivals = {};
  return largest_rate_below(disaggregated_estimate(d).limit, [&](RequestsPerSecond rate) {
    d.load.arrivals = rate;
    const DisaggregatedEstimate e = disaggregated_estimate(d);
    return e.stable && meets(e);
  });
}

/// Whether these pools take `rate` requests/s within `meets(const DisaggregatedEstimate&)`.
template <class Meets>
[[nodiscard]] bool carries(DisaggregatedLoad d, RequestsPerSecond rate, Meets&& meets) {
  d.load.arrivals = rate;
  const DisaggregatedEstimate e = disaggregated_estimate(d);
  return e.stable && meets(e);
}

/// Whether some split of `workers` carries `rate`.
template <class Meets>
[[nodiscard]] bool some_split_carries(DisaggregatedLoad d, int workers, RequestsPerSecond rate,
                                      Meets&& meets) {
  for (d.prefill_workers = 1; d.prefill_workers < workers; ++d.prefill_workers) {
    d.decode_workers = workers - d.prefill_workers;
    if (carries(d, rate, meets)) return true;
  }
  return false;
}

/// A split of workers and what it carries.
struct PoolSplit {
  int prefill_workers = 0, decode_workers = 0;  ///< both 0: nothing meets the objective
  RequestsPerSecond rate;                       ///< largest rate that meets it
};

/// The split x + y = `workers` (each at least 1, worker for worker the same number of devices) that
/// carries the largest rate at which `meets(const DisaggregatedEstimate&)` holds, by bisection for
/// each x. Ties go to fewer prefill workers. `workers` < 2: none.
template <class Meets>
[[nodiscard]] PoolSplit best_split(DisaggregatedLoad d, int workers, Meets&& meets) {
  PoolSplit best;
  for (int x = 1; x < workers; ++x) {
    d.prefill_workers = x;
    d.decode_workers = workers - x;
    if (best.rate > RequestsPerSecond{} && !carries(d, best.rate, meets)) continue;
    const RequestsPerSecond rate = largest_rate(d, meets);
    if (rate > best.rate) best = {x, workers - x, rate};
  }
  return best;
}

/// Both ways at equal devices: `workers` aggregated replicas that share the arrivals evenly,
/// against the best split of as many workers.
struct PoolComparison {
  RequestsPerSecond aggregated;  ///< largest rate of all replicas together
  PoolSplit split;
  /// Rate of the split over the aggregated rate; above 1 disaggregation pays. 0 when neither works.
  [[nodiscard]] double gain() const { return aggregated.base() > 0 ? split.rate / aggregated : 0; }
};

/// `meets_ttft_tpot(ttft_p95, tpot)` decides for both. `aggregated_steps` are the step times of one
/// aggregated worker; `d.decode_steps` those of a decode worker (usually the same).
template <class Meets>
[[nodiscard]] PoolComparison compare_pools(const DisaggregatedLoad& d, StepTimes aggregated_steps,
                                           int workers, Meets&& meets_ttft_tpot) {
  PoolComparison c;
  c.aggregated = workers * largest_rate(d.load, aggregated_steps, [&](const EngineEstimate& e) {
                   return meets_ttft_tpot(e.ttft_p95, e.tpot);
                 });
  c.split = best_split(d, workers, [&](const DisaggregatedEstimate& e) {
    return meets_ttft_tpot(e.ttft_p95, e.tpot);
  });
  return c;
}

}  // namespace tokenroof
