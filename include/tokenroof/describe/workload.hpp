// What is asked of a deployment: lengths, and one of three kinds of traffic.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tokenroof/core/units.hpp"

namespace tokenroof {

/// A length distribution around a stated mean: mean factor and squared coefficient of variation.
struct LengthLaw {
  enum class Kind { fixed, uniform, lognormal, geometric, empirical };
  Kind kind = Kind::fixed;
  double low = 1, high = 1;  ///< uniform: factors of the stated length
  double cv = 0;             ///< lognormal: standard deviation over mean
  /// empirical: tokens, pairwise, by rising input
  std::vector<double> input_samples{}, output_samples{};

  /// Mean length over the stated length.
  [[nodiscard]] double mean_factor() const {
    return kind == Kind::uniform ? 0.5 * (low + high) : 1.0;
  }
  /// Squared coefficient of variation of the output length, `mean` its mean in tokens.
  [[nodiscard]] double squared_cv(double mean) const {
    switch (kind) {
      case Kind::fixed:
        return 0;
      case Kind::uniform: {
        const double width = (high - low) / (0.5 * (low + high));
        return width * width / 12;
      }
      case Kind::lognormal:
        return cv * cv;
      case Kind::geometric:
        return mean > 1 ? 1 - 1 / mean : 0;
      case Kind::empirical:
        break;
    }
    double sum = 0, squares = 0;
    for (const double x : output_samples) {
      sum += x;
      squares += x * x;
    }
    const double n = static_cast<double>(output_samples.size());
    return n > 0 && sum > 0 ? squares * n / (sum * sum) - 1 : 0;
  }
};

/// Requests arrive at a rate, whatever the service does (Poisson, unless bursty).
struct OpenLoop {
  RequestsPerSecond arrival_rate;  ///< of the whole deployment
  double arrival_squared_cv = 1;   ///< of inter-arrival times, [0, 10000]; 1: Poisson
};
/// A fixed number of requests is always in the system; each one that ends is replaced.
struct ClosedLoopTraffic {
  Requests concurrency;  ///< of the whole deployment
};
/// One step, no traffic: a batch of sequences that each hold `context` tokens.
struct SingleStep {
  Requests batch;
  TokensPerRequest context;
};

/// Conversations that share system prompts: prefix-cache hits follow from the structure. With
/// sessions `Workload::input` is the new question of a turn (serving/sessions.hpp).
struct Sessions {
  double system_prompt_tokens = 0;
  double distinct_system_prompts = 1;
  double users_per_system_prompt = 1;
  double turns = 1;
  bool multi_turn = false;  ///< each turn resends the conversation so far
  /// Users ask the same question again and again, as load generators do: it is found too.
  bool same_question = false;
};

/// One kind of requests in a mix.
struct WorkloadClass {
  std::string name;
  double share = 1;  ///< of the requests; shares of a mix sum to 1
  TokensPerRequest input, output;
  double prefix_hit_rate = 0;  ///< share of its prompt tokens found in the prefix cache
};

/// Lengths and traffic.
struct Workload {
  TokensPerRequest input = TokensPerRequest::from_base(0);   ///< stated prompt length
  TokensPerRequest output = TokensPerRequest::from_base(1);  ///< stated output length
  LengthLaw lengths;
  std::variant<SingleStep, ClosedLoopTraffic, OpenLoop> traffic;
  double prefix_hit_rate = 0;  ///< share of prompt tokens found in the prefix cache
  std::optional<Sessions> sessions;
  /// The kinds that make up the mix, for bills; lengths and hit rate above are those of the mix.
  /// Empty: all requests are of one kind.
  std::vector<WorkloadClass> classes;
};

}  // namespace tokenroof
