// What an answer depends on: elasticities d ln(result) / d ln(driver), exact, through Dual.
//
// An elasticity of -0.6 to bandwidth: one per cent more bandwidth, 0.6 % less time. Times add up:
//
//   - bandwidth - peak - link + fixed times = 1        (Euler's rule)
//
// because a time is homogeneous of degree one in everything that is measured in seconds. The same
// rule gives fixed times their scale: T(rates, g x fixed) = g T(g x rates, fixed). `fixed_times`
// is thus every constant of kernels and engine that takes time whatever the datasheet says:
// launches, host, link latencies, and the unpacking rate of narrow weights.
//
// At a kink (the ridge of an ideal step) the slope differs on both sides: `below` and `above` are
// taken at a relative 1e-9 to either side. The running batch is held: how traffic reacts is the
// business of a what-if.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "tokenroof/core/scalar.hpp"
#include "tokenroof/decide/replica.hpp"
#include "tokenroof/physics/step.hpp"

namespace tokenroof {

enum class Driver {
  memory_bandwidth,
  peak_compute,    ///< of every data type
  link_bandwidth,  ///< inside and between nodes
  fixed_times,
  batch,
  context,  ///< live context of a step, length of a prompt
  price,
  utilization,
};
inline constexpr std::size_t driver_count = 8;
inline constexpr const char* driver_names[driver_count] = {
    "memory_bandwidth", "peak_compute", "link_bandwidth", "fixed_times", "batch",
    "context",          "price",        "utilization"};
[[nodiscard]] constexpr const char* to_string(Driver driver) {
  return driver_names[static_cast<std::size_t>(driver)];
}

/// What is asked about.
enum class Result { decode_step, prefill_time, output_cost };
[[nodiscard]] constexpr const char* to_string(Result result) {
  switch (result) {
    case Result::decode_step:
      return "decode_step";
    case Result::prefill_time:
      return "prefill_time";
    case Result::output_cost:
      return "output_cost";
  }
  return "unknown";
}

/// Where it is asked: sequences and live context of a decode step; tokens of a prompt.
struct OperatingPoint {
  double batch = 1;    ///< > 0
  double context = 0;  ///< >= 0
  double prompt = 1;   ///< computed tokens, > 0
  double cached = 0;   ///< tokens in front of them that need no prefill
};

/// Factors on the parameters, 1 each for things as they are.
template <Scalar S>
using Factors = std::array<S, driver_count>;

namespace detail {

template <Scalar S>
[[nodiscard]] const S& factor(const Factors<S>& factors, Driver driver) {
  return factors[static_cast<std::size_t>(driver)];
}

/// The model at scaled rates, each multiplied by `fixed` as well.
template <Scalar S>
[[nodiscard]] StepModel<S> scaled_model(const StepModel<double>& model, const Factors<S>& factors) {
  const S& fixed = factor(factors, Driver::fixed_times);
  Machine<S> machine = widen<S>(model.machine);
  machine.memory_bandwidth *= factor(factors, Driver::memory_bandwidth) * fixed;
  for (S& peak : machine.peak) peak *= factor(factors, Driver::peak_compute) * fixed;
  machine.link_bandwidth *= factor(factors, Driver::link_bandwidth) * fixed;
  machine.network_bandwidth *= factor(factors, Driver::link_bandwidth) * fixed;
  return {model.operators,       machine, model.kernels, model.engine, model.local_runtime,
          model.async_scheduling};
}

template <Scalar S>
[[nodiscard]] S decode_seconds(const Replica& replica, const StepModel<S>& model,
                               StepLoad<S> load) {
  const S plain = step_time(model, load, replica.fidelity).total().base();
  if (replica.draft_tokens == 0) return plain;
  load.query_tokens = S(replica.draft_tokens + 1);
  return step_time(model, load, replica.fidelity).total().base() +
         plain * (replica.draft_tokens * replica.draft_cost);
}

}  // namespace detail

/// `result` at scaled parameters: seconds, or for a cost the seconds of paid time per output token
/// and unit of price (what it multiplies does not change elasticities).
template <Scalar S>
[[nodiscard]] S scaled_result(const Replica& replica, const OperatingPoint& at, Result result,
                              const Factors<S>& factors) {
  using detail::factor;
  const StepModel<S> model = detail::scaled_model(replica.model, factors);
  const S& fixed = factor(factors, Driver::fixed_times);
  const S& context = factor(factors, Driver::context);
  if (result == Result::prefill_time)
    return fixed * step_time(model,
                             prefill_load(S(1), S(at.prompt * context), S(at.cached * context)),
                             replica.fidelity)
                       .total()
                       .base();
  const S batch = at.batch * factor(factors, Driver::batch);
  const S step =
      fixed * detail::decode_seconds(replica, model, decode_load(batch, S(at.context * context)));
  if (result == Result::decode_step) return step;
  return step * factor(factors, Driver::price) /
         (batch * replica.tokens_per_step * factor(factors, Driver::utilization));
}

/// Percent of change of a result per percent of a parameter; `below` and `above` differ at a kink.
struct Elasticity {
  Driver driver = Driver::memory_bandwidth;
  double value = 0;
  double below = 0, above = 0;

  [[nodiscard]] bool kink() const { return std::abs(above - below) > 1e-6; }
};

/// Elasticities of `result` to every parameter, in the order of the enumeration. All 0 where the
/// result is 0.
[[nodiscard]] inline std::array<Elasticity, driver_count> elasticities(const Replica& replica,
                                                                       const OperatingPoint& at,
                                                                       Result result) {
  using D = Dual<driver_count>;
  const auto gradient = [&](std::size_t moved, double shift) {
    Factors<D> factors;
    for (std::size_t i = 0; i < driver_count; ++i)
      factors[i] = D::variable(i == moved ? 1 + shift : 1.0, i);
    const D value = scaled_result(replica, at, result, factors);
    std::array<double, driver_count> slopes{};
    for (std::size_t i = 0; i < driver_count; ++i)
      if (value.value > 0) slopes[i] = value.gradient[i] * factors[i].value / value.value;
    return slopes;
  };
  constexpr double aside = 1e-9;
  const auto here = gradient(0, 0);
  std::array<Elasticity, driver_count> all;
  for (std::size_t i = 0; i < driver_count; ++i)
    all[i] = {static_cast<Driver>(i), here[i], gradient(i, -aside)[i], gradient(i, aside)[i]};
  return all;
}

/// A line of a tornado table: what the result becomes, relative to now, when a parameter is divided
/// and multiplied by the same factor.
struct TornadoBar {
  Driver driver = Driver::memory_bandwidth;
  double lower = 1, higher = 1;  ///< result over the result as it is
  [[nodiscard]] double swing() const {
    return std::max({lower, higher, 1.0}) / std::min({lower, higher, 1.0});
  }
};

/// Bars for parameters moved by `factor` > 1 either way, widest first. Not linearised: each end is
/// an evaluation of its own.
[[nodiscard]] inline std::vector<TornadoBar> tornado(const Replica& replica,
                                                     const OperatingPoint& at, Result result,
                                                     double factor) {
  Factors<double> factors;
  factors.fill(1);
  const double now = scaled_result(replica, at, result, factors);
  std::vector<TornadoBar> bars;
  if (now <= 0) return bars;
  for (std::size_t i = 0; i < driver_count; ++i) {
    TornadoBar bar{static_cast<Driver>(i)};
    factors[i] = 1 / factor;
    bar.lower = scaled_result(replica, at, result, factors) / now;
    factors[i] = factor;
    bar.higher = scaled_result(replica, at, result, factors) / now;
    factors[i] = 1;
    bars.push_back(bar);
  }
  std::stable_sort(bars.begin(), bars.end(),
                   [](const TornadoBar& a, const TornadoBar& b) { return a.swing() > b.swing(); });
  return bars;
}

}  // namespace tokenroof
