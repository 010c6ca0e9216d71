// Mixtures of experts: which layers hold one, and how large it is, under every spelling.
#pragma once

#include <vector>

#include "io/families/decoder.hpp"

namespace tokenroof::io {

/// How a family builds its mixtures; sizes come from the file.
struct MixtureTraits {
  bool gated = true;
  bool router_bias = false;  ///< one number per expert, for the choice only
  bool shared_gate = false;  ///< the shared expert is scaled by a gate of its own (hidden x 1)
  bool expert_bias = false;  ///< every matrix of an expert has one
  std::int64_t width = 0;    ///< of an expert where no key says; 0: intermediate_size
  std::int64_t experts = 0;  ///< family defaults, for nested files
  int top_k = 0;
  int default_shared = 0;  ///< shared experts where no key says
};

/// Which layers hold a mixture. Knows first_k_dense_replace, moe_layer_freq (number or list),
/// mlp_layer_types, mlp_only_layers, decoder_sparse_step, interleave_moe_layer_step, moe_layers,
/// moe_layers_enum, expert_layer_period/offset, moe_layer_start/end_index and
/// moe_layer_interval, moe_layer_num_skipped; several hold together.
std::vector<bool> mixture_layers(Config& config, int layers);

/// The mixture of one layer as the file describes it; norms not counted.
FeedForward read_mixture(Config& config, const Decoder& decoder, const MixtureTraits& traits,
                         int layer = 0);

/// Replaces the dense networks of mixture_layers by read_mixture.
void apply_mixture(Config& config, Decoder& decoder, const MixtureTraits& traits = {});

/// Accepts the keys of mixtures in a file that turned out to have none.
void ignore_mixture_keys(Config& config);

/// True when the file names a number of experts above 1.
bool has_experts(Config& config);

}  // namespace tokenroof::io
