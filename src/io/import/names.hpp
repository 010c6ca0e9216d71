// Names in benchmark results and logs: tables of words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tokenroof::io {

[[nodiscard]] std::string lower(std::string_view text);

/// The id of the device that InferenceX or aiconfigurator call `name` ("h200-trt", "h100_sxm"); ""
/// for others.
[[nodiscard]] std::string_view device_of(std::string_view name);

/// The data type that a checkpoint's name promises ("...-FP8": fp8); "" when it says nothing.
[[nodiscard]] std::string weights_by_name(std::string_view name);

/// Names under which a model's shapes may be known, in order: as written, without owner, then
/// without one ending after the other.
[[nodiscard]] std::vector<std::string> model_names(const std::string& name);

}  // namespace tokenroof::io
