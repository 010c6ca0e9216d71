// Time of one step in three fidelities over one operator list.
//
//   ideal       max((weights + cache) / bandwidth, sum of FLOPs / peak)     no activations, no
//   messages roofline    sum over operators of max(bytes / bandwidth, FLOPs / peak) + least message
//   volume calibrated  sum over operators of kernel time (kernels.hpp) + collectives + the engine's
//   own time
//
// ideal <= roofline <= calibrated for any load. No allocation; a dense model takes well under a
// microsecond. Sources: Williams et al. 2009 (roofline); docs/accuracy.md (calibration).
#pragma once

#include <utility>
#include <vector>

#include "tokenroof/core/error.hpp"
#include "tokenroof/core/scalar.hpp"
#include "tokenroof/core/units.hpp"
#include "tokenroof/describe/engine.hpp"
#include "tokenroof/describe/scenario.hpp"
#include "tokenroof/physics/kernels.hpp"
#include "tokenroof/physics/machine.hpp"
#include "tokenroof/physics/messages.hpp"
#include "tokenroof/physics/operators.hpp"
#include "tokenroof/physics/step_operators.hpp"

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

/// One line of a breakdown.
struct OperatorTime {
  OperatorKind kind;
  OperatorCost<double> cost;
  StepTime<double> time;
};

/// Everything that step times depend on, reduced once.
template <Scalar S = double>
struct StepModel {
  StepOperators operators;
  Machine<S> machine;
  KernelConstants kernels;
  EngineConstants engine;
};

namespace detail {

/// Gives the time of one operator to the resource that decides it.
template <Scalar S>
void attribute(StepTime<S>& step, const OperatorCost<S>& cost, const S& busy, const S& compute,
               const S& memory, const S& fixed) {
  step.latency += fixed;
  if (memory < compute) {
    step.compute += busy;
  } else if (cost.weight_bytes + cost.activation_bytes < cost.cache_bytes) {
    step.cache += busy;
  } else {
    step.weights += busy;
  }
}

template <Scalar S, class Op>
[[nodiscard]] S compute_seconds(const StepModel<S>& model, const Op& op,
                                const OperatorCost<S>& cost) {
  if constexpr (requires { op.multiply; }) {
    return cost.flops / model.machine.peak_of(op.multiply);
  } else {
    return cost.flops / model.machine.peak_of(model.machine.wide);
  }
}

/// The engine's own time on the host.
template <Scalar S>
[[nodiscard]] S host_seconds(const StepModel<S>& model, const StepLoad<S>& load) {
  const EngineConstants& e = model.engine;
  S time = S(e.step.base() + e.per_pipeline_hop.base() * (model.operators.stages - 1)) +
           (load.sequences + load.prompts) * e.per_sequence.base();
  if (value_of(load.prompts) > 0) time += e.per_prompt_step.base();
  return time;
}

/// Small kernels: their launches, and their passes over the rows in memory.
template <Scalar S>
void add_small_kernels(StepTime<S>& step, const StepModel<S>& model, const StepLoad<S>& rank) {
  const EngineConstants& e = model.engine;
  const StepOperators& all = model.operators;
  double launches = e.per_layer.base() * all.layers +
                    e.per_mixture_layer.base() * all.mixture_layers +
                    e.per_latent_layer.base() * all.latent_layers +
                    e.per_recurrent_layer.base() * all.recurrent_layers +
                    e.per_weight_only_layer.base() * all.weight_only_layers;
  launches *= model.machine.latency_factor;
  if (value_of(rank.prompts) > 0) launches += e.per_prompt_layer.base() * all.layers;
  step.latency += launches;
  step.weights += rank.tokens() *
                  (e.layer_passes * all.layers * all.hidden * all.activation_bytes) /
                  (model.machine.memory_bandwidth * model.kernels.weight_stream);
}

}  // namespace detail

/// `ideal` fidelity: see the header comment.
template <Scalar S>
[[nodiscard]] StepTime<S> ideal_step(const StepModel<S>& model, const StepLoad<S>& load) {
  const StepLoad<S> rank = rank_load(model.operators, load);
  S weights(0), cache(0), compute(0);
  for_each_operator(model.operators, [&](const auto& op) {
    if constexpr (!requires { op.bytes_per_row; }) {
      const OperatorCost<S> c = cost(model.operators, op, rank);
      weights += c.weight_bytes;
      cache += c.cache_bytes;
      compute += detail::compute_seconds(model, op, c);
    }
  });
  const S memory = (weights + cache) / model.machine.memory_bandwidth;
  StepTime<S> time;
  if (memory < compute) {
    time.compute = compute;
  } else {
    time.weights = weights / model.machine.memory_bandwidth;
    time.cache = cache / model.machine.memory_bandwidth;
  }
  return time;
}

/// `roofline` fidelity: see the header comment.
template <Scalar S>
[[nodiscard]] StepTime<S> roofline_step(const StepModel<S>& model, const StepLoad<S>& load) {
  const StepLoad<S> rank = rank_load(model.operators, load);
  StepTime<S> step;
  for_each_operator(model.operators, [&](const auto& op) {
    const OperatorCost<S> c = cost(model.operators, op, rank);
    if constexpr (requires { op.bytes_per_row; }) {
      step.network +=
          least_message_seconds(model.machine, op, rank) * (1 - model.engine.communication_overlap);
    } else {
      const S memory =
          (c.weight_bytes + c.cache_bytes + c.activation_bytes) / model.machine.memory_bandwidth;
      const S compute = detail::compute_seconds(model, op, c);
      detail::attribute(step, c, max(memory, compute), compute, memory, S(0));
    }
  });
  return step;
}

/// `calibrated` fidelity: see the header comment.
template <Scalar S>
[[nodiscard]] StepTime<S> calibrated_step(const StepModel<S>& model, const StepLoad<S>& load) {
  const StepLoad<S> rank = rank_load(model.operators, load);
  StepTime<S> step;
  if (value_of(rank.tokens()) <= 0) return step;
  const bool prompts = value_of(rank.prompts) > 0;
  const KernelContext<S> context{model.kernels, model.engine, model.machine,
                                 prompts ? model.engine.prompt_efficiency : 1.0};
  for_each_operator(model.operators, [&](const auto& op) {
    const OperatorCost<S> c = cost(model.operators, op, rank);
    if constexpr (requires { op.bytes_per_row; }) {
      const MessageTime<S> t = message_time(model.kernels, model.machine, op, rank);
      const double shown = 1 - model.engine.communication_overlap;
      const double own = op.kind == OperatorKind::all_reduce && op.ranks > 1
                             ? model.engine.per_all_reduce.base() * op.layers
                             : 0;
      step.network += t.transfer * shown;
      step.latency += (t.latency + own) * shown;
    } else {
      const KernelTime<S> t = kernel_time(context, model.operators, op, rank);
      detail::attribute(step, c, t.busy, t.compute, t.memory, t.fixed);
    }
  });
  detail::add_small_kernels(step, model, rank);
  if (model.operators.mixture_layers > 0) step *= model.engine.mixture_slowdown;
  step.latency += detail::host_seconds(model, load);
  return step;
}

/// The step in the asked fidelity.
template <Scalar S>
[[nodiscard]] StepTime<S> step_time(const StepModel<S>& model, const StepLoad<S>& load,
                                    Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::ideal:
      return ideal_step(model, load);
    case Fidelity::roofline:
      return roofline_step(model, load);
    case Fidelity::calibrated:
      break;
  }
  return calibrated_step(model, load);
}

}  // namespace tokenroof
