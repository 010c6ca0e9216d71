// aiconfigurator's tables (best_config_topn.csv, pareto.csv): closed-loop predictions, times in ms,
// types by kind of operation.
#include "io/import/aiconfigurator.hpp"

#include "tokenroof/core/error.hpp"
#include "tokenroof/io/csv.hpp"

namespace tokenroof::io {
namespace {

struct Renamed {
  std::string_view from, to;
};
constexpr Renamed texts[] = {
    {"model", "model"}, {"backend", "engine"}, {"version", "engine_version"}, {"system", "gpu"}};
constexpr Renamed numbers[] = {
    {"isl", "input_tokens"},
    {"osl", "output_tokens"},
    {"concurrency", "concurrency"},
    {"tp", "tp"},
    {"pp", "pp"},
    {"dp", "attention_dp"},
    {"moe_ep", "ep"},
    {"num_total_gpus", "num_gpus"},
    {"ttft", "ttft_mean_ms"},
    {"tpot", "tpot_mean_ms"},
    {"request_latency", "e2e_mean_ms"},
    {"seq/s", "requests_per_s"},
    {"tokens/s", "output_tokens_per_s_total"},
};

/// "float16" and "fp8_block" as rows call them.
std::string type_of(std::string_view text) {
  if (text == "float16" || text == "bfloat16") return "bf16";
  return std::string(text.substr(0, text.find('_')));
}

}  // namespace

bool is_aiconfigurator_header(std::string_view header) {
  for (const std::string_view column : {"isl", "osl", "ttft", "tpot", "concurrency", "system"}) {
    const std::size_t at = (',' + std::string(header) + ',').find(',' + std::string(column) + ',');
    if (at == std::string::npos) return false;
  }
  return true;
}

void read_aiconfigurator(std::istream& in, const std::string& file,
                         const std::function<void(ImportCells, const std::string&)>& take,
                         const std::function<void(const std::string&, const std::string&)>& skip) {
  CsvReader reader(in, file);
  for (const std::string_view column : {"model", "isl", "osl", "ttft", "tpot", "concurrency"})
    (void)reader.required_column(column);
  for (;;) {
    ImportCells cells;
    try {
      if (!reader.next()) return;
      for (const Renamed& text : texts)
        if (const auto column = reader.column(text.from)) cells.set(text.to, reader.text(*column));
      for (const Renamed& number : numbers)
        if (const auto column = reader.column(number.from))
          cells.set(number.to, reader.number(*column));
      if (const auto column = reader.column("gemm"))
        cells.set("weight_dtype", type_of(reader.text(*column)));
      if (const auto column = reader.column("kvcache"))
        cells.set("kv_dtype", type_of(reader.text(*column)));
    } catch (const SpecError& error) {
      const Fault& fault = error.faults().front();
      skip("line " + std::to_string(reader.line()), fault.json_pointer + ": " + fault.reason);
      continue;
    }
    cells.set("origin", "aiconfigurator prediction");
    cells.set("lengths", "fixed");
    take(std::move(cells), "line " + std::to_string(reader.line()));
  }
}

}  // namespace tokenroof::io
