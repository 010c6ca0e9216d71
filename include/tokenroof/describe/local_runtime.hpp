// What a local runtime (llama.cpp) adds to the hardware: one sequence at a time, layers split over
// devices, no captured graphs, elementwise work and attention in kernels of their own. Learned from
// llama-bench runs of 20 devices (data/engines/llamacpp.json); formulas in
// physics/local_runtime.hpp.
#pragma once

#include "tokenroof/core/units.hpp"

namespace tokenroof {

/// Shares lie in (0, 1], times and counts are >= 0. Defaults: a runtime without any overhead.
struct LocalRuntimeConstants {
  // Rates.
  double weight_stream = 1;      ///< share of the memory bandwidth
  double stream_ceiling = 1e15;  ///< B/s that small kernels draw at most from one device
  double tensor_compute = 1;     ///< share of the tensor units' peak in a micro-batch
  double vector_compute = 1;     ///< share of the peak of devices without tensor units
  double unpack_flops = 0;       ///< FLOP per weight to unpack it, devices without tensor units

  // Times.
  Seconds step;                 ///< host time per forward pass
  Seconds per_layer;            ///< launches of a layer, decode
  Seconds per_quantized_layer;  ///< more with quantised weights: activations become 8-bit
  Seconds per_split_layer;      ///< more on several devices: launches without a graph
  Seconds per_prompt_layer;     ///< launches of a layer, per micro-batch of a prompt
  Seconds per_device_hop;       ///< per boundary between devices

  // Traffic.
  double cache_passes = 1;  ///< bytes of KV cache moved in decode over its size, >= 1
  double score_bytes = 0;   ///< moved per query head and query-key pair of a prompt
  double elementwise_passes =
      0;  ///< elementwise bytes over (100 hidden + 44 width) per token, layer

  // Launch queue of a device: kernels of a layer in a micro-batch of a prompt.
  double launches_per_layer = 0;
  double launches_per_quantized_layer = 0;  ///< more with quantised weights on tensor units
};

}  // namespace tokenroof
