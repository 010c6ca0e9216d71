// Price lists of APIs: our own data/prices/api.json and LiteLLM's
// model_prices_and_context_window.json, which have the same entries.
//
//   { "currency": "USD", "as_of": "2026-01-31", "source": "...",      our frame; LiteLLM has none
//     "models": { "NAME": {
//       "litellm_provider": "...", "mode": "chat",
//       "input_cost_per_token": 1.4e-6, "output_cost_per_token": 4.4e-6,         USD per token
//       "cache_read_input_token_cost": 2.6e-7, "cache_creation_input_token_cost": 1.75e-6,
//       "input_cost_per_token_above_200k_tokens": 2.8e-6, ...                    tiers, likewise
//       "source": "...", "as_of": "...", "unverified": true } } }
//
// The entry sample_spec, which explains the format, is skipped, and so are keys that are no price.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tokenroof/decide/api_price.hpp"
#include "tokenroof/io/catalog.hpp"

namespace tokenroof::io {

/// Models and prices of a list, in its order.
struct PriceList {
  std::vector<ApiPrice> models;
  std::vector<std::string> warnings;  ///< prices taken as unknown, and why; with their pointers

  /// The price of `model`; throws SpecError with suggestions when it is not listed.
  [[nodiscard]] const ApiPrice& at(std::string_view model) const;
  std::string file;  ///< for messages
};

/// Parses a list; `file` is for messages. A price that is no number, negative, or in another
/// currency than USD is a fault, all faults in one SpecError. Taken as unknown, with a warning: a
/// cache read dearer than the input it saves; input and output both 0 (priced otherwise, not free).
[[nodiscard]] PriceList read_prices(std::string_view json_text, const std::string& file);

/// The list of a file; throws SpecError.
[[nodiscard]] PriceList read_prices_file(const std::filesystem::path& path);

/// The list that ships: data/prices/api.json.
[[nodiscard]] PriceList shipped_prices(const Catalog& catalog);

}  // namespace tokenroof::io
