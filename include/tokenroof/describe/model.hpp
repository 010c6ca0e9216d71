// A decoder-only language model as groups of like layers: attention kind x feed-forward kind x
// count.
//
// Counts are exact integers. What is multiplied with activations (matmul weights) is derived from
// shapes here; what is only added or scaled (norms, biases, small tensors) is counted by whoever
// read the model, because that is where families differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tokenroof/describe/precision.hpp"

namespace tokenroof {

enum class AttentionKind {
  none,       ///< the layer has no token mixing
  grouped,    ///< MHA, GQA, MQA: keys and values of `kv_heads` heads per token
  latent,     ///< MLA: one latent and one rotary key per token, for all heads
  recurrent,  ///< linear attention, gated delta rule, state-space: a constant state per sequence
};

[[nodiscard]] constexpr const char* to_string(AttentionKind kind) {
  switch (kind) {
    case AttentionKind::none:
      return "none";
    case AttentionKind::grouped:
      return "grouped";
    case AttentionKind::latent:
      return "latent";
    case AttentionKind::recurrent:
      return "recurrent";
  }
  return "unknown";
}

/// Token mixing of one layer. Unused fields of other kinds stay 0.
struct Attention {
  AttentionKind kind = AttentionKind::grouped;
  int query_heads = 0;
  int kv_heads = 0;
  int key_dim = 0;        ///< head size of queries and keys (latent: without the rotary part)
  int value_dim = 0;      ///< head size of values
  int window = 0;         ///< visible tokens of a sliding or chunked layer; 0: all
  bool stores_kv = true;  ///< false: reads the cache of an earlier layer (cross-layer sharing)
  bool has_query = true;  ///< false only for layers that produce KV for others
  /// False: keys and values are taken as an earlier layer projected them.
  bool has_kv_projection = true;
  bool values_are_keys = false;     ///< no value projection: values are the projected keys
  bool one_entry_for_both = false;  ///< and the cache holds that entry once (DeepSeek-V4)
  /// Attends to the states of images, not to the text: stores nothing per text token, and costs
  /// nothing for it.
  bool cross_attention = false;
  int output_gate_dim = 0;  ///< extra columns of the query projection that gate the output

  // Low-rank projections, of any kind of attention. The output one is block-diagonal in `groups`.
  int query_rank = 0;  ///< 0: queries are projected directly
  int output_rank = 0;
  int output_groups = 0;

  // Latent attention.
  int latent_rank = 0;
  int rotary_dim = 0;

  // Sparse attention: an indexer picks `index_top_k` tokens. 0: none. Without heads of its own a
  // layer takes what an earlier indexer picked. `compress_ratio` > 1: the cache holds one entry per
  // so many tokens (beyond the window).
  int index_heads = 0;
  int index_dim = 0;
  int index_top_k = 0;
  int compress_ratio = 1;

  // Recurrent kinds: weights into and out of the mixer, and what it keeps per sequence. A layer of
  // another kind may have such a mixer beside its attention (Falcon-H1); both count then.
  std::int64_t input_weights = 0;
  std::int64_t output_weights = 0;
  std::int64_t state_elements = 0;        ///< matrix state, kept in fp32 unless said otherwise
  std::int64_t convolution_elements = 0;  ///< window of the short convolution, in activation format
  double state_bytes_per_element = 4;

  std::int64_t extra_weights = 0;     ///< further matmul weights (indexer, gates), on every token
  std::int64_t small_parameters = 0;  ///< norms, biases, sinks, decays: added or scaled only

  friend bool operator==(const Attention&, const Attention&) = default;
};

enum class FeedForwardKind { none, dense, mixture };

/// Feed-forward part of one layer.
struct FeedForward {
  FeedForwardKind kind = FeedForwardKind::dense;
  std::int64_t width = 0;  ///< inner width of the dense network
  bool gated = true;       ///< three matrices (SwiGLU, GeGLU) instead of two

  // Mixture of experts.
  int experts = 0;
  double top_k = 0;  ///< routed experts per token (a mean where it varies)
  std::int64_t expert_width = 0;
  /// Width of what experts read; 0: the hidden size (latent MoE: less).
  std::int64_t expert_input = 0;
  std::int64_t shared_width = 0;  ///< summed inner width of the shared experts
  bool shared_gated = true;
  std::int64_t router_weights = 0;  ///< multiplied: hidden x experts, and gates of shared experts
  std::int64_t extra_weights = 0;   ///< matmul weights beside all these (latent projections, ...)
  std::int64_t expert_small_parameters = 0;  ///< biases inside ONE routed expert
  std::int64_t small_parameters = 0;         ///< norms, biases, router biases of the layer

  friend bool operator==(const FeedForward&, const FeedForward&) = default;
};

/// Like layers.
struct LayerGroup {
  std::string name;
  Attention attention;
  FeedForward feed_forward;
  int count = 0;
};

/// Parameters outside the text decoder, reported apart.
struct Attachment {
  std::string name;  ///< mtp, vision, audio, ...
  std::int64_t parameters = 0;
  double bytes_per_parameter = 2;  ///< as stored in the checkpoint, a mean
};

/// The checkpoint's own formats: what the file says, before a scenario overrides it.
struct Quantization {
  std::string method;  ///< empty: none
  std::string scope;   ///< in words, what stays unquantised; empty: the usual
  Precision precision;
  std::optional<Format> kv_cache;  ///< format the checkpoint asks the cache to be in
};

/// A model.
struct Model {
  std::string id;
  std::string architecture;
  std::string family;
  std::int64_t hidden = 0;
  std::int64_t vocabulary = 0;
  bool tied_embeddings = false;
  bool has_head = true;
  std::vector<LayerGroup> groups;
  std::vector<int> order;                   ///< group index of every layer, first to last
  std::int64_t embedding_parameters = 0;    ///< token embedding, positions, per-layer embeddings
  std::int64_t head_weights = 0;            ///< of the output head; 0: vocabulary x hidden
  std::int64_t final_small_parameters = 0;  ///< last norm, head bias
  std::int64_t maximum_context = 0;         ///< 0: the file does not say
  Quantization checkpoint;
  std::vector<Attachment> attachments;
  std::optional<std::int64_t> file_bytes;  ///< from the safetensors index
  std::vector<std::string> notes;          ///< what the reader assumed or could not count

  [[nodiscard]] int layers() const {
    int sum = 0;
    for (const LayerGroup& group : groups) sum += group.count;
    return sum;
  }
};

}  // namespace tokenroof
