// The question of a report: in its asker's words if the scenario has them, and in numbers.
#include <fmt/format.h>

#include <algorithm>

#include "io/page.hpp"
#include "io/report/parts.hpp"
#include "tokenroof/io/units_text.hpp"

namespace tokenroof::io::report {
namespace {

std::string tokens(TokensPerRequest count) { return counted(count.base(), "token"); }

std::string objective_clause(const Subject& subject) {
  std::string text;
  for (const ObjectiveLine& line : objective_lines(subject))
    text += fmt::format("{}{} {}", text.empty() ? ", with the " : " and ", line.name,
                        line.limit_text());
  return text;
}

/// The question in one sentence.
std::string composed(const Subject& subject) {
  const Scenario& s = subject.scenario();
  const Workload& w = s.workload;
  const std::string where = devices_text(s);
  if (const auto* step = std::get_if<SingleStep>(&w.traffic))
    return fmt::format("How fast does {} decode on {} for a batch of {} with {} of context each{}?",
                       s.model.id, where, counted(step->batch.base(), "sequence"),
                       tokens(step->context), objective_clause(subject));
  std::string load;
  if (const auto* closed = std::get_if<ClosedLoopTraffic>(&w.traffic))
    load = fmt::format("keep {} running at a time", counted(closed->concurrency.base(), "request"));
  else
    load = "answer " + counted(std::get<OpenLoop>(w.traffic).arrival_rate.base(), "request") +
           " a second";
  return fmt::format("Can {} {} with {}, for prompts of {} and answers of {}{}?", where, load,
                     s.model.id, tokens(w.input), tokens(w.output), objective_clause(subject));
}

std::string lengths_text(const LengthLaw& law) {
  switch (law.kind) {
    case LengthLaw::Kind::fixed:
      return "always the same";
    case LengthLaw::Kind::uniform:
      return fmt::format("evenly between {} and {} times that", to_text(law.low),
                         to_text(law.high));
    case LengthLaw::Kind::lognormal:
      return fmt::format("log-normal around that, standard deviation {} of the mean",
                         percent_text(law.cv));
    case LengthLaw::Kind::geometric:
      return "geometric around that";
    case LengthLaw::Kind::empirical:
      break;
  }
  return fmt::format("as in {} recorded requests",
                     count_text(static_cast<double>(law.output_samples.size())));
}

std::string traffic_text(const Workload& w) {
  if (const auto* step = std::get_if<SingleStep>(&w.traffic))
    return fmt::format("one step: a batch of {} in each replica, {} of context",
                       to_text(step->batch.base()), tokens(step->context));
  if (const auto* closed = std::get_if<ClosedLoopTraffic>(&w.traffic))
    return fmt::format("{} in the system at all times, each replaced when it ends",
                       counted(closed->concurrency.base(), "request"));
  const auto& open = std::get<OpenLoop>(w.traffic);
  const double cv2 = open.arrival_squared_cv;
  return to_text(open.arrival_rate) +
         (cv2 == 1 ? ", at random times (Poisson)"
                   : fmt::format(", squared variation of the gaps between them {} (1 is Poisson)",
                                 to_text(cv2)));
}

std::string layout_text(const Scenario& s) {
  const Deployment& d = s.deployment;
  std::string text = counted(d.devices_per_replica(), "device") + " in a replica";
  std::string degrees;
  const auto degree = [&](const char* name, int n) {
    if (n > 1) degrees += fmt::format("{}{} {}", degrees.empty() ? "" : ", ", name, n);
  };
  degree("tensor parallel", d.tensor_parallel);
  degree("pipeline stages", d.pipeline_parallel);
  degree("expert parallel", d.expert_parallel);
  degree("attention data parallel", d.attention_data_parallel);
  degree("context parallel", d.context_parallel);
  if (!degrees.empty()) text += " (" + degrees + ")";
  if (s.disaggregation)
    return text + fmt::format(", {} replicas for prompts, {} for answers",
                              s.disaggregation->prefill_replicas,
                              s.disaggregation->decode_replicas);
  return text + ", " + counted(d.replicas, "replica");
}

std::string formats_text(const Precision& p, const Model& model) {
  const bool mixture = std::any_of(model.groups.begin(), model.groups.end(), [](const auto& g) {
    return g.feed_forward.kind == FeedForwardKind::mixture;
  });
  std::string text = fmt::format("weights {}", p.of(Part::attention).name);
  if (mixture && !(p.of(Part::routed_experts) == p.of(Part::attention)))
    text += fmt::format(", experts {}", p.of(Part::routed_experts).name);
  return text + fmt::format(", KV cache {}", p.kv_cache.name);
}

ReportTable case_table(const Subject& subject) {
  const Scenario& s = subject.scenario();
  ReportTable table{"The case", {{"Part"}, {"As asked"}}};
  const auto row = [&](std::string name, std::string text) {
    table.rows.push_back({{std::move(name)}, {std::move(text)}});
  };
  row("Model", s.model.id);
  row("Devices", devices_text(s));
  row("Division", layout_text(s));
  row("Engine", s.engine.name +
                    (s.engine.version.empty() ? ", newest known version" : " " + s.engine.version));
  row("Number formats", formats_text(s.precision, s.model));
  const Workload& w = s.workload;
  if (!std::holds_alternative<SingleStep>(w.traffic)) {
    row("Requests", fmt::format("{} in, {} out; lengths {}", tokens(w.input), tokens(w.output),
                                lengths_text(w.lengths)));
    if (w.prefix_hit_rate > 0)
      row("Prefix cache", percent_text(w.prefix_hit_rate) + " of prompt tokens are found in it");
    if (w.sessions)
      row("Sessions",
          fmt::format("{} turns, system prompt of {} tokens", to_text(w.sessions->turns),
                      count_text(w.sessions->system_prompt_tokens)));
  }
  row("Traffic", traffic_text(w));
  if (s.speculation)
    row("Speculation",
        fmt::format("{} tokens drafted a step, each accepted with {}", s.speculation->draft_tokens,
                    percent_text(s.speculation->acceptance)));
  if (s.price.accelerator)
    row("Price", fmt::format("{} for a device, {} of the paid time in use",
                             to_text(*s.price.accelerator), percent_text(s.price.utilization)));
  return table;
}

/// A text beside the scenario, empty when it is absent or no text.
std::string beside(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

ReportSection question_section(const Subject& subject) {
  ReportSection section{"question", "The question", {}};
  if (std::string asked = beside(subject.json, "question"); !asked.empty())
    section.blocks.emplace_back(std::move(asked));
  section.blocks.emplace_back(composed(subject));
  if (std::string comment = beside(subject.json, "comment"); !comment.empty())
    section.blocks.emplace_back("Remark of the scenario: " + std::move(comment));
  section.blocks.emplace_back(case_table(subject));
  return section;
}

}  // namespace tokenroof::io::report
