#include "tokenroof/serving/concurrency.hpp"

#include <boost/math/distributions/normal.hpp>
#include <vector>

#include "oracle.hpp"
#include "properties.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {
constexpr RequestsPerSecond per_second(double x) { return RequestsPerSecond::from_base(x); }
constexpr TokensPerRequest tokens(double x) { return TokensPerRequest::from_base(x); }
}  // namespace

TEST_CASE("Little's law in its three forms", "[concurrency]") {
  const Requests inside = little_concurrency(per_second(1000), 2 * second);
  CHECK(inside / request == closed_form("s10.little.seed"));
  CHECK(per_cluster(inside, 100) / request == closed_form("s10.little.cluster"));
  CHECK(little_residence(inside, per_second(1000)) / second == Approx(2));
  CHECK(little_rate(inside, 2 * second).base() == Approx(1000));
  CHECK(offered_load(per_second(3), per_second(4)) == 0.75);
}

TEST_CASE("Little's law differentiates", "[concurrency]") {
  using D = Dual<2>;
  const auto rate = With<RequestsPerSecond, D>::from_base(D::variable(5, 0));
  const auto time = With<Seconds, D>::from_base(D::variable(3, 1));
  const auto inside = little_concurrency(rate, time).base();
  CHECK(inside.value == 15);
  CHECK(inside.gradient[0] == 3);
  CHECK(inside.gradient[1] == 5);
}

TEST_CASE("20 sequences use 6.8 % of the compute of an H100", "[concurrency]") {
  const double ridge = 989e12 / 3.35e12;
  CHECK(20 / ridge == closed_form("s10.article.util"));
}

TEST_CASE("a running sequence is longer than the average request", "[concurrency]") {
  const auto live = [](double cv2) { return live_context(tokens(161), tokens(338), cv2).base(); };
  CHECK(live(0) == closed_form("s3.lenbias.det"));
  CHECK(live(1) == closed_form("s3.lenbias.exp"));
  CHECK(live(1 - 1.0 / 338) == closed_form("s3.lenbias.geo"));
}

TEST_CASE("live context of samples knows their correlation", "[concurrency]") {
  const std::vector<double> inputs{100, 300}, outputs{10, 30};
  // E[PO] = (1000 + 9000) / 2 = 5000, E[O] = 20, E[O^2] = 500: 250 + 12.5.
  CHECK(live_context(inputs, outputs).base() == Approx(262.5));
  CHECK(live_context(std::vector<double>{}, std::vector<double>{}).base() == 0);
}

TEST_CASE("overflow-safe concurrency", "[concurrency]") {
  const auto safe = [](double s, double p) {
    return safe_concurrency(1000 * byte, s * byte, 200000 * byte, p) / request;
  };
  CHECK(safe(600, 0.01) == closed_form("s3.safeK.raw"));
  CHECK(safe(600, 0.5) == Approx(200));
  CHECK(safe(0, 0.01) == Approx(200));
  CHECK(safe_concurrency(1000 * byte, 600 * byte, 0 * byte, 0.01) / request == 0);
  property("K m + z sqrt(K) s = C, and the overflow probability is its inverse", [] {
    const double m = of_any_size(1, 1e9), s = m * between(0.01, 3), c = m * of_any_size(2, 1e4);
    const double p = between(0.001, 0.4);
    const boost::math::normal standard;
    const double z = boost::math::quantile(standard, 1 - p);
    const double k = safe_concurrency(m * byte, s * byte, c * byte, p) / request;
    RC_ASSERT(near(k * m + z * std::sqrt(k) * s, c, 1e-11));
    RC_ASSERT(near(overflow_probability(m * byte, s * byte, c * byte, k * request), p, 1e-9));
  });
  CHECK(overflow_probability(2 * byte, 0 * byte, 9 * byte, 5 * request) == 1);
  CHECK(overflow_probability(2 * byte, 0 * byte, 9 * byte, 4 * request) == 0);
}
