// What would change an answer: single changes evaluated in full, each as the assignment that --set
// takes.
#include <fmt/format.h>

#include <algorithm>

#include "io/page.hpp"
#include "io/report/parts.hpp"
#include "tokenroof/io/units_text.hpp"

namespace tokenroof::io::report {
namespace {

/// One way to change things, in steps of growing size.
struct Knob {
  const char* what;
  std::vector<std::vector<std::string>> rungs;  ///< assignments of each step
};

/// A change and what becomes of the answer.
struct Changed {
  std::string what, setting;
  Scenario scenario;
  Answer answer;
};

std::vector<Knob> knobs(const Subject& subject) {
  const Scenario& s = subject.scenario();
  const Workload& w = s.workload;
  const Outcome outcome = subject.answer.verdict.outcome;
  const bool single = std::holds_alternative<SingleStep>(w.traffic);
  const auto text = [](const char* key, int value) { return fmt::format("{}={}", key, value); };
  std::vector<Knob> all;

  Knob weights{"Narrower weights", {}};
  double bytes = s.precision.of(Part::attention).bytes_per_element;
  for (const LayerGroup& group : s.model.groups)
    if (group.feed_forward.kind == FeedForwardKind::mixture)
      bytes = std::min(bytes, s.precision.of(Part::routed_experts).bytes_per_element);
  if (bytes >= 2) weights.rungs.push_back({"precision.weights=fp8"});
  if (bytes >= 1) weights.rungs.push_back({"precision.weights=int4"});
  all.push_back(std::move(weights));
  if (s.precision.kv_cache.bytes_per_element >= 2)
    all.push_back({"Narrower KV cache", {{"precision.kv_cache=fp8"}}});

  const bool divided = outcome != Outcome::invalid_layout;
  Knob split{divided ? "More devices in a replica" : "Another division", {}};
  Knob stages{"More pipeline stages", {}}, copies{"More replicas", {}};
  if (!divided) split.rungs = {{"deployment.tensor_parallel=1"}};
  for (int factor = 2; factor <= 16; factor *= 2) {
    split.rungs.push_back({text("deployment.tensor_parallel",
                                factor * (divided ? s.deployment.tensor_parallel : 1))});
    stages.rungs.push_back(
        {text("deployment.pipeline_parallel", factor * s.deployment.pipeline_parallel)});
    if (s.disaggregation)
      copies.rungs.push_back(
          {"deployment.replicas=null",
           text("disaggregation.prefill_replicas", factor * s.disaggregation->prefill_replicas),
           text("disaggregation.decode_replicas", factor * s.disaggregation->decode_replicas)});
    else
      copies.rungs.push_back({text("deployment.replicas", factor * s.deployment.replicas)});
  }
  all.push_back(std::move(split));
  if (outcome == Outcome::does_not_fit || outcome == Outcome::context_does_not_fit)
    all.push_back(std::move(stages));
  else if (!single)
    all.push_back(std::move(copies));

  // A good answer is asked how much more it bears, a bad one how much less it needs.
  const bool good = subject.answer.verdict.ok();
  const auto scaled = [&](const char* what, const char* key) {
    Knob knob{what, {}};
    if (good) knob.rungs = {{fmt::format("{}=*2", key)}};
    for (double factor = 0.5; !good && factor > 0.01; factor /= 2)
      knob.rungs.push_back({fmt::format("{}=*{}", key, factor)});
    all.push_back(std::move(knob));
  };
  if (outcome == Outcome::does_not_fit || outcome == Outcome::invalid_layout) return all;
  if (single) {
    scaled(good ? "Twice the batch" : "A smaller batch", "workload.batch");
    scaled(good ? "Twice the context" : "A shorter context", "workload.context_tokens");
  } else {
    const bool open = std::holds_alternative<OpenLoop>(w.traffic);
    scaled(good ? "Twice the load" : "Less load",
           open ? "workload.arrival_rate" : "workload.concurrency");
    scaled(good ? "Twice as long prompts" : "Shorter prompts", "workload.input_tokens");
  }
  return all;
}

/// The scenario after `assignments`; none when they cannot be made.
std::optional<Changed> changed(const Subject& subject, const Knob& knob,
                               const std::vector<std::string>& assignments) {
  Changed result;
  result.what = knob.what;
  try {
    ScenarioDocument document = subject.document;
    for (const std::string& assignment : assignments) {
      document.set(assignment, subject.catalog);
      result.setting += (result.setting.empty() ? "" : ", ") + assignment;
    }
    result.scenario = document.read(subject.catalog).scenario;
  } catch (const SpecError&) {
    return std::nullopt;  // half a sequence, a format the model cannot be in: no such change
  }
  result.answer = estimate(result.scenario, subject.answer.fidelity, subject.kernels.constants);
  return result;
}

/// The smallest step of a knob that gives a good answer; else the largest that can be made.
std::optional<Changed> smallest(const Subject& subject, const Knob& knob) {
  std::optional<Changed> last;
  for (const auto& assignments : knob.rungs) {
    std::optional<Changed> one = changed(subject, knob, assignments);
    if (!one || one->answer.verdict.outcome == Outcome::invalid_layout) continue;
    last = std::move(one);
    if (last->answer.verdict.ok()) break;
  }
  return last;
}

std::string time_text(const std::optional<Seconds>& time) {
  return time ? to_text(*time, 3) : std::string("-");
}

/// Time between two tokens of a user.
std::optional<Seconds> further_token(const Answer& answer) {
  if (answer.serving.tpot.mean) return answer.serving.tpot.mean;
  if (!runs(answer.verdict) || !answer.decode) return std::nullopt;
  return 1 * token / answer.decode->per_sequence;
}

/// The most work a second: requests within the objective, or tokens of one step after another.
double most_work(const Answer& answer, const Workload& workload) {
  const ServingAnswer& serving = answer.serving;
  if (!runs(answer.verdict)) return 0;
  if (std::holds_alternative<SingleStep>(workload.traffic))
    return answer.decode ? answer.decode->total.base() : 0;
  if (std::holds_alternative<ClosedLoopTraffic>(workload.traffic))
    return serving.request_rate.value_or(RequestsPerSecond{}).base();
  if (serving.objective_rate) return serving.objective_rate->base();
  return serving.limit_rate.value_or(RequestsPerSecond{}).base();
}

ReportTable changes_table(const Subject& subject) {
  std::vector<Changed> all;
  all.push_back({"As asked", "", subject.scenario(), subject.answer});
  for (const Knob& knob : knobs(subject))
    if (auto one = smallest(subject, knob)) all.push_back(std::move(*one));

  const auto& traffic = subject.scenario().workload.traffic;
  const bool single = std::holds_alternative<SingleStep>(traffic);
  const bool open = std::holds_alternative<OpenLoop>(traffic);
  ReportTable table{
      "Single changes, each evaluated in full: the smallest that gives a good "
      "answer, where one does",
      {{"Change"}, {"Setting"}, {"Works"}, {"Devices", true}}};
  if (!single) table.columns.push_back({"First token", true});
  table.columns.push_back({"Further token", true});
  table.columns.push_back({single ? "Tokens a second"
                           : open ? "Most requests a second"
                                  : "Requests a second",
                           true});
  table.columns.push_back({"Cost", true});

  double first_cost = 0;  // device time of the first line that has one
  for (const Changed& one : all) {
    const Latency& first = one.answer.serving.ttft;
    const int devices = one.scenario.deployment.devices();
    const double work = most_work(one.answer, one.scenario.workload);
    const double cost = work > 0 ? devices / work : 0;
    if (first_cost == 0) first_cost = cost;
    const Verdict& verdict = one.answer.verdict;
    std::vector<ReportCell> row = {
        {one.what},
        {one.setting},
        {verdict.ok() ? "yes" : "no: " + words(to_string(verdict.outcome))},
        {std::to_string(devices)}};
    if (!single) row.push_back({time_text(first.p95 ? first.p95 : first.mean)});
    row.push_back({time_text(further_token(one.answer))});
    row.push_back({work > 0 ? to_text(work, 3) : "-"});
    row.push_back({cost > 0 ? fmt::format("x {}", to_text(cost / first_cost, 3)) : "-"});
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

ReportSection changes_section(const Subject& subject) {
  const Answer& answer = subject.answer;
  ReportSection section{"changes", "What would change the answer", {}};
  if (!answer.verdict.remedy.empty())
    section.blocks.emplace_back(sentence("Smallest changes that help: " + answer.verdict.remedy));
  section.blocks.emplace_back(changes_table(subject));
  std::string legend = "A setting is what --set of tokenroof what-if takes. ";
  if (!std::holds_alternative<SingleStep>(subject.scenario().workload.traffic))
    legend +=
        "Times of the first token are those of 95 % of the requests where known, else means. ";
  if (std::holds_alternative<OpenLoop>(subject.scenario().workload.traffic))
    legend += "The most requests a second are those within the objective, if there is one. ";
  section.blocks.emplace_back(
      legend +
      "Cost compares the device time that an answer or token takes at that rate with the first "
      "line that has one. Narrower formats may lower the quality of answers, which is not "
      "computed.");
  if (!runs(answer.verdict) || !answer.decode) return section;
  if (ReportList list = headroom(subject); !list.items.empty())
    section.blocks.emplace_back(std::move(list));
  section.blocks.emplace_back(driver_table(subject));
  return section;
}

}  // namespace tokenroof::io::report
