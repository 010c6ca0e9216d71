#include "tokenroof/core/scalar.hpp"

#include "catch2/catch.hpp"
#include "rapidcheck.h"

namespace tokenroof {
namespace {

template <class S>
S sample_formula(const S& x, const S& y) {
  return max(x * y + 2.0, x / y) + sqrt(x * x + y * y) - log(y) * exp(-x) + pow(x, 1.5) -
         min(x, 3.0 * y);
}

static_assert(Scalar<double> && Scalar<Dual<3>> && !Scalar<int>);

TEST_CASE("hand-worked derivative") {
  // d/dx (x^2 y) = 2 x y = 12, d/dy = x^2 = 9 at (3, 2).
  const auto x = Dual<2>::variable(3, 0);
  const auto y = Dual<2>::variable(2, 1);
  const auto z = x * x * y;
  CHECK(z.value == 18);
  CHECK(z.gradient[0] == 12);
  CHECK(z.gradient[1] == 9);
}

TEST_CASE("the first argument wins a tie of max and of min") {
  const auto a = Dual<2>::variable(1, 0);
  const auto b = Dual<2>::variable(1, 1);
  CHECK(max(a, b).gradient == std::array<double, 2>{1, 0});
  CHECK(max(b, a).gradient == std::array<double, 2>{0, 1});
  CHECK(min(a, b).gradient == std::array<double, 2>{1, 0});
}

TEST_CASE("smooth maximum lies between the maximum and root two of it") {
  CHECK(smooth_max(3 * second, 4 * second) / second == Approx(5));
  CHECK(smooth_max(3 * second, 3 * second) / second == Approx(3 * std::sqrt(2.0)));
}

TEST_CASE("quantities of dual numbers") {
  using BandwidthDual = With<BytesPerSecond, Dual<1>>;
  const auto bandwidth = BandwidthDual::from_base(Dual<1>::variable(2, 0));
  const auto time = Bytes(8 * byte) / bandwidth;
  CHECK(time.base().value == 4);
  CHECK(time.base().gradient[0] == -2);
}

TEST_CASE("dual agrees with double, and with central differences") {
  CHECK(rc::check("value and derivative", [] {
    const double x = *rc::gen::inRange(1, 1000) * 0.01;
    const double y = *rc::gen::inRange(1, 1000) * 0.01;
    RC_PRE(std::abs(x * y + 2 - x / y) > 1e-3 && std::abs(x - 3 * y) > 1e-3);
    const auto dual = sample_formula(Dual<2>::variable(x, 0), Dual<2>::variable(y, 1));
    RC_ASSERT(dual.value == sample_formula(x, y));
    const double h = 1e-6 * x;
    const double slope = (sample_formula(x + h, y) - sample_formula(x - h, y)) / (2 * h);
    RC_ASSERT(std::abs(slope - dual.gradient[0]) <= 1e-5 * (1 + std::abs(slope)));
  }));
}

}  // namespace
}  // namespace tokenroof
