#include "tokenroof/physics/expert_coverage.hpp"

#include "properties.hpp"
#include "tokenroof/physics/experts.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

TEST_CASE("uniform routing is reproduced to rounding", "[expert_coverage]") {
  const ExpertCoverage coverage(inclusion_probabilities(zipf_popularity(256, 0), 8));
  CHECK(coverage.experts() == 256);
  for (const double batch : {0.0, 0.2, 1.0, 1.3, 7.0, 64.0, 300.5, 1e5})
    CHECK(coverage.distinct(batch * token) ==
          Approx(distinct_experts(256, 8, batch * token)).epsilon(1e-11));
}

TEST_CASE("coverage at its edges", "[expert_coverage]") {
  CHECK(ExpertCoverage().distinct(64 * token) == 0);
  const std::vector<double> certain(8, 1.0), never(8, 0.0);
  CHECK(ExpertCoverage(certain).distinct(token) == 8);
  CHECK(ExpertCoverage(certain).distinct(Tokens{}) == 0);
  CHECK(ExpertCoverage(never).distinct(1000 * token) == 0);
  const std::vector<double> half_certain = {1, 1, 0, 0};
  CHECK(ExpertCoverage(half_certain).distinct(50 * token) == Approx(2).epsilon(1e-12));
  const auto zipf = inclusion_probabilities(zipf_popularity(64, 1), 4);
  CHECK(ExpertCoverage(zipf).distinct(1e12 * token) == Approx(64).epsilon(1e-12));
}

TEST_CASE("the table against the sum over experts", "[expert_coverage]") {
  property("within 5e-5 of the experts, growing, differentiable", [] {
    const int experts = whole(4, 256);
    const int k = whole(1, experts - 1);
    const auto inclusion = inclusion_probabilities(zipf_popularity(experts, between(0, 2)), k);
    const ExpertCoverage coverage(inclusion);
    const double b = of_any_size(1, 1e5);
    const double exact = distinct_experts(inclusion, b * token);
    RC_ASSERT(std::fabs(coverage.distinct(b * token) - exact) < 5e-5 * experts);
    RC_ASSERT(at_most(coverage.distinct(b * token), coverage.distinct(1.01 * b * token)));
    const double inside = std::exp(0.34657359027997264 * (whole(0, 20) + between(0.1, 0.9)));
    RC_ASSERT(differentiates(
        [&](auto x) { return coverage.distinct(With<Tokens, decltype(x)>::from_base(x)); },
        inside));
  });
}
