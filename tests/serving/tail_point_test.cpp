#include "tokenroof/serving/tail_point.hpp"

#include "properties.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

TEST_CASE("points of a tail", "[tail_point]") {
  property("an exponential", [] {
    const double mean = of_any_size(1e-4, 1e4), share = of_any_size(1e-6, 0.9);
    const auto tail = [&](double t) { return std::exp(-t / mean); };
    const double point = tail_point(tail, share, of_any_size(1e-3, 1e3));
    RC_ASSERT(near(point, -mean * std::log(share), 1e-10));
  });
  const auto jump = [](double t) { return t < 2 ? 1.0 : 0.01; };
  CHECK(tail_point(jump, 0.05, 0.1) == Approx(2).epsilon(1e-6));
  CHECK(tail_point([](double) { return 0.01; }, 0.05, 1) == 0);    // below the share from the start
  CHECK(tail_point([](double) { return 1.0; }, 0.05, 1) >= 1e12);  // never reached
}
