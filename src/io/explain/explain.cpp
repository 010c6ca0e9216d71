#include "tokenroof/io/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "explainer.hpp"
#include "io/json_out.hpp"
#include "io/page.hpp"
#include "tokenroof/analyze/metrics.hpp"
#include "tokenroof/io/answer_io.hpp"

namespace tokenroof::io {
namespace {

struct ShortName {
  std::string_view name, metric;
};
constexpr ShortName short_names[] = {{"decode", "decode.step_s"},
                                     {"step", "decode.step_s"},
                                     {"prefill", "prefill.time_s"},
                                     {"kv", "kv_bytes_per_token"},
                                     {"kv_bytes", "kv_bytes_per_token"},
                                     {"memory", "memory.kv_pool_bytes_per_device"},
                                     {"kv_pool", "memory.kv_pool_bytes_per_device"},
                                     {"weights", "memory.weights_bytes_per_device"},
                                     {"concurrency", "memory.max_concurrency"},
                                     {"max_concurrency", "memory.max_concurrency"},
                                     {"max_context", "memory.max_context"},
                                     {"ttft", "serving.ttft_s.mean"},
                                     {"tpot", "serving.tpot_s.mean"},
                                     {"ridge", "limits.ridge_flop_per_byte"},
                                     {"critical_batch", "limits.critical_batch"},
                                     {"optimal_batch", "limits.optimal_batch"},
                                     {"s_w", "limits.crossover_weights_context"},
                                     {"s_c0", "limits.crossover_compute_context"},
                                     {"s_c1", "limits.crossover_compute_context_with_attention"},
                                     {"crossover", "limits.crossover_compute_context"},
                                     {"cost", "economics.usd_per_mtok_output"},
                                     {"throughput", "decode.tokens_per_s_total"},
                                     {"mfu", "decode.compute_utilization"},
                                     {"mbu", "decode.bandwidth_utilization"}};

constexpr std::string_view kv_metric = "kv_bytes_per_token";

/// The key of the metric that `name` means.
std::string metric_of(std::string_view name) {
  for (const ShortName& known : short_names)
    if (known.name == name) name = known.metric;
  if (name == kv_metric) return std::string(name);
  if (const Metric* metric = find_metric(name)) return std::string(metric->key);
  std::vector<std::string> known{std::string(kv_metric)};
  for (const ShortName& one : short_names) known.emplace_back(one.name);
  for (const Metric& metric : metrics()) known.emplace_back(metric.key);
  throw SpecError("explain", "",
                  fmt::format("unknown metric \"{}\"{}; `tokenroof list metrics` shows them", name,
                              did_you_mean(name, known)));
}

/// Why `metric` has no value; empty when it has one.
std::string missing_reason(const Explainer& to, std::string_view metric) {
  for (const Missing& missing : missing_numbers(to.answer, to.scenario))
    if (missing.metric == metric) return missing.reason;
  return {};
}

}  // namespace

Explanation explain(const ScenarioEntry& entry, Fidelity fidelity, const KernelEntry& kernels,
                    std::string_view name) {
  const std::string key = metric_of(name);
  Explainer to(entry, fidelity, kernels);
  Explanation& result = to.result;
  result.metric = key;
  for (const Formula& formula : formulas()) {
    if (formula.metric != key || (formula.fidelity && *formula.fidelity != fidelity)) continue;
    result.formula = formula.text;
    result.tex = formula.tex;
    result.section = formula.section;
  }
  if (key == kv_metric) {
    result.unit = "B/token";
    result.meaning = "KV cache per token, layers that keep every token, whole model";
  } else {
    const Metric& metric = *find_metric(key);
    result.unit = metric.unit;
    result.meaning = metric.meaning;
    result.value = reported_number(to.answer, metric);
    if (!result.value) {
      result.reason = missing_reason(to, key);
      return std::move(to.result);
    }
  }
  // Serving metrics need traffic, the others a layout; both are there when the value is.
  const bool explained = explain_memory(to, key) || explain_serving(to, key) ||
                         explain_step(to, key) || explain_limits(to, key) ||
                         explain_economics(to, key);
  if (!explained) throw std::logic_error("no explanation of " + key);
  return std::move(to.result);
}

std::string explanation_text(const Explanation& explanation, bool tex, Markup markup) {
  Page page(markup);
  page.title(explanation.metric + ": " + explanation.meaning);
  page.line(explanation.formula);
  if (tex) page.line("\\[ " + explanation.tex + " \\]");
  page.line("Reference: docs/formulas.md#" + explanation.section);
  if (!explanation.value) {
    page.line("No value: " + explanation.reason + ".");
    return page.text();
  }
  if (!explanation.inputs.empty()) {
    page.section("Numbers put in");
    TextTable table({"symbol", "value", "meaning"}, {Align::left, Align::right, Align::left});
    std::vector<std::pair<std::string, std::string>> symbols_by_origin;
    for (const ExplainedInput& input : explanation.inputs) {
      table.row({input.symbol, input.shown, input.meaning});
      const auto known = std::find_if(symbols_by_origin.begin(), symbols_by_origin.end(),
                                      [&](const auto& one) { return one.first == input.origin; });
      if (known == symbols_by_origin.end())
        symbols_by_origin.emplace_back(input.origin, input.symbol);
      else
        known->second += ", " + input.symbol;
    }
    page.table(table);
    page.section("Where they are from");
    for (const auto& [origin, symbols] : symbols_by_origin) page.line(symbols + ": " + origin);
  }
  page.section("Step by step");
  const bool adds = std::any_of(explanation.steps.begin(), explanation.steps.end(),
                                [](const ExplainedStep& step) { return step.is_part; });
  TextTable table({"", "value", adds ? "share" : ""}, {Align::left, Align::right, Align::right});
  for (const ExplainedStep& step : explanation.steps)
    table.row({step.text, amount(step.value, step.unit),
               step.is_part && *explanation.value != 0
                   ? percent_text(step.value / *explanation.value)
                   : ""});
  page.table(table);
  page.line(
      fmt::format("{} = {}", explanation.metric, amount(*explanation.value, explanation.unit)));
  return page.text();
}

std::string explanation_json(const Explanation& explanation, std::string_view version) {
  Json json = document("explain", version);
  json["metric"] = explanation.metric;
  json["meaning"] = explanation.meaning;
  json["unit"] = explanation.unit;
  json["value"] = number(explanation.value);
  if (!explanation.value) json["reason"] = explanation.reason;
  json["formula"] = explanation.formula;
  json["tex"] = explanation.tex;
  json["reference"] = "docs/formulas.md#" + explanation.section;
  json["inputs"] = Json::array();
  for (const ExplainedInput& input : explanation.inputs)
    json["inputs"].push_back({{"symbol", input.symbol},
                              {"value", number(input.value)},
                              {"unit", input.unit},
                              {"text", input.shown},
                              {"meaning", input.meaning},
                              {"origin", input.origin}});
  json["steps"] = Json::array();
  for (const ExplainedStep& step : explanation.steps)
    json["steps"].push_back({{"text", step.text},
                             {"value", number(step.value)},
                             {"unit", step.unit},
                             {"adds_to_result", step.is_part}});
  return dump(json);
}

void write_explanation_csv(const Explanation& explanation, std::ostream& out, CsvDialect dialect) {
  CsvWriter csv(out, dialect);
  csv.header({"kind", "symbol", "text", "value", "unit", "origin", "schema_version"});
  for (const ExplainedInput& input : explanation.inputs)
    csv.cell("input")
        .cell(input.symbol)
        .cell(input.meaning)
        .cell(input.value)
        .value(input.value ? input.unit : input.shown)
        .cell(input.origin)
        .cell(1)
        .end_row();
  for (const ExplainedStep& step : explanation.steps)
    csv.cell(step.is_part ? "part" : "step")
        .missing()
        .cell(step.text)
        .cell(step.value)
        .cell(step.unit)
        .missing()
        .cell(1)
        .end_row();
  csv.cell("result")
      .cell(explanation.metric)
      .cell(explanation.formula)
      .cell(explanation.value)
      .cell(explanation.unit)
      .cell(explanation.value ? "" : explanation.reason)
      .cell(1)
      .end_row();
}

}  // namespace tokenroof::io
