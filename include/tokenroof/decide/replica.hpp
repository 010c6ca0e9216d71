// One replica of a scenario, reduced to what every question about it needs: step times, prompt
// times, lengths, memory and the number of sequences that may run together.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tokenroof/describe/scenario.hpp"
#include "tokenroof/physics/memory_verdict.hpp"
#include "tokenroof/physics/step.hpp"
#include "tokenroof/serving/concurrency.hpp"
#include "tokenroof/serving/sessions.hpp"
#include "tokenroof/serving/speculative.hpp"

namespace tokenroof {

/// Mean lengths of a workload in tokens, and what of a prompt is found in the prefix cache.
struct WorkloadLengths {
  double prompt = 0;
  double output = 1;
  double hit_share = 0;       ///< of the prompt's tokens
  double live = 0;            ///< mean context of a running sequence, length-biased
  double live_deviation = 0;  ///< its standard deviation over running sequences
  double shared = 0;          ///< leading tokens that the cache holds once for all that share them
  double prefixes = 1;        ///< different ones of those
  double longest = 0;         ///< tokens of a request at its end

  [[nodiscard]] double computed() const { return std::max(1.0, prompt * (1 - hit_share)); }
  [[nodiscard]] double cached() const { return prompt - computed(); }
};

/// Lengths of `workload`. One step without traffic has its context as prompt and nothing to come.
[[nodiscard]] inline WorkloadLengths workload_lengths(const Workload& workload) {
  WorkloadLengths lengths;
  lengths.hit_share = workload.prefix_hit_rate;
  if (const auto* single = std::get_if<SingleStep>(&workload.traffic)) {
    lengths.live = lengths.longest = single->context.base();
    lengths.prompt = workload.input.base() > 0 ? workload.input.base() : lengths.live;
    return lengths;
  }
  const double factor = workload.lengths.mean_factor();
  lengths.prompt = factor * workload.input.base();
  lengths.output = std::max(1.0, factor * workload.output.base());
  if (workload.sessions) {
    const SessionLengths session =
        session_lengths(*workload.sessions, lengths.prompt, lengths.output);
    lengths.prompt = session.prompt;
    lengths.hit_share = session.prompt > 0 ? session.cached / session.prompt : 0;
    lengths.shared = session.shared;
    lengths.prefixes = workload.sessions->distinct_system_prompts;
  }
  lengths.live = live_context(lengths.prompt * token / request, lengths.output * token / request,
                              workload.lengths.squared_cv(lengths.output))
                     .base();
  lengths.live_deviation =
      live_context_deviation(workload.lengths, lengths.prompt - lengths.shared, lengths.output);
  lengths.longest = lengths.prompt + lengths.output;
  return lengths;
}

/// Times of one replica in one fidelity.
struct Replica {
  StepModel<double> model;
  Fidelity fidelity = Fidelity::calibrated;
  WorkloadLengths lengths;
  MemoryPlan memory;
  double admission = 0;  ///< sequences that may run together; 0: none fits
  int draft_tokens = 0;
  double tokens_per_step = 1;  ///< expected, > 1 with speculation
  double draft_cost = 0;

  [[nodiscard]] StepTime<double> step(const StepLoad<double>& load) const {
    return step_time(model, load, fidelity);
  }
  /// Decode step of `sequences` at `context`; with speculation: verification and drafting.
  [[nodiscard]] StepTime<double> decode(double sequences, double context) const {
    StepLoad<double> load = decode_load(sequences, context);
    if (draft_tokens == 0) return step(load);
    StepTime<double> drafts = step(load);
    drafts *= draft_tokens * draft_cost;
    load.query_tokens = draft_tokens + 1;
    StepTime<double> time = step(load);
    time += drafts;
    return time;
  }
  /// Time per output token of a running sequence, `sequences` in the batch.
  [[nodiscard]] Seconds token_time(double sequences) const {
    return decode(sequences, lengths.live).total() / tokens_per_step;
  }
  /// Prefill of one prompt of `computed` tokens after `cached` ones, alone.
  [[nodiscard]] StepTime<double> prefill(double computed, double cached) const {
    return step(prefill_load(1.0, computed, cached));
  }
  /// Prompts that different ranks and stages work on at once.
  [[nodiscard]] double lanes() const {
    return model.operators.attention_ranks * model.operators.stages;
  }
  /// Share of one prompt in the time of prompts alone that fill all lanes.
  [[nodiscard]] Seconds prefill_share(double computed, double cached) const {
    return step(prefill_load(lanes(), computed, cached)).total() / lanes();
  }
  /// Prompts that ride with a decode step at once, at least.
  [[nodiscard]] double least_prompts_beside() const {
    return prompts_aligned ? lanes() : model.operators.stages;
  }
  /// What one of `together` prompts (at least one a stage) adds to a step that decodes `sequences`:
  /// they share what a step with prompts costs whatever their number. Attention ranks wait for each
  /// other in every mixture layer, so a prompt on one of them delays all, unless the engine makes
  /// prompts run on all of them together.
  [[nodiscard]] Seconds prefill_beside(double computed, double cached, double sequences,
                                       double together = 1) const {
    const double prompts = std::max(together, least_prompts_beside());
    StepLoad<double> load = decode_load(sequences, lengths.live);
    load.query_tokens = draft_tokens + 1;
    const Seconds alone = step(load).total();
    load.prompts = prompts;
    load.prompt_tokens = computed;
    load.prefix_tokens = cached;
    return (step(load).total() - alone) / prompts;
  }
  /// A prompt's share of the engine as it schedules prompts: riding with `sequences` decodes, or
  /// alone.
  [[nodiscard]] Seconds prompt_time(double computed, double cached, double sequences,
                                    double together = 1) const {
    return prompts_first || sequences < 1 ? prefill_share(computed, cached)
                                          : prefill_beside(computed, cached, sequences, together);
  }
  bool prompts_first = false;
  bool prompts_aligned = false;  ///< see Engine::aligned_prompts

  /// Of a rank's pool what is left beside the shared prefixes of `sequences` running ones.
  [[nodiscard]] Bytes own_pool(double sequences) const {
    if (!(lengths.shared > 0)) return memory.kv_pool;
    const Bytes prefixes = std::min(lengths.prefixes, std::max(1.0, sequences)) *
                           memory.cache.bytes_at(TokensPerRequest::from_base(lengths.shared));
    return prefixes < memory.kv_pool ? memory.kv_pool - prefixes : Bytes{};
  }
  /// Sequences of `context` tokens that a rank's pool holds, shared prefixes once; a ratio. While
  /// there are fewer than different prefixes, each may have one of its own.
  [[nodiscard]] double holds(double context) const {
    const KvReservation& cache = memory.cache;
    const double apart = cache.concurrency(memory.kv_pool, TokensPerRequest::from_base(context));
    if (!(lengths.shared > 0) || apart <= lengths.prefixes) return apart;
    const double own = std::max(1.0, context - lengths.shared);
    return std::max(
        apart, cache.concurrency(own_pool(lengths.prefixes), TokensPerRequest::from_base(own)));
  }

  /// T(1) .. T(K): time per output token at each number of running sequences, K = admission but a
  /// million at most. Beyond `exact` at a sixteenth more each time, straight between: a large batch
  /// has thousands of nearly equal steps.
  [[nodiscard]] std::vector<Seconds> token_times(std::size_t exact = 4096) const {
    std::vector<Seconds> times(static_cast<std::size_t>(std::clamp(admission, 1.0, 1e6)));
    const auto at = [&](std::size_t n) { return token_time(static_cast<double>(n)); };
    std::size_t n = 1;
    for (; n <= std::min(exact, times.size()); ++n) times[n - 1] = at(n);
    while (n <= times.size()) {
      const std::size_t last = n - 1;
      const std::size_t next = std::min(times.size(), last + std::max<std::size_t>(1, last / 16));
      const Seconds rise = (at(next) - times[last - 1]) / static_cast<double>(next - last);
      for (; n <= next; ++n) times[n - 1] = times[last - 1] + rise * static_cast<double>(n - last);
    }
    return times;
  }
};

namespace detail {

/// Lengths and speculation: what does not depend on the layout.
[[nodiscard]] inline Replica lengths_of(const Scenario& scenario, Fidelity fidelity) {
  Replica replica;
  replica.fidelity = fidelity;
  replica.lengths = workload_lengths(scenario.workload);
  replica.prompts_first = !scenario.engine.chunked_prefill;
  replica.prompts_aligned = scenario.engine.aligned_prompts;
  if (scenario.speculation) {
    replica.draft_tokens = scenario.speculation->draft_tokens;
    replica.draft_cost = scenario.speculation->draft_cost;
    replica.tokens_per_step =
        expected_tokens(scenario.speculation->acceptance, replica.draft_tokens);
  }
  return replica;
}

/// What speculation takes of each device's memory.
[[nodiscard]] inline MemoryOptions memory_options(const Scenario& scenario) {
  MemoryOptions options;
  if (!scenario.speculation) return options;
  options.draft_tokens = scenario.speculation->draft_tokens;
  options.draft_memory = scenario.speculation->draft_memory /
                         static_cast<double>(scenario.deployment.devices_per_replica());
  return options;
}

/// Takes over `plan` and what it admits. Sequences hold their live length in the mean, not the
/// length they end with.
inline void admit(Replica& replica, const Scenario& scenario, MemoryPlan plan) {
  replica.memory = std::move(plan);
  const double ranks = scenario.deployment.attention_data_parallel;
  if (replica.lengths.shared > 0) {
    replica.memory.concurrency = replica.holds(replica.lengths.longest);
    replica.memory.max_concurrency = std::floor(replica.memory.concurrency) * ranks * request;
  }
  const double fitting = std::floor(replica.holds(std::max(1.0, replica.lengths.live))) * ranks;
  replica.admission = std::max(replica.memory.max_concurrency.base(),
                               std::min(fitting, scenario.engine.max_sequences * ranks));
  replica.admission = std::min(replica.admission, scenario.engine.max_sequences * ranks);
}

}  // namespace detail

/// The times of `scenario` without its memory plan: nothing is admitted. The layout must be valid.
[[nodiscard]] inline Replica reduce_times(const Scenario& scenario, Fidelity fidelity,
                                          const KernelConstants& kernels = {}) {
  Replica replica = detail::lengths_of(scenario, fidelity);
  replica.model = step_model(scenario.model, scenario.accelerator, scenario.engine,
                             scenario.precision, scenario.deployment, kernels);
  return replica;
}

/// Reduces `scenario`. An invalid layout leaves the operators empty and the verdict in `memory`.
[[nodiscard]] inline Replica reduce(const Scenario& scenario, Fidelity fidelity,
                                    const KernelConstants& kernels = {}) {
  Replica replica = detail::lengths_of(scenario, fidelity);
  MemoryPlan plan =
      memory_plan(scenario.model, scenario.accelerator, scenario.engine, scenario.precision,
                  scenario.deployment, TokensPerRequest::from_base(replica.lengths.longest),
                  detail::memory_options(scenario));
  if (plan.verdict.outcome == Outcome::invalid_layout) {
    replica.memory = std::move(plan);
    return replica;
  }
  replica = reduce_times(scenario, fidelity, kernels);
  detail::admit(replica, scenario, std::move(plan));
  return replica;
}

}  // namespace tokenroof
