// What the tensors of a GGUF file say: sums by part of each block, and bytes by format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/gguf_header.hpp"
#include "tokenroof/describe/model.hpp"

namespace tokenroof::io {

/// The tensors of one block, or of what is outside the blocks, summed by what they are.
struct Sums {
  std::int64_t attention = 0;
  std::int64_t dense = 0;
  std::int64_t routed = 0;
  std::int64_t shared = 0;
  std::int64_t router = 0;
  std::int64_t attention_small = 0;
  std::int64_t network_small = 0;
  std::int64_t expert_small = 0;
  std::int64_t experts = 0;
  std::int64_t expert_width = 0;
  std::int64_t expert_input = 0;
  std::int64_t shared_width = 0;
  std::int64_t width = 0;
  bool expert_gate = false;
  bool shared_gate = false;
  bool gate = false;
  bool latent = false;
  bool recurrent = false;
  bool key_projection = false;
  bool query_projection = false;
};

/// Adds a tensor of a block under its `name` within the block.
void add_tensor(const GgufTensor& tensor, const std::string& name, Sums& sums);
/// Added or scaled, not multiplied: one-dimensional, or a norm, a convolution, a decay.
[[nodiscard]] bool is_small(const GgufTensor& tensor, const std::string& name);
/// The index in "blk.12.attn_q.weight", and the rest of the name.
[[nodiscard]] std::optional<std::pair<std::size_t, std::string>> block_of(const std::string& name);
/// The feed-forward part of a block. `top_k` experts are used per token.
[[nodiscard]] FeedForward network_from(const Sums& sums, double top_k, std::int64_t hidden);
/// The mean bytes per weight of every part, under the name of its commonest type.
void set_precision(const std::vector<GgufTensor>& tensors, Model& model);

}  // namespace tokenroof::io
