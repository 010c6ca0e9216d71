// What goes into a simulated run and what comes out; simulation.hpp runs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "tokenroof/core/units.hpp"
#include "tokenroof/serving/request_stream.hpp"
#include "tokenroof/serving/simulation_statistics.hpp"

namespace tokenroof {

/// What one iteration of the engine computes; the argument of a step-time callable.
struct SimulatedStep {
  int decoding = 0;           ///< sequences that get one token each
  double decode_context = 0;  ///< tokens those attend to, summed, the new ones included
  int prefill_tokens = 0;     ///< prompt tokens computed
  int prefill_sequences = 0;  ///< prompts these belong to
  double prefill_pairs = 0;   ///< query-key pairs of the prompt chunks: n C + n (n + 1) / 2
};

/// The engine's scheduling limits.
struct SimulatedEngine {
  int max_sequences = 256;         ///< admitted requests at once, >= 1
  bool chunked = true;             ///< prompts share steps with decodes; else they run alone, first
  int token_budget = 8192;         ///< tokens a step may compute, >= 1 (exclusive: prompt tokens)
  bool decodes_use_budget = true;  ///< chunked: each decode takes one token of the budget
  int prompts_per_prefill = 1 << 30;  ///< exclusive: prompts that may share one prefill step
  std::int64_t kv_blocks = 0;         ///< size of the KV pool; 0: no limit
  int block_tokens = 16;
  bool scheduled_ahead = false;  ///< a step takes only what had come when the one before it began
  int draft_tokens = 0;    ///< speculation: tokens proposed a step, each takes one of the budget
  double acceptance = 0;   ///< that a proposed token is accepted when all before it are, [0, 1]
  std::uint64_t seed = 1;  ///< of the acceptances
};

/// How the run is made and measured.
struct SimulationPlan {
  int concurrency = 0;        ///< > 0: closed loop, that many requests circulate
  double warm_up = 0.1;       ///< leading share of the requests that is not measured
  int batches = 20;           ///< for the confidence intervals
  Seconds sample_interval;    ///< of the occupancy series; 0: none
  bool keep_records = false;  ///< keep one record per request
  std::function<void(std::size_t done, std::size_t total)> progress;  ///< about 1,000 calls a run
};

/// What became of one request.
struct RequestRecord {
  Seconds arrival, admitted, first_token, finished;
  int input = 0, output = 0, cached = 0, preemptions = 0;
};

/// The engine at one instant.
struct OccupancySample {
  Seconds time;
  int running = 0, waiting = 0;
  std::int64_t kv_blocks = 0;
};

/// The outcome of a run. Summaries cover the requests after the warm-up.
struct SimulationResult {
  TimeSummary ttft;       ///< arrival to first token
  TimeSummary tpot;       ///< (finish - first token) / (output - 1), requests of one token left out
  TimeSummary itl;        ///< gaps between successive tokens, all tokens
  TimeSummary e2e;        ///< arrival to last token
  TimeSummary admission;  ///< arrival to admission
  Requests mean_running;  ///< time average of decoding sequences, between warm-up and last arrival
  Requests mean_admitted;    ///< the same, prefilling ones included
  Requests mean_waiting;     ///< time average of requests not admitted
  double mean_kv_usage = 0;  ///< time average of blocks in use over the pool, 0 without a pool
  double peak_kv_usage = 0;
  double utilization = 0;          ///< share of the time in which a step ran
  RequestsPerSecond request_rate;  ///< completed over the whole run
  TokensPerSecond token_rate;      ///< generated over the whole run
  Seconds duration;                ///< start to last completion
  std::size_t completed = 0;
  std::size_t rejected = 0;  ///< larger than the whole pool
  std::size_t preemptions = 0;
  std::int64_t steps = 0;
  std::int64_t generated_tokens = 0;
  std::int64_t prefilled_tokens = 0;  ///< computed, recomputation included
  std::int64_t cached_tokens = 0;     ///< found in the prefix cache instead
  double residence_sum = 0;           ///< s: sum over all requests of finish - arrival
  double system_integral = 0;         ///< request s: integral of requests in the system
  std::vector<OccupancySample> occupancy;
  std::vector<RequestRecord> records;  ///< in the order of `requests`, when kept
};

}  // namespace tokenroof
