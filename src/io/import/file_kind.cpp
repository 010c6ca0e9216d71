#include "io/import/file_kind.hpp"

#include <algorithm>
#include <sstream>

#include "io/import/aiconfigurator.hpp"
#include "io/import/aiperf.hpp"
#include "tokenroof/io/engine_log.hpp"

namespace tokenroof::io {

extern const JsonSource vllm_bench_source, aiperf_source, inferencex_source;

namespace {

// InferenceX before vllm-bench: its objects may carry keys of the benchmark they were made from.
constexpr const JsonSource* json_sources[] = {&inferencex_source, &aiperf_source,
                                              &vllm_bench_source};

/// The name of a key, as in `"mean_ttft_ms":`, is enough when the objects of the head are torn.
std::string_view told_by_json(std::string_view head) {
  if (!begins_as_json(head)) return {};
  std::istringstream in{std::string(head)};
  std::string_view found;
  try {
    for_each_object(
        in, "",
        [&](const Json& object, const std::string&) {
          for (const JsonSource* source : json_sources)
            if (found.empty() && source->recognises(object)) found = source->name;
          if (found.empty() && is_aiperf_request(object)) found = aiperf_requests_source;
        },
        [](const std::string&, const std::string&) {});
  } catch (const SpecError&) {  // an array longer than the head, or a torn one
  }
  const auto has_key = [&](std::string_view key) {
    return head.find('"' + std::string(key) + '"') != std::string_view::npos;
  };
  if (!found.empty()) return found;
  if (has_key("conc") && has_key("isl")) return inferencex_source.name;
  if (has_key("metadata") && has_key("request_start_ns")) return aiperf_requests_source;
  if (has_key("time_to_first_token") && has_key("unit")) return aiperf_source.name;
  if (has_key("total_input_tokens") || has_key("mean_ttft_ms")) return vllm_bench_source.name;
  return {};
}

/// Cells of the first line, none when it cannot be the header of a table.
std::vector<std::string> first_cells(std::string_view head) {
  std::istringstream in{std::string(head.substr(0, head.find('\n')))};
  try {
    return CsvReader(in, "").header();
  } catch (const SpecError&) {
    return {};
  }
}

/// A header: names between separators and nothing else.
bool begins_as_table(std::string_view head) {
  if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
  const std::string_view line = head.substr(0, head.find_first_of("\r\n"));
  return std::count(line.begin(), line.end(), ',') + std::count(line.begin(), line.end(), ';') >=
             3 &&
         line.find_first_of(":'()[]{} ") == std::string_view::npos;
}

}  // namespace

const JsonSource* json_source(std::string_view name) {
  for (const JsonSource* source : json_sources)
    if (source->name == name) return source;
  return nullptr;
}

bool begins_as_json(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  if (text[first] != '[') return text[first] == '{';
  const std::size_t next = text.find_first_not_of(" \t\r\n", first + 1);
  return next == std::string_view::npos || text[next] == '{' || text[next] == ']';
}

std::string_view file_kind(std::string_view head) {
  if (const std::string_view json = told_by_json(head); !json.empty()) return json;
  const std::vector<std::string> cells = first_cells(head);
  if (is_aiperf_table(cells)) return aiperf_table_source;
  if (is_aiconfigurator_table(cells)) return table_source;
  if (begins_as_table(head)) return "";
  return mentions_engine_memory(head) ? log_source : "";
}

std::vector<std::string_view> import_kinds() {
  return {vllm_bench_source.name, aiperf_source.name, aiperf_table_source, aiperf_requests_source,
          inferencex_source.name, table_source,       log_source};
}

bool importable(std::string_view text) { return !file_kind(text.substr(0, head_bytes)).empty(); }

}  // namespace tokenroof::io
