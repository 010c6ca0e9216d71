#include "io/gguf_metadata.hpp"

#include <algorithm>
#include <array>

#include "io/families/config.hpp"

namespace tokenroof::io {
namespace {

/// Which layers see a window only, where the file gives a window but no list: every `period`-th
/// layer is global. 0: all are windowed; -1: llama.cpp ignores the window of this architecture.
int window_period(const std::string& architecture) {
  struct Period {
    std::string_view architecture;
    int period;
  };
  constexpr std::array periods = {
      Period{"gemma2", 2},       Period{"gemma3", 6},  Period{"gemma3n", 5}, Period{"gpt-oss", 2},
      Period{"cohere2", 4},      Period{"exaone4", 4}, Period{"olmo2", 4},   Period{"llama4", 4},
      Period{"smallthinker", 4}, Period{"phi3", 0},    Period{"mistral", 0}};
  for (const Period& period : periods)
    if (period.architecture == architecture) return period.period;
  return -1;
}

}  // namespace

Geometry read_geometry(const Metadata& meta, std::size_t layers, std::int64_t hidden) {
  Geometry g;
  g.heads = meta.per_layer("attention.head_count", layers, limits::heads, 0);
  g.kv_heads = meta.per_layer("attention.head_count_kv", layers, limits::heads, -1);
  for (std::size_t i = 0; i < layers; ++i)
    if (g.kv_heads[i] < 0) g.kv_heads[i] = g.heads[i];
  const std::int64_t most = *std::max_element(g.heads.begin(), g.heads.end());
  const std::int64_t standard = quotient(hidden, most);
  g.key_dim = meta.count("attention.key_length", limits::head_dim, standard);
  g.value_dim = meta.count("attention.value_length", limits::head_dim, standard);
  g.key_dim_windowed = meta.count("attention.key_length_swa", limits::head_dim, g.key_dim);
  g.value_dim_windowed = meta.count("attention.value_length_swa", limits::head_dim, g.value_dim);
  g.window = static_cast<int>(meta.count("attention.sliding_window", limits::context >> 10));
  if (g.window == 0)
    g.window = static_cast<int>(meta.count("attention.chunk_size", limits::context >> 10));

  // A number says the period, a list the layers.
  const bool listed = meta.has("attention.sliding_window_pattern");
  const auto pattern =
      meta.per_layer("attention.sliding_window_pattern", layers, limits::layers, 0);
  const bool same = std::all_of(pattern.begin(), pattern.end(),
                                [&](std::int64_t p) { return p == pattern.front(); });
  const int period = listed && same && pattern.front() > 1 ? static_cast<int>(pattern.front())
                                                           : window_period(meta.architecture());
  for (std::size_t i = 0; i < layers; ++i) {
    bool windowed = false;
    if (listed && !(same && pattern.front() > 1)) {
      windowed = pattern[i] != 0;
    } else if (period >= 0) {
      windowed = period == 0 || (static_cast<int>(i) + 1) % period != 0;
    }
    g.windowed.push_back(windowed && g.window > 0);
  }
  return g;
}

}  // namespace tokenroof::io
