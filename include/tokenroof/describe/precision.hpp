// Number formats: what a weight, an activation or a KV entry costs in bytes, and which multiply
// unit serves it.
//
// Bytes per element include scales and zero points: 4-bit weights with an fp16 scale per 128 are
// 0.515625 B, not 0.5. Sources of the layouts: OCP MX 1.0 (mxfp4: 32 elements share one 8-bit
// scale), NVIDIA NVFP4 (16 share one fp8 scale), DeepSeek-V3 report (fp8 with one fp32 scale per
// 128 x 128 block), ggml block layouts (q8_0 34 B/32, q4_0 18 B/32, q4_K 144 B/256, q6_K 210
// B/256).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace tokenroof {

/// What a tensor unit multiplies.
enum class DataType { fp64, fp32, tf32, bf16, fp16, fp8, int8, fp4, int4 };
inline constexpr std::size_t data_type_count = 9;
inline constexpr std::array<std::string_view, data_type_count> data_type_names = {
    "fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8", "fp4", "int4"};
[[nodiscard]] constexpr std::string_view to_string(DataType type) {
  return data_type_names[static_cast<std::size_t>(type)];
}
[[nodiscard]] constexpr std::optional<DataType> data_type(std::string_view name) {
  for (std::size_t i = 0; i < data_type_count; ++i)
    if (data_type_names[i] == name) return static_cast<DataType>(i);
  return std::nullopt;
}

/// How numbers are stored.
struct Format {
  std::string_view name;
  double bytes_per_element = 2;        ///< scales and zeros included
  DataType multiply = DataType::bf16;  ///< the type it is multiplied in, where the device can
  /// Activations must be quantised by a kernel of their own before the multiply.
  bool quantizes_activations = false;
  /// Activation scales are found at run time, by a kernel of their own unless an engine fuses it.
  bool dynamic_scales = false;
  [[nodiscard]] friend constexpr bool operator==(const Format& a, const Format& b) {
    return a.name == b.name;
  }
};

namespace formats {
inline constexpr Format fp32{"fp32", 4, DataType::tf32};
inline constexpr Format bf16{"bf16", 2, DataType::bf16};
inline constexpr Format fp16{"fp16", 2, DataType::fp16};
inline constexpr Format fp8{"fp8", 1, DataType::fp8, true};
inline constexpr Format fp8_block{"fp8_block", 1 + 4.0 / (128 * 128), DataType::fp8, true, true};
inline constexpr Format mxfp8{"mxfp8", 1 + 1.0 / 32, DataType::fp8, true, true};
inline constexpr Format int8{"int8", 1, DataType::int8, true};
inline constexpr Format int8_weight_only{"w8a16", 1 + 2.0 / 128, DataType::bf16};
inline constexpr Format nvfp4{"nvfp4", 0.5 + 1.0 / 16, DataType::fp4, true, true};
inline constexpr Format mxfp4{"mxfp4", 0.5 + 1.0 / 32, DataType::bf16};
inline constexpr Format int4{"int4", 0.5 + 2.0 / 128, DataType::bf16};
inline constexpr Format int4_g32{"int4_g32", 0.5 + 2.0 / 32, DataType::bf16};
inline constexpr Format awq{"awq", 0.5 + 2.5 / 128, DataType::fp16};
inline constexpr Format gptq{"gptq", 0.5 + 2.5 / 128, DataType::fp16};
inline constexpr Format nf4{"nf4", 0.5 + 1.0 / 64 + 4.0 / (64 * 256), DataType::bf16};
inline constexpr Format q8_0{"q8_0", 34.0 / 32, DataType::int8};
inline constexpr Format q6_k{"q6_k", 210.0 / 256, DataType::int8};
inline constexpr Format q5_k{"q5_k", 176.0 / 256, DataType::int8};
inline constexpr Format q5_0{"q5_0", 22.0 / 32, DataType::int8};
inline constexpr Format q4_1{"q4_1", 20.0 / 32, DataType::int8};
inline constexpr Format q4_0{"q4_0", 18.0 / 32, DataType::int8};
inline constexpr Format q4_k{"q4_k", 144.0 / 256, DataType::int8};
/// The usual mixture: half of the value and down projections in q6_K, the rest in q4_K.
inline constexpr Format q4_k_m{"q4_k_m", 4.85 / 8, DataType::int8};
inline constexpr Format q3_k{"q3_k", 110.0 / 256, DataType::int8};
inline constexpr Format q2_k{"q2_k", 84.0 / 256, DataType::int8};
}  // namespace formats

inline constexpr std::array known_formats = {
    formats::fp32,      formats::bf16,  formats::fp16,   formats::fp8,
    formats::fp8_block, formats::mxfp8, formats::int8,   formats::int8_weight_only,
    formats::nvfp4,     formats::mxfp4, formats::int4,   formats::int4_g32,
    formats::awq,       formats::gptq,  formats::nf4,    formats::q8_0,
    formats::q6_k,      formats::q5_k,  formats::q5_0,   formats::q4_1,
    formats::q4_0,      formats::q4_k,  formats::q4_k_m, formats::q3_k,
    formats::q2_k};

[[nodiscard]] constexpr std::optional<Format> format(std::string_view name) {
  for (const Format& known : known_formats)
    if (known.name == name) return known;
  if (name == "f16" || name == "float16") return formats::fp16;
  if (name == "bfloat16") return formats::bf16;
  if (name == "f32" || name == "float32") return formats::fp32;
  if (name == "fp4") return formats::nvfp4;
  return std::nullopt;
}

/// Parts of a model that may be stored in different formats.
enum class Part {
  embedding,
  attention,
  dense_feed_forward,
  routed_experts,
  shared_experts,
  router,
  head,
  other
};
inline constexpr std::size_t part_count = 8;
inline constexpr std::array<std::string_view, part_count> part_names = {
    "embedding", "attention", "dense_feed_forward", "routed_experts", "shared_experts", "router",
    "head",      "other"};
[[nodiscard]] constexpr std::string_view to_string(Part part) {
  return part_names[static_cast<std::size_t>(part)];
}

/// The formats of a deployed model. `other` holds norms and biases.
struct Precision {
  std::array<Format, part_count> weights;
  /// Type the quantised multiplies run in; where the device has no such peak, see `multiply_type`.
  std::optional<DataType> compute;
  Format activations = formats::bf16;
  Format kv_cache = formats::bf16;

  constexpr Precision() { weights.fill(formats::bf16); }
  [[nodiscard]] constexpr const Format& of(Part part) const {
    return weights[static_cast<std::size_t>(part)];
  }
  constexpr void set(Part part, const Format& format) {
    weights[static_cast<std::size_t>(part)] = format;
  }
};

/// Every matrix multiply, KV entry and activation in one format: the textbook's precision.
[[nodiscard]] constexpr Precision uniform_precision(const Format& everything) {
  Precision precision;
  precision.weights.fill(everything);
  precision.kv_cache = everything;
  return precision;
}

}  // namespace tokenroof
