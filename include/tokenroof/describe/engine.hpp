// The serving engine: its limits, its memory habits and the few constants of its host side.
#pragma once

#include <string>
#include <vector>

#include "tokenroof/core/units.hpp"

namespace tokenroof {

/// How an engine lays out the KV cache of models whose layers differ.
enum class KvPolicy {
  exact,           ///< every layer keeps just what its mathematics needs
  uniform_pages,   ///< vLLM: layer groups share one page size; windows are freed by page
  full_length,     ///< windowed layers keep every token
  windowed_cells,  ///< llama.cpp: windowed layers keep window + micro-batch cells, padded
};

/// Fixed times of the engine's own making, beside those of kernels. All >= 0.
struct EngineConstants {
  Seconds step;                      ///< host and launch time per step
  Seconds per_sequence;              ///< scheduling and sampling per running sequence and step
  Seconds per_layer;                 ///< small kernels (norms, rotary, residual) per layer and step
  Seconds per_prefill_request;       ///< admission, tokenisation, first response per request
  Seconds per_pipeline_hop;          ///< hand-over between pipeline stages, host side
  double prefill_efficiency = 1;     ///< of the kernels' own speed during prefill, (0, 1]
  double decode_efficiency = 1;      ///< of the kernels' own speed during decode, (0, 1]
  double communication_overlap = 0;  ///< share of collective time hidden behind compute, [0, 1)
  double first_token_base = 0.5;     ///< closed loop: prefills before a first token, constant part
  double first_token_per_running = 0;  ///< closed loop: the part that grows with running requests
  double spread_low = 1;               ///< 10th percentile of measured over predicted time
  double spread_high = 1;              ///< 90th percentile
};

/// Memory that is neither weights nor cache, of one device.
struct EngineReserve {
  std::string since;                ///< first engine version it holds for
  Bytes runtime;                    ///< context, libraries, allocator
  Bytes collectives;                ///< communication buffers when more than one device
  Bytes graphs;                     ///< captured graphs
  double activation_per_token = 0;  ///< bytes per batched token and byte of hidden row
  Bytes activation_base;
};

/// An engine as configured.
struct Engine {
  std::string name = "default";
  std::string version;
  bool has_profile = true;       ///< false: `default` constants stand in for an unknown engine
  double memory_fraction = 0.9;  ///< share of visible memory the engine may fill
  bool reserve_auto = true;      ///< false: `reserve` below is taken as it is
  Bytes reserve;
  int max_sequences = 256;
  int max_batched_tokens = 8192;
  bool chunked_prefill = true;
  int block_tokens = 16;
  KvPolicy kv_policy = KvPolicy::exact;
  EngineConstants constants;
  std::vector<EngineReserve> reserves;  ///< by version, oldest first
};

}  // namespace tokenroof
