// Sheet results: every number of the metric table as exported, the live one beside it where calc
// has it, and why a number is missing.
#include <fmt/format.h>

#include <map>

#include "io/page.hpp"
#include "tokenroof/analyze/metrics.hpp"
#include "tokenroof/io/answer_io.hpp"
#include "xlsx/sheets.hpp"

namespace tokenroof::io::xlsx {
namespace {

/// Metric key to the name of its live cell.
std::map<std::string_view, const char*> live_cells(const Subject& subject) {
  std::map<std::string_view, const char*> live = {
      {"memory.kv_pool_bytes_per_device", "kv_pool_bytes"},
      {"memory.weights_bytes_per_device", "memory_weights_bytes"},
      {"memory.kv_tokens", "kv_tokens"},
      {"memory.max_concurrency", "max_concurrency"},
      {"decode.batch", "batch"},
      {"decode.context_tokens", "live_context"},
      {"decode.step_s", "decode_step"},
      {"decode.tokens_per_s_per_sequence", "tokens_per_s_per_user"},
      {"decode.tokens_per_s_total", "tokens_per_s_total"},
      {"decode.compute_utilization", "compute_utilization"},
      {"decode.bandwidth_utilization", "bandwidth_utilization"},
      {"prefill.time_s", "prompt_alone"},
      {"prefill.tokens_per_s", "prompt_rate"},
      {"limits.ridge_flop_per_byte", "ridge"},
      {"limits.critical_batch", "critical_batch"},
      {"limits.crossover_weights_context", "crossover_weights"},
      {"limits.crossover_compute_context", "crossover_compute"},
      {"limits.crossover_compute_context_with_attention", "crossover_compute_attention"},
      {"limits.latency_floor_s", "latency_floor"},
      {"limits.drain_time_s", "drain_time"},
      {"economics.usd_per_mtok_input", "usd_per_mtok_input"},
      {"economics.usd_per_mtok_output", "usd_per_mtok_output"},
      {"economics.usd_per_mtok_total", "usd_per_mtok_total"},
      {"economics.usd_per_hour", "deployment_usd_per_hour"},
      {"economics.joules_per_output_token", "joules_per_output_token"}};
  if (subject.traffic == Traffic::closed && subject.shown.loop) {
    live["serving.concurrency"] = "concurrency";
    live["serving.running"] = "batch";
    live["serving.ttft_s.mean"] = "ttft_s";
    live["serving.tpot_s.mean"] = "tpot_s";
    live["serving.e2e_s.mean"] = "residence_s";
    live["serving.request_rate_per_s"] = "request_rate";
    live["serving.limit_rate_per_s"] = "request_rate";
  }
  if (subject.answer.serving.request_rate && subject.traffic == Traffic::open)
    live["serving.request_rate_per_s"] = "arrival_rate";
  if (subject.answer.serving.limit_rate && subject.traffic == Traffic::open &&
      !subject.scenario.disaggregation)
    live["serving.utilization"] = "arrival_rate/(replica_limit_rate*replicas)";
  return live;
}

}  // namespace

void write_results(Book& book, const Subject& subject) {
  const Answer& answer = subject.answer;
  Sheet sheet(book, "results", caption(subject));
  sheet.widths({46, 18, 18, 12, 64, 80});
  sheet.line("Results: " + caption(subject), Style::title);
  sheet.line(answer.verdict.ok() ? "Feasible." : verdict_text(answer.verdict), Style::result);
  sheet.line(fmt::format("Fidelity {}. \"exported\" is what the library answered; \"live\" follows "
                         "the input cells.",
                         to_string(answer.fidelity)),
             Style::note);
  const auto top = static_cast<lxw_row_t>(sheet.row);
  sheet.headings({"key", "exported", "live", "unit", "meaning", "reason where empty"}, true);
  std::map<std::string, std::string> reasons;
  for (const Missing& missing : missing_numbers(answer, subject.scenario))
    reasons[missing.metric] = missing.reason;
  const auto live = live_cells(subject);
  for (const Metric& metric : metrics()) {
    const std::optional<double> value = reported_number(answer, metric);
    sheet.text(0, std::string(metric.key));
    sheet.number(1, value, metric.unit, Style::fixed);
    const auto cell = live.find(metric.key);
    if (cell != live.end()) sheet.formula(2, {cell->second, value}, metric.unit, Style::result);
    sheet.text(3, std::string(metric.unit));
    sheet.text(4, std::string(metric.meaning));
    if (!value) sheet.text(5, reasons[std::string(metric.key)], Style::note);
    ++sheet.row;
  }
  worksheet_autofilter(sheet.worksheet(), top, 0, static_cast<lxw_row_t>(sheet.row - 1), 5);
}

}  // namespace tokenroof::io::xlsx
