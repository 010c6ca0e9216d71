// Devices and models of the oracle table, as plain numbers. Not data/: the table rounds peaks.
#pragma once

#include "tokenroof/physics/roofline.hpp"

namespace tokenroof::test {

struct TheoryDevice {
  double bf16;
  double fp8;
  double bandwidth;
  double memory;
  double link;
  double network;

  [[nodiscard]] Roof<> roof(double peak) const {
    return {FlopsPerSecond::from_base(peak), BytesPerSecond::from_base(bandwidth)};
  }
  [[nodiscard]] Roof<> bf16_roof() const { return roof(bf16); }
  [[nodiscard]] Roof<> fp8_roof() const { return roof(fp8); }
};

inline constexpr TheoryDevice a100{312e12, 0, 2.039e12, 80e9, 300e9, 25e9};
inline constexpr TheoryDevice h100{989e12, 1979e12, 3.35e12, 80e9, 450e9, 50e9};
inline constexpr TheoryDevice h200{989e12, 1979e12, 4.8e12, 141e9, 450e9, 50e9};
inline constexpr TheoryDevice b200{2250e12, 4500e12, 8e12, 192e9, 900e9, 50e9};

/// A dense model as the reference step sees it: weights that multiply a token, KV bytes per token
/// at bf16, attention FLOPs per context token, and what the exact prefill and the messages need.
struct TheoryModel {
  double multiplied;
  double kv_bytes;
  double attention;
  double layers;
  double hidden;
  double vocabulary;

  [[nodiscard]] FlopsPerToken linear_flops() const {
    return FlopsPerToken::from_base(2 * multiplied);
  }
  [[nodiscard]] FlopsPerToken body_flops() const {
    return FlopsPerToken::from_base(2 * (multiplied - hidden * vocabulary));
  }
  [[nodiscard]] FlopsPerToken head_flops() const {
    return FlopsPerToken::from_base(2 * hidden * vocabulary);
  }
  [[nodiscard]] BytesPerToken kv(double bytes_per_element = 2) const {
    return BytesPerToken::from_base(kv_bytes * bytes_per_element / 2);
  }
  [[nodiscard]] FlopsPerToken attention_flops() const {
    return FlopsPerToken::from_base(attention);
  }
  [[nodiscard]] Bytes weights(double bytes_per_weight) const {
    return Bytes::from_base(multiplied * bytes_per_weight);
  }
};

inline constexpr TheoryModel llama_70b{69501714432, 327680, 2621440, 80, 8192, 128256};
inline constexpr TheoryModel llama_405b{403747897344, 516096, 126.0 * 4 * 16384,
                                        126,          16384,  128256};
inline constexpr TheoryModel llama_8b{7504658432, 131072, 32.0 * 4 * 4096, 32, 4096, 128256};
inline constexpr TheoryModel deepseek_v3{36624596992, 70272, 16990208, 61, 7168, 129280};

/// DeepSeek-V3's mixture: parameters of one routed expert, and what is read whatever the routing.
inline constexpr double deepseek_expert = 3.0 * 7168 * 2048;
inline constexpr double deepseek_mixture_layers = 58;
inline constexpr double deepseek_always =
    deepseek_v3.multiplied - deepseek_mixture_layers * 8 * deepseek_expert;
inline constexpr double deepseek_resident =
    deepseek_always + deepseek_mixture_layers * 256 * deepseek_expert;

}  // namespace tokenroof::test
