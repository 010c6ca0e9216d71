// `vllm bench serve --save-result`: latencies in ms, lengths as totals, any keys of --metadata.
// TPOT there is (latency - TTFT) / (output - 1), as here.
#include <algorithm>
#include <array>
#include <cmath>

#include "io/import/json_source.hpp"

namespace tokenroof::io {
namespace {

bool recognises(const Json& object) {
  constexpr std::array<std::string_view, 6> marks = {"total_input_tokens", "total_output_tokens",
                                                     "request_throughput", "output_throughput",
                                                     "mean_ttft_ms",       "mean_tpot_ms"};
  return std::count_if(marks.begin(), marks.end(), [&](std::string_view key) {
           const auto found = object.find(key);
           return found != object.end() && !found->is_object();
         }) >= 2;
}

struct Renamed {
  std::string_view key, column;
};
// Numbers that are taken over as they are.
constexpr Renamed numbers[] = {
    {"num_prompts", "requests"},
    {"burstiness", "burstiness"},
    {"duration", "duration_s"},
    {"failed", "failed_requests"},
    {"request_throughput", "requests_per_s"},
    {"request_goodput", "goodput_requests_per_s"},
    {"output_throughput", "output_tokens_per_s_total"},
    {"total_token_throughput", "total_tokens_per_s"},
    {"max_output_tokens_per_s", "peak_output_tokens_per_s"},
    {"max_concurrent_requests", "peak_concurrency"},
    {"spec_decode_acceptance_rate", "spec_decode_acceptance_rate"},
    {"spec_decode_acceptance_length", "spec_decode_acceptance_length"},
};
// --metadata that says what rows need, in the words that people and launch scripts use.
constexpr Renamed facts[] = {
    {"tp", "tp"},
    {"tensor_parallel_size", "tp"},
    {"tensor_parallel", "tp"},
    {"pp", "pp"},
    {"pipeline_parallel_size", "pp"},
    {"ep", "ep"},
    {"gpu", "gpu"},
    {"accelerator", "gpu"},
    {"engine", "engine"},
    {"engine_version", "engine_version"},
    {"vllm_version", "engine_version"},
    {"version", "engine_version"},
};
// Read below, or of no use in a row.
constexpr std::string_view read_elsewhere[] = {
    "model_id",  "tokenizer_id",       "max_concurrency",     "request_rate",
    "completed", "total_input_tokens", "total_output_tokens", "label",
    "backend",   "endpoint_type",      "input_lens",          "output_lens"};

template <class List, class Get>
bool contains(const List& list, std::string_view key, Get get) {
  return std::any_of(std::begin(list), std::end(list),
                     [&](const auto& entry) { return get(entry) == key; });
}

/// Inf, as a text or as the number that JSON does not have, is no rate: all requests at once.
std::optional<double> request_rate(const Json& object) {
  const auto found = object.find("request_rate");
  if (found != object.end() && found->is_string() && (*found == "inf" || *found == "Infinity"))
    return std::nullopt;
  return number_in(object, "request_rate");
}

/// "fixed", or the uniform law with the spread of `lengths` around 1.
std::string length_law(const std::vector<double>& lengths) {
  double sum = 0, squares = 0;
  for (const double x : lengths) {
    sum += x;
    squares += x * x;
  }
  const double n = static_cast<double>(lengths.size()), mean = sum / n;
  const double variance = std::max(0.0, squares / n - mean * mean);
  const double half = std::min(0.95, std::sqrt(3 * variance) / mean);
  if (half < 0.005) return "fixed";
  char text[40];
  std::snprintf(text, sizeof text, "uniform %.2f-%.2f", 1 - half, 1 + half);
  return text;
}

void read_lengths(const Json& object, ImportCells& cells) {
  const auto lengths = object.find("output_lens");
  if (lengths == object.end() || !lengths->is_array()) return;
  std::vector<double> outputs;
  for (const Json& length : *lengths)
    if (length.is_number() && length.get<double>() > 0) outputs.push_back(length.get<double>());
  if (!outputs.empty()) cells.set("lengths", length_law(outputs));
}

void read_rest(const Json& object, ImportCells& cells) {
  const auto key_of = [](const Renamed& entry) { return entry.key; };
  for (const auto& [key, value] : object.items()) {
    if (value.is_null()) continue;
    const std::size_t stop = key.ends_with("_ms") ? key.find('_') : std::string::npos;
    const std::string column =
        stop == std::string::npos || stop + 4 > key.size()
            ? std::string()
            : latency_column(key.substr(0, stop), key.substr(stop + 1, key.size() - stop - 4));
    if (!column.empty()) {
      cells.set(column, figure_in(object, key));
    } else if (!value.is_structured() && !contains(numbers, key, key_of) &&
               !contains(read_elsewhere, key, [](std::string_view name) { return name; })) {
      const auto fact = std::ranges::find(facts, key, key_of);
      const std::string text = text_in(object, key);
      const std::string name = fact != std::end(facts) ? std::string(fact->column) : "meta_" + key;
      if (const auto number = plain_number(text); number && name != "engine_version")
        cells.set(name, *number);
      else if (text.size() <= 200)
        cells.set(name, text);
    }
  }
}

void read(const Json& object, ImportCells& cells) {
  const double completed =
      number_in(object, "completed").value_or(number_in(object, "num_prompts").value_or(0));
  if (!(completed > 0)) throw SpecError("", "/completed", "no request was completed");
  cells.set("model", text_in(object, "model_id"));
  cells.set("input_tokens", positive_in(object, "total_input_tokens") / completed);
  cells.set("output_tokens", positive_in(object, "total_output_tokens") / completed);
  cells.set("concurrency", number_in(object, "max_concurrency"));
  cells.set("request_rate_per_s", request_rate(object));
  for (const Renamed& number : numbers) cells.set(number.column, number_in(object, number.key));
  // "openai" is a protocol that all engines speak, not an engine.
  for (const char* key : {"label", "endpoint_type", "backend"})
    if (const std::string text = text_in(object, key); text.find("openai") == std::string::npos)
      cells.set("engine", text);
  read_lengths(object, cells);
  read_rest(object, cells);
  cells.set_default("requests", completed);
}

}  // namespace

extern const JsonSource vllm_bench_source;
const JsonSource vllm_bench_source{"vllm-bench", recognises, read};

}  // namespace tokenroof::io
