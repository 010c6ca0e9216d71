// AIPerf and GenAI-Perf: {"time_to_first_token": {"unit": "ms", "avg": 410.2, "p99": ...}, ...,
// "input_config": {...}}. Units are those that the file states. What they call inter-token latency
// is (latency - TTFT) / (output - 1) of a request: our TPOT.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "io/import/aiperf.hpp"

namespace tokenroof::io {
namespace {

struct Metric {
  std::string_view key;
  std::string_view latency;  ///< of latency_column; empty: one number
  std::string_view column;
};
constexpr Metric metrics[] = {
    {"time_to_first_token", "ttft", {}},
    {"inter_token_latency", "tpot", {}},
    {"request_latency", "e2el", {}},
    {"input_sequence_length", {}, "input_tokens"},
    {"output_sequence_length", {}, "output_tokens"},
    {"request_count", {}, "requests"},
    {"error_request_count", {}, "failed_requests"},
    {"request_throughput", {}, "requests_per_s"},
    {"output_token_throughput", {}, "output_tokens_per_s_total"},
    {"total_token_throughput", {}, "total_tokens_per_s"},
    {"benchmark_duration", {}, "duration_s"},
};

struct Unit {
  std::string_view name;
  double in_ms;
};
constexpr Unit time_units[] = {
    {"ns", 1e-6},    {"nanoseconds", 1e-6}, {"us", 1e-3},  {"microseconds", 1e-3},
    {"ms", 1},       {"milliseconds", 1},   {"s", 1e3},    {"sec", 1e3},
    {"second", 1e3}, {"seconds", 1e3},      {"min", 60e3}, {"minutes", 60e3}};

double time_in_ms(const Json& metric, std::string_view key) {
  const std::string unit = text_in(metric, "unit");
  for (const Unit& known : time_units)
    if (known.name == unit) return known.in_ms;
  throw SpecError("", join_pointer(join_pointer("", key), "unit"),
                  "expected a unit of time (ns, us, ms, s), found \"" + unit + "\"");
}

bool recognises(const Json& object) {
  return std::any_of(std::begin(metrics), std::end(metrics), [&](const Metric& metric) {
    const auto found = object.find(metric.key);
    return found != object.end() && found->is_object() && found->contains("unit");
  });
}

void read_metric(const Json& object, const Metric& metric, ImportCells& cells) {
  const auto found = object.find(metric.key);
  if (found == object.end() || !found->is_object()) return;
  const auto stated = [&](const std::string& key) {
    try {
      return figure_in(*found, key);
    } catch (const SpecError& error) {
      throw SpecError("", join_pointer("", metric.key) + error.faults().front().json_pointer,
                      error.faults().front().reason);
    }
  };
  if (metric.latency.empty()) {
    const auto value = stated("avg");
    const bool time = metric.column == "duration_s";
    if (value) cells.set(metric.column, *value * (time ? time_in_ms(*found, metric.key) / 1e3 : 1));
    return;
  }
  const double scale = time_in_ms(*found, metric.key);
  for (const auto& item : found->items()) {
    const std::string column =
        latency_column(item.key() == "avg" ? "mean" : item.key(), metric.latency);
    if (column.empty()) continue;
    if (const auto value = stated(item.key())) cells.set(column, *value * scale);
  }
}

/// The first scalar called `key` below `json`, depth first: the layout of the configuration has
/// changed with versions, the names have not.
const Json* find_below(const Json& json, std::string_view key) {
  if (json.is_object()) {
    const auto found = json.find(key);
    if (found != json.end() && !found->is_null() && !found->is_object()) return &*found;
  }
  if (json.is_structured())
    for (const Json& part : json)
      if (const Json* found = find_below(part, key)) return found;
  return nullptr;
}

void read(const Json& object, ImportCells& cells) {
  for (const Metric& metric : metrics) read_metric(object, metric, cells);
  cells.set("itl_mean_ms", cells.number("tpot_mean_ms"));
  const auto configuration = object.find("input_config");
  if (configuration == object.end()) return;
  for (const auto& [key, column] :
       {std::pair("concurrency", "concurrency"), std::pair("request_rate", "request_rate_per_s")})
    if (const Json* found = find_below(*configuration, key))
      cells.set(column, figure_in(Json{{key, *found}}, key));
  for (const char* key : {"model_names", "model", "models"}) {
    const Json* found = find_below(*configuration, key);
    if (found == nullptr) continue;
    const Json& name = found->is_array() && !found->empty() ? found->front() : *found;
    if (name.is_string())
      cells.set_default("model", std::string_view(name.get_ref<const std::string&>()));
  }
}

}  // namespace

ImportCells aiperf_cells(const AiperfFigures& figures, const std::string& file) {
  if (!recognises(figures.metrics))
    throw SpecError(file, "", "states no figure of a run, such as the time to first token");
  ImportCells cells;
  try {
    read(figures.metrics, cells);
  } catch (const SpecError& error) {
    const Fault& fault = error.faults().front();  // its pointer begins with the metric
    const std::string key = fault.json_pointer.substr(1, fault.json_pointer.find('/', 1) - 1);
    throw SpecError(file, fmt::format("line {}", figures.lines.at(key)),
                    fault.json_pointer + ": " + fault.reason);
  }
  return cells;
}

extern const JsonSource aiperf_source;
const JsonSource aiperf_source{aiperf_source_name, recognises, read};

}  // namespace tokenroof::io
