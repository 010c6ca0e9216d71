// Nemotron-H and 3 (stacks of unlike layers by a pattern), and the searched Nemotrons (DeciLM)
// whose blocks differ in KV heads and width or are missing altogether.
#include <algorithm>
#include <array>
#include <utility>

#include "io/families/families.hpp"
#include "io/families/mixture.hpp"
#include "io/families/parts.hpp"

namespace tokenroof::io {
namespace {

/// M, *, -, E of a pattern as words.
std::vector<std::string> pattern_words(Config& c, std::string_view key,
                                       const std::string& pattern) {
  std::vector<std::string> words;
  for (const char letter : pattern) {
    switch (letter) {
      case 'M':
        words.emplace_back("mamba");
        break;
      case '*':
        words.emplace_back("attention");
        break;
      case '-':
        words.emplace_back("mlp");
        break;
      case 'E':
        words.emplace_back("moe");
        break;
      default:
        c.fault(key, std::string("unknown letter '") + letter + "' (M, *, - and E are known)");
        return words;
    }
    if (words.size() > static_cast<std::size_t>(limits::layers)) break;
  }
  return words;
}

/// The kind of every layer; a file may leave the number of layers to it.
std::vector<std::string> block_kinds(Config& c, std::string_view pattern_key,
                                     std::string_view list_key) {
  if (c.is_text(pattern_key)) return pattern_words(c, pattern_key, c.text({pattern_key}));
  return c.texts(list_key).value_or(std::vector<std::string>{});
}

Mamba2 nemotron_mamba(Config& c) {
  Mamba2 m;
  m.heads = c.size_or({"mamba_num_heads", "mamba_n_heads"}, limits::heads, 128);
  m.head_dim = c.size_or({"mamba_head_dim"}, limits::head_dim, 64);
  m.state = c.size_or({"ssm_state_size", "mamba_state_dim"}, limits::head_dim, 128);
  m.groups = c.size_or({"n_groups", "mamba_n_groups"}, 1024, 8);
  m.kernel = c.size_or({"conv_kernel", "mamba_d_conv"}, 1024, 4);
  m.convolution_bias = c.flag({"use_conv_bias"}, true);
  m.projection_bias = c.flag({"use_bias", "mamba_proj_bias"}, false);
  c.harmless({"mamba_proj_bias", "expand", "use_bias", "mamba_expand"});
  return m;
}

Sizes nemotron_sizes(Config& c, std::int64_t layers) {
  Sizes sizes;
  sizes.hidden = c.size({"hidden_size"}, limits::hidden, 4096);
  sizes.layers = static_cast<int>(layers);
  sizes.vocabulary = c.size_or_noted({"vocab_size"}, limits::vocabulary, 131072);
  sizes.heads = static_cast<int>(c.size_or_noted({"num_attention_heads"}, limits::heads, 32));
  sizes.kv_heads = static_cast<int>(c.size_or_noted({"num_key_value_heads"}, limits::heads, 8));
  sizes.head_dim =
      static_cast<int>(c.size_or({"head_dim", "attention_head_dim"}, limits::head_dim, 128));
  sizes.width = c.size_or_noted({"intermediate_size"}, limits::width, 21504);
  if (sizes.heads % sizes.kv_heads != 0)
    c.fault("num_key_value_heads", std::to_string(sizes.heads) +
                                       " query heads are not a multiple of " +
                                       std::to_string(sizes.kv_heads) + " KV heads");
  return sizes;
}

/// One layer is one part: a mixer or a network, with one norm.
Layer block(Config& c, const Decoder& d, const std::string& kind, const Layer& mamba_layer,
            const Layer& mixture_layer) {
  Layer layer;
  layer.name = kind;
  layer.attention.kind = AttentionKind::none;
  layer.feed_forward.kind = FeedForwardKind::none;
  if (kind == "mamba" || kind == "mamba2") {
    layer = mamba_layer;
  } else if (kind == "attention" || kind == "full_attention") {
    layer.attention = grouped_attention(d.sizes, d.traits);
  } else if (kind == "mlp") {
    layer.feed_forward = dense_network(d.sizes.hidden, d.sizes.width, d.traits);
  } else if (kind == "moe") {
    layer = mixture_layer;
  } else {
    c.fault("layers_block_type", "unknown kind of layer \"" + kind + "\"");
  }
  layer.attention.small_parameters += d.sizes.hidden;
  return layer;
}

Decoder nemotron_h(Config& c) {
  const auto kinds = block_kinds(c, "hybrid_override_pattern", "layers_block_type");
  const auto layers = static_cast<std::int64_t>(kinds.size());
  if (kinds.empty()) c.fault("hybrid_override_pattern", "missing or empty");
  if (layers > limits::layers) c.fault("layers_block_type", "too many layers");
  const std::int64_t stated = c.count({"num_hidden_layers"}, limits::layers, layers);
  if (!kinds.empty() && stated != layers)
    c.fault("num_hidden_layers", std::to_string(stated) + ", but the pattern lists " +
                                     std::to_string(layers) + " layers");
  c.harmless({"layers_block_type"});

  Traits traits{.gated = false, .norms = 1};
  if (c.flag({"attention_bias"}, false)) traits.attention_bias = Biases::all;
  traits.mlp_bias = c.flag({"mlp_bias"}, false);
  const Sizes sizes = nemotron_sizes(c, layers);
  Decoder d = empty_decoder(c, sizes, traits);

  Layer mamba_layer{"mamba", {}, {}};
  mamba_layer.attention.kind = AttentionKind::recurrent;
  mamba_layer.feed_forward.kind = FeedForwardKind::none;
  add_mamba2(mamba_layer.attention, nemotron_mamba(c), sizes.hidden);

  Layer mixture{"moe", {}, {}};
  mixture.attention.kind = AttentionKind::none;
  const auto mtp_kinds = block_kinds(c, "mtp_hybrid_override_pattern", "mtp_layers_block_type");
  const auto is_mixture = [](const std::string& kind) { return kind == "moe"; };
  if (std::any_of(kinds.begin(), kinds.end(), is_mixture)) {
    // The router's correction is a buffer here, no parameter.
    mixture.feed_forward = read_mixture(c, d, {.gated = false});
    const std::int64_t latent = c.count({"moe_latent_size"}, limits::hidden);
    if (latent > 0) {
      mixture.feed_forward.expert_input = latent;
      mixture.feed_forward.extra_weights = 2 * sizes.hidden * latent;
    }
  } else {
    c.harmless({"moe_intermediate_size", "n_routed_experts", "num_experts_per_tok",
                "n_shared_experts", "moe_shared_expert_intermediate_size"});
  }
  for (const std::string& kind : kinds) d.layers.push_back(block(c, d, kind, mamba_layer, mixture));

  const std::int64_t mtp = c.count({"num_nextn_predict_layers"}, limits::layers);
  std::int64_t extra = 2 * sizes.hidden * sizes.hidden + 3 * sizes.hidden;
  for (const std::string& kind : mtp_kinds)
    attach_mtp(d, mtp, block(c, d, kind, mamba_layer, mixture), std::exchange(extra, 0));
  return d;
}

/// int(2 * multiplier * hidden / 3), up to a multiple of 256.
std::int64_t searched_width(double multiplier, std::int64_t hidden) {
  if (!(multiplier > 0) || multiplier > 64) return 0;
  const auto width = static_cast<std::int64_t>(2 * multiplier * static_cast<double>(hidden) / 3);
  return (width + 255) / 256 * 256;
}

/// `block_configs`: attention that is kept with fewer KV heads, replaced by a linear layer or
/// skipped; networks of any width, or skipped.
Decoder nemotron_nas(Config& c) {
  Traits traits;
  traits.defaults.width_per_hidden = 4;
  c.harmless({"num_key_value_heads_per_layer"});
  Decoder d = standard_decoder(c, traits);
  const std::int64_t h = d.sizes.hidden;
  std::vector<Config> blocks = c.objects("block_configs");
  if (blocks.size() != d.layers.size()) {
    c.fault("block_configs", "lists " + std::to_string(blocks.size()) + " layers, the model has " +
                                 std::to_string(d.sizes.layers));
    return d;
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    Layer& layer = d.layers[i];
    if (auto attention = blocks[i].object("attention")) {
      const std::int64_t per_group = attention->size_or({"n_heads_in_group"}, limits::heads, 1);
      Sizes sizes = d.sizes;
      sizes.kv_heads = static_cast<int>(std::max<std::int64_t>(1, d.sizes.heads / per_group));
      layer.attention = grouped_attention(sizes, d.traits);
      layer.attention.small_parameters += d.attention_norms();
      attention->harmless({"window_length", "num_sink_tokens",
                           "use_prefill_window_in_sink_attention", "unshifted_sink", "sparsify"});
      if (attention->flag({"no_op"}, false)) {
        layer.attention = {.kind = AttentionKind::none};
      } else if (attention->flag({"replace_with_linear"}, false)) {
        layer.attention = {.kind = AttentionKind::none,
                           .extra_weights = h * h,
                           .small_parameters = d.attention_norms()};
      }
      attention->refuse_unknown(false);
    }
    if (auto network = blocks[i].object("ffn")) {
      layer.feed_forward.width = network->has({"intermediate_size"})
                                     ? network->size({"intermediate_size"}, limits::width)
                                     : searched_width(network->number({"ffn_mult"}, 0), h);
      network->harmless({"ffn_mult", "sparsify", "gated"});
      if (network->flag({"no_op"}, false)) {
        layer.feed_forward = {.kind = FeedForwardKind::none};
      } else if (network->flag({"replace_with_linear"}, false)) {
        layer.feed_forward = {.kind = FeedForwardKind::none,
                              .extra_weights = h * h,
                              .small_parameters = d.feed_forward_norms()};
      }
      network->refuse_unknown(false);
    }
  }
  return d;
}

constexpr std::array table = {
    Family{"nemotron_h", "nemotron_h nemotron_h_v2", "NemotronH", nemotron_h},
    Family{"nemotron_nas", "nemotron-nas deci", "DeciLM NemotronNas", nemotron_nas},
};

}  // namespace

std::span<const Family> nemotron_families() { return table; }

}  // namespace tokenroof::io
