// What an engine adds to its kernels: host time, small kernels, habits of scheduling. Values are
// learned per engine, and per era of its versions where they changed (data/engines); never per
// model or per device. Times >= 0; shares in (0, 1] unless said otherwise. A constant that an
// engine does not state keeps the neutral value given here.
#pragma once

#include "tokenroof/core/units.hpp"

namespace tokenroof {

struct EngineConstants {
  // Host.
  Seconds step;              ///< per step, not hidden behind the device
  Seconds per_sequence;      ///< scheduling, sampling, detokenising: per sequence and step
  Seconds per_prompt_step;   ///< more for a step that carries prompt tokens
  Seconds per_pipeline_hop;  ///< per pipeline stage after the first

  // Small kernels, per layer and step. Scaled by the device's latency factor, but for the prompt's.
  Seconds per_layer;              ///< norms, rotary embedding, activation, residual
  double layer_passes = 0;        ///< passes over the hidden rows those kernels make through memory
  Seconds per_mixture_layer;      ///< router, permutation and gather
  Seconds per_latent_layer;       ///< splitting, concatenating and rotating latents
  Seconds per_recurrent_layer;    ///< convolution, gates and norm
  Seconds per_weight_only_layer;  ///< unpacking, where weights are narrower than the multiply
  /// Share of those of mixture and latent layers that stays where experts multiply in 4 bits: such
  /// kernels take norms, quantisation and routing along.
  double four_bit_launches = 1;
  Seconds per_prompt_layer;    ///< launches that no graph hides, in a step with prompt tokens
  Seconds per_all_reduce;      ///< beside what the link takes
  Seconds per_bus_all_reduce;  ///< the same over a host bus, per doubling of ranks
  double bus_sharing = 0;      ///< host bus: 1: all ranks share one path, 0: each has its own

  // Steps that are launched kernel by kernel: none are shorter than their launches.
  Seconds per_eager_layer;   ///< host time of a layer's launches
  double graph_context = 0;  ///< longest context that runs from captured graphs; 0: any

  // Relations to the kernel constants.
  double weight_stream = 1;      ///< bandwidth of dense multiplies over the kernels' own
  double prompt_efficiency = 1;  ///< compute rate in a step with prompt tokens over the kernels'
  double prompt_attention = 1;   ///< rate of prompt attention over the kernels' own
  double separate_quantization = 1;  ///< share of dynamic activation quantisation not fused, [0, 1]
  double expert_stream = 0;          ///< share of bandwidth for expert weights; 0: the kernels' own
  double expert_overhead = 1;        ///< time per distinct expert over the kernels' own, >= 0
  double expert_rate = 1;            ///< compute rate of grouped multiplies over the kernels' own
  double attention_rows = 64;        ///< query rows that decode attention pads a KV head's group to
  double vector_attention = 0;       ///< decode attention off the tensor units: share of their peak
  double tensor_group = 0;      ///< but groups of so many query heads of 128 on them; 0: no group
  double mixture_slowdown = 1;  ///< factor on mixtures with one attention rank, >= 1
  double communication_overlap = 0;  ///< share of collectives hidden behind compute, [0, 1)

  // First token.
  Seconds request_overhead;  ///< transport and first scheduling, per request
  Seconds per_prompt_token;  ///< tokenising and transport, per prompt token
  double prompts_ahead = 0;  ///< closed loop, fixed lengths: other prompts served before the own

  // Residuals: quantiles of measured over predicted time.
  double spread_low = 1;   ///< 10th percentile
  double spread_high = 1;  ///< 90th percentile
};

}  // namespace tokenroof
