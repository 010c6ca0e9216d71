// Calibrated steps of a local runtime (llama.cpp): layers split over devices, one kernel after the
// other, attention and elementwise work unfused. Reads the same operators as every other step.
//
//   stream     b = (( share BW)^-4 + ceiling^-4)^(-1/4)           what its kernels draw
//   multiply   sqrt((FLOPs / rate)^2 + (weights / b)^2 + (unpacking / peak)^2)
//   decode     multiplies + passes x cache / b + layers x launches + hops + host
//   prompt     micro-batches of 512 tokens, one after the other; weights narrower than 16 bits are
//              expanded in memory once per micro-batch where tensor units multiply them
//   scores     score bytes x heads x queries x keys / b, masked pairs included
//   others     elementwise bytes (100 hidden + 44 width) per token and layer
//
// `rate` is the FP16 rate with FP16 accumulation, half the 8-bit integer rate (GeForce: twice the
// rate with FP32 accumulation). Forms and constants: llama-bench runs of 20 devices
// (docs/accuracy.md). Symbols: docs/formulas.md#local-runtime.
#pragma once

#include <algorithm>
#include <cmath>

#include "tokenroof/core/scalar.hpp"
#include "tokenroof/core/units.hpp"
#include "tokenroof/physics/messages.hpp"
#include "tokenroof/physics/operators.hpp"
#include "tokenroof/physics/step_model.hpp"

namespace tokenroof {

/// Tokens that a local runtime computes at once.
inline constexpr double micro_batch_tokens = 512;
/// Kernels that wait in a device's queue before the host blocks.
inline constexpr double launch_queue = 1024;

/// `machine` with FP16 products summed in FP16: what a local runtime multiplies with. All three
/// fidelities of such an engine read these peaks.
template <Scalar S>
[[nodiscard]] Machine<S> with_fp16_accumulation(Machine<S> machine) {
  S& fp16 = machine.peak[static_cast<std::size_t>(DataType::fp16)];
  fp16 = max(fp16, 0.5 * machine.peak_of(DataType::int8));
  return machine;
}

namespace detail {

/// One forward pass after another over the same load.
template <Scalar S>
class LocalForward {
 public:
  LocalForward(const StepModel<S>& model, const StepLoad<S>& load)
      : model_(model), c_(*model.local_runtime), load_(load), micro_(load) {
    load_.group_tokens = micro_.group_tokens = load.tokens();
    const Machine<S>& machine = model.machine;
    const S share = machine.memory_bandwidth * c_.weight_stream;
    const S ratio = share / c_.stream_ceiling;
    stream_ = share / sqrt(sqrt(1.0 + ratio * ratio * ratio * ratio));
    const S tokens = load.prompts * load.prompt_tokens;
    prompt_ = value_of(load.prompts) > 0;
    if (!prompt_) return;
    passes_ = max(S(1), tokens * (1 / micro_batch_tokens));
    micro_.prompt_tokens = min(load.prompt_tokens, S(micro_batch_tokens));
    micro_.prompts = tokens / (passes_ * micro_.prompt_tokens);
    micro_.prefix_tokens += 0.5 * (load.prompt_tokens - micro_.prompt_tokens);  // the mean one's
    micro_.group_tokens = micro_.tokens();
  }

  template <class Visit>
  void visit(Visit visit) const {
    S moved(0);  // activations that operators must move anyway
    double inner = 0, quantized = 0;
    for_each_operator(model_.operators, [&](const auto& op) {
      const OperatorCost<S> c = cost(model_.operators, op, load_);
      moved += c.activation_bytes;
      inner += inner_width(op);
      if constexpr (requires { op.bytes_per_weight; })
        if (is_narrow(op)) quantized = 1;
      visit(kind_of(op), c, part(op, c));
    });
    const StepOperators& all = model_.operators;
    const S elementwise = micro_.tokens() * passes_ * (100 * all.hidden * all.layers + 44 * inner);
    StepTime<S> small;
    small.weights = max(elementwise * c_.elementwise_passes, moved) / stream_;
    const double split = all.stages > 1 ? c_.per_split_layer.base() : 0;
    small.latency =
        prompt_ ? passes_ * (c_.per_prompt_layer.base() * all.layers)
                : S((c_.per_layer.base() + split + quantized * c_.per_quantized_layer.base()) *
                    all.layers);
    visit(OperatorKind::small_kernels, OperatorCost<S>{}, small);
    StepTime<S> host;
    host.latency = passes_ * c_.step.base();
    visit(OperatorKind::host, OperatorCost<S>{}, host);
  }

  /// Prompts on all devices of a split model. While one device works on a micro-batch the next one
  /// already works on the one before, as far as the launches of the waiting micro-batches fit into
  /// the queue of a device: w = queue x devices / launches of a micro-batch,
  ///   period = max((devices + [w] - w) / ([w] + 1), devices / 4, 1)      of a device's share
  ///   time = share x (devices + (micro-batches - 1) x period) + hops of one micro-batch
  /// (four copies of the graph are kept).
  template <class Visit>
  void visit_overlapped(Visit visit) const {
    const double devices = model_.operators.stages;
    if (devices <= 1) return this->visit(visit);
    double narrow = 0;
    for_each_operator(model_.operators, [&](const auto& op) {
      if constexpr (requires { op.bytes_per_weight; })
        if (is_narrow(op) && model_.machine.tensor_units) narrow = 1;
    });
    const double launches = (c_.launches_per_layer + narrow * c_.launches_per_quantized_layer) *
                            model_.operators.layers;
    double period = std::max(1.0, devices / 4);
    if (const double waiting = launch_queue * devices / launches; waiting < 1e6)
      period =
          std::max(period, (devices + std::floor(waiting) - waiting) / (std::floor(waiting) + 1));
    const S shown = (devices + (passes_ - 1.0) * period) / (passes_ * devices);
    const S hop = 1.0 / min(passes_, S(devices));
    this->visit([&](OperatorKind kind, const OperatorCost<S>& cost, StepTime<S> time) {
      const bool hops = kind == OperatorKind::stage_transfer;
      for (S StepTime<S>::*part : {&StepTime<S>::compute, &StepTime<S>::weights,
                                   &StepTime<S>::cache, &StepTime<S>::network})
        time.*part *= hops ? hop : shown;
      time.latency *= hops ? 1.0 / passes_ : shown;
      visit(kind, cost, time);
    });
  }

 private:
  template <class Op>
  [[nodiscard]] static bool is_narrow(const Op& op) {
    return op.bytes_per_weight < 2;
  }

  /// Columns of activations between the two multiplies of a feed-forward, over all layers.
  template <class Op>
  [[nodiscard]] static double inner_width(const Op& op) {
    if constexpr (requires { op.local_experts; }) return op.top_k * op.width * op.layers;
    if constexpr (requires {
                    op.logit_rows;
                    op.k;
                  })
      if (op.kind == OperatorKind::down) return op.k * op.layers;
    return 0;
  }

  [[nodiscard]] S rate_of(DataType type) const {
    const Machine<S>& machine = model_.machine;
    const S& own = machine.peak_of(type);
    const S& fp16 = machine.peak_of(DataType::fp16);
    return (value_of(fp16) > 0 ? min(own, fp16) : own) *
           (machine.tensor_units ? c_.tensor_compute : c_.vector_compute);
  }

  /// Multiplies by weights.
  template <class Op>
  [[nodiscard]] StepTime<S> product(const Op& op, const OperatorCost<S>& c, const S& passes) const {
    if (!(value_of(c.flops) > 0)) return {};
    const S weights = passes * c.weight_bytes * (1 / op.bytes_per_weight);
    const bool narrow = is_narrow(op);
    const bool expanded = narrow && prompt_ && model_.machine.tensor_units;
    const S memory = weights * (expanded ? 2.0 : op.bytes_per_weight) / stream_;
    const S compute = passes * c.flops / rate_of(op.multiply);
    S unpack(0);
    if (narrow && !prompt_ && !model_.machine.tensor_units)
      unpack = weights * c_.unpack_flops / model_.machine.peak_of(op.multiply);
    S busy = sqrt(compute * compute + memory * memory + unpack * unpack);
    if (expanded) busy += weights * (op.bytes_per_weight + 2) / stream_;
    return attributed(c, busy, max(compute, unpack), memory, S(0));
  }

  [[nodiscard]] StepTime<S> part(const Matmul& op, const OperatorCost<S>& c) const {
    if (op.logit_rows) return product(op, c, S(1));
    return product(op, cost(model_.operators, op, micro_), passes_);
  }
  [[nodiscard]] StepTime<S> part(const Experts& op, const OperatorCost<S>&) const {
    return product(op, cost(model_.operators, op, micro_), passes_);
  }
  [[nodiscard]] StepTime<S> part(const AttentionCore& op, const OperatorCost<S>& c) const {
    StepTime<S> time;
    if (!prompt_) {
      time.compute = c.flops / rate_of(op.multiply);
      time.cache = c.cache_bytes * c_.cache_passes / stream_;
      return time;
    }
    // Every query of a micro-batch meets every key so far; what it may not see is masked later.
    const S pairs = passes_ * micro_.prompts * micro_.prompt_tokens *
                    visible_tokens(op, micro_.prefix_tokens + micro_.prompt_tokens) * op.layers;
    const double pair_flops = 2 * op.query_heads * (op.prefill_score_dim + op.prefill_value_dim);
    time.compute = max(c.flops, pairs * pair_flops) / rate_of(op.multiply);
    time.cache = c.cache_bytes / stream_;
    time.weights = pairs * (c_.score_bytes * op.query_heads) / stream_;
    return time;
  }
  [[nodiscard]] StepTime<S> part(const RecurrentCore&, const OperatorCost<S>& c) const {
    StepTime<S> time;
    time.compute = c.flops / rate_of(model_.machine.wide);
    time.cache = c.cache_bytes / stream_;
    return time;
  }
  [[nodiscard]] StepTime<S> part(const Message& op, const OperatorCost<S>&) const {
    StepTime<S> time;
    time.network = least_message_seconds(model_.machine, op, load_);
    time.latency = passes_ * (c_.per_device_hop.base() * op.layers);
    return time;
  }

  const StepModel<S>& model_;
  const LocalRuntimeConstants& c_;
  StepLoad<S> load_;   ///< everything
  StepLoad<S> micro_;  ///< of one pass
  S passes_ = S(1);
  S stream_ = S(0);
  bool prompt_ = false;
};

}  // namespace detail

/// Calls `visit(kind, cost, time)` for every part of a local runtime's step; the times add up to
/// it. `model.local_runtime` must be set. Decoding sequences and prompts run one after the other,
/// and so do the devices of a split model in decode; in prompts they overlap as
/// detail::LocalForward::visit_overlapped says.
template <Scalar S, class Visit>
void visit_local_runtime(const StepModel<S>& model, StepLoad<S> load, Visit visit) {
  StepLoad<S> prompts = load;
  prompts.sequences = S(0);
  load.prompts = S(0);
  if (value_of(load.sequences) > 0) detail::LocalForward<S>(model, load).visit(visit);
  if (value_of(prompts.prompts) > 0)
    detail::LocalForward<S>(model, prompts).visit_overlapped(visit);
}

}  // namespace tokenroof
