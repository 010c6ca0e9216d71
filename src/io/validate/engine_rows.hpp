// Rows as functions of an engine's constants: what `calibrate` fits.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "io/validate/kind.hpp"

namespace tokenroof::io {

/// One measured figure of a row.
struct EngineFigure {
  double measured = 0;
  double weight = 1;
  std::function<double(const Engine&)> predict;  ///< with the constants of that engine
};

/// A row of an engine.
struct EngineRow {
  std::string engine;  ///< as profiles are called
  bool has_profile = true;
  std::string version;
  std::string group;  ///< rows that a fit could memorise together
  std::vector<EngineFigure> figures;
};

/// Reads a row of a kind; throws SpecError as its `predict` does.
using ReadEngineRow = EngineRow (*)(const Row& row, Lookups& lookups);

/// For the kinds that depend on an engine's constants; nullptr for the others.
[[nodiscard]] ReadEngineRow engine_row_reader(std::string_view kind);

}  // namespace tokenroof::io
