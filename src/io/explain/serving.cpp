// Traffic: Little's law, first token, time per token.
#include <fmt/format.h>

#include <cmath>

#include "explainer.hpp"
#include "io/page.hpp"
#include "tokenroof/io/answer_io.hpp"

namespace tokenroof::io {
namespace {

std::string tokens_text(const Explainer& to) {
  return fmt::format("per_prompt_token x P = {} x {}: tokenising and transport",
                     amount(loop_constants(to.replica).per_prompt_token.base(), "s"),
                     amount(to.replica.lengths.prompt, "1"));
}

/// Where the mean time to first token of a closed loop goes. The loop is linear in its times but
/// for a cap, so each share is the loop with all other times at zero.
void closed_first_token(Explainer& to, const ClosedLoopTraffic& closed) {
  const Replica& replica = to.replica;
  const ClosedLoopLoad load = closed_loop_load(
      replica, to.scenario, closed.concurrency.base() / to.scenario.deployment.replicas);
  const ClosedLoopTimes times = closed_loop_times(replica, load);
  EngineConstants bare = replica.model.engine;
  bare.request_overhead = bare.per_prompt_token = Seconds{};
  const double total = to.answer.serving.ttft.mean->base();
  const double steps =
      closed_loop(load, bare, {times.step, times.half_step, Seconds{}}).ttft.base();
  const double prompts = closed_loop(load, bare, {Seconds{}, Seconds{}, times.prefill}).ttft.base();
  const double overhead = total - closed_loop(load, bare, times).ttft.base();
  const double typing =
      std::min(overhead, replica.lengths.prompt * loop_constants(replica).per_prompt_token.base());
  to.input("T(n)", "decode step of the running requests", times.step.base(), "s",
           "explain decode.step_s");
  to.input("t_p", "what a prompt adds to a step", times.prefill.base(), "s",
           "explain prefill.time_s, beside the running requests");
  to.part("request_overhead: transport and first scheduling", overhead - typing, "s");
  to.part(tokens_text(to), typing, "s");
  to.part(fmt::format("own prompt and others in front: {} prefills of {}",
                      amount(times.prefill > Seconds{} ? prompts / times.prefill.base() : 0, "1"),
                      amount(times.prefill.base(), "s")),
          prompts, "s");
  to.part(fmt::format("steps and places waited for: {} steps of {}",
                      amount(times.step > Seconds{} ? steps / times.step.base() : 0, "1"),
                      amount(times.step.base(), "s")),
          steps, "s");
  const double rest = total - overhead - prompts - steps;
  if (std::abs(rest) > 1e-9 * total)
    to.part("cap: the first token is not after the last", rest, "s");
  to.step("sum", total, "s");
}

/// Where the mean time to first token under arrivals goes.
void open_first_token(Explainer& to) {
  const Replica& replica = to.replica;
  const Scenario& scenario = to.scenario;
  const OpenLoop& open = std::get<OpenLoop>(scenario.workload.traffic);
  const double total = to.answer.serving.ttft.mean->base();
  const EngineConstants engine = loop_constants(replica);
  to.input("P", "mean prompt", replica.lengths.prompt, "token",
           to.stated("/workload/input_tokens"));
  to.part("request_overhead: transport and first scheduling", engine.request_overhead.base(), "s");
  to.part(tokens_text(to), replica.lengths.prompt * engine.per_prompt_token.base(), "s");
  if (replica.lanes() > 1)
    to.part(fmt::format("own prompt on one of {} lanes, beyond its share of the engine",
                        replica.lanes()),
            detail::lane_time(replica).base(), "s");
  if (scenario.disaggregation) {
    const double transfer = detail::cache_transfer(scenario, replica.lengths.prompt,
                                                   scenario.disaggregation->transfer_bandwidth)
                                .base();
    Replica pool = replica;
    pool.prompts_first = true;
    const double prompt =
        prefill_mean(detail::prompt_law(pool, scenario.workload, 0).shares()).base();
    const double known =
        (detail::request_overhead(replica) + detail::lane_time(replica)).base() + transfer + prompt;
    to.part("prefill_queue: waiting for a prefill worker", total - known, "s");
    to.part("prefill: own prompt", prompt, "s");
    to.part("transfer: its cache to the decode pool", transfer, "s");
  } else {
    const double replicas = scenario.deployment.replicas;
    const std::vector<Seconds> steps = replica.token_times();
    const EngineLoad load = detail::engine_load(replica, scenario, open, replicas);
    const detail::ReplicaAtRate at{replica, scenario, steps, load,
                                   detail::full_load_law(replica, scenario, load, steps)};
    const EngineEstimate e = at(load.arrivals);
    // Places that are practically always free: not 1e-240 ns.
    const double admission = e.admission.base() > 1e-15 ? e.admission.base() : 0;
    to.part("admission: waiting for a place in the batch", admission, "s");
    to.part("scheduling: the rest of the running step, decodes beside the own prompt",
            e.scheduling.base(), "s");
    if (replica.model.async_scheduling)
      to.part("async_scheduling: the step that was scheduled before",
              detail::scheduled_step(replica, e).base(), "s");
    to.part("prefill_queue: other prompts", e.prefill_queue.base(), "s");
    to.part("prefill: own prompt, as it runs beside the batch", e.prefill.base(), "s");
  }
  to.step("sum", total, "s");
}

/// What `scenario` serves at `rate`, objective aside.
ServingAnswer serving_at(const Explainer& to, RequestsPerSecond rate) {
  Scenario scenario = to.scenario;
  std::get<OpenLoop>(scenario.workload.traffic).arrival_rate = rate;
  return estimate(scenario, to.replica.fidelity, to.kernels.constants).serving;
}

/// The limits of the objective at the largest rate that meets them, and the one that stops it.
void objective_rate(Explainer& to) {
  const Objective& objective = to.scenario.objective;
  const RequestsPerSecond rate = *to.answer.serving.objective_rate;
  const RequestsPerSecond limit = *to.answer.serving.limit_rate;
  for (const ObjectiveLine& line : objective_lines(objective, {}))
    if (line.limit)
      to.input(line.name,
               std::string(line.name) == "tokens_per_s_per_user"
                   ? "objective, as the time per token it asks for"
                   : "objective",
               line.limit->base(), "s", to.stated(fmt::format("/objective/{}", line.name)));
  to.input("limit", "largest stable rate", limit.base(), "request/s",
           "explain serving.limit_rate_per_s");
  const std::string binding = "binds: ";
  if (!asks(objective)) {
    to.step(binding + "no objective is stated: the largest stable rate", rate.base(), "request/s");
    return;
  }
  const bool none = !(rate > RequestsPerSecond{});
  const ServingAnswer here = serving_at(to, none ? 1e-6 * limit : rate);
  for (const ObjectiveLine& line : objective_lines(objective, here))
    if (line.limit && line.value)
      to.step(fmt::format("{} {}: {} of the limit {}", line.name,
                          none ? "on an idle engine" : "at that rate",
                          percent_text(*line.value / *line.limit), amount(line.limit->base(), "s")),
              line.value->base(), "s");
  // The search stops within a ten-millionth of where the first limit breaks.
  const ServingAnswer past = serving_at(to, none ? 1e-6 * limit : (1 + 1e-6) * rate);
  std::string names;
  if (past.stable.value_or(false))
    for (const ObjectiveLine& line : objective_lines(objective, past))
      if (line.missed() || line.undecided())
        names += (names.empty() ? "" : ", ") + std::string(line.name);
  to.step(binding + (names.empty() ? "the largest stable rate, no limit of the objective" : names),
          rate.base(), "request/s");
}

void arrivals(Explainer& to) {
  const ServingAnswer& serving = to.answer.serving;
  if (std::holds_alternative<ClosedLoopTraffic>(to.scenario.workload.traffic))
    to.input("C", "requests in the system", serving.concurrency->base(), "request",
             to.stated("/workload/concurrency"));
  else
    to.input("lambda", "arrivals",
             std::get<OpenLoop>(to.scenario.workload.traffic).arrival_rate.base(), "request/s",
             to.stated("/workload/arrival_rate"));
}

}  // namespace

bool explain_serving(Explainer& to, std::string_view metric) {
  const ServingAnswer& serving = to.answer.serving;
  const WorkloadLengths& lengths = to.replica.lengths;
  const auto* closed = std::get_if<ClosedLoopTraffic>(&to.scenario.workload.traffic);
  if (metric == "decode.batch") {
    if (std::holds_alternative<SingleStep>(to.scenario.workload.traffic)) {
      to.step("as asked: " + to.stated("/workload/batch"), to.answer.decode->batch, "request");
    } else {
      to.input("n", "running sequences", to.answer.decode->batch, "request",
               "explain serving.running");
      to.step("B = n", to.answer.decode->batch, "request");
    }
    return true;
  }
  if (!metric.starts_with("serving.")) return false;
  arrivals(to);
  if (metric == "serving.concurrency") {
    const double rate = serving.request_rate->base(), stay = serving.e2e.mean->base();
    to.input("W", "time in the system", stay, "s", "explain serving.e2e_s.mean");
    to.step(fmt::format("lambda W = {} x {}", amount(rate, "request/s"), amount(stay, "s")),
            serving.concurrency->base(), "request");
  } else if (metric == "serving.tpot_s.mean" || metric == "serving.e2e_s.mean") {
    const double first = serving.ttft.mean->base(), each = serving.tpot.mean->base();
    to.input("O", "mean output", lengths.output, "token", to.stated("/workload/output_tokens"));
    to.input("TTFT", "time to first token", first, "s", "explain serving.ttft_s.mean");
    if (metric == "serving.e2e_s.mean") {
      to.input("TPOT", "time per token", each, "s", "explain serving.tpot_s.mean");
      to.part("time to first token", first, "s");
      to.part(
          fmt::format("(O - 1) TPOT = {} x {}", amount(lengths.output - 1, "1"), amount(each, "s")),
          serving.e2e.mean->base() - first, "s");
      to.step("sum", serving.e2e.mean->base(), "s");
    } else {
      to.input("E2E", "arrival to last token", serving.e2e.mean->base(), "s",
               "explain serving.e2e_s.mean");
      to.step(fmt::format("(E2E - TTFT) / (O - 1) = ({} - {}) / {}",
                          amount(serving.e2e.mean->base(), "s"), amount(first, "s"),
                          amount(lengths.output - 1, "1")),
              each, "s");
    }
  } else if (metric == "serving.ttft_s.mean" && closed) {
    closed_first_token(to, *closed);
  } else if (metric == "serving.ttft_s.mean") {
    open_first_token(to);
  } else if (metric == "serving.objective_rate_per_s") {
    objective_rate(to);
  } else if (metric == "serving.request_rate_per_s" && closed) {
    const double stay = serving.e2e.mean->base();
    to.input("W", "time in the system", stay, "s", "explain serving.e2e_s.mean");
    to.step(
        fmt::format("C / W = {} / {}", amount(closed->concurrency.base(), "1"), amount(stay, "s")),
        serving.request_rate->base(), "request/s");
  } else if (metric == "serving.utilization" && !closed) {
    const double limit = serving.limit_rate->base();
    to.input("limit", "largest stable rate", limit, "request/s",
             "explain serving.limit_rate_per_s");
    to.step("lambda / limit", *serving.utilization, "1");
  } else {
    const Metric& row = *find_metric(metric);
    if (metric == "serving.limit_rate_per_s" || metric == "serving.running") {
      to.input("K", "sequences that may run together in a replica", to.replica.admission, "request",
               "explain memory.max_concurrency; " + to.stated("/engine/max_sequences"));
      to.input("O", "mean output", lengths.output, "token", to.stated("/workload/output_tokens"));
      const double full = std::max(1.0, to.replica.admission);
      to.step("T(K): decode step per token with every place taken",
              to.replica.token_time(full).base(), "s");
      to.step("t_p: what a prompt adds there",
              to.replica.prompt_time(lengths.computed(), lengths.cached(), full).base(), "s");
    }
    to.step(closed ? "from the closed loop" : "from the law of the queue",
            *reported_number(to.answer, row), std::string(row.unit));
  }
  return true;
}

}  // namespace tokenroof::io
