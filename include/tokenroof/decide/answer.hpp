// The answer to a scenario, as plain values. What cannot be said is empty, with a reason.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tokenroof/core/error.hpp"
#include "tokenroof/core/units.hpp"
#include "tokenroof/describe/scenario.hpp"
#include "tokenroof/physics/memory.hpp"
#include "tokenroof/physics/step.hpp"

namespace tokenroof {

/// Mean and quantiles of a latency.
struct Latency {
  std::optional<Seconds> mean, p50, p95, p99;
};

/// One decode step of a replica.
struct DecodeAnswer {
  double batch = 0;          ///< sequences of one replica
  TokensPerRequest context;  ///< mean live context
  Seconds step;
  StepTime<double> parts;
  TokensPerSecond per_sequence;
  TokensPerSecond total;  ///< of all replicas
  Bound bound = Bound::none;
  double compute_utilization = 0;    ///< MFU: multiplied weights and attention over dense peak
  double bandwidth_utilization = 0;  ///< MBU: weights and cache read over bandwidth
};

/// Prefill of one prompt, alone.
struct PrefillAnswer {
  TokensPerRequest prompt;  ///< tokens computed, prefix hits left out
  Seconds time;
  TokensPerSecond rate;
  Bound bound = Bound::none;
};

/// Traffic in the steady state.
struct ServingAnswer {
  std::optional<Requests> concurrency;  ///< in the whole deployment, queue included (Little)
  std::optional<Requests> running;      ///< in one replica's batch
  Latency ttft, tpot, e2e;
  std::optional<Seconds> worst_gap;  ///< longest pause between two tokens of a request
  std::optional<RequestsPerSecond> request_rate;
  std::optional<RequestsPerSecond> limit_rate;      ///< largest stable rate
  std::optional<RequestsPerSecond> objective_rate;  ///< largest rate that meets the objective
  std::optional<double> utilization;                ///< offered work over capacity
  std::optional<bool> stable;
  std::optional<double> preemption_probability;
};

/// Landmarks of the model on the device; they depend on datasheet numbers alone, but for the floor.
struct LimitsAnswer {
  FlopsPerByte ridge;
  Tokens critical_batch;
  std::optional<TokensPerRequest> crossover_weights;                 ///< S_w at the batch
  std::optional<TokensPerRequest> crossover_compute;                 ///< S_c0
  std::optional<TokensPerRequest> crossover_compute_with_attention;  ///< S_c1
  Seconds latency_floor;   ///< a step with one sequence and no context
  Seconds drain_time;      ///< reading all memory once
  Requests optimal_batch;  ///< largest that fits and meets the objective, per replica
  Bound optimal_batch_bound = Bound::none;
};

/// Money, by definition: resource time of paid devices.
struct EconomicsAnswer {
  std::optional<DollarsPerToken> input, cached, output, total;
  std::optional<DollarsPerSecond> deployment_price;
  std::optional<JoulesPerToken> output_energy;
  double utilization = 1;  ///< of paid time
  /// Replica time that is paid for over the time that requests keep replicas busy: a deployment
  /// that serves less than it can costs the same. 1 for one step, which nobody else shares.
  double paid_over_busy = 1;
};

/// One line of a breakdown: an operator, all its layers together.
struct OperatorTime {
  OperatorKind kind;
  OperatorCost<double> cost;
  StepTime<double> time;
};

/// Why a metric is empty: its key in the JSON answer, and the reason.
struct Missing {
  std::string metric;
  std::string reason;
};

struct Answer {
  Verdict verdict;
  Fidelity fidelity = Fidelity::calibrated;
  MemoryPlan memory;
  std::optional<DecodeAnswer> decode;
  std::optional<PrefillAnswer> prefill;
  ServingAnswer serving;
  std::optional<LimitsAnswer> limits;
  EconomicsAnswer economics;
  double spread_low = 1, spread_high = 1;  ///< p10 and p90 of measured over predicted time
  std::vector<OperatorTime> breakdown;     ///< of the decode step
  std::vector<Missing> missing;
  std::vector<std::string> notes;  ///< defaults taken, approximations, warnings
};

}  // namespace tokenroof
