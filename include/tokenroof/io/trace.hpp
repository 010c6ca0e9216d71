// Traces of real traffic, read as a stream: one request in memory at a time.
//
//   azure     CSV `TIMESTAMP,ContextTokens,GeneratedTokens` (2023 and 2024), no zone or +00:00
//   mooncake  JSON lines `timestamp` (ms), `input_length`, `output_length`, `hash_ids`
//   burstgpt  CSV by header names `Timestamp` (s), `Request tokens`, `Response tokens`
//
// Rows without a response are failures of the service that was traced: skipped and counted. Rows
// that cannot be read are reported with their line. Times are from the first row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "tokenroof/core/error.hpp"
#include "tokenroof/serving/request_stream.hpp"
#include "tokenroof/serving/trace_summary.hpp"

namespace tokenroof::io {

enum class TraceFormat { automatic, azure, mooncake, burstgpt };
[[nodiscard]] const char* to_string(TraceFormat format);

struct TraceOptions {
  TraceFormat format = TraceFormat::automatic;  ///< told from the first line
  std::int64_t prefix_blocks = -1;  ///< mooncake: size of the prefix cache in blocks of 512 tokens;
                                    ///< -1 unlimited, 0 none
  bool strict = true;               ///< broken rows throw at the end of the file, else they count
  std::size_t most_requests = 0;    ///< stop after so many; 0: read all
};

/// What was read.
struct TraceReport {
  TraceFormat format = TraceFormat::automatic;
  std::size_t requests = 0;
  std::size_t failures = 0;   ///< rows without a response
  std::size_t broken = 0;     ///< rows that could not be read
  std::vector<Fault> faults;  ///< the first 50 of them, pointer = "line N"
};

/// Calls `take` for each request, in the order of the file. Throws SpecError for an unknown format,
/// and for broken rows when strict. `file` is for messages.
TraceReport read_trace(std::istream& in, const std::string& file, const TraceOptions& options,
                       const std::function<void(const SimulatedRequest&)>& take);

/// The requests of a file ("-": standard input), sorted by arrival, for a replay.
struct Trace {
  TraceReport report;
  std::vector<SimulatedRequest> requests;
};
[[nodiscard]] Trace load_trace(const std::filesystem::path& path, const TraceOptions& options = {});

/// The same file reduced to a workload, without keeping its requests.
struct ReducedTrace {
  TraceReport report;
  TraceSummary summary;
};
[[nodiscard]] ReducedTrace reduce_trace(const std::filesystem::path& path,
                                        const TraceOptions& options = {});

}  // namespace tokenroof::io
