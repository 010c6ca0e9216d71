// profile_export.jsonl: {"metadata": {"request_start_ns": ..., "request_end_ns": ...}, "metrics":
// {"time_to_first_token": {"value": 410.2, "unit": "ms"}, ...}, "error": null}, a line a request.
// The figures of the run are made of them as AIPerf makes them: percentiles between neighbours,
// deviations of the population, rates over the time from the first start to the last end.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "io/import/aiperf.hpp"

namespace tokenroof::io {
namespace {

struct RequestMetric {
  std::string_view key, metric;  ///< of a request, of the run
};
constexpr RequestMetric request_metrics[] = {
    {"time_to_first_token", "time_to_first_token"},
    {"ttft", "time_to_first_token"},
    {"inter_token_latency", "inter_token_latency"},
    {"request_latency", "request_latency"},
    {"input_sequence_length", "input_sequence_length"},
    {"output_sequence_length", "output_sequence_length"},
};
constexpr int percentiles[] = {1, 5, 10, 25, 50, 75, 90, 95, 99};

/// Between the two values that are next to it.
double percentile(const std::vector<double>& sorted, int percent) {
  const double at = percent / 100.0 * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - std::floor(at)) * (sorted[above] - sorted[below]);
}

/// Values of one metric.
struct Values {
  std::string unit;
  std::vector<double> all;

  [[nodiscard]] double sum() const { return std::accumulate(all.begin(), all.end(), 0.0); }
  [[nodiscard]] Json figures() const {
    std::vector<double> sorted = all;
    std::sort(sorted.begin(), sorted.end());
    const double n = static_cast<double>(all.size()), mean = sum() / n;
    double squares = 0;
    for (const double x : all) squares += (x - mean) * (x - mean);
    Json json = {{"unit", unit}, {"avg", mean}, {"std", std::sqrt(squares / n)}};
    for (const int percent : percentiles)
      json[fmt::format("p{}", percent)] = percentile(sorted, percent);
    return json;
  }
};

std::int64_t nanoseconds(const Json& metadata, const char* key) {
  const auto found = metadata.find(key);
  if (found != metadata.end() && found->is_number_integer()) return found->get<std::int64_t>();
  throw SpecError("", join_pointer("/metadata", key),
                  found == metadata.end()
                      ? "is missing"
                      : "expected whole nanoseconds, found " + describe(*found));
}

class Requests {
 public:
  void take(const Json& object, std::size_t line) {
    if (!is_aiperf_request(object))
      throw SpecError("", "", "is no request with metadata and metrics");
    const Json& metadata = object.at("metadata");
    if (const std::string phase = text_in(metadata, "benchmark_phase");
        !phase.empty() && phase != "profiling")
      return;
    if (const auto error = object.find("error"); error != object.end() && !error->is_null()) {
      ++failed_;
      return;
    }
    const std::int64_t start = nanoseconds(metadata, "request_start_ns");
    const std::int64_t end = nanoseconds(metadata, "request_end_ns");
    if (end < start) throw SpecError("", "/metadata/request_end_ns", "is before the start");
    for (const RequestMetric& one : request_metrics) read_metric(object.at("metrics"), one, line);
    first_ = std::min(first_, start);
    last_ = std::max(last_, end);
    ++completed_;
  }

  /// The figures of all that was taken.
  [[nodiscard]] ImportCells run(const std::string& file) {
    if (completed_ == 0) throw SpecError(file, "", "no request was completed");
    const auto state = [&](const char* key, const char* unit, double value) {
      figures_.metrics[key] = {{"unit", unit}, {"avg", value}};
    };
    for (const auto& [metric, values] : values_) figures_.metrics[metric] = values.figures();
    state("request_count", "requests", completed_);
    if (failed_ > 0) state("error_request_count", "requests", failed_);
    const double duration = static_cast<double>(last_ - first_) * 1e-9;
    if (duration > 0) {
      const double inputs = values_["input_sequence_length"].sum();
      const double outputs = values_["output_sequence_length"].sum();
      state("benchmark_duration", "sec", duration);
      state("request_throughput", "requests/sec", completed_ / duration);
      if (outputs > 0) state("output_token_throughput", "tokens/sec", outputs / duration);
      if (outputs > 0) state("total_token_throughput", "tokens/sec", (inputs + outputs) / duration);
    }
    return aiperf_cells(figures_, file);
  }

 private:
  void read_metric(const Json& metrics, const RequestMetric& one, std::size_t line) {
    const auto found = metrics.find(one.key);
    if (found == metrics.end() || found->is_null()) return;
    const std::string pointer = join_pointer("/metrics", one.key);
    if (!found->is_object())
      throw SpecError("", pointer, "expected an object, found " + describe(*found));
    std::optional<double> value;
    try {
      value = figure_in(*found, "value");
    } catch (const SpecError& error) {
      throw SpecError("", pointer + "/value", error.faults().front().reason);
    }
    if (!value) return;
    const std::string unit = text_in(*found, "unit");
    Values& values = values_[std::string(one.metric)];
    const auto [first, is_new] = figures_.lines.emplace(one.metric, line);
    if (is_new) values.unit = unit;
    if (values.unit != unit)
      throw SpecError("", pointer + "/unit",
                      fmt::format("expected \"{}\" as on line {}, found \"{}\"", values.unit,
                                  first->second, unit));
    values.all.push_back(*value);
  }

  AiperfFigures figures_;
  std::map<std::string, Values> values_;
  double completed_ = 0, failed_ = 0;
  std::int64_t first_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace

bool is_aiperf_request(const Json& object) {
  const auto metadata = object.find("metadata"), metrics = object.find("metrics");
  return metadata != object.end() && metadata->is_object() &&
         metadata->contains("request_start_ns") && metrics != object.end() && metrics->is_object();
}

ImportCells read_aiperf_requests(std::istream& in, const std::string& file) {
  constexpr std::size_t most_faults = 20;
  Requests requests;
  std::vector<Fault> faults;
  const auto fault = [&](const std::string& place, const std::string& reason) {
    if (faults.size() < most_faults) faults.push_back({file, place, reason});
  };
  for_each_object(
      in, file,
      [&](const Json& object, const std::string& place) {
        try {
          requests.take(object, std::stoul(place.substr(place.find_first_of("0123456789"))));
        } catch (const SpecError& error) {
          const Fault& one = error.faults().front();
          fault(place, one.json_pointer + (one.json_pointer.empty() ? "" : ": ") + one.reason);
        }
      },
      fault);
  if (!faults.empty()) throw SpecError(faults);
  return requests.run(file);
}

}  // namespace tokenroof::io
