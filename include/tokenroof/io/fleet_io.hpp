// A fleet plan for people and for programs.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "tokenroof/decide/fleet.hpp"
#include "tokenroof/io/catalog.hpp"
#include "tokenroof/io/csv.hpp"
#include "tokenroof/io/scenario_io.hpp"
#include "tokenroof/io/validate.hpp"

namespace tokenroof::io {

/// What a plan searches beyond the scenario.
struct FleetSearch {
  std::vector<std::string> accelerators;  ///< names; empty: every one with a price
  std::vector<std::string> precisions;    ///< weight formats; empty: the scenario's own
};

/// The request: candidates from the catalogue, the scenario's own device first. Throws SpecError
/// for a workload without an arrival rate, an unknown or unpriced accelerator, a precision that is
/// none, or no candidate at all.
[[nodiscard]] FleetRequest fleet_request(const ScenarioEntry& entry, const Catalog& catalog,
                                         const FleetSearch& search);

/// Why the cheapest is the cheapest, in a sentence.
[[nodiscard]] std::string fleet_reason(const FleetRequest& wanted, const FleetPlan& plan);

/// JSON text, schema tokenroof/plan/1.
[[nodiscard]] std::string fleet_json(const FleetRequest& wanted, const FleetPlan& plan,
                                     std::size_t most, std::string_view version);
/// Tables: the cheapest, the frontier, what fell out and why.
[[nodiscard]] std::string fleet_text(const FleetRequest& wanted, const FleetPlan& plan,
                                     std::size_t most, Markup markup);
/// One row a deployment, cheapest first.
void write_fleet_csv(const FleetRequest& wanted, const FleetPlan& plan, std::ostream& out,
                     CsvDialect dialect = {});

}  // namespace tokenroof::io
