// Context parallelism: one sequence's cache over several devices.
//
// Decode: each device attends to its share and the partial results are combined. Prefill: keys and
// values travel around a ring while queries stay. Source: Liu et al., arXiv 2310.01889.
// Symbols: docs/formulas.md.
#pragma once

#include "tokenroof/core/scalar.hpp"

namespace tokenroof {

/// Bytes ((c - 1) / c) x layers x batch x heads x (head_size + 2) x element that one device sends
/// per decode step to combine output, running maximum and sum of every head, in one reduce-scatter
/// over `devices` c. `batch` counts query tokens. 0 for one device.
template <Scalar S>
[[nodiscard]] constexpr With<Bytes, S> context_combine_bytes(const With<Tokens, S>& batch,
                                                             double layers, double query_heads,
                                                             double value_size, Bytes element,
                                                             int devices) {
  if (devices <= 1) return {};
  return batch.base() * layers * query_heads * (value_size + 2) * ((devices - 1.0) / devices) *
         element;
}

/// Tokens per device, kv x peak / (attention x bandwidth), from which on a ring-attention hop hides
/// behind the arithmetic of the chunk already there. `kv` bytes and `attention` FLOPs per context
/// token (4 x heads x head size a layer) of the SAME layers; `bandwidth` of one direction.
template <Scalar S>
[[nodiscard]] constexpr With<Tokens, S> ring_attention_chunk(
    const With<BytesPerToken, S>& kv, const With<FlopsPerToken, S>& attention,
    const With<FlopsPerSecond, S>& peak, const With<BytesPerSecond, S>& bandwidth) {
  return kv * peak / (attention * bandwidth) * token;
}

}  // namespace tokenroof
