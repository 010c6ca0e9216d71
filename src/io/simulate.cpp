#include "tokenroof/io/simulate_io.hpp"

#include <fmt/format.h>

#include <ostream>

#include "io/plot/picture_parts.hpp"
#include "json_out.hpp"
#include "page.hpp"
#include "tokenroof/io/units_text.hpp"

namespace tokenroof::io {
namespace {

Json times_json(const TimeSummary& times) {
  const auto value = [&](Seconds time) {
    return times.count > 0 ? number(time.base()) : Json(nullptr);
  };
  return {{"count", times.count},
          {"mean", value(times.mean)},
          {"p50", value(times.p50)},
          {"p90", value(times.p90)},
          {"p95", value(times.p95)},
          {"p99", value(times.p99)},
          {"p999", value(times.p999)},
          {"max", value(times.max)},
          {"mean_half_width", value(times.mean_error)},
          {"p95_half_width", value(times.p95_error)}};
}

}  // namespace

void check_simulated(const Scenario& scenario, const std::string& file) {
  if (std::holds_alternative<SingleStep>(scenario.workload.traffic))
    throw SpecError(
        file, "/workload",
        "a simulation needs traffic: expected arrival_rate or concurrency, found batch");
  if (scenario.disaggregation &&
      std::holds_alternative<ClosedLoopTraffic>(scenario.workload.traffic))
    throw SpecError(file, "/disaggregation",
                    "separate pools are simulated under arrivals: expected an arrival_rate, found "
                    "concurrency");
}

std::string simulation_json(const ScenarioRunResult& result, const Scenario& scenario,
                            std::string_view version) {
  const SimulationResult& run = result.run;
  const bool ran = run.completed > 0;
  const auto measured = [&](double value) { return ran ? number(value) : Json(nullptr); };
  Json json = document("simulate", version);
  json["scenario"] = {{"model", scenario.model.id},
                      {"accelerator", scenario.accelerator.id},
                      {"engine", scenario.engine.name},
                      {"devices", scenario.deployment.devices()}};
  json["verdict"] = {{"outcome", to_string(result.verdict.outcome)},
                     {"reason", result.verdict.reason},
                     {"remedy", result.verdict.remedy}};
  json["serving"] = {
      {"concurrency", measured((run.mean_admitted + run.mean_waiting).base() * result.replicas)},
      {"running", measured(run.mean_running.base())},
      {"waiting", measured(run.mean_waiting.base())},
      {"ttft_s", times_json(run.ttft)},
      {"tpot_s", times_json(run.tpot)},
      {"itl_s", times_json(run.itl)},
      {"e2e_s", times_json(run.e2e)},
      {"admission_s", times_json(run.admission)},
      {"request_rate_per_s", measured(run.request_rate.base())},
      {"tokens_per_s_total", measured(run.token_rate.base())},
      {"utilization", measured(run.utilization)},
      {"mean_kv_usage", measured(run.mean_kv_usage)},
      {"peak_kv_usage", measured(run.peak_kv_usage)},
      {"stable", ran ? Json(result.stable) : Json(nullptr)}};
  json["run"] = {{"replicas_simulated", 1},
                 {"duration_s", number(run.duration.base())},
                 {"completed", run.completed},
                 {"rejected", run.rejected},
                 {"preemptions", run.preemptions},
                 {"steps", run.steps},
                 {"generated_tokens", run.generated_tokens},
                 {"prefilled_tokens", run.prefilled_tokens},
                 {"cached_tokens", run.cached_tokens}};
  json["missing"] = Json::array();
  const std::string reason =
      result.verdict.ok() ? std::string("no request was completed") : result.verdict.reason;
  if (!ran) json["missing"].push_back({{"metric", "serving"}, {"reason", reason}});
  if (ran && run.tpot.count == 0)
    json["missing"].push_back(
        {{"metric", "serving.tpot_s"}, {"reason", "no request has more than one output token"}});
  if (ran && run.itl.count == 0)
    json["missing"].push_back(
        {{"metric", "serving.itl_s"}, {"reason", "no request has more than one output token"}});
  return dump(json);
}

std::string simulation_text(const ScenarioRunResult& result, const Scenario& scenario,
                            Markup markup) {
  const SimulationResult& run = result.run;
  Page page(markup);
  const std::string layout = plot::layout_text(scenario);
  const Engine& engine = scenario.engine;
  page.title(fmt::format("{} on {} x {}{}, {}{}: {} simulated requests of one replica",
                         scenario.model.id, plot::devices_of(scenario), scenario.accelerator.name,
                         layout.empty() ? "" : " (" + layout + ")", engine.name,
                         engine.version.empty() ? "" : " " + engine.version,
                         count_text(static_cast<double>(run.completed))));
  page.line(!result.verdict.ok()       ? verdict_text(result.verdict)
            : asks(scenario.objective) ? "The run is stable and meets the objective."
                                       : "The run is stable; the scenario states no objective.");
  if (run.completed == 0) return page.text();

  page.section("Latency");
  TextTable table({"", "mean", "+-", "p50", "p90", "p95", "p99", "max"});
  const auto row = [&](const char* name, const TimeSummary& t) {
    if (t.count == 0) return;
    table.row({name, to_text(t.mean), t.mean_error > Seconds{} ? to_text(t.mean_error, 2) : "-",
               to_text(t.p50), to_text(t.p90), to_text(t.p95), to_text(t.p99), to_text(t.max)});
  };
  row("time to first token", run.ttft);
  row("time per output token", run.tpot);
  row("gap between tokens", run.itl);
  row("end to end", run.e2e);
  row("wait for admission", run.admission);
  page.table(table);

  page.section("Engine");
  page.line(fmt::format("{} and {} of all replicas over {}; {} of the time in a step.",
                        to_text(run.request_rate), to_text(run.token_rate), to_text(run.duration),
                        percent_text(run.utilization)));
  page.line(
      fmt::format("{} running, {} waiting on average in a replica; KV pool {} full on "
                  "average, {} at most.",
                  to_text(run.mean_running.base()), to_text(run.mean_waiting.base()),
                  percent_text(run.mean_kv_usage), percent_text(run.peak_kv_usage)));
  page.line(fmt::format("{} steps; {} preemptions, {} requests too large for the pool.",
                        count_text(static_cast<double>(run.steps)), run.preemptions, run.rejected));
  return page.text();
}

void write_simulation_csv(const ScenarioRunResult& result, std::ostream& out, CsvDialect dialect) {
  CsvWriter csv(out, dialect);
  csv.header({"request", "arrival_s", "admitted_s", "first_token_s", "finished_s", "input_tokens",
              "output_tokens", "cached_tokens", "preemptions", "ttft_s", "tpot_s", "e2e_s"});
  std::int64_t index = 0;
  for (const RequestRecord& r : result.run.records) {
    csv.cell(index++).cell(r.arrival.base());
    if (r.finished <= r.arrival) {  // rejected
      csv.missing().missing().missing().cell(r.input).cell(r.output).end_row();
      continue;
    }
    csv.cell(r.admitted.base()).cell(r.first_token.base()).cell(r.finished.base());
    csv.cell(r.input).cell(r.output).cell(r.cached).cell(r.preemptions);
    csv.cell((r.first_token - r.arrival).base());
    if (r.output > 1)
      csv.cell((r.finished - r.first_token).base() / (r.output - 1));
    else
      csv.missing();
    csv.cell((r.finished - r.arrival).base()).end_row();
  }
}

}  // namespace tokenroof::io
