// Averages that hold whatever the queue does: Little's law, the mean length of a running sequence,
// and the number of sequences that fit when their lengths vary.
// Sources: Little 1961; renewal theory (inspection paradox); theory.md 3 and 10.1.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "tokenroof/core/normal.hpp"
#include "tokenroof/core/scalar.hpp"
#include "tokenroof/core/units.hpp"
#include "tokenroof/describe/workload.hpp"

namespace tokenroof {

// Little's law relates three averages of a stable system or of any part of it (queue, prefill,
// decode): N = lambda W. It does not say how long anybody waits: that is the queue's business
// (queueing.hpp, engine_queue.hpp), and for an unstable system it says nothing.

/// N = lambda W: requests inside a system in the mean. `arrivals` >= 0, `residence` >= 0: the mean
/// time from arrival to departure. Both may be dual.
template <Scalar S, Scalar R>
[[nodiscard]] constexpr auto little_concurrency(const With<RequestsPerSecond, S>& arrivals,
                                                const With<Seconds, R>& residence) {
  return arrivals * residence;
}

/// W = N / lambda: mean residence that `inside` requests and `arrivals` > 0 imply.
template <Scalar S, Scalar R>
[[nodiscard]] constexpr auto little_residence(const With<Requests, S>& inside,
                                              const With<RequestsPerSecond, R>& arrivals) {
  return inside / arrivals;
}

/// lambda = N / W: completion rate of a system that always holds `inside` requests.
template <Scalar S, Scalar R>
[[nodiscard]] constexpr auto little_rate(const With<Requests, S>& inside,
                                         const With<Seconds, R>& residence) {
  return inside / residence;
}

/// Share of `total` that each of `clusters` > 0 equal clusters holds. Right for balanced routing
/// only; least-loaded routing does better than this split in waits, random routing worse.
template <Scalar S>
[[nodiscard]] constexpr With<Requests, S> per_cluster(const With<Requests, S>& total,
                                                      double clusters) {
  return total / clusters;
}

/// rho = offered work over capacity, both as rates of requests; below 1 the system is stable.
/// `capacity` > 0. Neither MFU nor the share of paid time.
template <Scalar S, Scalar R>
[[nodiscard]] constexpr auto offered_load(const With<RequestsPerSecond, S>& arrivals,
                                          const With<RequestsPerSecond, R>& capacity) {
  return arrivals / capacity;
}

/// Mean tokens held by a randomly observed running sequence: E[P] + E[O] (1 + c^2) / 2, c^2 the
/// squared coefficient of variation of the output (0 fixed, 1 exponential, 1 - 1/E[O] geometric).
/// Long outputs run longer and so are seen more often: P + O/2 is right for fixed outputs only.
/// Prompt and output independent, both >= 0.
template <Scalar S>
[[nodiscard]] constexpr With<TokensPerRequest, S> live_context(
    const With<TokensPerRequest, S>& input, const With<TokensPerRequest, S>& output,
    double output_squared_cv) {
  return input + output * (0.5 * (1 + output_squared_cv));
}

/// The same from samples, which may be correlated: E[P O] / E[O] + E[O^2] / (2 E[O]). Pairs beyond
/// the shorter span are ignored; 0 when no output is positive.
[[nodiscard]] inline TokensPerRequest live_context(std::span<const double> inputs,
                                                   std::span<const double> outputs) {
  double product = 0, square = 0, sum = 0;
  for (std::size_t i = 0; i < std::min(inputs.size(), outputs.size()); ++i) {
    product += inputs[i] * outputs[i];
    square += outputs[i] * outputs[i];
    sum += outputs[i];
  }
  return TokensPerRequest::from_base(sum > 0 ? (product + 0.5 * square) / sum : 0);
}

/// Standard deviation of those tokens over running sequences: variance of the prompt, and of the
/// age A of the output, E[A^2] = E[O^3] / (3 E[O]). `input` and `output` are means in tokens whose
/// factors over the mean follow `law`, independently; `empirical`: the pairs of its samples.
[[nodiscard]] inline double live_context_deviation(const LengthLaw& law, double input,
                                                   double output) {
  if (law.kind == LengthLaw::Kind::empirical) {
    double tokens = 0, first = 0, second_moment = 0;
    for (std::size_t i = 0; i < std::min(law.input_samples.size(), law.output_samples.size());
         ++i) {
      const double p = law.input_samples[i], o = law.output_samples[i];
      tokens += o;
      first += o * (p + 0.5 * o);
      second_moment += o * (p * p + p * o + o * o / 3);
    }
    if (!(tokens > 0)) return 0;
    const double mean = first / tokens;
    return std::sqrt(std::max(0.0, second_moment / tokens - mean * mean));
  }
  const double c = law.squared_cv(output);
  double cube = 1 + 3 * c;  // E[O^3] / E[O]^3 of a law without skew: fixed, uniform
  if (law.kind == LengthLaw::Kind::lognormal) cube = (1 + c) * (1 + c) * (1 + c);
  if (law.kind == LengthLaw::Kind::geometric) cube = 6;  // as the exponential
  const double age = 0.5 * (1 + c) * output;
  const double variance =
      law.squared_cv(input) * input * input + cube / 3 * output * output - age * age;
  return std::sqrt(std::max(0.0, variance));
}

/// Largest number K of independent sequences whose memory overflows `capacity` with probability
/// `overflow` at most: K m + z sqrt(K) s = C, so sqrt(K) = (-z s + sqrt(z^2 s^2 + 4 m C)) / (2 m).
/// `mean` > 0 and `deviation` >= 0 are of the live memory of one running sequence (any unit, that
/// of `capacity` too: bytes or tokens); 0 < overflow < 1 is the share of time in which something
/// would be preempted. Not rounded; 0 when there is no capacity. theory.md 3.
template <class Dim>
[[nodiscard]] inline Requests safe_concurrency(Quantity<Dim> mean, Quantity<Dim> deviation,
                                               Quantity<Dim> capacity, double overflow) {
  if (!(capacity.base() > 0) || !(mean.base() > 0)) return 0 * request;
  const double zs = normal_quantile(1 - overflow) * deviation.base();
  const double root =
      (std::sqrt(zs * zs + 4 * mean.base() * capacity.base()) - zs) / (2 * mean.base());
  return root * root * request;
}

/// Probability that `running` independent sequences overflow `capacity`: the inverse of the above,
/// and the share of time in which a full engine would preempt. 0 when nothing runs.
template <class Dim>
[[nodiscard]] inline double overflow_probability(Quantity<Dim> mean, Quantity<Dim> deviation,
                                                 Quantity<Dim> capacity, Requests running) {
  const double n = running.base();
  if (!(n > 0)) return 0;
  const double slack = capacity.base() - n * mean.base();
  const double spread = std::sqrt(n) * deviation.base();
  if (!(spread > 0)) return slack < 0 ? 1 : 0;
  return normal_probability(-slack / spread);
}

}  // namespace tokenroof
