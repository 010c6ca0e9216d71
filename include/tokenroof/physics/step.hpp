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

/// Everything that step times depend on, reduced once.
template <Scalar S = double>
struct StepModel {
  StepOperators operators;
  Machine<S> machine;
  KernelConstants kernels;
  EngineConstants engine;
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

template <Scalar S, class Op>
[[nodiscard]] StepTime<S> roofline_part(const StepModel<S>& model, const Op& op,
                                        const StepLoad<S>& rank, const OperatorCost<S>& c) {
  if constexpr (is_message<Op>) {
    StepTime<S> time;
    time.network =
        least_message_seconds(model.machine, op, rank) * (1 - model.engine.communication_overlap);
    return time;
  } else {
    const S memory =
        (c.weight_bytes + c.cache_bytes + c.activation_bytes) / model.machine.memory_bandwidth;
    const S compute = compute_seconds(model, op, c);
    return attributed(c, max(memory, compute), compute, memory, S(0));
  }
}

template <Scalar S, class Op>
[[nodiscard]] StepTime<S> calibrated_part(const KernelContext<S>& context,
                                          const StepModel<S>& model, const Op& op,
                                          const StepLoad<S>& rank, const OperatorCost<S>& c) {
  if constexpr (is_message<Op>) {
    const MessageTime<S> t = message_time(model.kernels, model.machine, op, rank);
    const double shown = 1 - model.engine.communication_overlap;
    const double own = op.kind == OperatorKind::all_reduce && op.ranks > 1
                           ? model.engine.per_all_reduce.base() * op.layers
                           : 0;
    StepTime<S> time;
    time.network = t.transfer * shown;
    time.latency = (t.latency + own) * shown;
    return time;
  } else {
    const KernelTime<S> t = kernel_time(context, model.operators, op, rank);
    return attributed(c, t.busy, t.compute, t.memory, t.fixed);
  }
}

/// The engine's own time on the host.
template <Scalar S>
[[nodiscard]] StepTime<S> host_part(const StepModel<S>& model, const StepLoad<S>& load) {
  const EngineConstants& e = model.engine;
  StepTime<S> time;
  time.latency = S(e.step.base() + e.per_pipeline_hop.base() * (model.operators.stages - 1)) +
                 (load.sequences + load.prompts) * e.per_sequence.base();
  if (value_of(load.prompts) > 0) time.latency += e.per_prompt_step.base();
  return time;
}

/// Small kernels: their launches, and their passes over the rows in memory.
template <Scalar S>
[[nodiscard]] StepTime<S> small_kernels_part(const StepModel<S>& model, const StepLoad<S>& rank) {
  const EngineConstants& e = model.engine;
  const StepOperators& all = model.operators;
  double launches = e.per_layer.base() * all.layers +
                    e.per_mixture_layer.base() * all.mixture_layers +
                    e.per_latent_layer.base() * all.latent_layers +
                    e.per_recurrent_layer.base() * all.recurrent_layers +
                    e.per_weight_only_layer.base() * all.weight_only_layers;
  launches *= model.machine.latency_factor;
  if (value_of(rank.prompts) > 0) launches += e.per_prompt_layer.base() * all.layers;
  StepTime<S> time;
  time.latency = S(launches);
  time.weights = rank.tokens() * (e.layer_passes * all.layers * all.hidden * all.activation_bytes) /
                 (model.machine.memory_bandwidth * model.kernels.weight_stream);
  return time;
}

}  // namespace detail

/// Calls `visit(kind, cost, time)` for every part of a `roofline` step; the times add up to it.
template <Scalar S, class Visit>
void visit_roofline(const StepModel<S>& model, const StepLoad<S>& load, Visit visit) {
  const StepLoad<S> rank = rank_load(model.operators, load);
  for_each_operator(model.operators, [&](const auto& op) {
    const OperatorCost<S> c = cost(model.operators, op, rank);
    visit(detail::kind_of(op), c, detail::roofline_part(model, op, rank, c));
  });
}

/// The same for a `calibrated` step: operators, small kernels, host.
template <Scalar S, class Visit>
void visit_calibrated(const StepModel<S>& model, const StepLoad<S>& load, Visit visit) {
  const StepLoad<S> rank = rank_load(model.operators, load);
  if (value_of(rank.tokens()) <= 0) return;
  const bool prompts = value_of(rank.prompts) > 0;
  const KernelContext<S> context{model.kernels, model.engine, model.machine,
                                 prompts ? model.engine.prompt_efficiency : 1.0};
  const double slowdown = model.operators.mixture_layers > 0 ? model.engine.mixture_slowdown : 1;
  for_each_operator(model.operators, [&](const auto& op) {
    const OperatorCost<S> c = cost(model.operators, op, rank);
    StepTime<S> time = detail::calibrated_part(context, model, op, rank, c);
    time *= slowdown;
    visit(detail::kind_of(op), c, time);
  });
  StepTime<S> small = detail::small_kernels_part(model, rank);
  small *= slowdown;
  visit(OperatorKind::small_kernels, OperatorCost<S>{}, small);
  visit(OperatorKind::host, OperatorCost<S>{}, detail::host_part(model, load));
}

/// The same for an `ideal` step: each operator's share of the resource that decides the whole.
template <Scalar S, class Visit>
void visit_ideal(const StepModel<S>& model, const StepLoad<S>& load, Visit visit) {
  const StepLoad<S> rank = rank_load(model.operators, load);
  S bytes(0), compute(0);
  const auto each = [&](auto use) {
    for_each_operator(model.operators, [&](const auto& op) {
      if constexpr (!detail::is_message<std::remove_cvref_t<decltype(op)>>) {
        const OperatorCost<S> c = cost(model.operators, op, rank);
        use(op, c, detail::compute_seconds(model, op, c));
      }
    });
  };
  each([&](const auto&, const OperatorCost<S>& c, const S& seconds) {
    bytes += c.weight_bytes + c.cache_bytes;
    compute += seconds;
  });
  const S& bandwidth = model.machine.memory_bandwidth;
  const bool compute_bound = bytes / bandwidth < compute;
  each([&](const auto& op, const OperatorCost<S>& c, const S& seconds) {
    StepTime<S> time;
    if (compute_bound) {
      time.compute = seconds;
    } else {
      time.weights = c.weight_bytes / bandwidth;
      time.cache = c.cache_bytes / bandwidth;
    }
    visit(detail::kind_of(op), c, time);
  });
}

/// Visits the step in the asked fidelity.
template <Scalar S, class Visit>
void visit_step(const StepModel<S>& model, const StepLoad<S>& load, Fidelity fidelity,
                Visit visit) {
  if (fidelity == Fidelity::ideal) return visit_ideal(model, load, visit);
  if (fidelity == Fidelity::roofline) return visit_roofline(model, load, visit);
  visit_calibrated(model, load, visit);
}

/// A step of the replica under `load`: times by resource, which add up.
template <Scalar S>
[[nodiscard]] StepTime<S> step_time(const StepModel<S>& model, const StepLoad<S>& load,
                                    Fidelity fidelity) {
  StepTime<S> step;
  visit_step(model, load, fidelity,
             [&](OperatorKind, const OperatorCost<S>&, const StepTime<S>& part) { step += part; });
  return step;
}
template <Scalar S>
[[nodiscard]] StepTime<S> ideal_step(const StepModel<S>& model, const StepLoad<S>& load) {
  return step_time(model, load, Fidelity::ideal);
}
template <Scalar S>
[[nodiscard]] StepTime<S> roofline_step(const StepModel<S>& model, const StepLoad<S>& load) {
  return step_time(model, load, Fidelity::roofline);
}
template <Scalar S>
[[nodiscard]] StepTime<S> calibrated_step(const StepModel<S>& model, const StepLoad<S>& load) {
  return step_time(model, load, Fidelity::calibrated);
}

}  // namespace tokenroof
