// The law of prefill times over requests, as a few weighted points: what a mean alone cannot give,
// a 95th percentile that is set by the long prompts, needs it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "tokenroof/core/normal.hpp"
#include "tokenroof/core/units.hpp"
#include "tokenroof/describe/workload.hpp"

namespace tokenroof {

/// A share of the requests and the time their prompts take alone, prefix hits taken off.
struct PrefillShare {
  Seconds time;
  double weight = 1;  ///< weights of a law sum to 1
};

/// Mean of a law.
[[nodiscard]] constexpr Seconds prefill_mean(std::span<const PrefillShare> law) {
  Seconds mean;
  for (const PrefillShare& share : law) mean += share.weight * share.time;
  return mean;
}

/// Squared coefficient of variation of a law; 0 when its mean is 0.
[[nodiscard]] constexpr double prefill_squared_cv(std::span<const PrefillShare> law) {
  const double mean = prefill_mean(law).base();
  double square = 0;
  for (const PrefillShare& share : law)
    square += share.weight * share.time.base() * share.time.base();
  return mean > 0 ? std::max(0.0, square / (mean * mean) - 1) : 0;
}

/// Shortest time of a law in s; 0 when it is empty.
[[nodiscard]] constexpr double shortest_prefill(std::span<const PrefillShare> law) {
  double least = law.empty() ? 0 : law.front().time.base();
  for (const PrefillShare& share : law) least = std::min(least, share.time.base());
  return least;
}

/// Up to `most` points without allocation; later ones are ignored.
class PrefillLaw {
 public:
  static constexpr std::size_t most = 48;
  void add(Seconds time, double weight) {
    if (size_ < points_.size()) points_[size_++] = {time, weight};
  }
  [[nodiscard]] std::span<const PrefillShare> shares() const { return {points_.data(), size_}; }

 private:
  std::array<PrefillShare, most> points_{};
  std::size_t size_ = 0;
};

/// Mean of the input samples of an empirical law, which its slices are measured by; 1 for others.
[[nodiscard]] inline double sample_mean(const LengthLaw& law) {
  if (law.kind != LengthLaw::Kind::empirical || law.input_samples.empty()) return 1;
  double all = 0;
  for (const double sample : law.input_samples) all += sample;
  return all / static_cast<double>(law.input_samples.size());
}

/// Mean of the slice of a length law between its quantiles `low` < `high`, over the law's mean.
/// `mean_of_samples` = sample_mean(law), taken once for all slices.
[[nodiscard]] inline double slice_factor(const LengthLaw& law, double mean, double low, double high,
                                         double mean_of_samples) {
  switch (law.kind) {
    case LengthLaw::Kind::uniform:
      return (law.low + (law.high - law.low) * 0.5 * (low + high)) / law.mean_factor();
    case LengthLaw::Kind::lognormal: {
      // The share of all tokens in the shortest p of the requests is Phi(z_p - s).
      const double s = std::sqrt(std::log1p(law.cv * law.cv));
      const auto tokens = [s](double p) { return normal_probability(normal_quantile(p) - s); };
      return s > 0 ? (tokens(high) - tokens(low)) / (high - low) : 1;
    }
    case LengthLaw::Kind::geometric: {
      // Exponential in place of geometric; the first token is certain.
      const auto tail = [](double p) { return p < 1 ? (1 - p) * (1 - std::log1p(-p)) : 0.0; };
      const double first = mean > 1 ? 1 / mean : 1;
      return first + (1 - first) * (tail(low) - tail(high)) / (high - low);
    }
    case LengthLaw::Kind::empirical: {
      // Evenly spaced order statistics: enough for a slice, however long the trace is.
      const std::vector<double>& samples = law.input_samples;
      if (samples.empty()) return 1;
      const auto n = static_cast<double>(samples.size());
      const int points = static_cast<int>(std::clamp(std::ceil((high - low) * n), 1.0, 64.0));
      double sum = 0;
      for (int i = 0; i < points; ++i) {
        const double position = n * (low + (high - low) * (i + 0.5) / points);
        sum += samples[static_cast<std::size_t>(std::clamp(position, 0.0, n - 1))];
      }
      return sum / points / mean_of_samples;
    }
    case LengthLaw::Kind::fixed:
      break;
  }
  return 1;
}

/// Law of prefill times for prompts of `mean` tokens under `law` of which a share `hit_share` of
/// the tokens is found in the prefix cache with probability `hit_probability`.
/// `prefill_time(tokens) -> Seconds`, `tokens` a double >= 1, is the time of a prompt alone. Slices
/// are finer towards long prompts, which make both the variance and the percentiles.
template <class PrefillTime>
[[nodiscard]] PrefillLaw prefill_law(const LengthLaw& law, TokensPerRequest mean,
                                     PrefillTime&& prefill_time, double hit_probability = 0,
                                     double hit_share = 0) {
  constexpr std::array<double, 21> above{1,    0.8,  0.6,  0.45,  0.33,  0.25,   0.18,
                                         0.13, 0.1,  0.08, 0.07,  0.06,  0.05,   0.04,
                                         0.03, 0.02, 0.01, 0.005, 0.002, 0.0005, 0};
  PrefillLaw result;
  const bool constant = law.kind == LengthLaw::Kind::fixed;
  const double samples = sample_mean(law);
  const std::size_t slices = constant ? 1 : above.size() - 1;
  for (std::size_t i = 0; i < slices; ++i) {
    const double low = constant ? 0 : 1 - above[i];
    const double high = constant ? 1 : 1 - above[i + 1];
    const double tokens = mean.base() * slice_factor(law, mean.base(), low, high, samples);
    const double weight = high - low;
    if (hit_probability > 0 && hit_share > 0)
      result.add(prefill_time(std::max(1.0, tokens * (1 - hit_share))), weight * hit_probability);
    if (hit_probability < 1 || !(hit_share > 0)) {
      const double missed = hit_share > 0 ? 1 - std::max(0.0, hit_probability) : 1;
      result.add(prefill_time(std::max(1.0, tokens)), weight * missed);
    }
  }
  return result;
}

/// E[1 / (O - 1)] over requests of more than one token: by it a gap that each request suffers once
/// weighs on the mean TPOT of requests. fixed: 1/(O-1); geometric: ln(O)/(O-1); lognormal:
/// (1 + c^2)/(O-1), exact for the lognormal; uniform likewise to second order.
[[nodiscard]] inline double mean_inverse_decodes(const LengthLaw& law, TokensPerRequest output) {
  const double decodes = output.base() - 1;
  if (!(decodes > 0)) return 0;
  if (law.kind == LengthLaw::Kind::geometric) return std::log(decodes + 1) / decodes;
  if (law.kind == LengthLaw::Kind::empirical && !law.output_samples.empty()) {
    double sum = 0, several = 0;
    for (const double sample : law.output_samples) {
      if (sample < 2) continue;
      sum += 1 / (sample - 1);
      several += 1;
    }
    return several > 0 ? sum / several : 1;
  }
  return std::min(1.0, (1 + law.squared_cv(output.base())) / decodes);
}

}  // namespace tokenroof
