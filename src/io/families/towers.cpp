// Parameters of vision and audio towers, by the model_type of their own configuration. Reported
// beside the text decoder, so a tower that nobody here knows is a note, not a refusal.
#include "io/families/towers.hpp"

#include <array>
#include <optional>

namespace tokenroof::io {
namespace {

/// Sizes of a tower, tolerant: anything odd reads as the fallback.
class Tower {
 public:
  Tower(const Json& config, std::int64_t text_hidden) : config_(&config), text_(text_hidden) {}

  [[nodiscard]] std::int64_t at(std::string_view key, std::int64_t fallback) const {
    const auto found = config_->find(key);
    if (found == config_->end() || !found->is_number()) return fallback;
    const double value = found->get<double>();
    return value >= 0 && value <= 1 << 20 ? static_cast<std::int64_t>(value) : fallback;
  }
  [[nodiscard]] double real(std::string_view key, double fallback) const {
    const auto found = config_->find(key);
    return found != config_->end() && found->is_number() ? found->get<double>() : fallback;
  }
  [[nodiscard]] bool on(std::string_view key, bool fallback) const {
    const auto found = config_->find(key);
    return found != config_->end() && found->is_boolean() ? found->get<bool>() : fallback;
  }
  [[nodiscard]] std::int64_t length(std::string_view key, std::int64_t fallback) const {
    const auto found = config_->find(key);
    return found != config_->end() && found->is_array() ? static_cast<std::int64_t>(found->size())
                                                        : fallback;
  }
  [[nodiscard]] std::int64_t text() const { return text_; }

 private:
  const Json* config_;
  std::int64_t text_;
};

/// A linear layer with bias.
constexpr std::int64_t linear(std::int64_t in, std::int64_t out) { return in * out + out; }

/// A transformer layer of the usual vision kind: biases everywhere, two LayerNorms.
constexpr std::int64_t vit_layer(std::int64_t h, std::int64_t f) {
  return 4 * linear(h, h) + linear(h, f) + linear(f, h) + 4 * h;
}

/// SigLIP, with Gemma-3's projection to the text.
std::int64_t siglip(const Tower& t) {
  const std::int64_t h = t.at("hidden_size", 768);
  const std::int64_t patch = t.at("patch_size", 16);
  const std::int64_t side = patch > 0 ? t.at("image_size", 224) / patch : 0;
  const std::int64_t layers = t.at("num_hidden_layers", 12);
  return linear(3 * patch * patch, h) + side * side * h +
         layers * vit_layer(h, t.at("intermediate_size", 3072)) + 2 * h + h * t.text() + h;
}

/// SigLIP2 with LFM2's two-layer projection of 2 x 2 patches.
std::int64_t siglip2(const Tower& t) {
  const std::int64_t h = t.at("hidden_size", 768);
  const std::int64_t patch = t.at("patch_size", 16);
  return linear(3 * patch * patch, h) + t.at("num_patches", 256) * h +
         t.at("num_hidden_layers", 12) * vit_layer(h, t.at("intermediate_size", 3072)) + 2 * h +
         linear(4 * h, t.text()) + linear(t.text(), t.text());
}

/// CLIP, with LLaVA's projection.
std::int64_t clip(const Tower& t) {
  const std::int64_t h = t.at("hidden_size", 1024);
  const std::int64_t patch = t.at("patch_size", 14);
  const std::int64_t side = patch > 0 ? t.at("image_size", 336) / patch : 0;
  return 3 * patch * patch * h + h + (side * side + 1) * h + 4 * h +
         t.at("num_hidden_layers", 24) * vit_layer(h, t.at("intermediate_size", 4096)) +
         linear(h, t.text()) + linear(t.text(), t.text());
}

std::int64_t llama4(const Tower& t) {
  const std::int64_t h = t.at("hidden_size", 1408);
  const std::int64_t patch = t.at("patch_size", 14);
  const std::int64_t side = patch > 0 ? t.at("image_size", 336) / patch : 0;
  const std::int64_t in = t.at("projector_input_dim", 4096);
  const std::int64_t out = t.at("projector_output_dim", 4096);
  const std::int64_t vision_out = t.at("vision_output_dim", 4096);
  return 3 * patch * patch * h + h + (side * side + 1) * h + 4 * h +
         t.at("num_hidden_layers", 34) * vit_layer(h, t.at("intermediate_size", 5632)) +
         t.at("intermediate_size", 5632) * in + in * out + vision_out * t.text();
}

std::int64_t qwen2_vl(const Tower& t) {
  const std::int64_t h = t.at("embed_dim", 1280);
  const std::int64_t patch = t.at("patch_size", t.at("spatial_patch_size", 14));
  const auto f = static_cast<std::int64_t>(t.real("mlp_ratio", 4) * static_cast<double>(h));
  return 6 * patch * patch * h + t.at("depth", 32) * vit_layer(h, f) + 2 * h +
         linear(4 * h, 4 * h) + linear(4 * h, t.at("hidden_size", t.text()));
}

std::int64_t qwen25_vl(const Tower& t) {
  const std::int64_t h = t.at("hidden_size", 1280);
  const std::int64_t f = t.at("intermediate_size", 3420);
  const std::int64_t patch = t.at("patch_size", 14);
  const std::int64_t layer = 4 * linear(h, h) + 2 * linear(h, f) + linear(f, h) + 2 * h;
  return 6 * patch * patch * h + t.at("depth", 32) * layer + h + linear(4 * h, 4 * h) +
         linear(4 * h, t.at("out_hidden_size", t.text()));
}

std::int64_t qwen3_vl(const Tower& t) {
  const std::int64_t h = t.at("hidden_size", 1152);
  const std::int64_t patch = t.at("patch_size", 16);
  const std::int64_t merger =
      linear(4 * h, 4 * h) + linear(4 * h, t.at("out_hidden_size", t.text()));
  return linear(6 * patch * patch, h) + t.at("num_position_embeddings", 2304) * h +
         t.at("depth", 27) * vit_layer(h, t.at("intermediate_size", 4304)) + 2 * h + merger +
         t.length("deepstack_visual_indexes", 3) * (8 * h + merger);
}

std::int64_t pixtral(const Tower& t) {
  const std::int64_t h = t.at("hidden_size", 1024);
  const std::int64_t patch = t.at("patch_size", 16);
  const std::int64_t layer = 4 * h * h + 3 * h * t.at("intermediate_size", 4096) + 2 * h;
  return 3 * patch * patch * h + h + t.at("num_hidden_layers", 24) * layer + h + 4 * h * h +
         h * t.text() + t.text() * t.text();
}

std::int64_t mllama(const Tower& t) {
  const std::int64_t h = t.at("hidden_size", 1280);
  const std::int64_t f = t.at("intermediate_size", 5120);
  const std::int64_t patch = t.at("patch_size", 14);
  const std::int64_t side = patch > 0 ? t.at("image_size", 560) / patch : 0;
  const std::int64_t rows = side * side + 1;
  const std::int64_t tiles = t.at("max_num_tiles", 4);
  const std::int64_t ratios = t.length("supported_aspect_ratios", 8) + 1;
  const std::int64_t global = t.at("num_global_layers", 8);
  const std::int64_t layer = 4 * h * h + linear(h, f) + linear(f, h) + 4 * h;
  const std::int64_t positions = 1 + rows * h + ratios * tiles * rows * h;
  const std::int64_t tile_positions = 2 * (ratios * tiles * h + 1);
  return 3 * patch * patch * h + h + positions + tile_positions + 4 * h +
         (t.at("num_hidden_layers", 32) + global) * layer + 2 * global +
         linear(t.at("vision_output_dim", 7680), t.text());
}

std::int64_t intern_vit(const Tower& t) {
  const std::int64_t h = t.at("hidden_size", 1024);
  const std::int64_t patch = t.at("patch_size", 14);
  const std::int64_t side = patch > 0 ? t.at("image_size", 448) / patch : 0;
  const std::int64_t qkv_bias = t.on("qkv_bias", true) ? 0 : 3 * h;
  return linear(3 * patch * patch, h) + h + (side * side + 1) * h +
         t.at("num_hidden_layers", 24) *
             (vit_layer(h, t.at("intermediate_size", 4096)) + 2 * h - qkv_bias) +
         8 * h + linear(4 * h, t.text()) + linear(t.text(), t.text());
}

/// MoonViT of Kimi, with its merging projection.
std::int64_t moon_vit(const Tower& t) {
  const std::int64_t h = t.at("vt_hidden_size", t.at("hidden_size", 1152));
  const std::int64_t patch = t.at("patch_size", 14);
  return linear(3 * patch * patch, h) +
         t.at("init_pos_emb_height", 64) * t.at("init_pos_emb_width", 64) * h +
         t.at("vt_num_hidden_layers", t.at("num_hidden_layers", 27)) *
             vit_layer(h, t.at("vt_intermediate_size", t.at("intermediate_size", 4304))) +
         2 * h + 2 * h + linear(4 * h, 4 * h) + linear(4 * h, t.text());
}

std::int64_t gemma4_vision(const Tower& t) {
  const std::int64_t h = t.at("hidden_size", 768);
  const std::int64_t patch = t.at("patch_size", 16);
  const std::int64_t layer =
      4 * h * h + 3 * h * t.at("intermediate_size", 3072) + 4 * h + 2 * t.at("head_dim", 64);
  return 3 * patch * patch * h + 2 * t.at("position_embedding_size", 10240) * h +
         t.at("num_hidden_layers", 16) * layer + h * t.text() +
         (t.on("standardize", false) ? 2 * h : 0);
}

/// Whisper's encoder, with one projection.
std::int64_t whisper(const Tower& t) {
  const std::int64_t h = t.at("d_model", 1280);
  const std::int64_t f = t.at("encoder_ffn_dim", 5120);
  return linear(3 * t.at("num_mel_bins", 128), h) + linear(3 * h, h) +
         t.at("max_source_positions", 1500) * h +
         t.at("encoder_layers", 32) * (vit_layer(h, f) - h) + 2 * h + linear(h, t.text());
}

struct Kind {
  std::string_view model_type;
  std::int64_t (*count)(const Tower&);
};
constexpr std::array kinds = {
    Kind{"siglip_vision_model", siglip},
    Kind{"siglip2_vision_model", siglip2},
    Kind{"clip_vision_model", clip},
    Kind{"llama4_vision_model", llama4},
    Kind{"qwen2_vl", qwen2_vl},
    Kind{"qwen2_5_vl", qwen25_vl},
    Kind{"qwen2_5_omni_vision_encoder", qwen25_vl},
    Kind{"qwen3_vl", qwen3_vl},
    Kind{"qwen3_vl_moe", qwen3_vl},
    Kind{"qwen3_5", qwen3_vl},
    Kind{"qwen3_5_moe", qwen3_vl},
    Kind{"pixtral", pixtral},
    Kind{"mllama_vision_model", mllama},
    Kind{"intern_vit_6b", intern_vit},
    Kind{"gemma4_vision", gemma4_vision},
    Kind{"qwen2_audio_encoder", whisper},
    Kind{"moonvit", moon_vit},
};

std::string text_at(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<std::int64_t> tower_parameters(const Json& config, const std::string& wrapper_type,
                                             std::int64_t text_hidden) {
  const Tower tower(config, text_hidden);
  if (config.contains("vt_hidden_size")) return moon_vit(tower);
  std::string type = text_at(config, "model_type");
  // Older files leave the tower's own type out.
  if (type.empty()) type = wrapper_type;
  for (const Kind& kind : kinds)
    if (kind.model_type == type) return kind.count(tower);
  return std::nullopt;
}

}  // namespace

void attach_towers(const Json& root, std::int64_t text_hidden, Model& model) {
  const auto thinker = root.find("thinker_config");
  const Json& wrapper = thinker != root.end() && thinker->is_object() ? *thinker : root;
  for (const std::string_view key : {"vision_config", "audio_config", "visual"}) {
    const auto found = wrapper.find(key);
    if (found == wrapper.end() || !found->is_object() || found->empty()) continue;
    const auto parameters = tower_parameters(*found, text_at(wrapper, "model_type"), text_hidden);
    const std::string name = key == "audio_config" ? "audio" : "vision";
    model.attachments.push_back({name, parameters.value_or(0), 2});
    if (!parameters)
      model.notes.push_back("the " + name + " tower (/" + std::string(key) +
                            ") is of an unknown kind and not counted");
  }
}

}  // namespace tokenroof::io
