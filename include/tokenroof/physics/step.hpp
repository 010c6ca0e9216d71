// Time of one step in three fidelities over one operator list.
//
//   ideal       max((weights + cache) / bandwidth, sum of FLOPs / peak)
//   roofline    sum of each operator's max(bytes / bandwidth, FLOPs / peak) and messages
//   calibrated  sum of kernel times (kernels.hpp), collectives and the engine's own time
//
// `ideal` leaves out activations and messages; `roofline` takes the least message volume.
// ideal <= roofline <= calibrated for any load. No allocation; a dense model takes well under a
// microsecond. Sources: Williams et al. 2009 (roofline); docs/accuracy.md (calibration).
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "tokenroof/core/error.hpp"
#include "tokenroof/core/scalar.hpp"
#include "tokenroof/core/units.hpp"
#include "tokenroof/describe/engine.hpp"
#include "tokenroof/describe/scenario.hpp"
#include "tokenroof/physics/kernels.hpp"
#include "tokenroof/physics/local_runtime.hpp"
#include "tokenroof/physics/machine.hpp"
#include "tokenroof/physics/messages.hpp"
#include "tokenroof/physics/operators.hpp"
#include "tokenroof/physics/step_model.hpp"
#include "tokenroof/physics/step_operators.hpp"

namespace tokenroof {

namespace detail {

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
    const EngineConstants& e = model.engine;
    const MessageTime<S> t = message_time(model.kernels, model.machine, op, rank, e.bus_sharing);
    const double shown = 1 - e.communication_overlap;
    double own = 0;
    if (op.kind == OperatorKind::all_reduce && op.ranks > 1)
      own = op.layers * (model.machine.host_bus ? e.per_bus_all_reduce.base() * std::log2(op.ranks)
                                                : e.per_all_reduce.base());
    StepTime<S> time;
    time.network = t.transfer * shown;
    time.latency = (t.latency + own) * shown;
    return time;
  } else {
    const KernelTime<S> t = kernel_time(context, model.operators, op, rank);
    return attributed(c, t.busy, t.compute, t.memory, t.fixed);
  }
}

/// The engine's own time on the host. Every attention rank has a scheduler for its sequences.
template <Scalar S>
[[nodiscard]] StepTime<S> host_part(const StepModel<S>& model, const StepLoad<S>& load) {
  const EngineConstants& e = model.engine;
  StepTime<S> time;
  time.latency =
      S(e.step.base() + e.per_pipeline_hop.base() * (model.operators.stages - 1)) +
      (load.sequences + load.prompts) * (e.per_sequence.base() / model.operators.attention_ranks);
  if (value_of(load.prompts) > 0) time.latency += e.per_prompt_step.base();
  return time;
}

/// By how much a decode step's launches exceed `device` seconds, beyond the contexts that run from
/// captured graphs.
template <Scalar S>
[[nodiscard]] S launches_beyond(const StepModel<S>& model, const StepLoad<S>& load,
                                const S& device) {
  const EngineConstants& e = model.engine;
  const bool eager = e.graph_context > 0 && value_of(load.sequences) > 0 &&
                     value_of(load.context) > e.graph_context;
  return eager ? max(S(0), e.per_eager_layer.base() * model.operators.layers - device) : S(0);
}

/// Small kernels: their launches, and their passes over the rows in memory.
template <Scalar S>
[[nodiscard]] StepTime<S> small_kernels_part(const StepModel<S>& model, const StepLoad<S>& rank) {
  const EngineConstants& e = model.engine;
  const StepOperators& all = model.operators;
  // Selecting the top k of an indexer takes about as many small kernels as three layers do.
  const bool four_bit = std::any_of(all.experts.begin(), all.experts.end(),
                                    [](const Experts& op) { return op.multiply == DataType::fp4; });
  double launches =
      e.per_layer.base() * (all.layers + 3 * all.index_layers) +
      (four_bit ? e.four_bit_launches : 1) * (e.per_mixture_layer.base() * all.mixture_layers +
                                              e.per_latent_layer.base() * all.latent_layers) +
      e.per_recurrent_layer.base() * all.recurrent_layers +
      e.per_weight_only_layer.base() * all.weight_only_layers;
  launches *= model.machine.latency_factor;
  StepTime<S> time;
  time.latency = S(launches);
  // Captured graphs hold steps of up to some hundred tokens; beyond, a prompt's launches show.
  constexpr double graph_tokens = 512;
  if (value_of(rank.prompts) > 0)
    time.latency +=
        min(S(1), rank.tokens() * (1 / graph_tokens)) * (e.per_prompt_layer.base() * all.layers);
  time.weights = rank.tokens() * (e.layer_passes * all.layers * all.hidden * all.activation_bytes) /
                 (model.machine.memory_bandwidth * model.kernels.weight_stream);
  return time;
}

}  // namespace detail

namespace detail {

/// The load as a bound sees it: micro-batches of a local runtime's prompt fill all devices at best.
template <Scalar S>
[[nodiscard]] StepLoad<S> bound_load(const StepModel<S>& model, const StepLoad<S>& load) {
  StepLoad<S> rank = rank_load(model.operators, load);
  if (!model.local_runtime || value_of(load.prompts) <= 0) return rank;
  rank.prompts = load.prompts * (1 / model.operators.stages);
  rank.group_tokens = rank.tokens();
  return rank;
}

}  // namespace detail

/// Calls `visit(kind, cost, time)` for every part of a `roofline` step; the times add up to it.
template <Scalar S, class Visit>
void visit_roofline(const StepModel<S>& model, const StepLoad<S>& load, Visit visit) {
  const StepLoad<S> rank = detail::bound_load(model, load);
  for_each_operator(model.operators, [&](const auto& op) {
    const OperatorCost<S> c = cost(model.operators, op, rank);
    visit(detail::kind_of(op), c, detail::roofline_part(model, op, rank, c));
  });
}

/// The same for a `calibrated` step: operators, small kernels, host.
template <Scalar S, class Visit>
void visit_calibrated(const StepModel<S>& model, const StepLoad<S>& load, Visit visit) {
  if (model.local_runtime) return visit_local_runtime(model, load, visit);
  const StepLoad<S> rank = rank_load(model.operators, load);
  if (value_of(rank.tokens()) <= 0) return;
  const bool prompts = value_of(rank.prompts) > 0;
  const KernelContext<S> context{model.kernels, model.engine, model.machine,
                                 prompts ? model.engine.prompt_efficiency : 1.0};
  // The slow kernels are those of experts on one attention rank; spread ones have others.
  const bool slow = model.operators.mixture_layers > 0 && model.operators.attention_ranks == 1;
  const double slowdown = slow ? model.engine.mixture_slowdown : 1;
  S device(0);
  for_each_operator(model.operators, [&](const auto& op) {
    const OperatorCost<S> c = cost(model.operators, op, rank);
    StepTime<S> time = detail::calibrated_part(context, model, op, rank, c);
    time *= slowdown;
    device += time.total().base();
    visit(detail::kind_of(op), c, time);
  });
  StepTime<S> small = detail::small_kernels_part(model, rank);
  small *= slowdown;
  visit(OperatorKind::small_kernels, OperatorCost<S>{}, small);
  device += small.total().base();
  StepTime<S> host = detail::host_part(model, load);
  if (model.async_scheduling) host.latency = max(S(0), host.latency - device);
  host.latency += detail::launches_beyond(model, load, device);
  visit(OperatorKind::host, OperatorCost<S>{}, host);
}

/// The same for an `ideal` step: each operator's share of the resource that decides the whole.
template <Scalar S, class Visit>
void visit_ideal(const StepModel<S>& model, const StepLoad<S>& load, Visit visit) {
  const StepLoad<S> rank = detail::bound_load(model, load);
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

/// Everything about steps of `model` under `engine`, reduced once. The layout must be valid.
[[nodiscard]] inline StepModel<double> step_model(const Model& model, const Accelerator& device,
                                                  const Engine& engine, const Precision& precision,
                                                  const Deployment& deployment,
                                                  const KernelConstants& kernels = {}) {
  StepModel<double> step{step_operators(model, device, precision, deployment),
                         machine_of(device, deployment), kernels, engine.constants,
                         engine.local_runtime};
  // Stages of a pipeline hold several steps at once; engines schedule those one by one.
  step.async_scheduling = engine.async_scheduling && deployment.pipeline_parallel == 1 &&
                          !engine.local_runtime.has_value();
  if (engine.local_runtime) step.machine = with_fp16_accumulation(step.machine);
  return step;
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
