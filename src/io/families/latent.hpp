// Latent attention (MLA) and its sparse indexer, shared by DeepSeek, Kimi, GLM-5, MiniCPM3,
// Mistral 4 and others.
#pragma once

#include "io/families/decoder.hpp"

namespace tokenroof::io {

/// Sizes where a nested file leaves them out.
struct LatentDefaults {
  std::int64_t query_rank = 1536;
  std::int64_t latent_rank = 512;
  std::int64_t rotary = 64;
  std::int64_t key_dim = 128;
  std::int64_t value_dim = 128;
};

/// The attention that q_lora_rank, kv_lora_rank and the head sizes describe, with the norms of both
/// latents and the indexer where `index_topk` asks for one.
[[nodiscard]] Attention latent_attention(Config& config, const Sizes& sizes,
                                         const LatentDefaults& defaults = {});

/// Sizes without head size and KV heads, which mean nothing for a latent.
[[nodiscard]] Sizes read_latent_sizes(Config& config, const Defaults& defaults);

/// A stack of latent attention with dense networks.
[[nodiscard]] Decoder latent_decoder(Config& config, const Traits& traits,
                                     const LatentDefaults& latent = {});

}  // namespace tokenroof::io
