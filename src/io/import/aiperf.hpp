// What AIPerf and GenAI-Perf write beside their JSON: a table of the same figures, and a line a
// request. Both are brought into the form of the JSON, so that one run gives one row whichever of
// its files is read.
#pragma once

#include <cstddef>
#include <istream>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "io/import/json_source.hpp"

namespace tokenroof::io {

inline constexpr std::string_view aiperf_source_name = "aiperf", aiperf_table_source = "aiperf-csv",
                                  aiperf_requests_source = "aiperf-jsonl";

/// Whether a CSV with these columns is their table of figures.
[[nodiscard]] bool is_aiperf_table(std::span<const std::string> columns);
/// Whether an object is one of their requests.
[[nodiscard]] bool is_aiperf_request(const Json& object);

/// The figures of a run in the form of the JSON export, and the line that states each.
struct AiperfFigures {
  Json metrics = Json::object();
  std::map<std::string, std::size_t, std::less<>> lines;
};
/// The figures in the columns of run_rows.hpp. Throws a SpecError with the line of a figure that
/// cannot be read, and when none is known.
[[nodiscard]] ImportCells aiperf_cells(const AiperfFigures& figures, const std::string& file);

/// The run of profile_export_aiperf.csv or profile_export_genai_perf.csv. Throws a SpecError with a
/// fault for each line that is broken.
[[nodiscard]] ImportCells read_aiperf_table(std::istream& in, const std::string& file);

/// The run whose requests profile_export.jsonl lists, failed ones counted and warm-up left out.
/// Throws a SpecError with a fault for each line that is broken: figures of the rest would not be
/// those of the run.
[[nodiscard]] ImportCells read_aiperf_requests(std::istream& in, const std::string& file);

}  // namespace tokenroof::io
