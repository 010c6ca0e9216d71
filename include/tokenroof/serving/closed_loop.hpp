// Closed loop as benchmarks run it: C requests are always in the system, each one that ends is
// replaced at once, at most K run together.
//
//   residence = overhead + output x step(n) + n x prefill,  n = min(C, K)    work is conserved
//   TTFT      = overhead + (1 - b) (prefill (lanes + ahead) + waited x step) + b x burst
//   TPOT      = (residence - TTFT) / (output - 1)
//
// `burst` is what the first C requests wait that start together, b their share of all requests (0
// in the steady state). `ahead` counts other prompts served first: where lengths vary, requests end
// at any step and few meet (2.5 n / O a step, from simulation); where they are fixed it is learned
// per engine. A newcomer misses the running step and waits for its own; where prompts come first it
// waits for the running one. Where the engine schedules ahead of the device it misses one step
// more. When C > K the rest wait for a place: Little's law over the cycle.
// Sources: operational laws (Denning & Buzen 1978); how well it holds: docs/accuracy.md.
#pragma once

#include <algorithm>

#include "tokenroof/core/scalar.hpp"
#include "tokenroof/core/units.hpp"
#include "tokenroof/describe/engine_constants.hpp"

namespace tokenroof {

/// Requests of one replica in closed loop.
struct ClosedLoopLoad {
  double concurrency = 1;       ///< C > 0
  double capacity = 1;          ///< K > 0: sequences that may run together
  double prompt = 0;            ///< mean prompt tokens
  double output = 1;            ///< mean output tokens O >= 1
  double prompts_per_step = 1;  ///< prompts that one step's token budget holds, >= 1
  double lanes = 1;             ///< prompts that different ranks and stages compute at once
  bool lengths_vary = true;
  bool prompts_first = false;    ///< prompts run in steps of their own, before any decode
  double arrival_interval = 1;   ///< steps between looks at the queue of new requests
  bool scheduled_ahead = false;  ///< the step after the running one is already scheduled
  double start_share = 0;        ///< share of requests that started together, in [0, 1]

  /// Steps that a newcomer waits for. One more where the next is scheduled before it comes; a lone
  /// request, or one that waits for a place anyway, misses none.
  [[nodiscard]] double waited_steps() const {
    if (arrival_interval > 1) return 0.5 * arrival_interval;
    const bool missed = scheduled_ahead && concurrency > 1 && concurrency <= capacity;
    return (prompts_first ? 1 : 2) + (missed ? 1 : 0);
  }
};

/// Times of the engine at n running requests.
struct ClosedLoopTimes {
  Seconds step;       ///< decode step of n sequences
  Seconds half_step;  ///< decode step of n / 2 sequences
  Seconds prefill;    ///< of one prompt: what it adds to a step, or a step of its own
};

/// What a user of the loop sees.
struct ClosedLoop {
  double running = 0;      ///< n = min(C, K)
  Seconds residence;       ///< TTFT + (O - 1) TPOT
  Seconds ttft;            ///< mean
  Seconds tpot;            ///< mean over tokens; 0 for outputs of one token
  RequestsPerSecond rate;  ///< C / residence, by Little's law
};

/// The loop in numbers. Needs C, K, O as documented; times >= 0.
[[nodiscard]] inline ClosedLoop closed_loop(const ClosedLoopLoad& load,
                                            const EngineConstants& engine,
                                            const ClosedLoopTimes& times) {
  const double n = std::min(load.concurrency, load.capacity);
  const double outputs = load.output;
  const Seconds work = outputs * times.step + n * times.prefill;

  const double together = std::min(n, std::max(1.0, load.prompts_per_step) * load.lanes);
  const double lanes = load.lanes;
  // The first n start at once: prompts pass in groups, decode steps of those already through
  // between them unless prompts come first.
  Seconds burst = times.prefill * (0.5 * (n + std::max(together, lanes)));
  if (!load.prompts_first) burst += times.half_step * (0.5 * (n / together + 1));

  const double meeting = 2.5 * n / outputs;
  double ahead = load.prompts_first ? meeting * load.arrival_interval : 2 * meeting;
  if (load.prompts_first && ahead > together) ahead = 0.5 * (ahead + together);
  if (!load.lengths_vary)  // prompts that start together also end together
    ahead = engine.prompts_ahead * (load.prompts_first ? 0.5 * (n - 1) : 1);
  ahead = std::min(ahead, std::max(0.0, n - 1));
  const Seconds overhead = engine.request_overhead + load.prompt * engine.per_prompt_token;
  const Seconds usual = times.prefill * (lanes + ahead) + load.waited_steps() * times.step;
  const Seconds first = overhead + load.start_share * burst + (1 - load.start_share) * usual;

  ClosedLoop loop;
  loop.running = n;
  const double rounds = std::max(1.0, load.concurrency / n);  // of waiting for a place
  loop.ttft = min(first, 0.95 * work) + work * (rounds - 1);
  loop.residence = work * rounds + overhead;
  if (outputs <= 1) loop.ttft = loop.residence;
  if (outputs > 1) loop.tpot = (loop.residence - loop.ttft) / (outputs - 1);
  loop.rate = load.concurrency / loop.residence.base() * request / second;
  return loop;
}

}  // namespace tokenroof
