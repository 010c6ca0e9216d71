// Requests to be simulated: drawn from laws, or replayed from a trace.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tokenroof/core/units.hpp"
#include "tokenroof/describe/workload.hpp"
#include "tokenroof/serving/random.hpp"

namespace tokenroof {

/// One request as the simulator sees it. Lengths in tokens.
struct SimulatedRequest {
  Seconds arrival;        ///< from the start of the run; ignored in a closed loop
  int input = 1;          ///< prompt tokens, >= 1
  int output = 1;         ///< tokens to generate, >= 1; the first comes out of prefill
  int cached = 0;         ///< leading prompt tokens that the prefix cache holds in any case
  int prefix_group = -1;  ///< requests of one group share their first `prefix_tokens`; -1: none
  int prefix_tokens = 0;  ///< computed by the group's first request, a cache hit for the others
};

/// A stream drawn from laws.
struct StreamLaw {
  std::size_t requests = 10000;
  RequestsPerSecond arrival_rate = RequestsPerSecond::from_base(1);
  double arrival_squared_cv = 1;  ///< of inter-arrival times: 1 Poisson, > 1 bursty (gamma), 0 even
  TokensPerRequest input = TokensPerRequest::from_base(1);
  TokensPerRequest output = TokensPerRequest::from_base(1);
  LengthLaw input_law;
  LengthLaw output_law;               ///< `empirical` in either draws input and output as a pair
  double prefix_hit_probability = 1;  ///< a request finds its prefix with this probability,
  double prefix_hit_share = 0;        ///< and then this share of its prompt: rate = their product
  int prefix_groups = 0;              ///< > 0: shared system prompts, one per group, drawn evenly
  int prefix_tokens = 0;              ///< length of a shared system prompt
  std::uint64_t seed = 1;
};

/// A length of the stated mean under `law`, at least one token, rounded to whole tokens.
[[nodiscard]] inline int sample_length(Random& random, const LengthLaw& law, double mean) {
  double length = mean;
  switch (law.kind) {
    case LengthLaw::Kind::fixed:
    case LengthLaw::Kind::empirical:
      break;
    case LengthLaw::Kind::uniform:
      length = mean * (law.low + (law.high - law.low) * random.uniform());
      break;
    case LengthLaw::Kind::lognormal:
      length = mean * sample_lognormal(random, law.cv);
      break;
    case LengthLaw::Kind::geometric:
      length = sample_geometric(random, mean);
      break;
  }
  return static_cast<int>(std::clamp(std::floor(length + 0.5), 1.0, 1e9));
}

/// The requests of `law`, by time of arrival. Equal seeds give equal streams.
[[nodiscard]] inline std::vector<SimulatedRequest> draw_requests(const StreamLaw& law) {
  Random random(law.seed);
  std::vector<SimulatedRequest> requests(law.requests);
  const double gap = 1 / law.arrival_rate.base();
  const bool poisson = law.arrival_squared_cv == 1;
  double clock = 0;
  const LengthLaw& pairs =
      law.input_law.kind == LengthLaw::Kind::empirical ? law.input_law : law.output_law;
  const bool paired = pairs.kind == LengthLaw::Kind::empirical && !pairs.output_samples.empty();
  for (SimulatedRequest& r : requests) {
    if (poisson) {
      clock += gap * sample_exponential(random);
    } else {
      clock +=
          law.arrival_squared_cv > 0 ? gap * sample_gamma(random, 1 / law.arrival_squared_cv) : gap;
    }
    r.arrival = clock * second;
    if (paired) {
      const std::size_t i = random.below(pairs.output_samples.size());
      r.output = std::max(1, static_cast<int>(pairs.output_samples[i]));
      r.input = i < pairs.input_samples.size()
                    ? std::max(1, static_cast<int>(pairs.input_samples[i]))
                    : sample_length(random, LengthLaw{}, law.input.base());
    } else {
      r.input = sample_length(random, law.input_law, law.input.base());
      r.output = sample_length(random, law.output_law, law.output.base());
    }
    if (law.prefix_hit_share > 0) {
      const bool hit =
          law.prefix_hit_probability >= 1 || random.uniform() < law.prefix_hit_probability;
      if (hit) r.cached = static_cast<int>(law.prefix_hit_share * r.input);
    }
    if (law.prefix_groups > 0) {
      r.prefix_group =
          static_cast<int>(random.below(static_cast<std::uint64_t>(law.prefix_groups)));
      r.prefix_tokens = std::min(law.prefix_tokens, r.input);
    }
  }
  return requests;
}

}  // namespace tokenroof
