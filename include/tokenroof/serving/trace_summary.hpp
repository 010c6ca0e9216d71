// A trace reduced to what the closed forms take: rates, burstiness, lengths. One pass, a request at
// a time; memory grows with the longest length and the number of minutes, not with the requests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tokenroof/core/units.hpp"
#include "tokenroof/serving/request_stream.hpp"

namespace tokenroof {

/// Exact law of a length in tokens, by counting. Lengths above two million count as two million.
class LengthCount {
 public:
  void add(int tokens) {
    const std::size_t at = static_cast<std::size_t>(std::clamp(tokens, 0, 2'000'000));
    if (at >= counts_.size()) counts_.resize(std::max(at + 1, counts_.size() * 2), 0);
    ++counts_[at];
    ++total_;
    sum_ += tokens;
    squares_ += static_cast<double>(tokens) * tokens;
  }
  [[nodiscard]] std::size_t count() const { return total_; }
  [[nodiscard]] double mean() const { return total_ > 0 ? sum_ / static_cast<double>(total_) : 0; }
  /// Squared coefficient of variation; 0 for an empty count or mean.
  [[nodiscard]] double squared_cv() const {
    const double m = mean();
    return m > 0 ? std::max(0.0, squares_ / static_cast<double>(total_) / (m * m) - 1) : 0;
  }
  /// Smallest length that at least a share p of the requests does not exceed; 0 when empty.
  [[nodiscard]] int quantile(double p) const {
    std::size_t below = 0;
    const double wanted = p * static_cast<double>(total_);
    for (std::size_t tokens = 0; tokens < counts_.size(); ++tokens) {
      below += counts_[tokens];
      if (below > 0 && static_cast<double>(below) >= wanted) return static_cast<int>(tokens);
    }
    return 0;
  }

 private:
  std::vector<std::uint32_t> counts_;
  std::size_t total_ = 0;
  double sum_ = 0, squares_ = 0;
};

/// Takes requests by time of arrival and sums them up.
class TraceSummary {
 public:
  /// Requests must come in order of arrival; one that is early counts at the latest time so far.
  void add(const SimulatedRequest& r) {
    const double time = std::max(r.arrival.base(), latest_);
    if (requests_ > 0) {
      const double gap = time - latest_;
      gaps_ += gap;
      gap_squares_ += gap * gap;
    } else {
      first_ = time;
    }
    latest_ = time;
    ++requests_;
    const std::size_t minute_of = static_cast<std::size_t>((time - first_) / 60);
    if (minute_of < most_minutes) {
      if (minute_of >= minutes_.size()) minutes_.resize(minute_of + 1, 0);
      ++minutes_[minute_of];
    }
    input_.add(r.input);
    output_.add(r.output);
    cached_ += r.cached;
    product_ += static_cast<double>(r.input) * r.output;
  }

  [[nodiscard]] std::size_t requests() const { return requests_; }
  [[nodiscard]] const LengthCount& input() const { return input_; }
  [[nodiscard]] const LengthCount& output() const { return output_; }
  /// First to last arrival.
  [[nodiscard]] Seconds duration() const { return (latest_ - first_) * second; }
  /// Mean arrival rate: intervals over duration; 0 below two requests.
  [[nodiscard]] RequestsPerSecond rate() const {
    return gaps_ > 0 ? static_cast<double>(requests_ - 1) / gaps_ * request / second
                     : RequestsPerSecond{};
  }
  /// Requests of each minute from the first arrival; the last one may be incomplete.
  [[nodiscard]] const std::vector<std::uint32_t>& minutes() const { return minutes_; }
  /// Rate of the busiest minute over the mean rate: the burst factor; 1 below two requests.
  [[nodiscard]] double burst_factor() const {
    if (!(gaps_ > 0)) return 1;
    const std::uint32_t busiest = *std::max_element(minutes_.begin(), minutes_.end());
    return busiest / 60.0 / rate().base();
  }
  /// Squared coefficient of variation of the times between arrivals; 1 for Poisson arrivals.
  [[nodiscard]] double arrival_squared_cv() const {
    if (!(gaps_ > 0)) return 1;
    const double n = static_cast<double>(requests_ - 1);
    return std::max(0.0, gap_squares_ * n / (gaps_ * gaps_) - 1);
  }
  /// Share of the prompt tokens found in the prefix cache.
  [[nodiscard]] double prefix_hit_rate() const {
    const double tokens = input_.mean() * static_cast<double>(requests_);
    return tokens > 0 ? cached_ / tokens : 0;
  }
  /// Mean tokens of a running sequence: E[P O] / E[O] + E[O^2] / (2 E[O]); see live_context.
  [[nodiscard]] TokensPerRequest live_context() const {
    const double mean = output_.mean();
    if (!(mean > 0)) return TokensPerRequest::from_base(input_.mean());
    const double joint = product_ / static_cast<double>(requests_) / mean;
    return TokensPerRequest::from_base(joint + 0.5 * mean * (1 + output_.squared_cv()));
  }

 private:
  static constexpr std::size_t most_minutes = 60 * 24 * 366;
  std::size_t requests_ = 0;
  double first_ = 0, latest_ = -1e300, gaps_ = 0, gap_squares_ = 0, cached_ = 0, product_ = 0;
  std::vector<std::uint32_t> minutes_;
  LengthCount input_, output_;
};

}  // namespace tokenroof
