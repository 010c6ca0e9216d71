// Arrival to last token, its quantiles: E2E = TTFT + W + (O - 1) TPOT, where the wait W for a
// decode place exists in separate pools only. Output lengths differ most and are taken from their
// law; TTFT comes as three quantiles; TPOT is normal about its mean: the batch varies over time (a
// request of any length sees it), and prompts fall into the life of a request (the longer it lives,
// the more of them, the less they matter per token).
// TPOT over requests besides: short answers feel the prompts that came behind the own one.
// Source: own derivation; checked against the simulator by end_to_end_test.cpp and
// benchmarks/queue_grid.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "tokenroof/core/normal.hpp"
#include "tokenroof/core/units.hpp"
#include "tokenroof/serving/prefill_law.hpp"
#include "tokenroof/serving/tail_point.hpp"

namespace tokenroof {

/// What a request goes through, all independent. Times in s.
struct ResponseParts {
  double least = 0, p50 = 0, p95 = 0, p99 = 0;  ///< of TTFT, not decreasing
  double tpot = 0;                              ///< mean over tokens
  double step_deviation = 0;     ///< of TPOT between requests, whatever their length, s/token
  double prompt_variance = 0;    ///< that prompts add to the decode time, s^2/token
  double first_gap = 0;          ///< what the first gaps take beyond the others, mean
  double most_per_gap = 1e300;   ///< of that, in one gap
  double gap_variance = 0;       ///< of it, s^2
  double place_probability = 0;  ///< that W > 0; it is exponential then
  double place_wait = 0;         ///< its mean given that
};

namespace detail {

/// A time and how many have it, in the mean of a slice; `variance` inside the slice.
struct TimePoint {
  double time = 0, weight = 1, variance = 0;
};

/// TTFT by its quantiles: the survival function falls exponentially between them and beyond.
[[nodiscard]] inline std::array<TimePoint, 12> first_token_points(const ResponseParts& r) {
  constexpr std::array<double, 13> edges{1,    0.9,  0.8,  0.65,  0.5,   0.35, 0.2,
                                         0.12, 0.07, 0.03, 0.015, 0.005, 0};
  constexpr std::array<double, 4> survival{1, 0.5, 0.05, 0.01};
  const std::array<double, 4> time{r.least, std::max(r.least, r.p50), r.p95, r.p99};
  std::array<TimePoint, 12> points;
  for (std::size_t i = 0; i < points.size(); ++i) {
    // The mean of the last slice of an exponential lies a factor e below its edge.
    const double s = edges[i + 1] > 0 ? 0.5 * (edges[i] + edges[i + 1]) : edges[i] * 0.36787944;
    std::size_t k = 0;
    while (k < 2 && s < survival[k + 1]) ++k;
    const double share = std::log(s / survival[k]) / std::log(survival[k + 1] / survival[k]);
    points[i] = {time[k] + share * (time[k + 1] - time[k]), edges[i] - edges[i + 1]};
  }
  return points;
}

/// An exponential time of mean 1 by the means of its slices.
[[nodiscard]] inline std::array<TimePoint, 8> exponential_points() {
  constexpr std::array<double, 9> edges{1, 0.75, 0.5, 0.3, 0.16, 0.08, 0.035, 0.01, 0};
  std::array<TimePoint, 8> points;
  const auto part = [](double s) { return s > 0 ? s * (1 - std::log(s)) : 0; };
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double weight = edges[i] - edges[i + 1];
    points[i] = {(part(edges[i]) - part(edges[i + 1])) / weight, weight};
  }
  return points;
}

/// Decode steps by the law of output lengths: its slices, or twenty-four of the samples.
[[nodiscard]] inline std::vector<TimePoint> decode_points(const LengthLaw& law, double mean) {
  std::vector<TimePoint> points;
  if (law.kind == LengthLaw::Kind::empirical && !law.output_samples.empty()) {
    std::vector<double> samples = law.output_samples;
    std::sort(samples.begin(), samples.end());
    const std::size_t slices = std::min<std::size_t>(24, samples.size());
    for (std::size_t i = 0; i < slices; ++i) {
      const std::size_t from = samples.size() * i / slices, to = samples.size() * (i + 1) / slices;
      double sum = 0;
      for (std::size_t k = from; k < to; ++k) sum += std::max(1.0, samples[k]) - 1;
      const double count = static_cast<double>(to - from);
      points.push_back({sum / count, count / static_cast<double>(samples.size())});
    }
    return points;
  }
  const PrefillLaw slices = prefill_law(law, TokensPerRequest::from_base(mean), [](double tokens) {
    return (std::max(1.0, tokens) - 1) * second;
  });
  for (const PrefillShare& slice : slices.shares())
    points.push_back({slice.time.base(), slice.weight});
  // Slices are wide against a pace that hardly differs: each is even between its neighbours.
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double before = points[i > 0 ? i - 1 : 0].time;
    const double after = points[std::min(i + 1, points.size() - 1)].time;
    const double width = i == 0 || i + 1 == points.size() ? after - before : 0.5 * (after - before);
    points[i].variance = width * width / 12;
  }
  return points;
}

}  // namespace detail

/// The time that a share `p` in (0, 1) of requests does not exceed from arrival to last token;
/// `decodes` are their decode steps, by weights that sum to one. Prompts behind the own one count
/// in the mean only (first_gap is of the TPOT).
[[nodiscard]] inline Seconds end_to_end_quantile(const ResponseParts& r,
                                                 std::span<const detail::TimePoint> decodes,
                                                 double p) {
  const auto first = detail::first_token_points(r);
  const auto places = detail::exponential_points();
  const double waits = r.place_wait > 0 ? r.place_probability : 0;
  const auto tail = [&](double t) {
    double sum = 0;
    for (const detail::TimePoint& decode : decodes) {
      const double steps = decode.time;
      const double deviation =
          std::sqrt(r.step_deviation * r.step_deviation * steps * steps +
                    r.prompt_variance * steps + r.tpot * r.tpot * decode.variance);
      const auto above = [&](double past) {
        if (std::abs(past) > 5 * deviation) return past < 0 ? 1.0 : 0.0;  // to a millionth
        return normal_probability(-past / deviation);
      };
      for (const detail::TimePoint& start : first) {
        const double past = t - start.time - steps * r.tpot;
        double s = (1 - waits) * above(past);
        if (waits > 0)
          for (const detail::TimePoint& place : places)
            s += place.weight * waits * above(past - place.time * r.place_wait);
        sum += decode.weight * start.weight * s;
      }
    }
    return sum;
  };
  double longest = 0;
  for (const detail::TimePoint& decode : decodes) longest = std::max(longest, decode.time);
  return tail_point(tail, 1 - p, std::max(1e-6, r.p99 + 0.5 * r.tpot * longest)) * second;
}

/// The same for outputs of `outputs` tokens in the mean (>= 1) under `law`.
[[nodiscard]] inline Seconds end_to_end_quantile(const ResponseParts& r, const LengthLaw& law,
                                                 double outputs, double p) {
  return end_to_end_quantile(r, detail::decode_points(law, outputs), p);
}

/// The TPOT that a share `p` in (0, 1) of requests does not exceed, requests of one token left out:
/// normal about r.tpot, here of all gaps but what `first_gap` says, + first_gap / steps for each
/// number of `decodes`. 0 when all are of one token.
[[nodiscard]] inline SecondsPerToken tpot_quantile(const ResponseParts& r,
                                                   std::span<const detail::TimePoint> decodes,
                                                   double p) {
  double counted = 0;
  for (const detail::TimePoint& decode : decodes) counted += decode.time > 0 ? decode.weight : 0;
  const auto tail = [&](double t) {
    double sum = 0;
    for (const detail::TimePoint& decode : decodes) {
      if (!(decode.time > 0)) continue;
      const double steps = std::max(1.0, decode.time);
      const double gap = std::min(r.most_per_gap * steps, r.first_gap);
      const double share = r.first_gap > 0 ? gap / r.first_gap : 0;  // felt in so short a life
      const double deviation =
          std::sqrt(r.step_deviation * r.step_deviation + r.prompt_variance / steps +
                    share * r.gap_variance / (steps * steps));
      const double past = t - r.tpot - gap / steps;
      sum += decode.weight * (deviation > 0 ? normal_probability(-past / deviation) : past < 0);
    }
    return sum;
  };
  if (!(counted > 0)) return {};
  return SecondsPerToken::from_base(
      tail_point(tail, (1 - p) * counted, std::max(1e-12, 1.2 * r.tpot)));
}

}  // namespace tokenroof
