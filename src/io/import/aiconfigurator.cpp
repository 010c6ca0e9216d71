// aiconfigurator's tables (best_config_topn.csv, pareto.csv): predictions, times in ms, types by
// kind of operation. Of whole deployments they are closed-loop runs. Of separate pools, with (p) or
// (d) before the columns of a pool, they have no queue: the time to first token is that of a batch
// of a prefill worker, the time per token that of a batch of a decode worker.
#include "io/import/aiconfigurator.hpp"

#include <algorithm>

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

/// A worker of separate pools.
struct Worker {
  std::string_view name, prefix, time, metric, notes;
};
constexpr Worker workers[] = {
    {"prefill", "(p)", "ttft", "ttft_s", "prefill worker of separate pools"},
    {"decode", "(d)", "tpot", "tpot_s",
     "decode worker of separate pools: no prefill interference"}};
/// Of the columns above, those that are of the whole deployment.
constexpr std::string_view shared_columns[] = {"model", "isl", "osl"};
constexpr std::string_view whole_columns[] = {"isl",  "osl",         "ttft",
                                              "tpot", "concurrency", "system"};
constexpr std::string_view pool_columns[] = {"isl",   "osl",   "ttft",  "tpot",
                                             "(p)bs", "(p)tp", "(d)bs", "(d)tp"};

bool is_shared(std::string_view column) {
  return std::find(std::begin(shared_columns), std::end(shared_columns), column) !=
         std::end(shared_columns);
}

template <std::size_t n>
bool has_all(std::span<const std::string> columns, const std::string_view (&wanted)[n]) {
  return std::all_of(std::begin(wanted), std::end(wanted), [&](std::string_view column) {
    return std::find(columns.begin(), columns.end(), column) != columns.end();
  });
}

/// "float16" and "fp8_block" as rows call them.
std::string type_of(std::string_view text) {
  if (text == "float16" || text == "bfloat16") return "bf16";
  return std::string(text.substr(0, text.find('_')));
}

/// One row of a table; columns of a pool have its prefix.
class TableRow {
 public:
  TableRow(const CsvReader& reader, std::string_view prefix) : reader_(reader), prefix_(prefix) {}

  [[nodiscard]] std::string_view text(std::string_view name) const {
    const auto column = find(name);
    return column ? reader_.text(*column) : std::string_view();
  }
  [[nodiscard]] std::optional<double> number(std::string_view name) const {
    const auto column = find(name);
    return column ? reader_.number(*column) : std::nullopt;
  }
  /// What model, engine, devices and layout are.
  [[nodiscard]] ImportCells cells() const {
    if (const auto column = reader_.column("prefix"); column && reader_.number(*column) > 0)
      reader_.fail(*column, "a part of the prompt was cached, which a row cannot state");
    ImportCells cells;
    for (const Renamed& one : texts) cells.set(one.to, text(one.from));
    for (const Renamed& one : numbers) cells.set(one.to, number(one.from));
    cells.set("weight_dtype", type_of(text("gemm")));
    cells.set("kv_dtype", type_of(text("kvcache")));
    return cells;
  }

 private:
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const {
    return reader_.column(is_shared(name) ? std::string(name)
                                          : std::string(prefix_) + std::string(name));
  }

  const CsvReader& reader_;
  std::string_view prefix_;
};

ImportCells whole_deployment(const CsvReader& reader) {
  ImportCells cells = TableRow(reader, "").cells();
  cells.set("origin", "aiconfigurator prediction");
  cells.set("lengths", "fixed");
  return cells;
}

ImportCells worker_cells(const CsvReader& reader, const Worker& worker) {
  const TableRow row(reader, worker.prefix);
  ImportCells cells = row.cells();
  // The batch of a worker, or of each of its attention ranks.
  const auto whole = row.number("global_bs"), each = row.number("bs");
  if (!whole && !each) throw SpecError("", std::string(worker.prefix) + "bs", "is empty");
  cells.set("batch", whole ? *whole : *each * row.number("dp").value_or(1));
  cells.set("metric", worker.metric);
  const auto time = reader.number(reader.required_column(worker.time));
  if (!time) throw SpecError("", std::string(worker.time), "is empty");
  cells.set("value", *time / 1e3);
  cells.set("source", "aiconfigurator prediction");
  cells.set("notes", worker.notes);
  if (const std::string_view experts = row.text("moe"); !experts.empty())
    cells.set("quant_note", "moe=" + std::string(experts));
  return cells;
}

}  // namespace

bool is_aiconfigurator_table(std::span<const std::string> columns) {
  return has_all(columns, whole_columns) || has_all(columns, pool_columns);
}

void read_aiconfigurator(std::istream& in, const std::string& file,
                         const std::function<void(ImportCells, const std::string&)>& take,
                         const std::function<void(const std::string&, const std::string&)>& skip) {
  CsvReader reader(in, file);
  const bool pools = has_all(reader.header(), pool_columns);
  for (const std::string_view column : {"model", "isl", "osl", "ttft", "tpot"})
    (void)reader.required_column(column);
  if (!pools) (void)reader.required_column("concurrency");
  for (bool more = true; more;) {
    std::vector<std::pair<ImportCells, std::string>> runs;
    try {
      more = reader.next();
      if (!more) return;
      const std::string place = "line " + std::to_string(reader.line());
      if (!pools) runs.emplace_back(whole_deployment(reader), place);
      for (const Worker& worker : workers)
        if (pools)
          runs.emplace_back(worker_cells(reader, worker), place + ":" + std::string(worker.name));
    } catch (const SpecError& error) {
      const Fault& fault = error.faults().front();  // at "line 3", "line 3, tp" or a column
      const std::string line = "line " + std::to_string(reader.line());
      std::string column = fault.json_pointer;
      if (column.starts_with(line)) column.erase(0, line.size() + 2);
      skip(line, column + (column.empty() ? "" : ": ") + fault.reason);
      continue;
    }
    for (auto& [cells, place] : runs) take(std::move(cells), place);
  }
}

}  // namespace tokenroof::io
