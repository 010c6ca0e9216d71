// DeepSeek-V4: one key of head size serves all heads as key and value; layers keep a short window
// and, beyond it, one compressed entry for every `compress_ratio` tokens, of which an indexer picks
// the best where the ratio is small. Residuals run in `hc_mult` streams (hyper-connections).
#include <array>

#include "io/families/families.hpp"
#include "io/families/mixture.hpp"

namespace tokenroof::io {
namespace {

/// Compressor of a window of `ratio` tokens into one entry of `dim`: two projections, a table of
/// positions, a norm. Small ratios overlap their windows and keep two streams.
void add_compressor(Attention& a, std::int64_t hidden, std::int64_t dim, std::int64_t ratio) {
  const std::int64_t columns = (ratio == 4 ? 2 : 1) * dim;
  a.extra_weights += 2 * hidden * columns;
  a.small_parameters += ratio * columns + dim;
}

struct V4 {
  std::int64_t streams = 4;
  int index_heads = 0;
  int index_dim = 0;
  int index_top_k = 0;
  int window = 0;
};

Attention v4_attention(const Sizes& sizes, const Attention& base, const V4& v4,
                       std::int64_t ratio) {
  Attention a = base;
  a.window = v4.window;
  if (ratio == 0) return a;
  a.compress_ratio = static_cast<int>(ratio);
  add_compressor(a, sizes.hidden, a.key_dim, ratio);
  if (ratio <= 4) {
    a.index_heads = v4.index_heads;
    a.index_dim = v4.index_dim;
    a.index_top_k = v4.index_top_k;
    a.extra_weights +=
        std::int64_t{a.query_rank} * a.index_heads * a.index_dim + sizes.hidden * a.index_heads;
    add_compressor(a, sizes.hidden, a.index_dim, ratio);
  }
  return a;
}

Decoder deepseek_v4(Config& c) {
  Sizes sizes = read_outer_sizes(c, {});
  sizes.heads = static_cast<int>(c.size({"num_attention_heads"}, limits::heads));
  sizes.kv_heads = static_cast<int>(c.size_or({"num_key_value_heads"}, limits::heads, 1));
  if (sizes.kv_heads != 1) c.fault("num_key_value_heads", "must be 1 in this family");
  sizes.head_dim = static_cast<int>(c.size({"head_dim"}, limits::head_dim));
  sizes.width = c.size({"moe_intermediate_size"}, limits::width);
  c.harmless({"hc_eps", "compress_rope_theta", "expert_dtype", "num_hash_layers"});
  Decoder d = empty_decoder(c, sizes, {});

  Attention base = grouped_attention(sizes, d.traits);
  base.rotary_dim = static_cast<int>(c.size_or({"qk_rope_head_dim"}, limits::head_dim, 64));
  base.values_are_keys = base.one_entry_for_both = true;
  base.query_rank = static_cast<int>(c.size({"q_lora_rank"}, limits::hidden));
  base.output_rank = static_cast<int>(c.size({"o_lora_rank"}, limits::hidden));
  base.output_groups = static_cast<int>(c.size({"o_groups"}, limits::heads));
  // Norms of the query latent and the key, a sink per head.
  base.small_parameters = base.query_rank + sizes.head_dim + sizes.heads;

  V4 v4;
  v4.streams = c.size_or({"hc_mult"}, 64, 4);
  v4.index_heads = static_cast<int>(c.size({"index_n_heads"}, limits::heads));
  v4.index_dim = static_cast<int>(c.size({"index_head_dim"}, limits::head_dim));
  v4.index_top_k = static_cast<int>(c.size({"index_topk"}, limits::context >> 16));
  v4.window = static_cast<int>(c.size({"sliding_window"}, limits::context >> 10));

  // Mixing of the streams before and after attention, and again around the network.
  const std::int64_t mixes = (2 + v4.streams) * v4.streams;
  const std::int64_t mixing = mixes * v4.streams * sizes.hidden + mixes + 3;
  base.small_parameters += mixing;

  repeat_layer(d, {"mixture", base, {}});
  const std::int64_t mtp = c.count({"num_nextn_predict_layers"}, limits::layers);
  const auto ratios = c.integers("compress_ratios").value_or(std::vector<std::int64_t>{});
  // The list goes on with the MTP layers.
  if (ratios.size() != d.layers.size() &&
      ratios.size() != d.layers.size() + static_cast<std::size_t>(mtp))
    c.fault("compress_ratios", "lists " + std::to_string(ratios.size()) +
                                   " layers, the model has " + std::to_string(sizes.layers));
  const std::int64_t hashed = c.count({"num_hash_layers"}, limits::layers);
  for (std::size_t i = 0; i < d.layers.size(); ++i) {
    Layer& layer = d.layers[i];
    const std::int64_t ratio = i < ratios.size() ? ratios[i] : 0;
    if (ratio < 0 || ratio > 65536) c.fault("compress_ratios", "must be from 0 to 65536");
    if (ratio < 0 || ratio > 65536) break;
    const std::int64_t norms = d.attention_norms();
    Attention one = base;
    one.small_parameters += norms;
    layer.attention = v4_attention(sizes, one, v4, ratio);
    layer.name += ratio == 0 ? ", sliding" : ", compressed " + std::to_string(ratio);
    const bool routed = static_cast<std::int64_t>(i) >= hashed;
    layer.feed_forward = read_mixture(c, d, {.router_bias = routed});
    layer.feed_forward.small_parameters += d.feed_forward_norms() + mixing;
  }
  d.model.final_small_parameters += v4.streams * v4.streams * sizes.hidden + v4.streams + 1;

  if (mtp > 0 && !d.layers.empty()) {
    Layer last = d.layers.back();
    Attention one = base;
    one.small_parameters += d.attention_norms();
    last.attention = v4_attention(sizes, one, v4, 0);
    const std::int64_t h = sizes.hidden;
    d.mtp.push_back({mtp, last, 2 * h * h + 3 * h + v4.streams * v4.streams * h});
  }
  return d;
}

constexpr std::array table = {
    Family{"deepseek_v4", "deepseek_v4", "DeepseekV4", deepseek_v4},
};

}  // namespace

std::span<const Family> deepseek_v4_families() { return table; }

}  // namespace tokenroof::io
