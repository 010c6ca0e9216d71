#include "tokenroof/serving/prefill_law.hpp"

#include "catch2/catch.hpp"

using namespace tokenroof;

namespace {
// A prompt of so many tokens takes so many milliseconds.
PrefillLaw law_of(const LengthLaw& lengths, double mean) {
  return prefill_law(lengths, TokensPerRequest::from_base(mean),
                     [](double tokens) { return tokens * millisecond; });
}
double mean_of(const LengthLaw& lengths, double mean) {
  return prefill_mean(law_of(lengths, mean).shares()) / millisecond;
}
}  // namespace

TEST_CASE("a law of prompt times keeps the mean of the lengths", "[prefill_law]") {
  for (const LengthLaw& law :
       {LengthLaw{}, LengthLaw{.kind = LengthLaw::Kind::uniform, .low = 0.8, .high = 1},
        LengthLaw{.kind = LengthLaw::Kind::lognormal, .cv = 1.2},
        LengthLaw{.kind = LengthLaw::Kind::geometric}})
    CHECK(mean_of(law, 900) == Approx(900).epsilon(1e-3));
}

TEST_CASE("samples give their own law", "[prefill_law]") {
  LengthLaw mix{.kind = LengthLaw::Kind::empirical};
  mix.input_samples.assign(900, 100);
  mix.input_samples.resize(1000, 4100);
  mix.output_samples.assign(1000, 10);
  const PrefillLaw law = law_of(mix, 500);
  CHECK(prefill_mean(law.shares()) / millisecond == Approx(500).epsilon(1e-6));
  // Variance of the mix: 0.9 x 0.1 x 4000^2.
  CHECK(prefill_squared_cv(law.shares()) == Approx(1.44e6 / 250000).epsilon(1e-6));
  // Prefix hits shorten every prompt alike.
  CHECK(mean_of(mix, 250) == Approx(250).epsilon(1e-6));
}

TEST_CASE("a law without samples is one length", "[prefill_law]") {
  CHECK(mean_of(LengthLaw{.kind = LengthLaw::Kind::empirical}, 700) == Approx(700));
}
