// The outcome of a simulated scenario, for people and for programs.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "tokenroof/decide/simulated.hpp"
#include "tokenroof/io/csv.hpp"
#include "tokenroof/io/scenario_io.hpp"
#include "tokenroof/io/validate.hpp"

namespace tokenroof::io {

/// Throws SpecError, naming the key, for what the simulator does not cover: one step without
/// traffic, separate pools, speculation. `file` is for the message.
void check_simulated(const Scenario& scenario, const std::string& file);

/// JSON text, schema tokenroof/simulate/1: verdict, serving with the keys of an estimate and more
/// quantiles, half widths of 95 % confidence intervals, counts of what happened.
[[nodiscard]] std::string simulation_json(const ScenarioRunResult& result, const Scenario& scenario,
                                          std::string_view version);

[[nodiscard]] std::string simulation_text(const ScenarioRunResult& result, const Scenario& scenario,
                                          Markup markup = Markup::plain);

/// One line a request, when records were kept.
void write_simulation_csv(const ScenarioRunResult& result, std::ostream& out,
                          CsvDialect dialect = {});

}  // namespace tokenroof::io
