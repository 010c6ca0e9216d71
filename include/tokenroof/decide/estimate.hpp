// The main job: a scenario in, an answer out. Does it fit, how fast is a token, how many users,
// what binds, where are the crossovers, what does a million tokens cost.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <variant>

#include "tokenroof/decide/answer.hpp"
#include "tokenroof/decide/billing.hpp"
#include "tokenroof/decide/economics.hpp"
#include "tokenroof/decide/limits.hpp"
#include "tokenroof/decide/replica.hpp"
#include "tokenroof/decide/traffic.hpp"

namespace tokenroof {

namespace detail {

/// The decode step operator by operator, largest first.
[[nodiscard]] inline std::vector<OperatorTime> breakdown(const Replica& replica, double batch) {
  std::vector<OperatorTime> lines;
  StepLoad<double> load = decode_load(batch, replica.lengths.live);
  if (replica.draft_tokens > 0) {
    StepTime<double> drafts = replica.step(load);
    drafts *= replica.draft_tokens * replica.draft_cost;
    lines.push_back({OperatorKind::draft, {}, drafts});
    load.query_tokens = replica.draft_tokens + 1;
  }
  visit_step(replica.model, load, replica.fidelity,
             [&](OperatorKind kind, const OperatorCost<double>& c, const StepTime<double>& time) {
               for (OperatorTime& line : lines) {
                 if (line.kind != kind) continue;
                 line.time += time;
                 line.cost += c;
                 return;
               }
               lines.push_back({kind, c, time});
             });
  std::stable_sort(lines.begin(), lines.end(), [](const OperatorTime& a, const OperatorTime& b) {
    return a.time.total() > b.time.total();
  });
  return lines;
}

[[nodiscard]] inline DecodeAnswer decode_answer(const Replica& replica, const Scenario& scenario,
                                                double batch) {
  DecodeAnswer answer;
  answer.batch = batch;
  answer.context = TokensPerRequest::from_base(replica.lengths.live);
  answer.parts = replica.decode(batch, replica.lengths.live);
  answer.step = answer.parts.total();
  answer.bound = answer.parts.bound();
  const Seconds token_time = answer.step / replica.tokens_per_step;
  answer.per_sequence = 1 * token / token_time;
  int replicas = scenario.deployment.replicas;
  if (scenario.disaggregation) replicas = scenario.disaggregation->decode_replicas;
  answer.total = answer.per_sequence * batch * static_cast<double>(replicas);
  double compute = 0, memory = 0;
  StepLoad<double> load = decode_load(batch, replica.lengths.live);
  load.query_tokens = replica.draft_tokens + 1;
  const auto rank = rank_load(replica.model.operators, load);
  for_each_operator(replica.model.operators, [&](const auto& op) {
    const auto c = cost(replica.model.operators, op, rank);
    if constexpr (requires { op.multiply; })
      compute += c.flops / replica.model.machine.peak_of(op.multiply);
    memory += (c.weight_bytes + c.cache_bytes) / replica.model.machine.memory_bandwidth;
  });
  answer.compute_utilization = compute / answer.step.base();
  answer.bandwidth_utilization = memory / answer.step.base();
  return answer;
}

[[nodiscard]] inline PrefillAnswer prefill_answer(const Replica& replica) {
  PrefillAnswer answer;
  const double computed = replica.lengths.computed();
  answer.prompt = TokensPerRequest::from_base(computed);
  const StepTime<double> time = replica.prefill(computed, replica.lengths.cached());
  answer.time = time.total();
  answer.bound = time.bound();
  answer.rate = computed * token / answer.time;
  return answer;
}

/// What tokens cost. Shares go by resource time: a prompt owns its prefill, an output token its
/// share of a step. With traffic the shares add up to what all `devices` cost while they serve
/// `served` requests/s, over the utilisation of paid time; one step pays for its own time alone.
[[nodiscard]] inline EconomicsAnswer economics_of(
    const Replica& replica, const Scenario& scenario, const DecodeAnswer& decode, double devices,
    const std::optional<RequestsPerSecond>& served = std::nullopt) {
  EconomicsAnswer answer;
  answer.utilization = scenario.price.utilization;
  const WorkloadLengths& lengths = replica.lengths;
  const bool traffic = served && *served > RequestsPerSecond{};
  if (scenario.accelerator.power)
    answer.output_energy =
        *scenario.accelerator.power * devices /
        (traffic ? *served * TokensPerRequest::from_base(lengths.output) : decode.total);
  if (!scenario.price.accelerator) return answer;
  const DollarsPerSecond price = *scenario.price.accelerator;
  answer.deployment_price = price * devices;
  const double per_replica = scenario.deployment.devices_per_replica();
  const ByClass<Seconds> time =
      replica_seconds(replica, lengths.computed(), lengths.cached(), lengths.output, decode);
  if (traffic)
    answer.paid_over_busy = devices / per_replica / (served->base() * time.total().base());
  const ByClass<Dollars> bill =
      request_cost(time, price * answer.paid_over_busy, per_replica, scenario.price.utilization);
  answer.input = bill.input / (lengths.computed() * token);
  answer.output = bill.output / (lengths.output * token);
  if (lengths.cached() > 0) answer.cached = bill.cached / (lengths.cached() * token);
  answer.total = bill.total() / ((lengths.prompt + lengths.output) * token);
  return answer;
}

/// Objectives that even an idle deployment misses.
[[nodiscard]] inline Verdict floor_verdict(const Objective& objective, const LimitsAnswer& limits,
                                           const PrefillAnswer& prefill) {
  const auto below = [](const char* name, Seconds limit, Seconds floor) {
    return Verdict{Outcome::below_latency_floor,
                   std::string(name) + " asks for " + time_text(limit) +
                       "; one request alone takes " + time_text(floor),
                   "relax it to at least that, or use more tensor parallelism, narrower weights or "
                   "a faster device"};
  };
  std::optional<Seconds> tpot = objective.tpot_mean ? objective.tpot_mean : objective.tpot_p95;
  if (objective.tokens_per_second_per_user)
    tpot = min(tpot.value_or(1e9 * second), 1 * token / *objective.tokens_per_second_per_user);
  if (tpot && *tpot < limits.latency_floor)
    return below("time per token", *tpot, limits.latency_floor);
  for (const auto& ttft : {objective.ttft_p50, objective.ttft_p95, objective.ttft_p99})
    if (ttft && *ttft < prefill.time) return below("time to first token", *ttft, prefill.time);
  return {};
}

}  // namespace detail

/// Answers `scenario` in `fidelity`. Never throws for a question that has no good answer: the
/// verdict says why. `kernels` default to the shipped constants.
[[nodiscard]] inline Answer estimate(const Scenario& scenario,
                                     Fidelity fidelity = Fidelity::calibrated,
                                     const KernelConstants& kernels = {}) {
  Answer answer;
  answer.fidelity = fidelity;
  const Replica replica = reduce(scenario, fidelity, kernels);
  answer.memory = replica.memory;
  answer.verdict = replica.memory.verdict;
  if (fidelity == Fidelity::calibrated) {
    answer.spread_low = scenario.engine.constants.spread_low;
    answer.spread_high = scenario.engine.constants.spread_high;
  }
  if (answer.verdict.outcome == Outcome::invalid_layout) {
    answer.missing.push_back({"decode", answer.verdict.reason});
    return answer;
  }

  const double stated = static_cast<double>(scenario.model.maximum_context);
  if (stated > 0 && replica.lengths.longest > stated)
    answer.notes.push_back("requests are longer than the model's own maximum context");
  if (scenario.workload.sessions) {
    const double kept = conversation_tokens(*scenario.workload.sessions, scenario.workload) /
                        scenario.deployment.replicas;
    const double pool =
        replica.memory.kv_tokens.base() * scenario.deployment.attention_data_parallel;
    if (kept > pool)
      answer.notes.push_back("conversations that wait for their next turn hold " +
                             std::to_string(std::llround(kept)) + " tokens a replica, its pool " +
                             std::to_string(std::llround(pool)) +
                             ": fewer prompts are found in the prefix cache than assumed");
  }
  TrafficAnswer traffic;
  const auto* single = std::get_if<SingleStep>(&scenario.workload.traffic);
  if (single) {
    traffic.running = single->batch.base();
    if (answer.verdict.ok() && traffic.running > replica.memory.max_concurrency.base()) {
      const std::string most =
          std::to_string(static_cast<long long>(replica.memory.max_concurrency.base()));
      answer.verdict = {Outcome::context_does_not_fit,
                        "the KV pool holds " + most + " sequences of this context, not the batch",
                        "use a batch of at most " + most + ", or more devices"};
    }
    answer.missing.push_back({"serving", "one step without traffic: give a concurrency or a rate"});
  } else if (replica.admission < 1) {
    traffic.running = 1;  // how fast it would be, were there room
    answer.missing.push_back({"serving", answer.verdict.reason});
  } else if (const auto* closed = std::get_if<ClosedLoopTraffic>(&scenario.workload.traffic)) {
    traffic = closed_traffic(replica, scenario, *closed);
    const std::string march =
        "requests of equal length march in step, which one depends on how they began; simulate";
    if (!traffic.serving.ttft.p95) answer.missing.push_back({"serving.ttft_s", march});
    if (!traffic.serving.e2e.p95) answer.missing.push_back({"serving.e2e_s", march});
  } else {
    const auto& open = std::get<OpenLoop>(scenario.workload.traffic);
    traffic = scenario.disaggregation
                  ? split_traffic(replica, scenario, open, *scenario.disaggregation)
                  : open_traffic(replica, scenario, open);
    if (!traffic.verdict.ok()) answer.missing.push_back({"serving.ttft_s", traffic.verdict.reason});
  }
  answer.serving = traffic.serving;
  if (answer.verdict.ok()) answer.verdict = traffic.verdict;

  const double batch = std::max(traffic.running, 1e-9);
  answer.decode = detail::decode_answer(replica, scenario, batch);
  answer.breakdown = detail::breakdown(replica, batch);
  answer.prefill = detail::prefill_answer(replica);
  answer.limits = limits_of(replica, scenario, batch);
  double devices = scenario.deployment.devices();
  if (scenario.disaggregation && !single)
    devices =
        (scenario.disaggregation->prefill_replicas + scenario.disaggregation->decode_replicas) *
        scenario.deployment.devices_per_replica();
  // What does not keep up with its arrivals serves what it can.
  const auto& served =
      answer.serving.request_rate ? answer.serving.request_rate : answer.serving.limit_rate;
  answer.economics = detail::economics_of(replica, scenario, *answer.decode, devices, served);
  if (!scenario.price.accelerator)
    answer.missing.push_back(
        {"economics", "no price for this accelerator: give price.accelerator_hour"});
  if (!answer.limits->crossover_compute)
    answer.missing.push_back({"limits.crossover_compute_context", "no layer keeps every token"});
  if (!answer.limits->crossover_compute_with_attention && answer.limits->crossover_compute)
    answer.missing.push_back({"limits.crossover_compute_context_with_attention",
                              "decode attention is compute bound: KV time never catches up"});
  if (answer.verdict.ok())
    answer.verdict = detail::floor_verdict(scenario.objective, *answer.limits, *answer.prefill);
  if (!answer.verdict.ok()) return answer;
  ServingAnswer known = answer.serving;
  if (single) known.tpot.mean = 1 * token / answer.decode->per_sequence;
  if (const std::string missed = missed_objective(scenario.objective, known); !missed.empty()) {
    answer.verdict = {Outcome::objective_missed, missed,
                      "lower the rate or the batch, or add devices"};
    const auto& most = answer.serving.objective_rate;
    const auto* open = std::get_if<OpenLoop>(&scenario.workload.traffic);
    if (open && most && *most > RequestsPerSecond{} && !scenario.disaggregation)
      answer.verdict.remedy =
          "replicas " +
          std::to_string(
              std::llround(std::ceil(open->arrival_rate / *most * scenario.deployment.replicas))) +
          ", or at most " + detail::number_text(most->base()) + " requests/s";
  } else if (const std::string open = undecided_objectives(scenario.objective, known);
             !open.empty()) {
    answer.verdict.reason = open + (single ? " needs traffic: give a concurrency or a rate"
                                           : " is not decided in closed form: simulate");
    answer.notes.push_back(answer.verdict.reason);
  }
  return answer;
}

}  // namespace tokenroof
