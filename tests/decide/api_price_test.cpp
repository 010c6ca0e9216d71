#include "tokenroof/decide/api_price.hpp"

#include "catch2/catch.hpp"
#include "tokenroof/decide/economics.hpp"

using namespace tokenroof;

namespace {
DollarsPerToken each(double dollars) { return DollarsPerToken::from_base(dollars); }

ApiPrice tiered() {
  ApiPrice price;
  price.rates = {each(3e-6), each(15e-6), each(3e-7), each(3.75e-6)};
  price.tiers = {{200e3 * token, {each(6e-6), each(22.5e-6), {}, each(7.5e-6)}}};
  return price;
}
double cost(const ApiPrice& price, double prompt, double cached, double output,
            double written = 0) {
  return api_cost(price, {prompt * token, cached * token, output * token, written * token})
      .value()
      .base();
}
}  // namespace

TEST_CASE("cached prompt tokens are not charged in full", "[api_price]") {
  // A published bill: 1 x 1.4e-6 + 27,146 x 2.6e-7 + 351 x 4.4e-6.
  ApiPrice price;
  price.rates = {each(1.4e-6), each(4.4e-6), each(2.6e-7), {}};
  CHECK(cost(price, 27147, 27146, 351) == Approx(0.00860376).epsilon(1e-12));
}

TEST_CASE("the prompt's length sets the tier of the whole request", "[api_price]") {
  CHECK(cost(tiered(), 200e3, 0, 1000) == Approx(200e3 * 3e-6 + 1000 * 15e-6));
  CHECK(cost(tiered(), 200001, 0, 1000) == Approx(200001 * 6e-6 + 1000 * 22.5e-6));
  // Cached tokens count towards the length; what a tier does not restate stays.
  CHECK(cost(tiered(), 300e3, 250e3, 0) == Approx(50e3 * 6e-6 + 250e3 * 3e-7));
  // Writing costs 1.25 times the input of the tier.
  CHECK(cost(tiered(), 300e3, 0, 0, 300e3) == Approx(300e3 * 6e-6 * 1.25));
}

TEST_CASE("an unknown price is unknown", "[api_price]") {
  ApiPrice price;
  price.rates.input = each(1e-6);
  CHECK_FALSE(api_cost(price, {10 * token, {}, 1 * token, {}}).has_value());
  CHECK_FALSE(api_cost(price, {10 * token, 5 * token, {}, {}}).has_value());
  CHECK(api_cost(price, {10 * token, {}, {}, {}})->base() == Approx(1e-5));
  CHECK_FALSE(api_cost(price, {10 * token, 11 * token, {}, {}}).has_value());
}
