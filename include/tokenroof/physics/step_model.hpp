// What a step's time is made of and what it depends on; the times themselves are in step.hpp.
#pragma once

#include <optional>
#include <utility>

#include "tokenroof/core/error.hpp"
#include "tokenroof/core/scalar.hpp"
#include "tokenroof/core/units.hpp"
#include "tokenroof/describe/engine_constants.hpp"
#include "tokenroof/describe/local_runtime.hpp"
#include "tokenroof/physics/kernel_constants.hpp"
#include "tokenroof/physics/machine.hpp"
#include "tokenroof/physics/operators.hpp"

namespace tokenroof {

/// A time and the resources it was spent on; the parts add up to the total.
template <Scalar S = double>
struct StepTime {
  S compute = S(0);
  S weights = S(0);  ///< memory traffic of weights and activations
  S cache = S(0);    ///< memory traffic of KV cache and state
  S network = S(0);
  S latency = S(0);  ///< fixed times: launches, host, synchronisation

  [[nodiscard]] With<Seconds, S> total() const {
    return With<Seconds, S>::from_base(compute + weights + cache + network + latency);
  }
  /// The resource with the largest part.
  [[nodiscard]] Bound bound() const {
    const std::pair<double, Bound> parts[] = {{value_of(weights), Bound::memory_bandwidth},
                                              {value_of(compute), Bound::compute},
                                              {value_of(cache), Bound::kv_cache},
                                              {value_of(network), Bound::network},
                                              {value_of(latency), Bound::latency}};
    auto best = parts[0];
    for (const auto& part : parts)
      if (part.first > best.first) best = part;
    return best.first > 0 ? best.second : Bound::none;
  }
  StepTime& operator+=(const StepTime& other) {
    compute += other.compute;
    weights += other.weights;
    cache += other.cache;
    network += other.network;
    latency += other.latency;
    return *this;
  }
  StepTime& operator*=(double factor) {
    compute *= factor;
    weights *= factor;
    cache *= factor;
    network *= factor;
    latency *= factor;
    return *this;
  }
};

/// Everything that step times depend on, reduced once.
template <Scalar S = double>
struct StepModel {
  StepOperators operators;
  Machine<S> machine;
  KernelConstants kernels;
  EngineConstants engine;
  std::optional<LocalRuntimeConstants> local_runtime{};  ///< set: calibrated steps are of its kind
  bool async_scheduling = false;  ///< the host prepares the next step while the device runs one
};

namespace detail {

/// Time of an operator given to the resource that decides it.
template <Scalar S>
[[nodiscard]] StepTime<S> attributed(const OperatorCost<S>& cost, const S& busy, const S& compute,
                                     const S& memory, const S& fixed) {
  StepTime<S> time;
  time.latency = fixed;
  if (memory < compute) {
    time.compute = busy;
  } else if (cost.weight_bytes + cost.activation_bytes < cost.cache_bytes) {
    time.cache = busy;
  } else {
    time.weights = busy;
  }
  return time;
}

/// FLOPs at the datasheet peak of their type; recurrent cores use the widest 16-bit units.
template <Scalar S, class Op>
[[nodiscard]] S compute_seconds(const StepModel<S>& model, const Op& op,
                                const OperatorCost<S>& cost) {
  if constexpr (requires { op.multiply; }) {
    return cost.flops / model.machine.peak_of(op.multiply);
  } else {
    return cost.flops / model.machine.peak_of(model.machine.wide);
  }
}

template <class Op>
inline constexpr bool is_message = requires(const Op& op) {
  op.bytes_per_row;
};
template <class Op>
[[nodiscard]] OperatorKind kind_of(const Op& op) {
  if constexpr (requires { op.kind; }) {
    return op.kind;
  } else if constexpr (requires { op.local_experts; }) {
    return OperatorKind::routed_experts;
  } else {
    return OperatorKind::recurrent_core;
  }
}

}  // namespace detail

}  // namespace tokenroof
