// Measurements of a running simulation: per-request times, gaps, time averages, and their summary.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tokenroof/serving/simulation_statistics.hpp"
#include "tokenroof/serving/simulation_types.hpp"

namespace tokenroof::detail {

/// The four times of a request's life in s; negative: not yet.
struct RequestTimes {
  double arrival = 0, admitted = -1, first = -1, finish = -1;
};

/// What the engine holds over an interval.
struct Occupancy {
  double decoding = 0, admitted = 0, waiting = 0;
  double late = 0;  ///< request seconds of those that arrive within the interval
  std::int64_t kv_blocks = 0;
};

class SimulationRecorder {
 public:
  SimulationRecorder(const SimulationPlan& plan, std::size_t requests)
      : plan_(plan),
        warm_(static_cast<std::size_t>(static_cast<double>(requests) *
                                       std::clamp(plan.warm_up, 0.0, 1.0))) {}

  SimulationResult result;

  /// Whether what happens now, with `issued` requests arrived, is measured.
  [[nodiscard]] bool warm(std::size_t issued) const { return issued > warm_; }

  void gap(double time, double weight) { gaps_.add(time, weight); }

  /// The interval from `from` to `to`. Time averages end with the last arrival: what follows
  /// drains.
  void interval(double from, double to, bool busy, bool measured, const Occupancy& o) {
    const double length = to - from;
    result.system_integral += (o.waiting + o.admitted) * length + o.late;
    peak_ = std::max(peak_, o.kv_blocks);
    if (measured) {
      window_ += length;
      busy_ += busy ? length : 0;
      decoding_ += o.decoding * length;
      admitted_ += o.admitted * length;
      waiting_ += o.waiting * length + o.late;
      blocks_ += static_cast<double>(o.kv_blocks) * length;
    }
    if (plan_.sample_interval.base() > 0 && to >= next_sample_) {
      result.occupancy.push_back(
          {to * second, static_cast<int>(o.admitted), static_cast<int>(o.waiting), o.kv_blocks});
      next_sample_ = to + plan_.sample_interval.base();
    }
  }

  /// Sums up. `times(i)` of request i; `requests` in order of arrival; `pool` in blocks, 0: none.
  template <class Times>
  SimulationResult finish(const std::vector<SimulatedRequest>& requests, double end,
                          std::int64_t pool, Times&& times) {
    std::vector<double> ttft, tpot, e2e, admission;
    for (std::size_t i = warm_; i < requests.size(); ++i) {
      const RequestTimes& t = times(i);
      if (t.first < 0) continue;  // rejected
      ttft.push_back(t.first - t.arrival);
      e2e.push_back(t.finish - t.arrival);
      admission.push_back(t.admitted - t.arrival);
      if (requests[i].output > 1) tpot.push_back((t.finish - t.first) / (requests[i].output - 1));
    }
    result.ttft = summarize(std::move(ttft), plan_.batches);
    result.tpot = summarize(std::move(tpot), plan_.batches);
    result.e2e = summarize(std::move(e2e), plan_.batches);
    result.admission = summarize(std::move(admission), plan_.batches);
    result.itl = gaps_.summary();
    result.duration = end * second;
    if (end > 0) {
      result.request_rate = static_cast<double>(result.completed) * request / result.duration;
      result.token_rate = static_cast<double>(result.generated_tokens) * token / result.duration;
    }
    if (window_ > 0) {
      result.mean_running = decoding_ / window_ * request;
      result.mean_admitted = admitted_ / window_ * request;
      result.mean_waiting = waiting_ / window_ * request;
      result.utilization = busy_ / window_;
      if (pool > 0) result.mean_kv_usage = blocks_ / window_ / static_cast<double>(pool);
    }
    if (pool > 0) result.peak_kv_usage = static_cast<double>(peak_) / static_cast<double>(pool);
    return std::move(result);
  }

 private:
  const SimulationPlan& plan_;
  std::size_t warm_;
  TimeHistogram gaps_;
  double window_ = 0, busy_ = 0, decoding_ = 0, admitted_ = 0, waiting_ = 0, blocks_ = 0;
  double next_sample_ = 0;
  std::int64_t peak_ = 0;
};

}  // namespace tokenroof::detail
