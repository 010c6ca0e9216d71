// The quantisation that a file asks for, whatever tool wrote it, in one form.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/json_reader.hpp"
#include "tokenroof/describe/precision.hpp"

namespace tokenroof::io {

/// What the file asks for, in one form.
struct Scheme {
  std::string method;
  Format format = formats::bf16;        ///< of what is quantised
  std::optional<Format> expert_format;  ///< of routed experts, where they differ
  bool experts_only = false;
  bool head_too = false;
  double bytes_per_row = 0;  ///< beside the weights: GPTQ notes the group of every input row
  std::vector<std::string> ignored;
  std::vector<std::string> targets;  ///< module patterns; empty: every linear layer
  std::optional<Format> kv_cache;
};

/// Reads `quantization_config`. Methods and number formats that are not known are faults, and give
/// nothing.
[[nodiscard]] std::optional<Scheme> read_scheme(const Json& object, const std::string& pointer,
                                                Faults& faults);
/// Reads the `quantization` object of hf_quant_config.json.
[[nodiscard]] std::optional<Scheme> read_sidecar(const Json& object, Faults& faults);
/// `format` with other bytes per element.
[[nodiscard]] Format with_bytes(Format format, double bytes);

}  // namespace tokenroof::io
