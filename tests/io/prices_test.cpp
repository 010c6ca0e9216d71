#include "tokenroof/io/prices.hpp"

#include "catch2/catch.hpp"
#include "tokenroof/core/error.hpp"

using namespace tokenroof;
using namespace tokenroof::io;
using Catch::Matchers::Contains;

namespace {
std::string refusal(const std::string& text) {
  try {
    static_cast<void>(read_prices(text, "f.json"));
    return "accepted";
  } catch (const SpecError& error) {
    return error.what();
  }
}
double per_million(const std::optional<DollarsPerToken>& rate) { return rate.value().base() * 1e6; }
}  // namespace

TEST_CASE("LiteLLM's list", "[prices]") {
  const PriceList list = read_prices(R"({
    "sample_spec": {"max_tokens": "LEGACY parameter", "input_cost_per_token": "a number"},
    "demo/demo-70b": {"litellm_provider": "demo", "mode": "chat", "input_cost_per_token": 6e-07,
      "output_cost_per_token": 1.8e-06, "cache_read_input_token_cost": 6e-08,
      "max_input_tokens": 131072, "supports_vision": true},
    "long": {"input_cost_per_token": 3e-6, "output_cost_per_token": 15e-6,
      "cache_creation_input_token_cost": 3.75e-6,
      "input_cost_per_token_above_200k_tokens": 6e-6,
      "output_cost_per_token_above_200k_tokens": 2.25e-5,
      "cache_read_input_token_cost_above_200k_tokens": 6e-7,
      "input_cost_per_token_above_128k_tokens": 4e-6,
      "input_cost_per_token_batches": 1.5e-6},
    "picture": {"mode": "image_generation", "input_cost_per_image": 0.04},
    "gratis": {"input_cost_per_token": 0.0, "output_cost_per_token": 0}})",
                                     "list.json");
  REQUIRE(list.models.size() == 4);
  const ApiPrice& demo = list.at("demo/demo-70b");
  CHECK(demo.provider == "demo");
  CHECK(per_million(demo.rates.input) == Approx(0.6));
  CHECK(per_million(demo.rates.cache_read) == Approx(0.06));
  CHECK_FALSE(demo.rates.cache_write.has_value());
  const ApiPrice& tiers = list.at("long");
  REQUIRE(tiers.tiers.size() == 2);
  CHECK(tiers.tiers[0].above == 128e3 * token);
  CHECK(per_million(tiers.rates_at(128e3 * token).input) == Approx(3));
  CHECK(per_million(tiers.rates_at(150e3 * token).input) == Approx(4));
  CHECK(per_million(tiers.rates_at(250e3 * token).input) == Approx(6));
  CHECK(per_million(tiers.rates_at(250e3 * token).output) == Approx(22.5));
  CHECK(per_million(tiers.rates_at(250e3 * token).cache_write) == Approx(3.75));
  CHECK_FALSE(list.at("picture").rates.input.has_value());
  CHECK_FALSE(list.at("gratis").rates.input.has_value());
  REQUIRE(list.warnings.size() == 1);
  CHECK_THAT(list.warnings[0], Contains("/gratis"));
}

TEST_CASE("a cache read dearer than its input is taken as unknown", "[prices]") {
  const PriceList list = read_prices(
      R"({"m": {"input_cost_per_token": 8e-8, "output_cost_per_token": 4e-6,
                "cache_read_input_token_cost": 8e-7}})",
      "list.json");
  CHECK_FALSE(list.at("m").rates.cache_read.has_value());
  REQUIRE(list.warnings.size() == 1);
  CHECK_THAT(list.warnings[0], Contains("/m/cache_read_input_token_cost"));
}

TEST_CASE("faulty lists are refused with their place", "[prices]") {
  CHECK_THAT(refusal(R"({"m": {"input_cost_per_token": "6e-07"}})"),
             Contains("/m/input_cost_per_token") && Contains("6e-07"));
  CHECK_THAT(refusal(R"({"m": {"output_cost_per_token": -1e-6}})"),
             Contains("/m/output_cost_per_token"));
  CHECK_THAT(refusal(R"({"m": 3})"), Contains("/m"));
  CHECK_THAT(refusal("[]"), Contains("f.json"));
  CHECK_THAT(refusal(R"({"currency": "EUR", "as_of": "2026-01-01", "source": "s", "models": {}})"),
             Contains("/currency") && Contains("EUR"));
  CHECK_THAT(refusal(R"({"currency": "USD", "models": {}})"), Contains("/as_of"));
  const PriceList empty = read_prices("{}", "f.json");
  CHECK_THROWS_WITH(empty.at("gpt"), Contains("no price of \"gpt\""));
}

TEST_CASE("the list that ships", "[prices]") {
  const PriceList list = shipped_prices(Catalog(TOKENROOF_SOURCE_DIR "/data"));
  CHECK(list.warnings.empty());
  CHECK(list.models.size() >= 8);
  for (const ApiPrice& price : list.models) {
    INFO(price.model);
    CHECK(price.rates.input.has_value());
    CHECK(price.rates.output.has_value());
    CHECK_FALSE(price.source.empty());
    CHECK(price.as_of.size() == 10);
    if (price.rates.cache_read) CHECK(*price.rates.cache_read < *price.rates.input);
  }
  // Long published: a cache read of this model costs a tenth of its input.
  const ApiPrice& haiku = list.at("claude-3-5-haiku");
  CHECK(per_million(haiku.rates.cache_read) == Approx(0.08));
  CHECK(per_million(haiku.rates.input) == Approx(0.8));
}
