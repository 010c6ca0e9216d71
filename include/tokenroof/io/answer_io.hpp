// An answer for people and for programs. The numbers, their keys and their order come from the
// metric table (analyze/metrics.hpp); here is only how they are written.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenroof/analyze/metrics.hpp"
#include "tokenroof/decide/answer.hpp"
#include "tokenroof/io/csv.hpp"
#include "tokenroof/io/scenario_io.hpp"
#include "tokenroof/io/validate.hpp"

namespace tokenroof::io {

/// The metric's number in `answer`. Empty when there is none: not computed, not finite, the memory
/// of a layout that cannot exist, the cost of what does not fit.
[[nodiscard]] std::optional<double> reported_number(const Answer& answer, const Metric& metric);

/// Every key of the answer that has no value, in the order of the metric table, with its own
/// reason.
[[nodiscard]] std::vector<Missing> missing_numbers(const Answer& answer, const Scenario& scenario);

/// JSON text, schema tokenroof/estimate/1: the keys of the metric table, nested at their points;
/// verdict{outcome, reason, remedy}; bounds; memory.lines, which add up to visible_bytes;
/// decode.breakdown; error_band; defaults_used; notes; missing[{metric, reason}] for each null.
[[nodiscard]] std::string answer_json(const Answer& answer, const ScenarioEntry& entry,
                                      std::string_view version);

/// The same for people: verdict, memory, decode step, traffic, landmarks, cost, defaults. `colour`
/// only for a terminal.
[[nodiscard]] std::string answer_text(const Answer& answer, const ScenarioEntry& entry,
                                      Markup markup = Markup::plain, bool colour = false);

/// One row: model, accelerator, engine, fidelity, every metric, status, reason, schema_version.
void write_answer_csv(const Answer& answer, const ScenarioEntry& entry, std::ostream& out,
                      CsvDialect dialect = {});

}  // namespace tokenroof::io
