// Rows of observed_capacity.csv: what serving engines logged about memory, and what we predict.
//
// Most columns of that file are free text written by people ("V0 ~0.6.4", "H100-80GB (2 nodes
// x8)"). `interpret` is the one place that turns them into an engine version, a device, formats and
// a layout; its rules are in docs/ and in validate_capacity.cpp beside the code.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenroof/core/units.hpp"
#include "tokenroof/describe/accelerator.hpp"
#include "tokenroof/describe/deployment.hpp"
#include "tokenroof/describe/engine.hpp"
#include "tokenroof/describe/model.hpp"
#include "tokenroof/describe/precision.hpp"
#include "tokenroof/io/csv.hpp"

namespace tokenroof::io {

/// One line of the file, as written. Empty cells are not stated.
struct CapacityRow {
  std::string id, engine, model, model_config, dtype, kv_dtype, quantization, gpu, notes;
  std::string accelerator;  ///< id; empty: as `gpu` says
  std::string memory_fraction;
  int tensor_parallel = 1;
  int pipeline_parallel = 1;
  std::optional<double> max_length;       ///< tokens
  std::optional<double> weights_gib;      ///< of a device
  std::optional<double> kv_tokens;        ///< as the log counts them
  std::optional<double> kv_pool_gib;      ///< of a device; negative: it did not start
  std::optional<double> max_concurrency;  ///< sequences of max_length, a ratio
};

/// Reads every row. Throws SpecError with the line of the first fault.
[[nodiscard]] std::vector<CapacityRow> read_capacity(CsvReader& reader);

/// What a row says, in our terms.
struct CapacityQuestion {
  std::string engine;            ///< profile name: vllm, sglang, trtllm, llamacpp, default
  std::string version;           ///< empty: the newest
  std::string accelerator;       ///< id; empty: not told or ambiguous
  std::optional<Bytes> visible;  ///< where the row states it
  std::optional<double> fraction;
  Precision precision;
  Deployment deployment;
  std::optional<int> max_sequences, max_batched_tokens;  ///< stated in the notes
  bool first_stage = false;  ///< the figures are of pipeline stage 0, not of the worst
};

/// Reads the free text of `row`; `model` gives the checkpoint's own formats.
[[nodiscard]] CapacityQuestion interpret(const CapacityRow& row, const Model& model);

/// A figure of a row against ours. Metric names are those of design.md: kv_tokens (from the stated
/// pool), kv_pool_gib (from scratch), weights_gib_per_gpu, max_concurrency_x.
struct CapacityFigure {
  std::string metric;
  double measured = 0;
  std::optional<double> predicted;
  std::string reason;  ///< why there is no prediction
};

/// All figures that `row` states. `profile` is the engine's (its version and limits are set from
/// the row), `device` the accelerator of interpret().accelerator; only its visible memory is used.
[[nodiscard]] std::vector<CapacityFigure> predict_capacity(
    const CapacityRow& row, const Model& model, const Engine& profile,
    const std::optional<Accelerator>& device);

}  // namespace tokenroof::io
