// Llama and the families that differ from it by a bias, a norm or a window.
#include <array>

#include "io/families/families.hpp"
#include "io/families/mixture.hpp"
#include "io/families/parts.hpp"

namespace tokenroof::io {
namespace {

std::string sliding_unless(bool full) { return full ? "full_attention" : "sliding_attention"; }

Decoder llama(Config& c) {
  return standard_decoder(
      c, {.defaults = {
              .hidden = 4096, .width = 11008, .layers = 32, .heads = 32, .vocabulary = 32000}});
}

Decoder mistral(Config& c) {
  Decoder d = standard_decoder(c, {.defaults = {.hidden = 4096,
                                                .width = 14336,
                                                .layers = 32,
                                                .heads = 32,
                                                .kv_heads = 8,
                                                .vocabulary = 32000}});
  if (c.is_list("layer_types")) {
    apply_windows(c, d, layer_kinds(c, d.sizes.layers, {"layer_types"}, [](int) { return ""; }));
  } else {
    window_all(c, d);
  }
  return d;
}

Decoder phi3(Config& c) {
  Decoder d = standard_decoder(c);
  window_all(c, d);
  if (c.flag({"lm_head_bias"}, false)) d.model.final_small_parameters += d.sizes.vocabulary;
  return d;
}

Decoder smollm3(Config& c) {
  Decoder d = standard_decoder(c, {.tied = true});
  layer_kinds(c, d.sizes.layers, {"layer_types"}, [](int) { return "full_attention"; });
  window_all(c, d);
  return d;
}

Decoder olmo(Config& c) {
  c.harmless({"clip_qkv"});
  return standard_decoder(c, {.vectors_per_norm = 0});
}

Decoder olmo2(Config& c) { return standard_decoder(c, {.qk_norm = QueryKeyNorm::full_width}); }

Decoder olmo3(Config& c) {
  Decoder d = olmo2(c);
  apply_windows(c, d,
                layer_kinds(c, d.sizes.layers, {"layer_types"},
                            [](int i) { return sliding_unless((i + 1) % 4 == 0); }),
                4096);
  return d;
}

constexpr Defaults cohere_sizes = {
    .hidden = 8192, .width = 22528, .layers = 40, .heads = 64, .vocabulary = 256000};

/// One norm for attention and network, which run side by side.
Decoder cohere(Config& c) {
  c.fill_in({"intermediate_size", "vocab_size"});
  const bool qk_norm = c.flag({"use_qk_norm"}, false);
  return standard_decoder(c, {.norms = 1,
                              .qk_norm = qk_norm ? QueryKeyNorm::full_width : QueryKeyNorm::none,
                              .tied = true,
                              .defaults = cohere_sizes});
}

Decoder cohere2(Config& c) {
  Decoder d = standard_decoder(c, {.norms = 1, .tied = true, .defaults = cohere_sizes});
  const auto pattern = static_cast<int>(c.size_or(
      {"sliding_window_pattern", "_sliding_window_pattern", "layer_switch"}, limits::layers, 4));
  c.harmless({"order_of_interleaved_layers", "use_gated_activation", "use_parallel_block"});
  apply_windows(c, d,
                layer_kinds(c, d.sizes.layers, {"layer_types"},
                            [&](int i) { return sliding_unless((i + 1) % pattern == 0); }),
                4096);
  return d;
}

Decoder stablelm(Config& c) {
  const bool parallel = c.flag({"use_parallel_residual"}, false);
  const bool qk_norm = c.flag({"qk_layernorm"}, false);
  const bool bias = c.flag({"use_qkv_bias"}, false);
  return standard_decoder(c, {.attention_bias = bias ? Biases::qkv : Biases::none,
                              .norms = parallel ? 1 : 2,
                              .vectors_per_norm = 2,
                              .qk_norm = qk_norm ? QueryKeyNorm::full_width : QueryKeyNorm::none});
}

Decoder internlm(Config& c) {
  return standard_decoder(c,
                          {.attention_bias = c.flag({"bias"}, true) ? Biases::all : Biases::none});
}

Decoder internlm2(Config& c) {
  return standard_decoder(
      c, {.attention_bias = c.flag({"bias"}, false) ? Biases::all : Biases::none,
          .defaults = {
              .hidden = 4096, .width = 11008, .layers = 32, .heads = 32, .vocabulary = 103168}});
}

Decoder internlm3(Config& c) {
  const bool bias = c.flag({"bias"}, false);
  const bool qkv = c.flag({"qkv_bias"}, false);
  Decoder d =
      standard_decoder(c, {.attention_bias = qkv ? Biases::qkv : Biases::none, .mlp_bias = bias});
  if (bias)
    for (Layer& layer : d.layers) layer.attention.small_parameters += d.sizes.hidden;
  return d;
}

Decoder orion(Config& c) { return standard_decoder(c, {.vectors_per_norm = 2}); }

Decoder exaone(Config& c) {
  c.harmless({"embed_dropout"});
  return standard_decoder(c);
}

/// "LLLG" or a number: how the windowed layers alternate with the global ones.
Decoder exaone4(Config& c) {
  Decoder d = standard_decoder(c, {.qk_norm = QueryKeyNorm::per_head});
  std::string pattern = "LLLG";
  if (c.is_text("sliding_window_pattern")) {
    pattern = c.text({"sliding_window_pattern"}, pattern);
  } else if (c.has({"sliding_window_pattern"})) {
    const auto period =
        static_cast<std::size_t>(c.size_or({"sliding_window_pattern"}, limits::layers, 4));
    pattern = std::string(period - 1, 'L') + 'G';
  }
  if (pattern.empty() || pattern.find_first_not_of("LG") != std::string::npos) {
    c.fault("sliding_window_pattern", "must be a number or a text of L and G");
    pattern = "G";
  }
  const bool windowed = c.has({"sliding_window"});
  const int last = d.sizes.layers - 1;
  apply_windows(c, d, layer_kinds(c, d.sizes.layers, {"layer_types"}, [&](int i) {
                  const char kind = pattern[static_cast<std::size_t>(i) % pattern.size()];
                  return sliding_unless(!windowed || kind == 'G' || i == last);
                }));
  return d;
}

Decoder nemotron(Config& c) { return standard_decoder(c, {.gated = false, .vectors_per_norm = 2}); }

/// Qwen2 with a multi-token-prediction layer.
Decoder mimo(Config& c) {
  Decoder d = standard_decoder(c, {.attention_bias = Biases::qkv, .biased = Biases::qkv});
  window_all(c, d);
  const std::int64_t h = d.sizes.hidden;
  attach_mtp(d, c.count({"num_nextn_predict_layers"}, limits::layers), d.layers.back(),
             2 * h * h + 3 * h);
  return d;
}

Decoder seed_oss(Config& c) {
  Decoder d = standard_decoder(c, {.attention_bias = Biases::qkv, .biased = Biases::qkv});
  if (c.flag({"attention_out_bias"}, false))
    for (Layer& layer : d.layers) layer.attention.small_parameters += d.sizes.hidden;
  return d;
}

Decoder apertus(Config& c) {
  Decoder d = standard_decoder(c, {.gated = false, .qk_norm = QueryKeyNorm::per_head});
  // Two learned slopes of the activation.
  for (Layer& layer : d.layers) layer.feed_forward.small_parameters += 2;
  return d;
}

Decoder arcee(Config& c) { return standard_decoder(c, {.gated = false}); }

/// Dense unless the file names experts.
Decoder minicpm(Config& c) {
  c.harmless({"scale_emb", "scale_depth"});
  Decoder d = standard_decoder(c, {.tied = true});
  if (has_experts(c)) apply_mixture(c, d);
  return d;
}

/// Attention reads its input through two short convolutions over neighbouring tokens.
Decoder yuan(Config& c) {
  Decoder d = standard_decoder(c);
  const std::int64_t h = d.sizes.hidden;
  for (Layer& layer : d.layers) {
    layer.attention.extra_weights += 2 * h * (h / 2) + 2 * (h / 2) * h;
    layer.attention.small_parameters += h / 2 + h + h;
    layer.attention.convolution_elements += h + h / 2;
  }
  return d;
}

/// The file's intermediate_size is both halves of the gated network; 128 extra embedding rows.
Decoder molmo(Config& c) {
  const bool qkv = c.flag({"qkv_bias"}, true);
  c.harmless({"weight_tying", "attention_layer_norm", "norm_after", "clip_qkv"});
  Decoder d = standard_decoder(c, {.attention_bias = qkv ? Biases::qkv : Biases::none});
  if (c.flag({"attention_layer_norm"}, false)) {
    for (Layer& layer : d.layers) {
      layer.attention.small_parameters +=
          std::int64_t{d.sizes.heads + d.sizes.kv_heads} * d.sizes.head_dim;
    }
  }
  for (Layer& layer : d.layers) layer.feed_forward.width /= 2;
  const std::int64_t rows = c.size_or({"embedding_size"}, limits::vocabulary, d.sizes.vocabulary);
  const std::int64_t more = c.count({"additional_vocab_size"}, limits::vocabulary, 128);
  d.model.embedding_parameters = (rows + more) * d.sizes.hidden;
  d.model.head_weights = rows * d.sizes.hidden;
  return d;
}

/// A draft of one layer over three states of its target: reads 2 x hidden, projects 3 x hidden in.
Decoder eagle3(Config& c) {
  Decoder d = standard_decoder(c);
  const std::int64_t h = d.sizes.hidden;
  const std::int64_t kv = std::int64_t{d.sizes.kv_heads} * d.sizes.head_dim;
  Layer& first = d.layers.front();
  first.attention.extra_weights +=
      h * (std::int64_t{d.sizes.heads} * d.sizes.head_dim + 2 * kv) + 3 * h * h;
  first.attention.small_parameters += h;
  d.model.head_weights =
      h * c.size_or({"draft_vocab_size"}, limits::vocabulary, d.sizes.vocabulary);
  c.harmless({"target_hidden_size", "num_aux_hidden_states", "eagle_config"});
  return d;
}

/// Phi-3-small: LayerNorm and biases around a gated network.
Decoder phi3_small(Config& c) {
  c.harmless({"dense_attention_every_n_layers", "gegelu_limit", "blocksparse_block_size",
              "blocksparse_num_local_blocks", "blocksparse_vert_stride",
              "blocksparse_homo_head_pattern", "ff_dim_multiplier"});
  const std::int64_t width = c.size({"ff_intermediate_size", "intermediate_size"}, limits::width);
  return standard_decoder_with_widths(
      c, {.attention_bias = Biases::all, .mlp_bias = true, .vectors_per_norm = 2, .tied = true},
      std::vector<std::int64_t>(1, width));
}

constexpr std::array table = {
    Family{"llama", "llama aquila deepseek_llm yi vicuna code_llama open_llama",
           "Llama LLaMA Aquila XverseCausal Xverse Yi", llama},
    Family{"baichuan", "baichuan", "Baichuan BaiChuan", llama},
    Family{"mistral", "mistral ministral ministral3", "Mistral Ministral Ministral3", mistral},
    Family{"granite", "granite", "Granite", llama},
    Family{"phi3", "phi3 phi4mm phi4_multimodal", "Phi3 Phi3V Phi4MM Phi4Multimodal", phi3},
    Family{"phi3_small", "phi3small", "Phi3Small", phi3_small},
    Family{"smollm3", "smollm3", "SmolLM3", smollm3},
    Family{"olmo", "olmo", "Olmo", olmo},
    Family{"olmo2", "olmo2", "Olmo2", olmo2},
    Family{"olmo3", "olmo3", "Olmo3", olmo3},
    Family{"cohere", "cohere", "Cohere", cohere},
    Family{"cohere2", "cohere2", "Cohere2", cohere2},
    Family{"stablelm", "stablelm stablelm_epoch", "StableLm StableLMEpoch", stablelm},
    Family{"internlm", "internlm", "InternLM", internlm},
    Family{"internlm2", "internlm2", "InternLM2", internlm2},
    Family{"internlm3", "internlm3", "InternLM3", internlm3},
    Family{"orion", "orion", "Orion", orion},
    Family{"exaone", "exaone", "Exaone", exaone},
    Family{"exaone4", "exaone4", "Exaone4", exaone4},
    Family{"nemotron", "nemotron", "Nemotron", nemotron},
    Family{"mimo", "mimo", "MiMo", mimo},
    Family{"seed_oss", "seed_oss", "SeedOss", seed_oss},
    Family{"apertus", "apertus", "Apertus", apertus},
    Family{"arcee", "arcee", "Arcee", arcee},
    Family{"minicpm", "minicpm", "MiniCPM", minicpm},
    Family{"yuan", "yuan", "Yuan", yuan},
    Family{"molmo", "molmo", "Molmo", molmo},
    Family{"eagle3", "", "LlamaForCausalLMEagle3 LlamaForCausalLMEagle3Model", eagle3},
};

}  // namespace

std::span<const Family> llama_families() { return table; }

}  // namespace tokenroof::io
