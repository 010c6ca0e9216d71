// The parts of a scenario, each read from its own object. Shared by the scenario_*.cpp files.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "json_reader.hpp"
#include "tokenroof/io/scenario_io.hpp"

namespace tokenroof::io {

/// A part of a scenario as it was before an override replaced its name by its text.
struct Inlined {
  std::string file;               ///< for messages, and for the id of a model
  std::string quantization_json;  ///< sidecar of a model
};

/// What reading a scenario needs beside the JSON.
struct ScenarioContext {
  const Catalog& catalog;
  std::filesystem::path folder;                   ///< of the scenario file
  const std::map<std::string, Inlined>& inlined;  ///< by top-level key
  std::vector<DefaultUsed>& defaults;

  void note(std::string pointer, std::string value, std::string origin = "default") const {
    defaults.push_back({std::move(pointer), std::move(value), std::move(origin)});
  }
  /// The value, or `otherwise` with a note that it was used.
  template <class T>
  T value_or(const ObjectReader& reader, std::string_view key, std::optional<T> value,
             const T& otherwise, const std::string& shown,
             const std::string& origin = "default") const {
    if (value) return *value;
    if (!reader.has(key)) note(reader.pointer(key), shown, origin);
    return otherwise;
  }
};

/// An existing file or directory for a text that names one, looked up from the scenario's folder
/// and then from the working directory.
[[nodiscard]] std::optional<std::filesystem::path> find_path(const std::string& text,
                                                             const std::filesystem::path& folder);
/// A text that can only be meant as a path: it has a slash, or ends in .json or .gguf.
[[nodiscard]] bool looks_like_path(const std::string& text);

// Each adds its faults to the reader's; the result is then not to be used.
[[nodiscard]] Model read_model_part(ObjectReader& scenario, const ScenarioContext& context);
[[nodiscard]] AcceleratorEntry read_accelerator_part(ObjectReader& scenario,
                                                     const ScenarioContext& context);
[[nodiscard]] EngineEntry read_engine_part(ObjectReader& scenario, const ScenarioContext& context);
[[nodiscard]] Precision read_precision_part(ObjectReader& scenario, const Model& model,
                                            const ScenarioContext& context);
[[nodiscard]] Deployment read_deployment_part(ObjectReader& scenario,
                                              const ScenarioContext& context);
[[nodiscard]] Workload read_workload_part(ObjectReader& scenario, const ScenarioContext& context);
[[nodiscard]] Objective read_objective_part(ObjectReader& scenario);
[[nodiscard]] Price read_price_part(ObjectReader& scenario, const Accelerator& accelerator,
                                    const ScenarioContext& context);
[[nodiscard]] std::optional<Speculation> read_speculation_part(ObjectReader& scenario);
[[nodiscard]] std::optional<Disaggregation> read_disaggregation_part(ObjectReader& scenario);

/// The object at `key`, or an empty one, so that every default is noted when a section is absent.
[[nodiscard]] ObjectReader section(ObjectReader& scenario, std::string_view key);
[[nodiscard]] ObjectReader empty_section(ObjectReader& scenario, std::string_view key);

/// Applies one "key=value" to the scenario; see ScenarioDocument::set.
void apply_override(Json& scenario, std::string_view assignment, const Catalog& catalog,
                    const std::filesystem::path& folder, std::map<std::string, Inlined>& inlined,
                    std::string_view option);

}  // namespace tokenroof::io
