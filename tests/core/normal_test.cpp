#include "tokenroof/core/normal.hpp"

#include <boost/math/distributions/normal.hpp>

#include "catch2/catch.hpp"
#include "properties.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

TEST_CASE("the normal quantile agrees with Boost.Math", "[normal]") {
  const boost::math::normal standard;
  for (const double p : {1e-300, 1e-30, 1e-9, 0.001, 0.0244, 0.2, 0.75, 0.99, 0.999999})
    CHECK(normal_quantile(p) == Approx(boost::math::quantile(standard, p)).epsilon(1e-13));
  CHECK(std::fabs(normal_quantile(0.5)) < 1e-15);
  CHECK(normal_quantile(0.99) == Approx(2.3263478740408408).epsilon(1e-15));
  CHECK(std::isinf(normal_quantile(0)));
  CHECK(normal_quantile(1) > 0);
}

TEST_CASE("probability and quantile are inverse", "[normal]") {
  property("inverse", [] {
    const double p = of_any_size(1e-12, 0.999);
    RC_ASSERT(near(normal_probability(normal_quantile(p)), p, 1e-13));
    const double q = between(0.01, 0.99);
    RC_ASSERT(std::fabs(normal_quantile(q) + normal_quantile(1 - q)) < 1e-12);
  });
}
