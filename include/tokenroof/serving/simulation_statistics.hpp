// What the simulator measures, and how it is summed up: exact quantiles of per-request values, a
// fine histogram of inter-token gaps, and confidence intervals by batch means.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tokenroof/core/units.hpp"

namespace tokenroof {

/// Mean, spread and quantiles of a measured time. All zero when nothing was measured.
struct TimeSummary {
  std::size_t count = 0;
  Seconds mean, p50, p90, p95, p99, p999, max;
  Seconds mean_error;  ///< half width of the 95 % confidence interval of the mean
  Seconds p95_error;   ///< the same for the 95th percentile
};

/// Linearly interpolated quantile of `values`, which are reordered; 0 when there are none.
[[nodiscard]] inline double quantile_of(std::vector<double>& values, double p) {
  if (values.empty()) return 0;
  const double rank = p * static_cast<double>(values.size() - 1);
  const std::size_t low = static_cast<std::size_t>(rank);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(low);
  std::nth_element(values.begin(), at, values.end());
  if (low + 1 >= values.size()) return *at;
  const double above = *std::min_element(at + 1, values.end());
  return *at + (rank - static_cast<double>(low)) * (above - *at);
}

/// Half width of the 95 % confidence interval of the mean of `batches` (Student's t; Law and
/// Kelton). Batches must be long against the correlation of their members. 0 below two batches.
[[nodiscard]] inline double batch_half_width(const std::vector<double>& batches) {
  const double n = static_cast<double>(batches.size());
  if (n < 2) return 0;
  double mean = 0, squares = 0;
  for (const double x : batches) mean += x / n;
  for (const double x : batches) squares += (x - mean) * (x - mean);
  const double f = n - 1;  // Cornish-Fisher expansion of Student's t at 0.975
  const double z = 1.959963984540054;
  const double t =
      z + (z * z * z + z) / (4 * f) + (5 * std::pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * f * f);
  return t * std::sqrt(squares / f / n);
}

/// Summary of `values`, which stand in time order and are split into `batches` equal runs.
[[nodiscard]] inline TimeSummary summarize(std::vector<double> values, int batches) {
  TimeSummary summary;
  summary.count = values.size();
  if (values.empty()) return summary;
  double sum = 0;
  for (const double v : values) sum += v;
  summary.mean = sum / static_cast<double>(values.size()) * second;
  const std::size_t length = batches > 1 ? values.size() / static_cast<std::size_t>(batches) : 0;
  if (length >= 20) {
    std::vector<double> means, tails, batch;
    for (std::size_t first = 0; first + length <= values.size(); first += length) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
      batch.assign(begin, begin + static_cast<std::ptrdiff_t>(length));
      double total = 0;
      for (const double v : batch) total += v;
      means.push_back(total / static_cast<double>(length));
      tails.push_back(quantile_of(batch, 0.95));
    }
    summary.mean_error = batch_half_width(means) * second;
    summary.p95_error = batch_half_width(tails) * second;
  }
  summary.p50 = quantile_of(values, 0.50) * second;
  summary.p90 = quantile_of(values, 0.90) * second;
  summary.p95 = quantile_of(values, 0.95) * second;
  summary.p99 = quantile_of(values, 0.99) * second;
  summary.p999 = quantile_of(values, 0.999) * second;
  summary.max = *std::max_element(values.begin(), values.end()) * second;
  return summary;
}

/// Histogram of positive times with 128 bins an octave (quantiles to 0.4 %), from 1 us to an hour;
/// times outside count at the ends. The bin is read off the bits of the number: fast and exact.
class TimeHistogram {
 public:
  void add(double time, double weight) {
    sum_ += time * weight;
    count_ += weight;
    largest_ = std::max(largest_, time);
    const std::uint64_t key = bits_of(time) >> 45;
    const std::uint64_t bin = key < first ? 0 : std::min<std::uint64_t>(key - first, bins - 1);
    weights_[static_cast<std::size_t>(bin)] += weight;
  }
  [[nodiscard]] double quantile(double p) const {
    double below = 0;
    for (std::size_t bin = 0; bin < bins; ++bin) {
      below += weights_[bin];
      if (below >= p * count_ && below > 0) {
        const double low = number_of((static_cast<std::uint64_t>(bin) + first) << 45);
        return std::min(largest_, low * 1.0039);  // the middle of the bin
      }
    }
    return largest_;
  }
  [[nodiscard]] TimeSummary summary() const {
    TimeSummary summary;
    if (!(count_ > 0)) return summary;
    summary.count = static_cast<std::size_t>(count_);
    summary.mean = sum_ / count_ * second;
    summary.p50 = quantile(0.50) * second;
    summary.p90 = quantile(0.90) * second;
    summary.p95 = quantile(0.95) * second;
    summary.p99 = quantile(0.99) * second;
    summary.p999 = quantile(0.999) * second;
    summary.max = largest_ * second;
    return summary;
  }

 private:
  // std::bit_cast is not in the library of emscripten 3.1.6.
  static std::uint64_t bits_of(double x) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
  }
  static double number_of(std::uint64_t bits) {
    double x = 0;
    std::memcpy(&x, &bits, sizeof x);
    return x;
  }
  static constexpr std::uint64_t first = (1023u - 20u) << 7;  // 2^-20 s
  static constexpr std::size_t bins = 32 * 128;
  std::vector<double> weights_ = std::vector<double>(bins, 0.0);
  double sum_ = 0, count_ = 0, largest_ = 0;
};

}  // namespace tokenroof
