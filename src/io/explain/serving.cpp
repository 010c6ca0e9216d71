// Traffic: Little's law, first token, time per token.
#include <fmt/format.h>

#include <cmath>

#include "explainer.hpp"
#include "tokenroof/io/answer_io.hpp"

namespace tokenroof::io {
namespace {

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
  to.input("T(n)", "decode step of the running requests", times.step.base(), "s",
           "explain decode.step_s");
  to.input("t_p", "what a prompt adds to a step", times.prefill.base(), "s",
           "explain prefill.time_s, beside the running requests");
  to.part("transport and scheduling of a request", overhead, "s");
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
    const double prompt = to.answer.prefill->time.base(), total = serving.ttft.mean->base();
    const double overhead = detail::request_overhead(to.replica).base();
    to.input("t_p", "prefill time of the prompt alone", prompt, "s", "explain prefill.time_s");
    to.part("transport and scheduling of a request", overhead, "s");
    to.part("own prompt, alone", prompt, "s");
    to.part("waiting: for a place, the running step, other prompts", total - overhead - prompt,
            "s");
    to.step("sum", total, "s");
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
