// Constants of kernels and links: no engine, no GPU and no model owns one. Values, sources and fit
// errors are in data/kernels.json; the defaults here are the same numbers, so that a planner needs
// no file. Efficiencies lie in (0, 1], times are >= 0.
#pragma once

namespace tokenroof {

struct KernelConstants {
  // Dense matrix multiply.
  double matmul_compute_16bit = 0.793;   ///< share of the dense 16-bit peak
  double matmul_compute_8bit = 0.613;    ///< share of the dense 8- or 4-bit peak
  double weight_stream = 0.80;           ///< share of bandwidth, multiplies and experts
  double matmul_fixed_s = 2.84e-6;       ///< per kernel, times the latency factor
  double matmul_loop_s = 5.04e-6;        ///< latency of a long reduction loop, same factor
  double quantize_element_s = 0.476e-9;  ///< separate activation quantisation, per row element

  // Attention, decode and prefill.
  double attention_stream = 0.92;          ///< share of bandwidth
  double attention_compute = 0.676;        ///< share of the dense 16-bit peak
  double attention_fixed_s = 11.5e-6;      ///< all kernels of the operator
  double attention_fixed_8bit_s = 1.3e-6;  ///< extra for an 8-bit cache
  double attention_item_s = 3.78e-6;       ///< start and finish of one work item on one processor
  double attention_context_s = 3.6e-6;     ///< splitting and combining long contexts
  double attention_write_s = 66.9e-9;      ///< writing one token of one KV head, one processor

  // Routed experts.
  double experts_compute = 0.393;            ///< share of the dense peak, grouped multiply
  double unpack_flops = 1.67e12;             ///< FLOP/s per processor with 4-bit weights unpacked
  double experts_fixed_s = 28.7e-6;          ///< per layer, times the latency factor
  double experts_each_s = 0.18e-6;           ///< per distinct expert
  double experts_unpack_spread_s = 30.8e-6;  ///< extra for unpacked 4-bit experts spread over ranks

  // Recurrent mixers.
  double recurrent_stream = 0.60;   ///< share of bandwidth
  double recurrent_compute = 0.20;  ///< share of the dense 16-bit peak

  // Links.
  double exchange_s = 5.1e-6;   ///< one synchronised exchange
  double ring_step_s = 0.8e-6;  ///< one further step of a ring
  double link_share = 0.67;     ///< of a fast link's bandwidth
  double bus_share = 0.52;      ///< of a host bus's bandwidth
};

}  // namespace tokenroof
