#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "page.hpp"
#include "tokenroof/decide/replica.hpp"
#include "tokenroof/io/answer_io.hpp"
#include "tokenroof/io/units_text.hpp"

namespace tokenroof::io {
namespace {

/// Whether the deployment can run at all, well or badly.
bool runs(const Verdict& verdict) {
  return verdict.outcome != Outcome::does_not_fit &&
         verdict.outcome != Outcome::context_does_not_fit;
}
std::string bound_text(Bound bound) { return words(to_string(bound)); }
std::string tokens_text(TokensPerRequest tokens) { return count_text(tokens.base()) + " tokens"; }

std::string subject(const Answer& answer, const Scenario& scenario) {
  const Deployment& d = scenario.deployment;
  std::string layout;
  const auto degree = [&](const char* name, int n) {
    if (n > 1) layout += fmt::format("{}{} {}", layout.empty() ? "" : ", ", name, n);
  };
  degree("TP", d.tensor_parallel);
  degree("PP", d.pipeline_parallel);
  degree("EP", d.expert_parallel);
  degree("attention DP", d.attention_data_parallel);
  degree("CP", d.context_parallel);
  degree("replicas", d.replicas);
  const Precision& p = scenario.precision;
  std::string weights(p.of(Part::attention).name);
  const bool mixture = std::any_of(
      scenario.model.groups.begin(), scenario.model.groups.end(),
      [](const LayerGroup& g) { return g.feed_forward.kind == FeedForwardKind::mixture; });
  if (mixture && !(p.of(Part::routed_experts) == p.of(Part::attention)))
    weights += fmt::format(" (experts {})", p.of(Part::routed_experts).name);
  const Engine& engine = scenario.engine;
  return fmt::format("{} on {} x {}{}, {}{}, weights {}, KV cache {}, {}", scenario.model.id,
                     d.devices(), scenario.accelerator.name,
                     layout.empty() ? "" : " (" + layout + ")", engine.name,
                     engine.version.empty() ? "" : " " + engine.version, weights, p.kv_cache.name,
                     to_string(answer.fidelity));
}

/// What a reader came for, in one paragraph: does it run, how fast, for how many, at what price.
/// `output`: mean output tokens of a request; 0 for one step.
void add_verdict(Page& page, const Answer& answer, TokensPerRequest output) {
  const Verdict& verdict = answer.verdict;
  if (!verdict.ok()) {
    page.line(verdict_text(verdict));
    if (!runs(verdict) || !answer.decode) return;
  } else if (!verdict.reason.empty()) {  // an objective that the closed form does not decide
    page.line("Open: " + verdict.reason + ".");
  }
  const ServingAnswer& serving = answer.serving;
  std::string text = verdict.ok() ? "It fits" : "It would run";
  if (serving.utilization && serving.limit_rate && serving.request_rate) {
    text += fmt::format(" and {} {}", verdict.ok() ? "serves" : "serve",
                        to_text(*serving.request_rate));
    if (*serving.request_rate < *serving.limit_rate)
      text += fmt::format(", {} of what it can", percent_text(*serving.utilization));
  }
  text += fmt::format("; a replica holds {} sequences. ",
                      count_text(std::floor(answer.memory.max_concurrency.base())));
  const auto latency = [](const Latency& of) {
    return to_text(*of.mean) + (of.p95 ? fmt::format(" (95 %: {})", to_text(*of.p95)) : "");
  };
  if (serving.ttft.mean && serving.tpot.mean)
    text += fmt::format("The first token comes after {}, each further one after {}",
                        latency(serving.ttft), latency(serving.tpot));
  else
    text += fmt::format("A step of {} sequences takes {}, {} each", to_text(answer.decode->batch),
                        to_text(answer.decode->step), to_text(answer.decode->per_sequence));
  const auto& rate = serving.request_rate;
  const TokensPerSecond total = rate && output.base() > 0 ? *rate * output : answer.decode->total;
  text += fmt::format(", {} in all. ", to_text(total));
  if (answer.economics.output)
    text += fmt::format("A million output tokens cost {:.4g} USD. ",
                        answer.economics.output->base() * 1e6);
  text += fmt::format("Here {} binds the decode step, {} binds prefill.",
                      bound_text(answer.decode->bound), bound_text(answer.prefill->bound));
  page.line(text);
}

void add_memory(Page& page, const Answer& answer) {
  const MemoryPlan& plan = answer.memory;
  page.section("Memory of the fullest device");
  TextTable table({"", "GiB", "share"});
  const auto row = [&](std::string name, Bytes bytes) {
    table.row({std::move(name), fmt::format("{:.2f}", bytes / gibibyte),
               percent_text(bytes / plan.visible)});
  };
  for (const MemoryLine& line : plan.lines())
    if (line.bytes > Bytes{} || line.name == "kv_pool")
      row(line.name == "kv_pool" ? "KV pool" : words(line.name), line.bytes);
  if (plan.deficit > Bytes{}) row("too little", -plan.deficit);
  row("visible", plan.visible);
  page.table(table);
  if (plan.deficit > Bytes{}) return;
  page.line(
      fmt::format("A sequence of {} takes {} of it; a replica holds {} such sequences, {} "
                  "tokens in all, or one of {}.",
                  tokens_text(plan.context), to_text(plan.kv_per_sequence),
                  count_text(plan.max_concurrency.base()), count_text(plan.kv_tokens.base()),
                  tokens_text(plan.max_context)));
}

void add_decode(Page& page, const Answer& answer) {
  const DecodeAnswer& decode = *answer.decode;
  const bool hypothetical = !runs(answer.verdict);
  page.section(fmt::format("Decode step{}: {} ({})", hypothetical ? ", were there room" : "",
                           to_text(decode.step), bound_text(decode.bound)));
  page.line(fmt::format(
      "Batch of {} a replica at {}: {} each, {} in total; MFU {}, MBU {}.", to_text(decode.batch),
      tokens_text(decode.context), to_text(decode.per_sequence), to_text(decode.total),
      percent_text(decode.compute_utilization), percent_text(decode.bandwidth_utilization)));
  TextTable table({"operator", "time", "share", "bound", "FLOP", "weights", "cache"});
  const auto bytes = [](double b) { return b > 0 ? to_text(b * byte, 3) : std::string(); };
  Seconds rest;
  int others = 0;
  for (const OperatorTime& line : answer.breakdown) {
    const Seconds time = line.time.total();
    if (time < 0.01 * decode.step) {
      rest += time;
      others += time > Seconds{} ? 1 : 0;
      continue;
    }
    table.row({words(to_string(line.kind)), to_text(time, 3), percent_text(time / decode.step),
               bound_text(line.time.bound()),
               line.cost.flops > 0 ? to_text(line.cost.flops * flop, 3) : "",
               bytes(line.cost.weight_bytes), bytes(line.cost.cache_bytes)});
  }
  if (others > 0)
    table.row({others == 1 ? "other" : fmt::format("{} others", others), to_text(rest, 3),
               percent_text(rest / decode.step)});
  page.table(table);
  page.line(fmt::format("Prefill of {} alone: {}, {} ({}).", tokens_text(answer.prefill->prompt),
                        to_text(answer.prefill->time), to_text(answer.prefill->rate),
                        bound_text(answer.prefill->bound)));
  if (answer.spread_low != answer.spread_high)
    page.line(
        fmt::format("Measured times were {:.2f} to {:.2f} of the predicted ones in four "
                    "cases of five.",
                    answer.spread_low, answer.spread_high));
}

void add_serving(Page& page, const Answer& answer) {
  const ServingAnswer& serving = answer.serving;
  if (!serving.utilization) return;
  page.section("Users and latency");
  const auto cell = [](const std::optional<Seconds>& time) {
    return time ? to_text(*time) : std::string();
  };
  TextTable table({"", "mean", "p50", "p95", "p99"},
                  {Align::left, Align::right, Align::right, Align::right, Align::right});
  const auto row = [&](const char* name, const Latency& latency) {
    if (latency.mean)
      table.row(
          {name, cell(latency.mean), cell(latency.p50), cell(latency.p95), cell(latency.p99)});
  };
  row("time to first token", serving.ttft);
  row("time per output token", serving.tpot);
  row("end to end", serving.e2e);
  if (!table.empty()) page.table(table);
  std::string text;
  const auto add = [&](const std::string& clause) { text += (text.empty() ? "" : "; ") + clause; };
  if (serving.request_rate) add(to_text(*serving.request_rate) + " completed");
  if (serving.concurrency)
    add(fmt::format("{} in the system on average", to_text(serving.concurrency->base())));
  if (serving.running)
    add(fmt::format("{} running in a replica", to_text(serving.running->base())));
  if (serving.limit_rate && serving.limit_rate != serving.request_rate)
    add("at most " + to_text(*serving.limit_rate));
  if (serving.objective_rate && *serving.objective_rate < *serving.limit_rate)
    add(to_text(*serving.objective_rate) + " within the objective");
  if (serving.worst_gap) add("longest pause " + to_text(*serving.worst_gap));
  page.line(text + ".");
}

void add_landmarks(Page& page, const Answer& answer) {
  const LimitsAnswer& limits = *answer.limits;
  page.section("Landmarks");
  page.line(fmt::format(
      "Compute and bandwidth balance at {} FLOP/B (ridge), or {} tokens a step (critical batch).",
      to_text(limits.ridge.base()), count_text(limits.critical_batch.base())));
  std::string contexts;
  const auto context = [&](const char* name, const std::optional<TokensPerRequest>& at) {
    if (at)
      contexts += fmt::format("{}{} ({})", contexts.empty() ? "" : ", ", name, tokens_text(*at));
  };
  context("KV bytes equal weight bytes, S_w", limits.crossover_weights);
  context("KV time equals linear compute time, S_c0", limits.crossover_compute);
  context("with attention arithmetic, S_c1", limits.crossover_compute_with_attention);
  if (!contexts.empty()) page.line(fmt::format("Contexts at which: {}.", contexts));
  page.line(
      fmt::format("No step is shorter than {} (one sequence, no context). The best batch of a "
                  "replica is {}, bound by {}.",
                  to_text(limits.latency_floor), count_text(limits.optimal_batch.base()),
                  bound_text(limits.optimal_batch_bound)));
}

void add_cost(Page& page, const Answer& answer) {
  const EconomicsAnswer& cost = answer.economics;
  if (!cost.deployment_price || !runs(answer.verdict)) return;
  page.section("Cost");
  const auto million = [](const std::optional<DollarsPerToken>& price) {
    return price ? fmt::format("{:.4g}", price->base() * 1e6) : std::string("-");
  };
  page.line(fmt::format(
      "A million tokens: {} USD input, {} USD output, {} USD of both as asked. {} for all devices, "
      "{} of the paid time in use.",
      million(cost.input), million(cost.output), million(cost.total),
      to_text(*cost.deployment_price), percent_text(cost.utilization)));
}

/// Defaults by origin, keys as --set takes them; neighbours in one section share its name, and
/// those with the same value share that.
void add_defaults(Page& page, const ScenarioEntry& entry) {
  if (entry.defaults_used.empty()) return;
  struct Line {
    std::string text, section, value;
  };
  std::map<std::string, Line> by_origin;
  for (const DefaultUsed& used : entry.defaults_used) {
    std::string key = used.pointer.substr(used.pointer.starts_with('/') ? 1 : 0);
    std::replace(key.begin(), key.end(), '/', '.');
    const std::size_t point = key.find('.');
    const std::string section = point == std::string::npos ? "" : key.substr(0, point + 1);
    Line& line = by_origin[used.origin];
    const bool goes_on = !section.empty() && section == line.section;
    if (goes_on && " " + used.value == line.value)
      line.text += " = " + key.substr(section.size());
    else
      line.text += (line.text.empty() ? "" : line.value + (goes_on ? ", " : "; ")) +
                   (goes_on ? key.substr(section.size()) : key);
    line.section = section;
    line.value = " " + used.value;
  }
  std::string text;
  for (const auto& [origin, line] : by_origin)
    text += fmt::format("{}{}: {}{}.", text.empty() ? "" : " ", origin, line.text, line.value);
  page.line(text);
}

void add_notes(Page& page, const Answer& answer, const ScenarioEntry& entry) {
  std::vector<std::string> lines = answer.notes;
  const Scenario& scenario = entry.scenario;
  lines.insert(lines.end(), scenario.model.notes.begin(), scenario.model.notes.end());
  if (!scenario.engine.has_profile)
    lines.push_back("no profile of " + scenario.engine.name + ": constants of `default`");
  if (!entry.accelerator_unverified.empty()) {
    std::string keys;
    for (const std::string& key : entry.accelerator_unverified)
      keys += (keys.empty() ? "" : ", ") + key;
    lines.push_back("accelerator numbers without a source that could be checked: " + keys);
  }
  std::vector<std::string> reasons;
  for (const Missing& missing : missing_numbers(answer, scenario)) {
    if (std::find(reasons.begin(), reasons.end(), missing.reason) != reasons.end() ||
        missing.reason == answer.verdict.reason || missing.metric.ends_with("cached") ||
        missing.metric.starts_with("error_band"))
      continue;
    reasons.push_back(missing.reason);
    lines.push_back(missing.metric + " is not said: " + missing.reason);
  }
  for (const std::string& line : lines) page.line(line + ".");
}

}  // namespace

std::string answer_text(const Answer& answer, const ScenarioEntry& entry, Markup markup,
                        bool colour) {
  Page page(markup, colour);
  page.title(subject(answer, entry.scenario));
  const auto* single = std::get_if<SingleStep>(&entry.scenario.workload.traffic);
  add_verdict(page, answer,
              single
                  ? TokensPerRequest{}
                  : TokensPerRequest::from_base(workload_lengths(entry.scenario.workload).output));
  if (answer.verdict.outcome != Outcome::invalid_layout) {
    add_memory(page, answer);
    if (answer.decode) add_decode(page, answer);
    add_serving(page, answer);
    if (answer.limits) add_landmarks(page, answer);
    add_cost(page, answer);
  }
  page.section("Defaults and notes");
  add_defaults(page, entry);
  add_notes(page, answer, entry);
  return page.text();
}

}  // namespace tokenroof::io
