// What an API charges for a request: prices per token by class, with tiers by prompt length.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tokenroof/core/units.hpp"

namespace tokenroof {

/// Dollars per token by class; unset: not listed, which is unknown and never 0.
struct ApiRates {
  std::optional<DollarsPerToken> input;
  std::optional<DollarsPerToken> output;
  std::optional<DollarsPerToken> cache_read;   ///< prompt tokens found in the provider's cache
  std::optional<DollarsPerToken> cache_write;  ///< prompt tokens put into it
};

/// Rates of requests whose prompt is longer than `above`.
struct ApiTier {
  Tokens above;
  ApiRates rates;  ///< what is unset stays as in the tier below
};

/// A model on a price list.
struct ApiPrice {
  std::string model;
  std::string provider;
  std::string mode;  ///< chat, completion, embedding, ...
  ApiRates rates;
  std::vector<ApiTier> tiers;  ///< by rising length
  std::string source;
  std::string as_of;
  bool unverified = false;  ///< nobody has checked the figures against their source

  /// Rates of a request with a prompt of `prompt` tokens, cached ones included: the whole request
  /// is charged at the tier of its length.
  [[nodiscard]] ApiRates rates_at(Tokens prompt) const {
    ApiRates result = rates;
    const auto take = [](std::optional<DollarsPerToken>& rate, const auto& restated) {
      if (restated) rate = restated;
    };
    for (const ApiTier& tier : tiers) {
      if (prompt <= tier.above) break;
      take(result.input, tier.rates.input);
      take(result.output, tier.rates.output);
      take(result.cache_read, tier.rates.cache_read);
      take(result.cache_write, tier.rates.cache_write);
    }
    return result;
  }
};

/// Tokens of one request as an API counts them.
struct ApiUse {
  Tokens prompt;   ///< all prompt tokens, those of the next two kinds included
  Tokens cached;   ///< of these read from the cache
  Tokens output;   ///< generated
  Tokens written;  ///< prompt tokens written into the cache, at the price of cache_write
};

/// Dollars (prompt - cached - written) x input + cached x cache_read + written x cache_write +
/// output x output of one request. None when the price of a kind that occurs is unknown, or when
/// the prompt is shorter than its parts.
[[nodiscard]] inline std::optional<Dollars> api_cost(const ApiPrice& price, const ApiUse& use) {
  const Tokens computed = use.prompt - use.cached - use.written;
  if (computed < Tokens{}) return std::nullopt;
  const ApiRates rates = price.rates_at(use.prompt);
  Dollars cost;
  const auto add = [&cost](Tokens tokens, const std::optional<DollarsPerToken>& rate) {
    if (!(tokens > Tokens{})) return true;
    if (!rate) return false;
    cost += tokens * *rate;
    return true;
  };
  const bool known = add(computed, rates.input) && add(use.cached, rates.cache_read) &&
                     add(use.written, rates.cache_write) && add(use.output, rates.output);
  if (!known) return std::nullopt;
  return cost;
}

}  // namespace tokenroof
