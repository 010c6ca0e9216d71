// Engine profiles learned from measurements: the same files and the same predictions as
// `validate`, with the engine's constants free.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tokenroof/analyze/calibration.hpp"
#include "tokenroof/io/catalog.hpp"
#include "tokenroof/io/validate.hpp"

namespace tokenroof::io {

struct CalibrateOptions {
  /// Profile to start from; rows of other engines are skipped. A name without a profile starts from
  /// `default`; "default" itself takes the rows of all engines without one.
  std::string engine = "default";
  std::string version;  ///< of the era to learn; rows of other eras are skipped. Empty: the newest
  /// Constants to learn; empty: those that the profile states for that era.
  std::vector<std::string> constants;
  /// Where `model_config` files are looked up first, as in ValidateOptions.
  std::filesystem::path models_dir;
  /// Facts that an imported file does not state, as in ImportOptions.
  std::vector<std::pair<std::string, std::string>> stated;
  std::string source;  ///< what the notes say about the rows; empty: the name of the file
  std::string date;    ///< of the notes; empty: today
  double pull = 0.25;  ///< weight in rows of what the profile says already
  CalibrationOptions fit;
};

/// A profile with new constants and how well they do.
struct EngineCalibration {
  EngineEntry profile;  ///< as the one started from, where fit.ok() with values and notes replaced
  Calibration fit;
  std::vector<std::string> rows;  ///< ids of the figures learned from, in the order of fit.ratios
  std::vector<Skipped> skipped;
};

/// Learns constants from `path` (closed_loop or measurements, or what import.hpp makes such rows
/// of). Throws SpecError when the file as a
/// whole is unusable, or a constant has an unknown name.
[[nodiscard]] EngineCalibration calibrate_file(const std::filesystem::path& path,
                                               const Catalog& catalog,
                                               const CalibrateOptions& options);

}  // namespace tokenroof::io
