// Numbers of a candidate at the largest rate that meets its objective.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "cli/side_by_side.hpp"

namespace tokenroof::cli {

/// One such number: scenarios of unlike load stand at the same latency.
struct AtObjective {
  const char* key;     ///< in JSON and tables
  const char* column;  ///< in CSV
  const char* unit;
  std::optional<double> (*value)(const Candidate&);
};

/// request/s; USD per million input and output tokens, price / (rate x tokens x utilization);
/// output token/s of a device. All need a stated objective that some rate meets.
[[nodiscard]] std::span<const AtObjective> at_objective();
/// Why a candidate lacks one of them.
[[nodiscard]] std::string why_not_at_objective(const Candidate& one);

}  // namespace tokenroof::cli
