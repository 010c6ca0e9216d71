// Building blocks that several families share: layers counted whole, MTP heads, recurrent mixers.
#pragma once

#include "io/families/decoder.hpp"

namespace tokenroof::io {

/// Every parameter of a layer.
[[nodiscard]] std::int64_t layer_parameters(const Layer& layer, std::int64_t hidden);

/// Reports `count` multi-token-prediction layers like `layer`, each with `extra` parameters of its
/// own, apart from the model.
void attach_mtp(Decoder& decoder, std::int64_t count, const Layer& layer, std::int64_t extra);

/// Mamba-2 (also with the names of Nemotron-H, Granite, Falcon-H1): one projection for everything.
struct Mamba2 {
  std::int64_t heads = 1;
  std::int64_t head_dim = 1;
  std::int64_t state = 1;
  std::int64_t groups = 1;
  std::int64_t kernel = 4;
  bool convolution_bias = true;
  bool projection_bias = false;
  bool gated_norm = true;
};
/// Adds the mixer to `attention`, which keeps its kind.
void add_mamba2(Attention& attention, const Mamba2& mamba, std::int64_t hidden);

/// Mamba-1: selective state of `inner` x `state`.
struct Mamba1 {
  std::int64_t inner = 1;
  std::int64_t state = 16;
  std::int64_t kernel = 4;
  std::int64_t rank = 1;  ///< of the time step
  bool convolution_bias = true;
  bool projection_bias = false;
  bool inner_norms = false;  ///< Jamba: norms on time step, B and C
};
[[nodiscard]] Attention mamba1(const Mamba1& mamba, std::int64_t hidden);

/// Gated delta net (Qwen3-Next, Qwen3.5).
struct DeltaNet {
  std::int64_t key_heads = 1;
  std::int64_t value_heads = 1;
  std::int64_t key_dim = 1;
  std::int64_t value_dim = 1;
  std::int64_t kernel = 4;
};
[[nodiscard]] Attention delta_net(const DeltaNet& net, std::int64_t hidden);

}  // namespace tokenroof::io
