// Kernel time from shapes and datasheet rates, with constants that no engine and no GPU owns.
#pragma once

#include <cmath>

#include "tokenroof/core/scalar.hpp"
#include "tokenroof/describe/engine.hpp"
#include "tokenroof/physics/machine.hpp"
#include "tokenroof/physics/operators.hpp"

namespace tokenroof {

struct KernelConstants {
  double matmul_compute = 0.70;
  double matmul_memory = 0.75;
  double matmul_fixed = 4e-6;
  double attention_fixed = 5e-6;
  double experts_fixed = 15e-6;
  double message_latency = 5e-6;
  double link_share = 0.8;
};

template <Scalar S>
struct KernelTime {
  S busy = S(0), compute = S(0), memory = S(0), fixed = S(0);
};
template <Scalar S>
struct MessageTime {
  S transfer = S(0), latency = S(0);
};

template <Scalar S, class Op>
[[nodiscard]] KernelTime<S> kernel_time(const KernelConstants& k, const Machine<S>& machine,
                                        const StepOperators&, const Op& op, const StepLoad<S>&,
                                        const OperatorCost<S>& cost) {
  KernelTime<S> time;
  DataType type = DataType::bf16;
  if constexpr (requires { op.multiply; }) type = op.multiply;
  time.compute = cost.flops / (machine.peak_of(type) * k.matmul_compute);
  time.memory = (cost.weight_bytes + cost.cache_bytes + cost.activation_bytes) /
                (machine.memory_bandwidth * k.matmul_memory);
  time.busy = sqrt(time.compute * time.compute + time.memory * time.memory);
  double fixed = k.matmul_fixed;
  if constexpr (requires { op.cache_bytes_per_token; }) fixed = k.attention_fixed;
  if constexpr (requires { op.local_experts; }) fixed = k.experts_fixed;
  time.fixed = S(fixed * op.layers);
  return time;
}

template <Scalar S>
[[nodiscard]] double least_volume(const Machine<S>&, const Message& op) {
  if (op.ranks <= 1) return op.kind == OperatorKind::stage_transfer ? 1 : 0;
  const double n = op.ranks;
  if (op.kind == OperatorKind::all_reduce)
    return (n + 1) / n > 2 * (n - 1) / n ? 2 * (n - 1) / n : (n + 1) / n;
  if (op.kind == OperatorKind::stage_transfer) return 1;
  return (n - 1) / n;
}
template <Scalar S>
[[nodiscard]] S message_bandwidth(const Machine<S>& machine, const Message& op) {
  return op.ranks <= machine.domain ? machine.link_bandwidth : machine.network_bandwidth;
}
template <Scalar S>
[[nodiscard]] MessageTime<S> message_time(const KernelConstants& k, const Machine<S>& machine,
                                          const Message& op, const StepLoad<S>&,
                                          const OperatorCost<S>& cost) {
  MessageTime<S> time;
  time.transfer = cost.message_bytes * (2 * (op.ranks - 1) / op.ranks) /
                  (message_bandwidth(machine, op) * k.link_share);
  time.latency = S(op.ranks > 1 ? k.message_latency * op.layers : 0);
  return time;
}
template <Scalar S>
[[nodiscard]] S host_seconds(const EngineConstants& engine, const StepOperators& operators,
                             const StepLoad<S>& load) {
  return S(engine.step.base() + engine.per_layer.base() * operators.layers) +
         (load.sequences + load.prompts) * engine.per_sequence.base();
}

}  // namespace tokenroof
