// docs/csv.md, from the metric table.
#include <fmt/format.h>

#include "tokenroof/io/sweep_io.hpp"

namespace tokenroof::io {

std::string csv_reference() {
  std::string text =
      "# CSV columns\n\n"
      "Made from the metric table (`include/tokenroof/analyze/metrics.hpp`); a test compares.\n"
      "`tokenroof list metrics` prints the same. Names are stable: columns are added, never "
      "renamed "
      "or\nreordered within `schema_version` 1.\n\n"
      "- RFC 4180: comma, CRLF, one header. `--csv-dialect semicolon`, of every verb that writes "
      "CSV, writes\n  semicolons and decimal commas; `validate` and `calibrate` read both.\n"
      "- Numbers are the shortest digits that read back to the same double, in the unit of the "
      "column: seconds,\n  bytes, tokens, rates per second, US dollars.\n"
      "- There is no NaN and no infinity: a number that cannot be said is an empty cell, and "
      "`reason` says why.\n"
      "- Text that a spreadsheet would take for a formula has an apostrophe in front.\n\n"
      "## `estimate`\n\n"
      "`model`, `accelerator`, `engine`, `fidelity`, the metrics below, `status`, `reason`,\n"
      "`schema_version`; one row.\n\n"
      "## `sweep`\n\n"
      "The axes by their keys (`workload_batch`), the metrics below or those of `--metric`, "
      "`decode_bound`,\n`status`, `reason`, `schema_version`; one row a point, the last axis "
      "fastest. "
      "Of several shards only\nthe first has a header.\n\n"
      "`status` is `feasible` or what forbids the point: `does_not_fit`, `context_does_not_fit`, "
      "`unstable`,\n`objective_missed`, `below_latency_floor`, `invalid_layout`.\n\n"
      "## Metrics\n\n| column | unit | meaning |\n|---|---|---|\n";
  for (const Metric& metric : metrics())
    text += fmt::format("| `{}` | {} | {} |\n", metric.column(), metric.unit, metric.meaning);
  return text;
}

}  // namespace tokenroof::io
