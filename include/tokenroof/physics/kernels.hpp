// Time of one kernel from its shape and datasheet rates, with the constants of
// kernel_constants.hpp.
//
//   time = fixed + sqrt(compute^2 + memory^2 + ...)        smooth maximum, p = 2
//
// Forms and constants were learned from measured kernels of five GPUs (docs/accuracy.md). The
// latency factor (5 TFLOP/s per processor over what the device has)^(1/4) scales fixed times:
// devices with faster processors also start kernels faster. No kernel beats its datasheet roofline.
#pragma once

#include <algorithm>

#include "tokenroof/core/scalar.hpp"
#include "tokenroof/describe/engine_constants.hpp"
#include "tokenroof/physics/kernel_constants.hpp"
#include "tokenroof/physics/machine.hpp"
#include "tokenroof/physics/operators.hpp"

namespace tokenroof {

/// A kernel's time in parts, all its layers together.
template <Scalar S = double>
struct KernelTime {
  S busy = S(0);     ///< smooth maximum of compute and memory, and what adds to it
  S compute = S(0);  ///< arithmetic alone, at its efficiency
  S memory = S(0);   ///< traffic alone, at its efficiency
  S fixed = S(0);    ///< whatever the size
};

/// What a kernel's time depends on beside its shape and load.
template <Scalar S = double>
struct KernelContext {
  const KernelConstants& constants;
  const EngineConstants& engine;
  const Machine<S>& machine;
  double compute = 1;  ///< compute rate over the kernels' own: steps with prompts run slower
};

namespace kernel {

inline constexpr double reuse_block = 2048;  ///< operands are read again once per so many columns
inline constexpr double loop_half = 1536;    ///< reduction length of half the loop latency
inline constexpr double tile = 64;           ///< attention works on tile x tile scores
inline constexpr double softmax_width = 32;  ///< head size that costs what the softmax costs
inline constexpr double expert_rows = 16;    ///< rows an expert's multiply is padded to

/// FLOP/s of a dense multiply. `unpacked`: 4-bit weights, 16-bit multiply.
template <Scalar S>
[[nodiscard]] S matmul_rate(const KernelContext<S>& context, DataType type, bool unpacked) {
  const KernelConstants& c = context.constants;
  const bool wide = type != DataType::fp8 && type != DataType::int8 && type != DataType::fp4 &&
                    type != DataType::int4;
  const double share = wide ? c.matmul_compute_16bit : c.matmul_compute_8bit;
  const S rate = context.machine.peak_of(type) * (share * context.compute);
  return unpacked ? min(rate, S(c.unpack_flops * context.machine.processors)) : rate;
}

/// One dense multiply: `rows` x k times k x n. Operands are read again once per block of columns or
/// rows; a long reduction has a latency of its own. `quantize` in [0, 1]: share of the separate
/// quantisation kernel that shows (engines fuse it, or use static scales).
template <Scalar S>
[[nodiscard]] KernelTime<S> matmul(const KernelContext<S>& context, const Matmul& op, const S& rows,
                                   double quantize) {
  const KernelConstants& c = context.constants;
  const Machine<S>& machine = context.machine;
  KernelTime<S> time;
  const double f = machine.latency_factor;
  const S bytes = rows * (op.input_bytes * op.k * std::max(1.0, op.n / reuse_block) + 2 * op.n) +
                  max(S(1), rows * (1 / reuse_block)) * (op.bytes_per_weight * op.n * op.k);
  time.compute = rows * (2 * op.n * op.k) / matmul_rate(context, op.multiply, op.unpacked());
  time.memory =
      bytes / (machine.memory_bandwidth * (c.weight_stream * context.engine.weight_stream));
  const double loop = op.beside ? 0 : c.matmul_loop_s * f * op.k / (op.k + loop_half);
  time.busy = sqrt(time.compute * time.compute + time.memory * time.memory + loop * loop);
  time.fixed = S(op.beside ? 0 : c.matmul_fixed_s * f);
  if (op.dynamic_scales && quantize > 0 && !op.beside) {
    const double columns = op.multiply == DataType::fp4 ? 8 : 2;
    const double row = quantize * c.quantize_element_s * (op.k + 4000);
    time.fixed += row;
    time.busy += rows * (row / (columns * machine.processors));
  }
  return time;
}

/// One layer of attention: `sequences` with `queries` new tokens each, `tiles` score tiles per
/// processor, `items` work items, `seen` cached tokens read per sequence, `context` visible.
template <Scalar S>
struct AttentionShape {
  S sequences, queries, items, tiles, seen, context;
  double score_dim, value_dim, query_heads, kv_heads;
};

template <Scalar S>
[[nodiscard]] KernelTime<S> attention(const KernelContext<S>& context, const AttentionCore& op,
                                      const AttentionShape<S>& shape, double rate) {
  const KernelConstants& c = context.constants;
  const Machine<S>& machine = context.machine;
  KernelTime<S> time;
  const double f = std::min(1.0, machine.latency_factor);
  const double width = shape.score_dim + shape.value_dim;
  const S stream = machine.memory_bandwidth * c.attention_stream;
  const S rows = shape.sequences * shape.queries;
  time.compute = shape.tiles * (2 * tile * tile * (width + 2 * softmax_width)) /
                 (machine.peak_of(op.multiply) * (c.attention_compute * rate / machine.processors));
  time.memory = (rows * (2 * shape.query_heads * width) +
                 shape.sequences * shape.seen * op.cache_bytes_per_token) /
                stream;
  const S item =
      shape.items * (c.attention_item_s * f / machine.processors * (0.5 * width + 64) / 192);
  time.busy = sqrt(time.compute * time.compute + time.memory * time.memory + item * item);
  const double written = op.cache_bytes_per_token + 2 * shape.kv_heads * width;
  time.busy +=
      rows * (written / stream + c.attention_write_s * f * shape.kv_heads / machine.processors);
  const double small = op.small_cache ? c.attention_fixed_8bit_s : 0;
  time.fixed = f * (c.attention_fixed_s + small +
                    c.attention_context_s * (shape.context / (shape.context + 256.0)));
  return time;
}

template <Scalar S>
[[nodiscard]] KernelTime<S> decode_attention(const KernelContext<S>& context,
                                             const AttentionCore& op, const StepLoad<S>& rank) {
  const Machine<S>& machine = context.machine;
  const S seen = visible_tokens(op, rank.context) * (1 / op.context_parallel);
  const double group = op.query_heads / op.kv_heads;
  const double rows = context.engine.attention_rows;
  const S blocks = max(S(1), rank.query_tokens * (group / rows));
  const S items = rank.sequences * blocks * op.kv_heads;
  const S tiles = items * seen * (rows / (tile * tile * machine.processors));
  KernelTime<S> time = attention<S>(context, op,
                                    {rank.sequences, rank.query_tokens, items, tiles, seen, seen,
                                     op.score_dim, op.value_dim, op.query_heads, op.kv_heads},
                                    1.0);
  // The first decode kernels for groups of queries on tensor units were made for heads of 128.
  const double tensor_group = context.engine.tensor_group;
  const bool on_tensor_units = tensor_group > 0 && group >= tensor_group && op.score_dim >= 128;
  if (context.engine.vector_attention > 0 && !on_tensor_units) {
    const S flops = rank.sequences * rank.query_tokens * seen *
                    (2 * op.query_heads * (op.score_dim + op.value_dim));
    const S vector = flops / (machine.peak_of(op.multiply) * context.engine.vector_attention);
    time.busy += max(S(0), vector - time.compute);
    time.compute = max(time.compute, vector);
  }
  return time;
}

template <Scalar S>
[[nodiscard]] KernelTime<S> prefill_attention(const KernelContext<S>& kernel,
                                              const AttentionCore& op, const StepLoad<S>& rank) {
  const Machine<S>& machine = kernel.machine;
  // A prompt is attended by each rank's own heads over all tokens, whoever holds them.
  const double heads = op.query_heads / op.context_parallel;
  const double kv_heads = op.prefill_kv_heads;
  const double group = heads / kv_heads;
  const S fresh = rank.prompt_tokens;
  const S before = rank.prefix_tokens * (1 / op.compress_ratio);
  const S context = before + fresh;
  const double limit = op.top_k > 0 ? op.top_k : op.window;
  const S blocks = max(S(1), fresh * (group / tile));
  const S items = rank.prompts * blocks * kv_heads;
  const S span = min(S(tile / group), fresh);
  const S reach = limit > 0 ? min(span + limit, context) : context;
  const S growing = max(S(0), min(fresh, reach - before));
  const S mean =
      min(reach, (before * growing + growing * growing * 0.5 + (fresh - growing) * reach) / fresh +
                     span * 0.5);
  const S tiles = items * (mean * (1 / tile) + 0.5) * (1 / machine.processors) +
                  0.5 * max(S(1), reach * (1 / tile));
  const S seen = op.window > 0 ? min(context, fresh + op.window) : context;
  const double rate = kernel.compute * kernel.engine.prompt_attention;
  KernelTime<S> time = attention<S>(kernel, op,
                                    {rank.prompts, fresh, items, tiles, seen, context,
                                     op.prefill_score_dim, op.prefill_value_dim, heads, kv_heads},
                                    rate);
  if (op.bytes_per_pair > 0) {
    const S pairs = causal_pairs(fresh, before, 0);
    const S scores = rank.prompts * pairs * op.bytes_per_pair /
                     (machine.memory_bandwidth * kernel.constants.attention_stream);
    time.memory += scores;
    time.busy += scores;
  }
  const S expand = rank.prompts * rank.prefix_tokens * op.expand_flops_per_cached_token /
                   (machine.peak_of(op.multiply) * kernel.constants.matmul_compute_16bit);
  time.compute += expand;
  time.busy += expand;
  return time;
}

/// The routed experts of one layer on the busiest rank: `tokens` reach the layer, `assignments` are
/// rows on this rank, `distinct` its experts that have any. A rank that holds all tokens permutes
/// the rows of all their experts; one that rows are dispatched to has just its own.
template <Scalar S>
[[nodiscard]] KernelTime<S> experts(const KernelContext<S>& context, const Experts& op,
                                    const S& tokens, const S& assignments, const S& distinct) {
  const KernelConstants& c = context.constants;
  const Machine<S>& machine = context.machine;
  KernelTime<S> time;
  const double f = machine.latency_factor;
  const double half = expert_rows / 2;
  const S rows = distinct * half + max(assignments, distinct * half);
  const S& peak = machine.peak_of(op.multiply);
  const S peak_rate = peak * std::min(1.0, c.experts_compute * context.engine.expert_rate);
  const S unpack_rate = min(S(c.unpack_flops * machine.processors), peak);
  const double flops = 2 * op.weights_per_expert();
  if (op.unpacked() && op.fast_unpack) {
    // Unpacked once for all rows of an expert, beside the multiply: a sharper maximum, p = 4.
    const S multiply = rows * flops / peak_rate;
    const S unpack = distinct * (expert_rows * flops) / unpack_rate;
    const S m = multiply * multiply, u = unpack * unpack;
    time.compute = sqrt(sqrt(m * m + u * u)) / context.compute;
  } else {
    time.compute = rows * flops / ((op.unpacked() ? unpack_rate : peak_rate) * context.compute);
  }
  const double weights =
      context.engine.expert_stream > 0 ? context.engine.expert_stream : c.weight_stream;
  time.memory = distinct * (op.weights_per_expert() * op.bytes_per_weight) /
                (machine.memory_bandwidth * weights);
  const double in = op.input_bytes;
  const S permuted = op.reach < 1 ? assignments : tokens * op.top_k;
  const S moved = permuted * (4 * (op.input + op.width)) + tokens * (4 * op.reach * op.input) +
                  assignments * (op.input * in + 2 * op.width * in + 2 * op.width);
  time.busy = sqrt(time.compute * time.compute + time.memory * time.memory) +
              moved / (machine.memory_bandwidth * c.weight_stream);
  const double spread = op.unpacked() && op.expert_parallel > 1 ? c.experts_unpack_spread_s : 0;
  time.fixed = f * (c.experts_fixed_s + spread) +
               distinct * (c.experts_each_s * context.engine.expert_overhead);
  return time;
}

/// Rows on the busiest of `parts` ranks and its distinct experts when popularity varies from expert
/// to expert with coefficient of variation `skew`. Popular experts repeat, so fewer are distinct.
template <Scalar S>
struct RoutingLoad {
  S assignments, distinct;
};
template <Scalar S>
[[nodiscard]] RoutingLoad<S> skewed_routing(const Experts& op, const S& tokens, double skew) {
  const S mean = tokens * (op.top_k / op.expert_parallel);
  const double levels = std::log2(op.expert_parallel);
  const double spread = levels * (0.60 - 0.031 * levels);  // largest of so many normal variables
  const S per_expert = mean * (1 / op.local_experts);
  const S busiest =
      mean * min(S(op.expert_parallel),
                 1.0 + spread * sqrt((skew * skew + 1.0 / per_expert) * (1 / op.local_experts)));
  const S rows = min(busiest, tokens * std::min(op.top_k, op.local_experts));
  const S each = rows * (1 / op.local_experts);
  const S distinct = max(S(1), op.local_experts * each / (1.0 + each));
  // A single token cannot repeat an expert.
  return {rows, min(distinct, max(S(1), rows))};
}

}  // namespace kernel

/// How popularity varies over the experts of real traffic; see skewed_routing.
inline constexpr double routing_skew = 1.0;

template <Scalar S>
[[nodiscard]] KernelTime<S> times_layers(KernelTime<S> one, double layers) {
  one.busy *= S(layers);
  one.compute *= S(layers);
  one.memory *= S(layers);
  one.fixed *= S(layers);
  return one;
}

/// Time of an operator under the load of its rank.
template <Scalar S>
[[nodiscard]] KernelTime<S> kernel_time(const KernelContext<S>& context, const StepOperators&,
                                        const Matmul& op, const StepLoad<S>& rank) {
  const S rows = op.logit_rows ? rank.logit_rows() : rank.tokens();
  if (value_of(rows) <= 0) return {};
  return times_layers(kernel::matmul(context, op, rows, context.engine.separate_quantization),
                      op.layers);
}

template <Scalar S>
[[nodiscard]] KernelTime<S> kernel_time(const KernelContext<S>& context, const StepOperators&,
                                        const AttentionCore& op, const StepLoad<S>& rank) {
  KernelTime<S> sum;
  const auto add = [&](const KernelTime<S>& part) {
    sum.busy += part.busy;
    sum.compute += part.compute;
    sum.memory += part.memory;
    sum.fixed += part.fixed;
  };
  if (value_of(rank.sequences) > 0) add(kernel::decode_attention(context, op, rank));
  if (value_of(rank.prompts) > 0) add(kernel::prefill_attention(context, op, rank));
  return times_layers(sum, op.layers);
}

/// A recurrent core streams its state through memory twice.
template <Scalar S>
[[nodiscard]] KernelTime<S> kernel_time(const KernelContext<S>& context, const StepOperators& all,
                                        const RecurrentCore& op, const StepLoad<S>& rank) {
  const KernelConstants& c = context.constants;
  const Machine<S>& machine = context.machine;
  const OperatorCost<S> amount = cost(all, op, rank);
  KernelTime<S> time;
  time.compute = amount.flops / (machine.peak_of(machine.wide) * c.recurrent_compute);
  time.memory = (amount.cache_bytes + amount.activation_bytes) /
                (machine.memory_bandwidth * c.recurrent_stream);
  time.busy = sqrt(time.compute * time.compute + time.memory * time.memory);
  return time;
}

template <Scalar S>
[[nodiscard]] KernelTime<S> kernel_time(const KernelContext<S>& context, const StepOperators&,
                                        const Experts& op, const StepLoad<S>& rank) {
  const S tokens = expert_tokens(rank);
  if (value_of(tokens) <= 0) return {};
  const kernel::RoutingLoad<S> load = kernel::skewed_routing(op, tokens, routing_skew);
  // Never fewer bytes than the roofline reads for independent routing.
  const double weights = context.engine.expert_stream > 0 ? context.engine.expert_stream
                                                          : context.constants.weight_stream;
  const S uniform = op.distinct(tokens) * (op.local_experts / op.experts);
  const S distinct = max(load.distinct, uniform * weights);
  return times_layers(kernel::experts(context, op, tokens, load.assignments, distinct), op.layers);
}

}  // namespace tokenroof
