#include "tokenroof/serving/wait_law.hpp"

#include "properties.hpp"

using namespace tokenroof;
using namespace tokenroof::test;
using namespace tokenroof::detail;

TEST_CASE("a wait law has the mean and the mean square that made it", "[wait_law]") {
  property("moments of the tail", [] {
    const double mean = of_any_size(1e-3, 10), some = between(0.05, 1);
    // Given a wait, the squared coefficient of variation is square / (some given^2) - 1.
    const double squared_cv = between(0.01, 6), given = mean / some;
    const double square = some * given * given * (1 + squared_cv);
    const WaitLaw law = wait_law(mean, square, some);
    double first = 0, second_moment = 0;
    const double h = given / 400;
    for (double t = 0.5 * h; t < 120 * given; t += h) {
      const double tail = residual_tail(law, 0, t);
      first += tail * h;
      second_moment += 2 * t * tail * h;
    }
    RC_ASSERT(near(first, mean, 1e-3));
    RC_ASSERT(near(second_moment, square, 2e-3));
  });
  property("the tail falls from one to nothing", [] {
    const double some = between(0, 1), mean = between(0, 1) * some;
    const WaitLaw law = wait_law(mean, mean * mean * between(1, 9), some);
    const double step = between(0.001, 0.2), t = between(0, 3);
    RC_ASSERT(at_most(residual_tail(law, step, t + 0.01), residual_tail(law, step, t)));
    RC_ASSERT(residual_tail(law, step, 0) == 1);
    RC_ASSERT(residual_tail(law, step, 1e6) <= 1e-12);
  });
}

TEST_CASE("no wait is the rest of a step alone", "[wait_law]") {
  const WaitLaw none = wait_law(0, 0, 0.5);
  CHECK(none.some == 0);
  CHECK(residual_tail(none, 0.04, 0.01) == Approx(0.75));
  CHECK(residual_tail(none, 0.04, 0.05) == 0);
}
