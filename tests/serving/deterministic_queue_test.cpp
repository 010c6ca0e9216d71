#include "tokenroof/serving/deterministic_queue.hpp"

#include <boost/multiprecision/cpp_bin_float.hpp>

#include "oracle.hpp"
#include "properties.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {
// Erlang's alternating sum in 100 digits: what the stable form must give.
double reference(double rho, double x) {
  using Real = boost::multiprecision::cpp_bin_float_100;
  Real sum = 0, factorial = 1;
  for (int j = 0; j <= static_cast<int>(x); ++j) {
    if (j > 0) factorial *= j;
    const Real a = Real(rho) * (Real(j) - Real(x));
    sum += pow(a, j) / factorial * exp(-a);
  }
  return static_cast<double>((1 - Real(rho)) * sum);
}
}  // namespace

TEST_CASE("M/D/1 wait distribution", "[queueing]") {
  CHECK(md1_wait_cdf(0.5, 1 * second, 2 * second) == closed_form("s10.md1.cdf.rho0.5.t2"));
  CHECK(md1_wait_cdf(0.8, 1 * second, 5 * second) == closed_form("s10.md1.cdf.rho0.8.t5"));
  CHECK(md1_wait_cdf_erlang(0.5, 3 * second, 6 * second) == closed_form("s10.md1.cdf.rho0.5.t2"));
  CHECK(md1_wait_cdf(0.8, 1 * second, 0 * second) == Approx(0.2).epsilon(1e-14));
  CHECK(md1_wait_cdf(0.8, 1 * second, -1 * second) == 0);
  CHECK(md1_wait_cdf(0, 1 * second, 0 * second) == 1);
}

TEST_CASE("the stable form keeps its digits where the sum has lost them", "[queueing]") {
  for (const double rho : {0.1, 0.5, 0.8, 0.95})
    for (const double x : {0.3, 1.0, 1.7, 6.2, 19.5, 40.25})
      CHECK(md1_wait_cdf(rho, 1 * second, x * second) == Approx(reference(rho, x)).epsilon(1e-12));
}

TEST_CASE("M/D/1 far tail and quantiles", "[queueing]") {
  property("increasing in t, the quantile inverts", [] {
    const double rho = between(0.05, 0.97), x = of_any_size(0.01, 400);
    const double here = md1_wait_cdf(rho, 1 * second, x * second);
    RC_ASSERT(here >= 0 && here <= 1);
    RC_ASSERT(at_most(here, md1_wait_cdf(rho, 1 * second, 1.05 * x * second)));
    const double p = between(rho < 0.9 ? 1 - rho + 0.001 : 0.2, 0.999);
    const Seconds t = md1_wait_quantile(rho, 2 * second, p);
    RC_ASSERT(near(md1_wait_cdf(rho, 2 * second, t), p, 1e-9));
  });
}
