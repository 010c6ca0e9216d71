// csv_export: rows of numbers and a text cell through the CSV writer; bytes per second.
#include <benchmark/benchmark.h>

#include <sstream>

#include "tokenroof/io/csv.hpp"

namespace {

void csv_export(benchmark::State& state) {
  constexpr int rows = 10000, columns = 12;
  std::int64_t bytes = 0;
  for (auto _ : state) {
    std::ostringstream out;
    {
      tokenroof::io::CsvWriter csv(out);
      std::vector<std::string> names{"name"};
      for (int c = 1; c < columns; ++c) names.push_back("column_" + std::to_string(c) + "_s");
      csv.header(names);
      for (int r = 0; r < rows; ++r) {
        csv.cell("llama-3.1-70b");
        for (int c = 1; c < columns; ++c) csv.cell(1.0 / (r + 1.7 * c));
        csv.end_row();
      }
    }
    bytes += static_cast<std::int64_t>(out.str().size());
  }
  state.SetBytesProcessed(bytes);
  state.SetItemsProcessed(state.iterations() * rows);
}
BENCHMARK(csv_export);

}  // namespace
