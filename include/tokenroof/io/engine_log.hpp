// Start-up logs of serving engines: what they say about memory, read as a stream.
//
// Wordings of vLLM 0.2 to 0.29, SGLang, TensorRT-LLM and llama.cpp; colour codes, timestamps, rank
// prefixes, Windows line ends and a byte-order mark do not matter. Sizes are binary whatever the
// log calls them: vLLM printed GiB as "GB" until March 2025, SGLang still does.
#pragma once

#include <array>
#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenroof/core/error.hpp"

namespace tokenroof::io {

/// What a line of a log may state; bytes, tokens or plain numbers.
enum class LogQuantity {
  weights,         ///< of a device, bytes
  activations,     ///< peak beside the weights, bytes
  runtime,         ///< outside the framework's allocator ("non-torch"), bytes
  graphs,          ///< captured graphs, bytes
  graphs_counted,  ///< the estimate that the engine takes off its budget, bytes
  kv_pool,         ///< bytes
  kv_tokens,       ///< as the log counts them
  kv_blocks,       ///< pages of the pool
  block_tokens,    ///< tokens of a page
  concurrency,     ///< sequences of concurrency_length
  concurrency_length,
  visible,  ///< memory of a device, bytes
  memory_fraction,
  tensor_parallel,
  pipeline_parallel,
  data_parallel,
  max_length,
  max_sequences,
  max_batched_tokens,
};
inline constexpr std::size_t log_quantities = 19;

/// One figure and where it stands.
struct LogFigure {
  double value = 0;
  std::size_t line = 0;   ///< from 1, of the value that was kept
  std::string text;       ///< its wording: that line from the telling words on, at most 300 bytes
  std::size_t times = 1;  ///< lines that state it: ranks, workers
  double low = 0, high = 0;
};

/// One start of an engine. Of several ranks the one that limits is kept: the largest of what takes
/// memory, the smallest of what is left.
struct EngineStart {
  std::string engine;                                         ///< vllm, sglang, trtllm, llamacpp
  std::string version, model, dtype, quantization, kv_dtype;  ///< empty: not stated
  std::size_t line = 0;                                       ///< of the first thing known about it
  bool refused = false;  ///< it says that the cache does not hold one sequence
  std::array<std::optional<LogFigure>, log_quantities> figures;

  [[nodiscard]] const std::optional<LogFigure>& figure(LogQuantity quantity) const {
    return figures[static_cast<std::size_t>(quantity)];
  }
  [[nodiscard]] std::optional<double> value(LogQuantity quantity) const {
    const auto& found = figure(quantity);
    return found ? std::optional(found->value) : std::nullopt;
  }
  /// Says anything about memory.
  [[nodiscard]] bool has_memory() const;
  /// As logged, else pages times tokens of a page (16 where the log does not say).
  [[nodiscard]] std::optional<double> kv_tokens() const;
};

struct EngineLog {
  std::vector<EngineStart> starts;  ///< those that say something about memory
  std::vector<Fault> faults;        ///< lines that should state a figure and do not, the first 50
  std::size_t broken = 0;           ///< how many those were
};

/// Reads a log in constant memory, about as fast as a disk delivers it; of a line only the first
/// 64 KiB count. Throws SpecError for what is no text. `file` is for messages.
[[nodiscard]] EngineLog read_engine_log(std::istream& in, const std::string& file);

/// Whether a log of a known engine speaks of memory in `text`.
[[nodiscard]] bool mentions_engine_memory(std::string_view text);

}  // namespace tokenroof::io
