// Published figures of one run (static batch, batch 1, maximum throughput), read into a description
// of what ran, and predicted. Shared by `validate` and `calibrate`.
#pragma once

#include <string>
#include <string_view>

#include "io/validate/lookups.hpp"
#include "io/validate/row.hpp"
#include "tokenroof/physics/step.hpp"

namespace tokenroof::io {

/// What the words of a row say about how it was measured.
struct RunTraits {
  bool prompts_only = false;    ///< throughput of prompt tokens
  bool decode_only = false;     ///< no prompts in the measured time
  bool closed_loop = false;     ///< so many requests at a time, each replaced as it ends
  bool together = false;        ///< first tokens wait for the prompts of the whole batch
  bool in_turn = false;         ///< prompts of the batch arrive at once and are served in turn
  bool rank_is_device = false;  ///< attention on every device, experts spread over all
  bool eager = false;           ///< no captured graphs
  bool no_bridge = false;       ///< nobody says that its PCIe cards were linked beyond the host bus
};
[[nodiscard]] RunTraits run_traits(std::string_view words);

/// The engine that a row's free text means.
struct EngineName {
  std::string profile;  ///< name of a profile; the text's first word where nobody has one
  std::string version;  ///< empty: the newest
};
[[nodiscard]] EngineName engine_name(std::string_view text);

/// One run.
struct MeasuredRun {
  std::string metric;
  double value = 0;
  RunTraits traits;
  double batch = 0;  ///< requests at a time; 0: as many as memory and engine allow
  double prompt = 1;
  double output = 1;
  double context = 0;  ///< mean live context
  double devices = 1;
  double requests = 0;  ///< of the whole run; 0: not stated
  Engine engine;
  StepModel<double> model;
  double capacity = 0;  ///< sequences of prompt + output that the memory holds, of all ranks

  /// The row's figure in its own unit; throws SpecError for a metric that nobody can predict.
  [[nodiscard]] double predict() const;
  /// Replaces the engine's constants, and nothing else.
  void set_constants(const Engine& constants);
};

/// Reads a row of measurements.csv. Throws SpecError: something is not stated or not known.
[[nodiscard]] MeasuredRun read_run(const Row& row, Lookups& lookups);

/// Columns that such a file must have.
[[nodiscard]] std::span<const std::string_view> run_columns();

}  // namespace tokenroof::io
