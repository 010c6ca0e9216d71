#include "tokenroof/physics/overlap.hpp"

#include "oracle.hpp"
#include "properties.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

TEST_CASE("both families of overlap agree at the ridge", "[overlap]") {
  CHECK(p_norm_of_overlap(0.5) == closed_form("s1.p_from_phi.0.5"));
  CHECK(p_norm_of_overlap(0.9) == closed_form("s1.p_from_phi.0.9"));
  CHECK(p_norm_of_overlap(0) == 1);
  CHECK(std::isinf(p_norm_of_overlap(1)));
  for (const double overlap : {0.0, 0.3, 0.5, 0.95}) {
    const double p = p_norm_of_overlap(overlap);
    CHECK(overlap_of_p_norm(p) == Approx(overlap).margin(1e-14));
    CHECK(p_norm(second, second, p) / second ==
          Approx(linear_overlap(second, second, overlap) / second).epsilon(1e-13));
  }
}

TEST_CASE("overlap at its edges", "[overlap]") {
  CHECK(p_norm(3 * second, 4 * second, 1) == 7 * second);
  CHECK(p_norm(3 * second, 4 * second, 2) / second == Approx(5).epsilon(1e-15));
  CHECK(p_norm(3 * second, 4 * second, HUGE_VAL) == 4 * second);
  CHECK(p_norm(Seconds{}, 4 * second, 3) == 4 * second);
  CHECK(p_norm(Seconds{}, Seconds{}, 3) == Seconds{});
  CHECK(linear_overlap(3 * second, 4 * second, 0) == 7 * second);
  CHECK(linear_overlap(3 * second, 4 * second, 1) == 4 * second);
}

TEST_CASE("properties P1.3 of the p-norm", "[overlap]") {
  property("falls with p, within [max, 2^(1/p) max] and below the sum", [] {
    const Seconds a = of_any_size(1e-6, 1) * second;
    const Seconds b = of_any_size(1e-6, 1) * second;
    const double p = between(1, 20);
    const Seconds time = p_norm(a, b, p);
    const Seconds longer = std::max(a, b);
    RC_ASSERT(at_most(longer / second, time / second));
    RC_ASSERT(at_most(time / second, (a + b) / second));
    RC_ASSERT(at_most(time / longer, std::pow(2, 1 / p)));
    RC_ASSERT(at_most(p_norm(a, b, p + between(0, 5)) / second, time / second));
  });
  property("for a chain: max of sums <= sum of maxima <= sum of sums", [] {
    double memory = 0, compute = 0, maxima = 0;
    for (int kernel = 0; kernel < 5; ++kernel) {
      const double m = between(0, 1), c = between(0, 1);
      memory += m;
      compute += c;
      maxima += std::max(m, c);
    }
    RC_ASSERT(at_most(std::max(memory, compute), maxima));
    RC_ASSERT(at_most(maxima, memory + compute));
  });
  property("differentiates", [] {
    const double p = between(1.1, 8);
    const double other = of_any_size(0.1, 10);
    RC_ASSERT(differentiates(
        [=](auto x) {
          using S = decltype(x);
          return p_norm(With<Seconds, S>::from_base(x), With<Seconds, S>(other * second), p).base();
        },
        of_any_size(0.1, 10)));
  });
}
