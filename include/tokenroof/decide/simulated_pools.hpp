// Separate pools in the simulator: prompts queue for the first free of the prefill workers, caches
// are sent over, decode workers take turns. One decode worker is simulated step by step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "tokenroof/decide/replica_load.hpp"
#include "tokenroof/decide/simulated_stream.hpp"
#include "tokenroof/serving/simulation.hpp"

namespace tokenroof {
namespace detail {

/// A request on its way between the pools. Times in s.
struct HandedOver {
  std::size_t request = 0;
  double first_token = 0;  ///< prefilled, and its cache is with the decode worker
};

/// Prefill of `requests`, in order of arrival, each by the worker that is free first; sorted by the
/// time at which the cache has moved.
template <class Prefill, class Transfer>
[[nodiscard]] std::vector<HandedOver> prefill_pool(const std::vector<SimulatedRequest>& requests,
                                                   int workers, Prefill&& prefill,
                                                   Transfer&& transfer) {
  std::vector<double> free_at(static_cast<std::size_t>(std::max(1, workers)), 0.0);
  std::vector<HandedOver> out(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto worker = std::min_element(free_at.begin(), free_at.end());
    *worker = std::max(*worker, requests[i].arrival.base()) + prefill(requests[i]).base();
    out[i] = {i, *worker + transfer(requests[i]).base()};
  }
  std::stable_sort(out.begin(), out.end(), [](const HandedOver& a, const HandedOver& b) {
    return a.first_token < b.first_token;
  });
  return out;
}

/// The decode worker's share of what was handed over, every `workers`-th, as requests whose prompt
/// is there but for the token that the first step computes beside the decodes. Answers of one token
/// are over by then and left out.
[[nodiscard]] inline std::vector<HandedOver> decode_share(
    const std::vector<SimulatedRequest>& requests, const std::vector<HandedOver>& all,
    int workers) {
  std::vector<HandedOver> share;
  std::size_t turn = 0;
  for (const HandedOver& one : all)
    if (requests[one.request].output > 1 && turn++ % static_cast<std::size_t>(workers) == 0)
      share.push_back(one);
  return share;
}

}  // namespace detail

/// Runs `requests` of the whole deployment through `pools` of replicas like `replica`. First tokens
/// count when the cache has arrived; everything else is as one decode worker sees it.
[[nodiscard]] inline SimulationResult simulate_pools(const Scenario& scenario,
                                                     const Replica& replica,
                                                     const Disaggregation& pools,
                                                     const std::vector<SimulatedRequest>& requests,
                                                     SimulationPlan plan) {
  const std::vector<detail::HandedOver> all = detail::prefill_pool(
      requests, pools.prefill_replicas,
      [&](const SimulatedRequest& r) {
        const int cached = std::min(r.cached, r.input - 1);
        return replica.prefill_share(r.input - cached, cached);
      },
      [&](const SimulatedRequest& r) {
        return detail::cache_transfer(scenario, r.input, pools.transfer_bandwidth);
      });
  const std::vector<detail::HandedOver> share =
      detail::decode_share(requests, all, pools.decode_replicas);
  std::vector<SimulatedRequest> decoded;
  for (const detail::HandedOver& one : share) {
    const SimulatedRequest& r = requests[one.request];
    decoded.push_back({one.first_token * second, r.input, r.output - 1, r.input});
  }
  SimulatedEngine engine = simulated_engine(scenario, replica);
  engine.chunked = true;
  engine.scheduled_ahead = false;  // hand-overs are not prompts
  const bool kept = plan.keep_records;
  plan.keep_records = true;
  SimulationResult run = simulate(decoded, engine, plan, [&](const SimulatedStep& step) {
    SimulatedStep decode = step;  // the cache has come whole: what counts as prompt is a decode
    decode.decoding += step.prefill_sequences;
    decode.decode_context += step.prefill_pairs;
    decode.prefill_sequences = decode.prefill_tokens = 0;
    return simulated_step_time(replica, decode);
  });

  const double warm = plan.warm_up * static_cast<double>(requests.size());
  std::vector<double> ttft, tpot, e2e, admission;  // to the decode batch
  for (const detail::HandedOver& one : all)
    if (static_cast<double>(one.request) >= warm)
      ttft.push_back(one.first_token - requests[one.request].arrival.base());
  for (std::size_t i = 0; i < share.size(); ++i) {
    const SimulatedRequest& r = requests[share[i].request];
    RequestRecord& record = run.records[i];
    const bool rejected = record.first_token < Seconds{};
    record.arrival = r.arrival;
    record.first_token = share[i].first_token * second;
    record.output = r.output;
    if (rejected) record.finished = record.arrival;
    if (rejected || static_cast<double>(share[i].request) < warm) continue;
    tpot.push_back((record.finished - record.first_token).base() / (r.output - 1));
    e2e.push_back((record.finished - record.arrival).base());
    admission.push_back((record.admitted - record.arrival).base());
  }
  const double first = static_cast<double>(run.completed);  // each had one token before it came
  run.generated_tokens += static_cast<std::int64_t>(run.completed);
  if (run.duration > Seconds{}) run.token_rate += first * token / run.duration;
  run.ttft = summarize(std::move(ttft), plan.batches);
  run.tpot = summarize(std::move(tpot), plan.batches);
  run.e2e = summarize(std::move(e2e), plan.batches);
  run.admission = summarize(std::move(admission), plan.batches);
  if (!kept) run.records.clear();
  return run;
}

}  // namespace tokenroof
