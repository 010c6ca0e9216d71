#include "tokenroof/io/trace.hpp"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>

#include "json_reader.hpp"
#include "tokenroof/serving/prefix_cache.hpp"
#include "trace_line.hpp"

namespace tokenroof::io {
namespace {

// Reads rows of one format; the first line has been read already.
class RowReader {
 public:
  RowReader(TraceFormat format, std::string_view header, const std::string& file)
      : format_(format) {
    if (format == TraceFormat::mooncake) return;
    split_csv(header, cells_);
    const auto column = [&](const char* name) {
      const auto found = std::find(cells_.begin(), cells_.end(), name);
      if (found == cells_.end())
        throw SpecError(file, "line 1", std::string("no column \"") + name + "\"");
      return static_cast<std::size_t>(found - cells_.begin());
    };
    const bool azure = format == TraceFormat::azure;
    time_ = column(azure ? "TIMESTAMP" : "Timestamp");
    input_ = column(azure ? "ContextTokens" : "Request tokens");
    output_ = column(azure ? "GeneratedTokens" : "Response tokens");
  }

  void read(std::string_view line, TraceRow& row) {
    if (format_ == TraceFormat::mooncake) return read_mooncake(line, row);
    split_csv(line, cells_);
    if (cells_.size() <= std::max({time_, input_, output_}))
      throw BrokenRow("expected at least " +
                      std::to_string(std::max({time_, input_, output_}) + 1) + " cells, found " +
                      std::to_string(cells_.size()));
    if (format_ == TraceFormat::azure) {
      // Differences of ticks are exact; as doubles since 1970 they would lose the last digits.
      const std::int64_t ticks = timestamp_ticks(cells_[time_]);
      if (!origin_) origin_ = ticks;
      row.time = static_cast<double>(ticks - *origin_) * 1e-7;
    } else {
      row.time = trace_number(cells_[time_], "Timestamp");
    }
    row.input = trace_count(cells_[input_], "prompt tokens");
    row.output = trace_count(cells_[output_], "generated tokens");
  }

 private:
  TraceFormat format_;
  std::vector<std::string_view> cells_;
  std::size_t time_ = 0, input_ = 0, output_ = 0;
  std::optional<std::int64_t> origin_;
};

TraceFormat format_of(std::string_view line) {
  if (line.find_first_not_of(" \t") != std::string_view::npos &&
      line[line.find_first_not_of(" \t")] == '{')
    return TraceFormat::mooncake;
  if (line.find("ContextTokens") != std::string_view::npos) return TraceFormat::azure;
  if (line.find("Request tokens") != std::string_view::npos) return TraceFormat::burstgpt;
  return TraceFormat::automatic;
}

bool blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

// Calls `use` with the stream of a path, "-" for standard input.
template <class Use>
void with_stream(const std::filesystem::path& path, Use&& use) {
  if (path == "-") return use(std::cin, std::string("-"));
  std::ifstream in = open_file(path);
  use(in, path.string());
}

}  // namespace

const char* to_string(TraceFormat format) {
  switch (format) {
    case TraceFormat::azure:
      return "azure";
    case TraceFormat::mooncake:
      return "mooncake";
    case TraceFormat::burstgpt:
      return "burstgpt";
    case TraceFormat::automatic:
      break;
  }
  return "automatic";
}

TraceReport read_trace(std::istream& in, const std::string& file, const TraceOptions& options,
                       const std::function<void(const SimulatedRequest&)>& take) {
  constexpr int block_tokens = 512;
  constexpr std::size_t most_faults = 50;
  TraceReport report;
  std::string line;
  std::size_t number = 0;
  while (std::getline(in, line)) {
    ++number;
    if (number == 1 && line.rfind("\xEF\xBB\xBF", 0) == 0) line.erase(0, 3);
    if (!blank(line)) break;
  }
  report.format = options.format == TraceFormat::automatic ? format_of(line) : options.format;
  if (report.format == TraceFormat::automatic)
    throw SpecError(file, "line 1",
                    "not a trace: expected the header of an Azure or BurstGPT CSV, or Mooncake "
                    "JSON lines");
  RowReader reader(report.format, line, file);
  PrefixCache cache(options.prefix_blocks);
  std::optional<double> origin;
  TraceRow row;
  bool pending = report.format == TraceFormat::mooncake;  // there the first line is a row
  while (pending || std::getline(in, line)) {
    if (!pending) ++number;
    pending = false;
    if (blank(line)) continue;
    try {
      reader.read(line, row);
      if (!origin) origin = row.time;
      if (row.output == 0) {
        ++report.failures;
        continue;
      }
      if (row.input == 0) throw BrokenRow("a prompt without tokens");
    } catch (const BrokenRow& fault) {
      ++report.broken;
      if (report.faults.size() < most_faults)
        report.faults.push_back({file, "line " + std::to_string(number), fault.what()});
      continue;
    }
    SimulatedRequest r;
    r.arrival = (row.time - *origin) * second;
    r.input = static_cast<int>(row.input);
    r.output = static_cast<int>(row.output);
    if (!row.blocks.empty()) {
      const auto hits = static_cast<std::int64_t>(cache.access(row.blocks)) * block_tokens;
      r.cached = static_cast<int>(std::min<std::int64_t>(hits, r.input - 1));
    }
    ++report.requests;
    take(r);
    if (options.most_requests > 0 && report.requests == options.most_requests) break;
  }
  if (options.strict && report.broken > 0) throw SpecError(report.faults);
  return report;
}

Trace load_trace(const std::filesystem::path& path, const TraceOptions& options) {
  Trace trace;
  with_stream(path, [&](std::istream& in, const std::string& file) {
    trace.report = read_trace(in, file, options,
                              [&trace](const SimulatedRequest& r) { trace.requests.push_back(r); });
  });
  const auto earlier = [](const SimulatedRequest& a, const SimulatedRequest& b) {
    return a.arrival < b.arrival;
  };
  if (!std::is_sorted(trace.requests.begin(), trace.requests.end(), earlier))
    std::stable_sort(trace.requests.begin(), trace.requests.end(), earlier);
  if (!trace.requests.empty()) {
    const Seconds first = trace.requests.front().arrival;
    for (SimulatedRequest& r : trace.requests) r.arrival -= first;
  }
  return trace;
}

ReducedTrace reduce_trace(const std::filesystem::path& path, const TraceOptions& options) {
  ReducedTrace reduced;
  with_stream(path, [&](std::istream& in, const std::string& file) {
    reduced.report = read_trace(in, file, options,
                                [&reduced](const SimulatedRequest& r) { reduced.summary.add(r); });
  });
  return reduced;
}

}  // namespace tokenroof::io
