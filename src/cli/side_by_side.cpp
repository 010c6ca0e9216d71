#include "cli/side_by_side.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <variant>

#include "cli/at_objective.hpp"
#include "io/explain/explainer.hpp"
#include "io/json_out.hpp"
#include "io/page.hpp"
#include "tokenroof/analyze/metrics.hpp"
#include "tokenroof/io/answer_io.hpp"
#include "tokenroof/io/units_text.hpp"

namespace tokenroof::cli {
namespace {

using io::amount;
using io::Json;

/// A setting of a scenario, as text.
struct Setting {
  const char* key;
  std::string (*text)(const Scenario&);
};

std::string format_of(const Scenario& s, Part part) {
  return std::string(s.precision.of(part).name);
}
std::string optional_seconds(const std::optional<Seconds>& time) {
  return time ? io::to_text(*time) : "";
}

constexpr Setting settings[] = {
    {"model", [](const Scenario& s) { return s.model.id; }},
    {"accelerator", [](const Scenario& s) { return s.accelerator.id; }},
    {"accelerator.memory_bandwidth",
     [](const Scenario& s) { return io::to_text(s.accelerator.memory_bandwidth); }},
    {"accelerator.dense_peak.bf16",
     [](const Scenario& s) { return io::to_text(s.accelerator.peak(DataType::bf16)); }},
    {"accelerator.dense_peak.fp8",
     [](const Scenario& s) { return io::to_text(s.accelerator.peak(DataType::fp8)); }},
    {"accelerator.memory_visible",
     [](const Scenario& s) { return io::to_text(s.accelerator.memory_visible); }},
    {"accelerator.scale_up",
     [](const Scenario& s) { return io::to_text(s.accelerator.scale_up.bandwidth); }},
    {"engine",
     [](const Scenario& s) {
       return s.engine.name + (s.engine.version.empty() ? "" : " " + s.engine.version);
     }},
    {"engine.memory_fraction",
     [](const Scenario& s) { return io::to_text(s.engine.memory_fraction); }},
    {"engine.max_sequences",
     [](const Scenario& s) { return std::to_string(s.engine.max_sequences); }},
    {"engine.max_batched_tokens",
     [](const Scenario& s) { return std::to_string(s.engine.max_batched_tokens); }},
    {"engine.chunked_prefill",
     [](const Scenario& s) { return std::string(s.engine.chunked_prefill ? "true" : "false"); }},
    {"precision.weights", [](const Scenario& s) { return format_of(s, Part::attention); }},
    {"precision.expert_weights",
     [](const Scenario& s) { return format_of(s, Part::routed_experts); }},
    {"precision.kv_cache",
     [](const Scenario& s) { return std::string(s.precision.kv_cache.name); }},
    {"deployment.tensor_parallel",
     [](const Scenario& s) { return std::to_string(s.deployment.tensor_parallel); }},
    {"deployment.pipeline_parallel",
     [](const Scenario& s) { return std::to_string(s.deployment.pipeline_parallel); }},
    {"deployment.expert_parallel",
     [](const Scenario& s) { return std::to_string(s.deployment.expert_parallel); }},
    {"deployment.attention_data_parallel",
     [](const Scenario& s) { return std::to_string(s.deployment.attention_data_parallel); }},
    {"deployment.context_parallel",
     [](const Scenario& s) { return std::to_string(s.deployment.context_parallel); }},
    {"deployment.replicas",
     [](const Scenario& s) { return std::to_string(s.deployment.replicas); }},
    {"workload",
     [](const Scenario& s) {
       if (const auto* step = std::get_if<SingleStep>(&s.workload.traffic))
         return fmt::format("batch {} at {} tokens", step->batch.base(), step->context.base());
       if (const auto* closed = std::get_if<ClosedLoopTraffic>(&s.workload.traffic))
         return fmt::format("{} concurrent", closed->concurrency.base());
       return io::to_text(std::get<OpenLoop>(s.workload.traffic).arrival_rate);
     }},
    {"workload.input_tokens",
     [](const Scenario& s) { return io::to_text(s.workload.input.base(), 9); }},
    {"workload.output_tokens",
     [](const Scenario& s) { return io::to_text(s.workload.output.base(), 9); }},
    {"workload.prefix_hit_rate",
     [](const Scenario& s) { return io::to_text(s.workload.prefix_hit_rate); }},
    {"objective.ttft_p95",
     [](const Scenario& s) { return optional_seconds(s.objective.ttft_p95); }},
    {"objective.tpot_p95",
     [](const Scenario& s) { return optional_seconds(s.objective.tpot_p95); }},
    {"price.accelerator_hour",
     [](const Scenario& s) {
       return s.price.accelerator ? io::to_text(*s.price.accelerator) : std::string();
     }},
    {"price.utilization", [](const Scenario& s) { return io::to_text(s.price.utilization); }},
    {"speculation",
     [](const Scenario& s) {
       return s.speculation ? fmt::format("{} drafts, {} accepted", s.speculation->draft_tokens,
                                          s.speculation->acceptance)
                            : std::string();
     }},
};

bool differs(const std::vector<std::string>& cells) {
  return std::any_of(cells.begin(), cells.end(),
                     [&](const std::string& cell) { return cell != cells.front(); });
}

std::vector<std::string> texts_of(const Setting& setting,
                                  const std::vector<Candidate>& candidates) {
  std::vector<std::string> cells;
  for (const Candidate& one : candidates) cells.push_back(setting.text(one.entry.scenario));
  return cells;
}

std::optional<double> number_of(const Candidate& one, const Metric& metric) {
  return io::reported_number(one.answer, metric);
}

/// Probabilities below it are 0 to everybody, and their factors noise.
constexpr double least_probability = 1e-9;

bool negligible(std::string_view key, const std::optional<double>& value) {
  return key.ends_with("_probability") && value && *value < least_probability;
}

/// Value over the first candidate's; none where there is no such number.
std::optional<double> factor(std::string_view key, const std::optional<double>& value,
                             const std::optional<double>& first) {
  if (!value || !first || *first == 0) return std::nullopt;
  if (negligible(key, value) || negligible(key, first)) return std::nullopt;
  return *value / *first;
}

std::string bound_text(const Candidate& one, bool decode) {
  if (decode ? !one.answer.decode : !one.answer.prefill) return "";
  return io::words(to_string(decode ? one.answer.decode->bound : one.answer.prefill->bound));
}

void add_row(io::TextTable& table, std::string name, std::vector<std::string> cells) {
  const bool marked = differs(cells);
  cells.insert(cells.begin(), std::move(name));
  cells.emplace_back(marked ? "*" : "");
  table.row(std::move(cells));
}

}  // namespace

std::string side_by_side_text(const std::string& title, const std::vector<Candidate>& candidates,
                              ShownSettings shown, io::Markup markup) {
  std::vector<std::string> header{""};
  for (const Candidate& one : candidates) header.push_back(one.name);
  header.emplace_back("*");
  io::Page page(markup);
  page.title(title);
  page.line("* marks what is not alike; factors are over the first column.");

  page.section("Settings");
  io::TextTable settings_table(header);
  for (const Setting& setting : settings) {
    const std::vector<std::string> cells = texts_of(setting, candidates);
    const bool none = std::all_of(cells.begin(), cells.end(),
                                  [](const std::string& cell) { return cell.empty(); });
    if (!none && (shown == ShownSettings::all || differs(cells)))
      add_row(settings_table, setting.key, cells);
  }
  if (!settings_table.empty()) page.table(settings_table);
  if (settings_table.empty()) page.line("None of the settings shown here differs.");

  page.section("Answers");
  io::TextTable answers(header);
  std::vector<std::string> outcomes, decode, prefill;
  for (const Candidate& one : candidates) {
    outcomes.push_back(io::words(to_string(one.answer.verdict.outcome)));
    decode.push_back(bound_text(one, true));
    prefill.push_back(bound_text(one, false));
  }
  add_row(answers, "verdict", outcomes);
  add_row(answers, "decode bound", decode);
  add_row(answers, "prefill bound", prefill);
  const auto add_numbers = [&](std::string_view key, std::string_view unit, const auto& value_of) {
    std::vector<std::string> cells;
    bool any = false;
    const std::optional<double> first = value_of(candidates.front());
    for (const Candidate& one : candidates) {
      const std::optional<double> value = value_of(one);
      const std::optional<double> times = factor(key, value, first);
      any = any || value;
      cells.push_back(!value ? "" : negligible(key, value) ? "below 1e-9" : amount(*value, unit));
      if (times && *times != 1) cells.back() += fmt::format(" (x{})", io::to_text(*times, 3));
    }
    if (any) add_row(answers, std::string(key), cells);
    return any;
  };
  for (const Metric& metric : metrics())
    add_numbers(metric.key, metric.unit,
                [&](const Candidate& one) { return number_of(one, metric); });
  bool objectives = false;
  for (const AtObjective& row : at_objective())
    objectives = add_numbers(row.key, row.unit, row.value) || objectives;
  page.table(answers);
  if (objectives)
    page.line(
        "at_objective: each at the largest rate that meets its own objective; its price over input "
        "and output tokens of that rate, busy for price.utilization of the paid time.");
  for (const Candidate& one : candidates)
    if (!one.answer.verdict.ok())
      page.line(fmt::format("{}: {}. {}", one.name, one.answer.verdict.reason,
                            one.answer.verdict.remedy.empty()
                                ? ""
                                : "What would help: " + one.answer.verdict.remedy + "."));
  return page.text();
}

std::string side_by_side_json(std::string_view kind, const std::vector<Candidate>& candidates) {
  Json json = io::document(kind, TOKENROOF_VERSION);
  json["candidates"] = Json::array();
  for (const Candidate& one : candidates) {
    Json column{{"name", one.name}};
    for (const Setting& setting : settings)
      column["settings"][setting.key] = setting.text(one.entry.scenario);
    const Verdict& verdict = one.answer.verdict;
    column["verdict"] = {{"outcome", to_string(verdict.outcome)},
                         {"reason", verdict.reason},
                         {"remedy", verdict.remedy}};
    column["decode_bound"] = one.answer.decode ? Json(to_string(one.answer.decode->bound)) : Json();
    column["prefill_bound"] =
        one.answer.prefill ? Json(to_string(one.answer.prefill->bound)) : Json();
    for (const Metric& metric : metrics()) {
      const std::optional<double> value = number_of(one, metric);
      column["metrics"][std::string(metric.key)] = io::number(value);
      column["factors"][std::string(metric.key)] =
          io::number(factor(metric.key, value, number_of(candidates.front(), metric)));
    }
    for (const AtObjective& row : at_objective()) {
      const std::optional<double> value = row.value(one);
      column["metrics"][row.key] = io::number(value);
      column["factors"][row.key] =
          io::number(factor(row.key, value, row.value(candidates.front())));
    }
    column["missing"] = Json::array();
    for (const Missing& missing : io::missing_numbers(one.answer, one.entry.scenario))
      column["missing"].push_back({{"metric", missing.metric}, {"reason", missing.reason}});
    for (const AtObjective& row : at_objective())
      if (!row.value(one))
        column["missing"].push_back({{"metric", row.key}, {"reason", why_not_at_objective(one)}});
    json["candidates"].push_back(column);
  }
  json["differing_settings"] = Json::array();
  for (const Setting& setting : settings)
    if (differs(texts_of(setting, candidates))) json["differing_settings"].push_back(setting.key);
  return io::dump(json);
}

void write_side_by_side_csv(const std::vector<Candidate>& candidates, std::ostream& out,
                            io::CsvDialect dialect) {
  io::CsvWriter csv(out, dialect);
  std::vector<std::string> header{"candidate"};
  for (const Setting& setting : settings) {
    header.emplace_back(setting.key);
    std::replace(header.back().begin(), header.back().end(), '.', '_');
  }
  for (const Metric& metric : metrics()) header.push_back(metric.column());
  for (const AtObjective& row : at_objective()) header.emplace_back(row.column);
  for (const char* name : {"decode_bound", "status", "reason", "schema_version"})
    header.emplace_back(name);
  csv.header(header);
  for (const Candidate& one : candidates) {
    csv.cell(one.name);
    for (const Setting& setting : settings) csv.value(setting.text(one.entry.scenario));
    for (const Metric& metric : metrics()) csv.cell(number_of(one, metric));
    for (const AtObjective& row : at_objective()) csv.cell(row.value(one));
    csv.cell(one.answer.decode ? to_string(one.answer.decode->bound) : "");
    const Verdict& verdict = one.answer.verdict;
    csv.cell(to_string(verdict.outcome)).cell(verdict.reason).cell(1).end_row();
  }
}

}  // namespace tokenroof::cli
