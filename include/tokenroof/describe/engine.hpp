// The serving engine: its limits, its memory habits and the few constants of its host side.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenroof/core/units.hpp"
#include "tokenroof/describe/engine_constants.hpp"
#include "tokenroof/describe/local_runtime.hpp"

namespace tokenroof {

/// How an engine lays out the KV cache of models whose layers differ.
enum class KvPolicy {
  exact,           ///< every layer keeps just what its mathematics needs
  uniform_pages,   ///< vLLM: layer groups share one page size; windows are freed by page
  full_length,     ///< windowed layers keep every token
  windowed_cells,  ///< llama.cpp: windowed layers keep window + micro-batch cells, padded
};

/// Memory habits of one engine from one version on: what it sets aside beside weights and cache, of
/// one device, and how it lays out and reports the cache. Every figure is read off start-up logs.
struct EngineReserve {
  std::string since;  ///< first engine version it holds for
  Bytes runtime;      ///< context and libraries outside the framework's allocator ("non-torch")
  Bytes collectives;  ///< buffers of communication, when a pipeline stage has more than one device
  Bytes graphs;       ///< captured graphs, where the engine counts them against its budget
  /// Hidden rows per batched token that live at the peak of a forward pass, beside the widest
  /// feed-forward or attention row.
  double activation_per_token = 0;
  Bytes activation_base;   ///< activation memory that depends on nothing
  double logit_bytes = 0;  ///< bytes per running sequence and vocabulary entry while sampling
  /// The experts' scratch memory stays allocated while sampling; otherwise the two share memory.
  bool keeps_expert_scratch = false;
  /// 4-bit mx experts are padded to multiples of these in memory.
  int expert_hidden_multiple = 1;
  int expert_width_multiple = 1;
  bool fraction_of_free = false;  ///< memory_fraction is of what weights and reserves leave free
  std::optional<KvPolicy> kv_policy{};  ///< other than the engine's usual one
  bool latent_per_head = false;  ///< latent attention cached as padded keys and values per head
  int state_blocks = 1;          ///< pages that a sequence's recurrent state takes
  /// "KV cache size: N tokens" means concurrency x maximum length, not blocks / groups x block.
  bool reports_capacity = false;
};

/// An engine as configured.
struct Engine {
  std::string name = "default";
  std::string version;
  bool has_profile = true;       ///< false: `default` constants stand in for an unknown engine
  double memory_fraction = 0.9;  ///< share of visible memory the engine may fill
  bool reserve_auto = true;      ///< false: `reserve` below is taken as it is
  Bytes reserve;
  int max_sequences = 256;
  int max_batched_tokens = 8192;
  bool chunked_prefill = true;
  /// Attention ranks wait until prompts can run on all of them together.
  bool aligned_prompts = false;
  int schedule_interval = 1;  ///< decode steps between looks at the queue of new requests
  /// The next step is scheduled while one runs: host time hides behind the device, and what arrives
  /// meanwhile misses that step too. Not with pipeline stages or a local runtime.
  bool async_scheduling = false;
  int block_tokens = 16;
  KvPolicy kv_policy = KvPolicy::exact;
  EngineConstants constants;
  std::optional<LocalRuntimeConstants> local_runtime;  ///< set: steps are those of a local runtime
  std::vector<EngineReserve> reserves;                 ///< by version, oldest first
};

/// Whether `version` is `since` or later, compared number by number ("0.19.1" is after "0.9", and
/// "0.20.1rc1" counts as 0.20.1). An empty version, or a name such as "nightly", is the newest; an
/// empty `since` the oldest.
[[nodiscard]] constexpr bool version_at_least(std::string_view version, std::string_view since) {
  const auto starts = [](std::string_view text) {
    return text.front() >= '0' && text.front() <= '9';
  };
  if (version.empty() || since.empty() || !starts(version)) return true;
  const auto next_number = [](std::string_view& text) {
    long number = 0;
    while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
      number = number < 100000000 ? number * 10 + (text.front() - '0') : number;
      text.remove_prefix(1);
    }
    if (!text.empty() && text.front() == '.')
      text.remove_prefix(1);
    else
      text = {};
    return number;
  };
  while (!version.empty() || !since.empty()) {
    const long a = next_number(version);
    const long b = next_number(since);
    if (a != b) return a > b;
  }
  return true;
}

/// The memory habits of the engine's version: the last entry that is not newer, the first one for
/// versions older than all, nothing when the engine has none.
[[nodiscard]] inline EngineReserve reserve_of(const Engine& engine) {
  if (engine.reserves.empty()) return {};
  EngineReserve chosen = engine.reserves.front();
  for (const EngineReserve& entry : engine.reserves)
    if (version_at_least(engine.version, entry.since)) chosen = entry;
  return chosen;
}

/// The layout that this version of the engine gives the cache.
[[nodiscard]] inline KvPolicy kv_policy_of(const Engine& engine) {
  return reserve_of(engine).kv_policy.value_or(engine.kv_policy);
}

}  // namespace tokenroof
