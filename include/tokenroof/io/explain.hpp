// Why a number is what it is: its formula, the numbers put in, where each of those is from, and
// steps that end at the printed value.
#pragma once

#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenroof/io/csv.hpp"
#include "tokenroof/io/kernels_io.hpp"
#include "tokenroof/io/scenario_io.hpp"
#include "tokenroof/io/validate.hpp"

namespace tokenroof::io {

/// The formula of a metric, once for `explain` and the documentation.
struct Formula {
  std::string_view metric;             ///< key of the metric table, or kv_bytes_per_token
  std::optional<Fidelity> fidelity{};  ///< only in this one; unset: in all
  std::string_view text;
  std::string_view tex;
  std::string_view section;  ///< anchor in docs/formulas.md
};

/// All formulas, in the order of the metric table.
[[nodiscard]] std::span<const Formula> formulas();

/// A number that goes in.
struct ExplainedInput {
  std::string symbol, meaning;
  std::optional<double> value;  ///< empty for constants that are written with a unit of their own
  std::string unit;
  std::string shown;   ///< value and unit for people
  std::string origin;  ///< data sheet, configuration key, profile constant, scenario or default
};

/// A line of the calculation. The last one gives the metric's value; `is_part` lines add up to it.
struct ExplainedStep {
  std::string text;
  double value = 0;
  std::string unit;
  bool is_part = false;
};

struct Explanation {
  std::string metric, meaning, unit;
  std::string formula, tex;
  std::string section;          ///< docs/formulas.md#section
  std::optional<double> value;  ///< empty: `reason` says why
  std::string reason;
  std::vector<ExplainedInput> inputs;
  std::vector<ExplainedStep> steps;
};

/// Explains a metric of the answer to `entry`; `name` is a key or column of the metric table,
/// kv_bytes_per_token, or a short name (decode, prefill, ttft, tpot, cost, ridge, concurrency ...).
/// Throws SpecError with a did-you-mean for any other.
[[nodiscard]] Explanation explain(const ScenarioEntry& entry, Fidelity fidelity,
                                  const KernelEntry& kernels, std::string_view name);

[[nodiscard]] std::string explanation_text(const Explanation& explanation, bool tex = false,
                                           Markup markup = Markup::plain);
[[nodiscard]] std::string explanation_json(const Explanation& explanation,
                                           std::string_view version);
/// One line per input and step: kind, symbol, text, value, unit, origin.
void write_explanation_csv(const Explanation& explanation, std::ostream& out,
                           CsvDialect dialect = {});

}  // namespace tokenroof::io
