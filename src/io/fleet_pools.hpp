// The part of a plan about separate pools, for fleet_io.cpp.
#pragma once

#include <span>
#include <string>

#include "io/json_reader.hpp"
#include "tokenroof/io/fleet_io.hpp"

namespace tokenroof::io {

/// "TP2 x PP2"
[[nodiscard]] std::string fleet_layout_text(const Deployment& layout);

/// One object a comparison.
[[nodiscard]] Json pools_json(const FleetRequest& wanted, const FleetPlan& plan,
                              std::span<const EqualDevices> pools);
/// The table, what it says, and what xPyD is.
[[nodiscard]] std::string pools_text(const FleetRequest& wanted, const FleetPlan& plan,
                                     std::span<const EqualDevices> pools, Markup markup);

}  // namespace tokenroof::io
