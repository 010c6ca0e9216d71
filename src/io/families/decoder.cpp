#include "io/families/decoder.hpp"

namespace tokenroof::io {

Sizes read_outer_sizes(Config& config, const Defaults& defaults) {
  Sizes sizes;
  sizes.hidden = config.size({"hidden_size", "n_embd", "d_model", "n_embed", "hidden_dim"},
                             limits::hidden, defaults.hidden);
  sizes.layers = static_cast<int>(config.size(
      {"num_hidden_layers", "n_layer", "num_layers", "n_layers"}, limits::layers, defaults.layers));
  sizes.vocabulary = config.has({"padded_vocab_size"})
                         ? config.size({"padded_vocab_size"}, limits::vocabulary)
                         : config.size({"vocab_size"}, limits::vocabulary, defaults.vocabulary);
  config.harmless({"vocab_size"});
  return sizes;
}

Sizes read_sizes(Config& config, const Defaults& defaults, std::int64_t width) {
  Sizes sizes = read_outer_sizes(config, defaults);
  sizes.heads = static_cast<int>(config.size(
      {"num_attention_heads", "n_head", "n_heads", "num_heads"}, limits::heads, defaults.heads));
  const std::int64_t kv_default =
      config.has({"num_attention_heads", "n_head", "n_heads", "num_heads"}) ||
              defaults.kv_heads == 0
          ? sizes.heads
          : defaults.kv_heads;
  sizes.kv_heads = static_cast<int>(
      config.size_or({"num_key_value_heads", "num_kv_heads", "n_head_kv", "n_kv_heads"},
                     limits::heads, kv_default));
  if (sizes.heads % sizes.kv_heads != 0) {
    config.fault("num_key_value_heads",
                 sizes.kv_heads > sizes.heads
                     ? std::to_string(sizes.kv_heads) + " KV heads, more than the " +
                           std::to_string(sizes.heads) + " query heads"
                     : std::to_string(sizes.heads) + " query heads are not a multiple of " +
                           std::to_string(sizes.kv_heads) + " KV heads");
  }
  const bool explicit_dim = config.has({"head_dim", "kv_channels", "attention_head_dim"});
  if (!explicit_dim && defaults.head_dim == 0 && sizes.hidden % sizes.heads != 0) {
    config.fault("hidden_size", std::to_string(sizes.hidden) + " is not a multiple of " +
                                    std::to_string(sizes.heads) + " heads, and head_dim is absent");
  }
  sizes.head_dim = static_cast<int>(
      config.size_or({"head_dim", "kv_channels", "attention_head_dim"}, limits::head_dim,
                     defaults.head_dim > 0 ? defaults.head_dim : sizes.hidden / sizes.heads));
  const Keys width_keys = {"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"};
  if (width > 0) {
    sizes.width = width;
    return sizes;
  }
  sizes.width =
      defaults.width_per_hidden > 0
          ? config.size_or(width_keys, limits::width, defaults.width_per_hidden * sizes.hidden)
          : config.size(width_keys, limits::width, defaults.width);
  return sizes;
}

Attention grouped_attention(const Sizes& sizes, const Traits& traits) {
  Attention attention;
  attention.query_heads = sizes.heads;
  attention.kv_heads = sizes.kv_heads;
  attention.key_dim = attention.value_dim = sizes.head_dim;
  const std::int64_t query = std::int64_t{sizes.heads} * sizes.head_dim;
  const std::int64_t key = std::int64_t{sizes.kv_heads} * sizes.head_dim;
  if (traits.attention_bias != Biases::none) attention.small_parameters += query + 2 * key;
  if (traits.attention_bias == Biases::all) attention.small_parameters += sizes.hidden;
  if (traits.qk_norm == QueryKeyNorm::per_head) attention.small_parameters += 2 * sizes.head_dim;
  if (traits.qk_norm == QueryKeyNorm::full_width) attention.small_parameters += query + key;
  return attention;
}

FeedForward dense_network(std::int64_t hidden, std::int64_t width, const Traits& traits) {
  FeedForward network;
  network.width = width;
  network.gated = traits.gated;
  if (traits.mlp_bias) network.small_parameters = (traits.gated ? 2 : 1) * width + hidden;
  return network;
}

Decoder empty_decoder(Config& config, const Sizes& sizes, const Traits& traits) {
  Decoder decoder;
  decoder.sizes = sizes;
  decoder.traits = traits;
  Model& model = decoder.model;
  model.hidden = sizes.hidden;
  model.vocabulary = sizes.vocabulary;
  model.tied_embeddings = config.flag({"tie_word_embeddings"}, traits.tied);
  model.embedding_parameters = sizes.vocabulary * sizes.hidden;
  model.final_small_parameters = decoder.norm();
  for (const std::string_view key : {"max_position_embeddings", "n_positions", "max_seq_len",
                                     "seq_length", "max_sequence_length", "model_max_length"}) {
    if (model.maximum_context == 0) model.maximum_context = config.count({key}, limits::context);
  }
  return decoder;
}

void repeat_layer(Decoder& decoder, Layer layer) {
  layer.attention.small_parameters += decoder.attention_norms();
  layer.feed_forward.small_parameters += decoder.feed_forward_norms();
  decoder.layers.assign(static_cast<std::size_t>(decoder.sizes.layers), layer);
}

Decoder standard_decoder(Config& config, Traits traits) {
  return standard_decoder_with_widths(config, traits, {});
}

Decoder standard_decoder_with_widths(Config& config, Traits traits,
                                     const std::vector<std::int64_t>& widths) {
  const Sizes sizes = read_sizes(config, traits.defaults, widths.empty() ? 0 : widths.front());
  if (config.has({"attention_bias"})) {
    traits.attention_bias = config.flag({"attention_bias"}, false) ? traits.biased : Biases::none;
  }
  traits.mlp_bias = config.flag({"mlp_bias"}, traits.mlp_bias);
  Decoder decoder = empty_decoder(config, sizes, traits);
  repeat_layer(decoder, {"dense", grouped_attention(sizes, traits),
                         dense_network(sizes.hidden, sizes.width, traits)});
  for (std::size_t i = 0; i < widths.size() && i < decoder.layers.size(); ++i)
    decoder.layers[i].feed_forward.width = widths[i];
  return decoder;
}

std::vector<std::string> layer_kinds(Config& config, int layers, Keys keys,
                                     const std::function<std::string(int)>& kind_of) {
  for (const std::string_view key : keys) {
    const auto kinds = config.texts(key);
    if (!kinds) continue;
    if (kinds->size() == static_cast<std::size_t>(layers)) return *kinds;
    config.fault(key, "lists " + std::to_string(kinds->size()) + " layers, the model has " +
                          std::to_string(layers));
  }
  std::vector<std::string> kinds;
  for (int i = 0; i < layers; ++i) kinds.push_back(kind_of(i));
  return kinds;
}

namespace {

/// A window as long as the longest context hides nothing.
bool hides_something(const Decoder& decoder, std::int64_t window) {
  return window > 0 &&
         (decoder.model.maximum_context == 0 || window < decoder.model.maximum_context);
}

}  // namespace

void apply_windows(Config& config, Decoder& decoder, const std::vector<std::string>& kinds,
                   std::int64_t default_window) {
  const auto window = static_cast<int>(config.count({"sliding_window", "sliding_window_size"},
                                                    limits::context >> 10, default_window));
  for (std::size_t i = 0; i < decoder.layers.size(); ++i) {
    if (kinds[i] == "full_attention") continue;
    if (kinds[i] == "sliding_attention") {
      if (window == 0) {
        config.fault("sliding_window", "missing, though layers are sliding");
        return;
      }
      if (!hides_something(decoder, window)) continue;
      decoder.layers[i].attention.window = window;
      decoder.layers[i].name += ", sliding";
    } else {
      config.fault("layer_types", "unknown kind of layer \"" + kinds[i] + "\"");
      return;
    }
  }
}

void window_all(Config& config, Decoder& decoder, int first) {
  const auto window =
      config.optional_count({"sliding_window", "sliding_window_size"}, limits::context >> 10);
  if (!config.flag({"use_sliding_window"}, true) || !hides_something(decoder, window.value_or(0)))
    return;
  for (int i = first; i < decoder.sizes.layers; ++i) {
    Layer& layer = decoder.layers[static_cast<std::size_t>(i)];
    layer.attention.window = static_cast<int>(*window);
    layer.name += ", sliding";
  }
}

Model finished(Decoder decoder) {
  Model model = std::move(decoder.model);
  for (const Layer& layer : decoder.layers) {
    std::size_t index = 0;
    while (index < model.groups.size() &&
           !(model.groups[index].attention == layer.attention &&
             model.groups[index].feed_forward == layer.feed_forward)) {
      ++index;
    }
    if (index == model.groups.size())
      model.groups.push_back({layer.name, layer.attention, layer.feed_forward, 0});
    ++model.groups[index].count;
    model.order.push_back(static_cast<int>(index));
  }
  return model;
}

}  // namespace tokenroof::io
