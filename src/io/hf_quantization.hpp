// What a file says about number formats: quantization_config, hf_quant_config.json, dtype.
#pragma once

#include <string>

#include "io/families/decoder.hpp"
#include "io/json_reader.hpp"

namespace tokenroof::io {

/// Where a file may say it; null where there is none.
struct QuantizationSources {
  const Json* quantization = nullptr;  ///< quantization_config (or compression_config)
  const Json* sidecar = nullptr;       ///< hf_quant_config.json
  std::string quantization_pointer = "/quantization_config";
  std::string dtype;  ///< torch_dtype or dtype
  std::string dtype_pointer;
  std::string expert_dtype;  ///< DeepSeek-V4
};

/// Fills `model.checkpoint` and appends the MTP layers to `model.attachments` in their formats.
/// `model` is finished; `faults` are of the config file.
void apply_quantization(const QuantizationSources& sources, const std::vector<Mtp>& mtp,
                        Model& model, Faults& faults);

}  // namespace tokenroof::io
