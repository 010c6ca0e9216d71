#include "io/families/latent.hpp"

namespace tokenroof::io {

Attention latent_attention(Config& c, const Sizes& sizes, const LatentDefaults& defaults) {
  Attention a;
  a.kind = AttentionKind::latent;
  a.query_heads = sizes.heads;
  a.kv_heads = 1;
  a.query_rank = static_cast<int>(
      c.count({"q_lora_rank"}, limits::hidden, c.nested() ? defaults.query_rank : 0));
  // "null" says that queries are projected directly; only an absent key means the default.
  if (c.nested() && c.is_null("q_lora_rank")) a.query_rank = 0;
  a.latent_rank = static_cast<int>(c.size({"kv_lora_rank"}, limits::hidden, defaults.latent_rank));
  a.rotary_dim = static_cast<int>(c.size({"qk_rope_head_dim"}, limits::head_dim, defaults.rotary));
  a.key_dim = static_cast<int>(c.size({"qk_nope_head_dim"}, limits::head_dim, defaults.key_dim));
  a.value_dim = static_cast<int>(c.size({"v_head_dim"}, limits::head_dim, defaults.value_dim));
  const std::int64_t qk = c.count({"qk_head_dim"}, limits::head_dim);
  if (qk > 0 && qk != a.key_dim + a.rotary_dim)
    c.fault("qk_head_dim", std::to_string(qk) + " is not qk_nope_head_dim + qk_rope_head_dim");
  a.small_parameters = a.query_rank + a.latent_rank;
  if (c.flag({"attention_bias"}, false))
    a.small_parameters += a.query_rank + a.latent_rank + a.rotary_dim + sizes.hidden;

  a.index_top_k = static_cast<int>(c.count({"index_topk"}, limits::context >> 16));
  if (a.index_top_k > 0) {
    a.index_heads = static_cast<int>(c.size({"index_n_heads"}, limits::heads, 64));
    a.index_dim = static_cast<int>(c.size({"index_head_dim"}, limits::head_dim, 128));
    // Queries from the query latent, one key, a weight per head; LayerNorm on the key.
    a.extra_weights = std::int64_t{a.query_rank} * a.index_heads * a.index_dim +
                      sizes.hidden * (a.index_dim + a.index_heads);
    a.small_parameters += 2 * a.index_dim;
  }
  return a;
}

Sizes read_latent_sizes(Config& c, const Defaults& defaults) {
  Sizes sizes = read_outer_sizes(c, defaults);
  sizes.heads =
      static_cast<int>(c.size({"num_attention_heads", "n_heads"}, limits::heads, defaults.heads));
  const std::int64_t kv = c.size_or({"num_key_value_heads"}, limits::heads, sizes.heads);
  if (kv > sizes.heads)
    c.fault("num_key_value_heads", std::to_string(kv) + " KV heads, more than the " +
                                       std::to_string(sizes.heads) + " query heads");
  c.harmless({"head_dim", "kv_channels"});
  sizes.kv_heads = 1;
  sizes.width =
      c.size({"intermediate_size", "dense_intermediate_size"}, limits::width, defaults.width);
  return sizes;
}

Decoder latent_decoder(Config& c, const Traits& traits, const LatentDefaults& latent) {
  const Sizes sizes = read_latent_sizes(c, traits.defaults);
  Decoder d = empty_decoder(c, sizes, traits);
  repeat_layer(d, {"dense", latent_attention(c, sizes, latent),
                   dense_network(sizes.hidden, sizes.width, traits)});
  return d;
}

}  // namespace tokenroof::io
