// A scenario and its answer as an Office Open XML workbook with live formulas: sheets inputs,
// assumptions, calc, results, sources, charts. Every input is a named cell with its unit and
// origin; calc recomputes the step, the costs, the fleet and the capacity from them by the
// library's own definitions, and every formula carries the library's value, so that viewers that do
// not calculate show it too.
//
// Formulas are those of `ideal`. Times of another fidelity are the ideal ones times a ratio that
// holds at the exported point (sheet assumptions). An optional component, tokenroof::xlsx: it needs
// libxlsxwriter, the other readers and writers do not.
#pragma once

#include <optional>
#include <string>

#include "tokenroof/decide/api_price.hpp"
#include "tokenroof/io/kernels_io.hpp"
#include "tokenroof/io/scenario_io.hpp"

namespace tokenroof::io {

/// What a workbook says beside the scenario.
struct WorkbookOptions {
  std::string version;            ///< of the program, for the document's properties
  std::optional<ApiPrice> api{};  ///< to compare with; unset: its cells are empty
};

/// The workbook as the bytes of an .xlsx file. The same arguments give the same bytes: its date of
/// creation is $SOURCE_DATE_EPOCH, else 1980-01-01. Text stays text, whatever it begins with, and
/// what is unknown is an empty cell with a reason. Throws SpecError when the layout of the scenario
/// cannot exist, or when the temporary folder cannot be written.
[[nodiscard]] std::string workbook_xlsx(const ScenarioEntry& entry, Fidelity fidelity,
                                        const KernelEntry& kernels, const WorkbookOptions& options);

}  // namespace tokenroof::io
