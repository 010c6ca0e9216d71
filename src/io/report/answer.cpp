// The answer of a report: yes or no in one sentence, what helps, and the objectives one by one.
#include <fmt/format.h>

#include <cmath>

#include "io/page.hpp"
#include "io/report/parts.hpp"
#include "tokenroof/io/units_text.hpp"

namespace tokenroof::io::report {
namespace {

std::string refusal(const Verdict& verdict) {
  switch (verdict.outcome) {
    case Outcome::feasible:
      break;
    case Outcome::does_not_fit:
      return "No: it does not fit into memory: ";
    case Outcome::context_does_not_fit:
      return "No: the weights fit, but not the context that is asked for: ";
    case Outcome::unstable:
      return "No: it cannot keep up: ";
    case Outcome::objective_missed:
      return "No: it runs, but misses the objective: ";
    case Outcome::below_latency_floor:
      return "No: the objective is out of reach at any load: ";
    case Outcome::invalid_layout:
      return "No: the model cannot be divided over the devices in this way: ";
  }
  return "Yes: ";
}

/// The objectives that are missed; the verdict's own words where none of them has a number.
std::string missed(const Subject& subject) {
  std::string text;
  for (const ObjectiveLine& line : objective_lines(subject))
    if (line.known() && !line.met())
      text += fmt::format("{}{} {}, predicted {}", text.empty() ? "" : "; ", line.name,
                          line.limit_text(), line.predicted_text());
  return text.empty() ? subject.answer.verdict.reason : text;
}

/// "58 ms on average (95 % of requests: within 134 ms)"
std::string latency_text(const Latency& latency) {
  return to_text(*latency.mean, 3) +
         (latency.p95
              ? fmt::format(" on average (95 % of requests: within {})", to_text(*latency.p95, 3))
              : " on average");
}

/// "it answers 4 requests a second, 40.4 % of the most it can"
std::string load_text(const Subject& subject) {
  const ServingAnswer& serving = subject.answer.serving;
  const RequestsPerSecond rate = *serving.request_rate;
  std::string text = fmt::format("it answers {} a second", counted(rate.base(), "request"));
  if (serving.limit_rate && rate < *serving.limit_rate)
    text += fmt::format(", {} of the most it can", percent_text(rate / *serving.limit_rate));
  if (!objective_lines(subject).empty() && serving.objective_rate && serving.limit_rate &&
      rate < *serving.objective_rate && *serving.objective_rate < *serving.limit_rate)
    text += fmt::format(" and {} of the most within the objective",
                        percent_text(rate / *serving.objective_rate));
  return text;
}

/// What it does, how fast, what binds and what it costs.
std::string performance(const Subject& subject) {
  const Answer& answer = subject.answer;
  const ServingAnswer& serving = answer.serving;
  const DecodeAnswer& decode = *answer.decode;
  std::string text;
  const auto add = [&](const std::string& clause) { text += (text.empty() ? "" : "; ") + clause; };
  if (serving.request_rate && serving.ttft.mean && serving.tpot.mean) {
    add(load_text(subject));
    add("the first token comes after " + latency_text(serving.ttft));
    add("each further one after " + latency_text(serving.tpot));
  } else {
    add(fmt::format("a step of {} takes {}", counted(decode.batch, "sequence"),
                    to_text(decode.step, 3)));
    add(fmt::format("{} for each, {} in all", rate_text(decode.per_sequence),
                    rate_text(decode.total)));
  }
  const Bound prompts = answer.prefill->bound;
  add(bound_words(decode.bound) +
      (decode.bound == prompts ? " limits both answers and prompts"
                               : " limits the answers, " + bound_words(prompts) + " the prompts"));
  if (answer.economics.output)
    add("a million output tokens cost " + million_text(*answer.economics.output));
  return text;
}

ReportTable objective_table(const std::vector<ObjectiveLine>& lines) {
  ReportTable table{"Asked and predicted",
                    {{"Objective"}, {"Limit", true}, {"Predicted", true}, {"Met"}}};
  for (const ObjectiveLine& line : lines)
    table.rows.push_back({{capitalised(line.name)},
                          {line.limit_text()},
                          {line.predicted_text()},
                          {!line.known() ? "not known"
                           : line.met()  ? "yes"
                                         : "no"}});
  return table;
}

}  // namespace

std::string ObjectiveLine::limit_text() const {
  return limit ? to_text(*limit) : rate_text(*least);
}
std::string ObjectiveLine::predicted_text() const {
  return time ? to_text(*time) : rate ? rate_text(*rate) : "-";
}
bool ObjectiveLine::met(double factor) const {
  return time ? *time * factor <= *limit : *rate / factor >= *least;
}

std::vector<ObjectiveLine> objective_lines(const Subject& subject) {
  const Objective& o = subject.scenario().objective;
  const Answer& answer = subject.answer;
  const ServingAnswer& serving = answer.serving;
  std::vector<ObjectiveLine> lines;
  const auto add = [&](const char* name, const std::optional<Seconds>& limit,
                       const std::optional<Seconds>& time, bool first = false) {
    if (limit) lines.push_back({name, limit, time, {}, {}, first});
  };
  // Where there is no traffic, a step is what every user waits for; see estimate().
  std::optional<Seconds> each = serving.tpot.mean;
  if (!each && answer.decode) each = 1 * token / answer.decode->per_sequence;
  add("first token of half of the requests within", o.ttft_p50, serving.ttft.p50, true);
  add("first token of 95 % of the requests within", o.ttft_p95, serving.ttft.p95, true);
  add("first token of 99 % of the requests within", o.ttft_p99, serving.ttft.p99, true);
  add("mean time per further token within", o.tpot_mean, each);
  add("time per further token of 95 % of the requests within", o.tpot_p95, serving.tpot.p95);
  add("whole answer of 95 % of the requests within", o.e2e_p95, serving.e2e.p95);
  if (o.tokens_per_second_per_user) {
    ObjectiveLine line{"speed for each user at least", {}, {}, o.tokens_per_second_per_user, {}};
    if (each) line.rate = 1 * token / *each;
    lines.push_back(std::move(line));
  }
  return lines;
}

ReportSection answer_section(const Subject& subject) {
  const Answer& answer = subject.answer;
  const Verdict& verdict = answer.verdict;
  ReportSection section{"answer", "The answer", {}};
  if (verdict.ok()) {
    section.blocks.emplace_back(sentence("Yes: " + performance(subject)));
  } else {
    section.blocks.emplace_back(sentence(
        refusal(verdict) +
        (verdict.outcome == Outcome::objective_missed ? missed(subject) : verdict.reason)));
    if (!verdict.remedy.empty())
      section.blocks.emplace_back(sentence("What would help: " + verdict.remedy));
    if (runs(verdict) && answer.decode)
      section.blocks.emplace_back(
          sentence((verdict.outcome == Outcome::unstable ? "At its limit: " : "As asked: ") +
                   performance(subject)));
  }
  if (const auto lines = objective_lines(subject); !lines.empty() && runs(verdict))
    section.blocks.emplace_back(objective_table(lines));
  return section;
}

}  // namespace tokenroof::io::report
