// Rows of the trace formats, one line at a time. A row that cannot be read throws BrokenRow.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tokenroof::io {

struct BrokenRow : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One row, before it becomes a request.
struct TraceRow {
  double time = 0;  ///< s, in the clock of the file
  std::int64_t input = 0, output = 0;
  std::vector<std::int64_t> blocks;  ///< mooncake: ids of 512-token blocks
};

/// Cells of a CSV line, quotes taken off.
void split_csv(std::string_view line, std::vector<std::string_view>& cells);

/// Finite number; the whole cell.
[[nodiscard]] double trace_number(std::string_view cell, const char* what);
/// Whole number from 0 to 1e9.
[[nodiscard]] std::int64_t trace_count(std::string_view cell, const char* what);

/// `2023-11-16 18:17:03.9799600`, the fraction optional, then nothing, `Z` or an offset `+00:00`:
/// ticks of 100 ns since 1970.
[[nodiscard]] std::int64_t timestamp_ticks(std::string_view text);

/// A line of a Mooncake trace. Unknown keys are passed over.
void read_mooncake(std::string_view line, TraceRow& row);

}  // namespace tokenroof::io
