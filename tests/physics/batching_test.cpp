#include "tokenroof/physics/batching.hpp"

#include "oracle.hpp"
#include "properties.hpp"
#include "theory_fixtures.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {
Tokens critical(const Roof<>& roof, double bytes) {
  return critical_batch(ridge_intensity(roof), bytes * byte);
}
// 70e9 bf16 weights on eight H100.
const Roof<> eight_h100{8 * h100.bf16_roof().math, 8 * h100.bf16_roof().memory};
const FlopsPerToken linear = 70e9 * flops_per_weight;
const TokensPerSecond ceiling = saturation_rate(eight_h100.math, linear);
const Tokens balance = critical(eight_h100, 2);
}  // namespace

TEST_CASE("critical batches of the oracle", "[batching]") {
  CHECK(critical(h100.bf16_roof(), 2) / token == closed_form("s1.bcrit.h100.w16c16"));
  CHECK(critical(h100.bf16_roof(), 1) / token == closed_form("s1.bcrit.h100.w8c16"));
  CHECK(critical(h100.fp8_roof(), 1) / token == closed_form("s1.bcrit.h100.w8c8"));
  CHECK(critical(h100.bf16_roof(), 0.5) / token == closed_form("s1.bcrit.h100.w4c16"));
  CHECK(critical(h200.bf16_roof(), 2) / token == closed_form("s1.bcrit.h200.w16c16"));
}

TEST_CASE("70e9 weights on eight H100: times and rates", "[batching]") {
  const auto work = [](double batch) { return Work<>{linear * (batch * token), 140e9 * byte}; };
  CHECK(traffic_time(work(1), eight_h100) / second == closed_form("s1.ex.tm"));
  CHECK(math_time(work(1), eight_h100) / second == closed_form("s1.ex.tc.B1"));
  CHECK(math_time(work(64), eight_h100) / second == closed_form("s1.ex.tc.B64"));
  CHECK(math_time(work(512), eight_h100) / second == closed_form("s1.ex.tc.B512"));
  const auto hard = [](double batch) {
    return batched_rate(ceiling, batch * token, balance).base();
  };
  CHECK(ceiling.base() == closed_form("s1.ex.Xinf"));
  CHECK(hard(1) == closed_form("s1.ex.X.B1"));
  CHECK(hard(64) == closed_form("s1.ex.X.B64"));
  CHECK(hard(295) == closed_form("s1.ex.X.B295"));
  CHECK(hard(512) == closed_form("s1.ex.X.B512"));
  const auto none = [](double batch) {
    return batched_rate_without_overlap(ceiling, batch * token, balance).base();
  };
  CHECK(none(64) == closed_form("s1.ex.Xsum.B64"));
  CHECK(none(295) == closed_form("s1.ex.Xsum.B295"));
  CHECK(batched_rate_p_norm(ceiling, 295 * token, balance, 4).base() ==
        closed_form("s1.ex.Xp4.B295"));
}

TEST_CASE("twenty sequences use 6.8 % of an H100's arithmetic", "[batching]") {
  const double share = batched_rate(ceiling, 20 * token, balance) / ceiling;
  CHECK(share == closed_form("s10.article.util"));
}

TEST_CASE("the curve at its edges", "[batching]") {
  CHECK(batched_rate(ceiling, Tokens{}, balance) == TokensPerSecond{});
  CHECK(batched_rate_p_norm(ceiling, Tokens{}, balance, 2) == TokensPerSecond{});
  CHECK(batched_rate_p_norm(ceiling, balance, balance, 3) / ceiling ==
        Approx(std::pow(2, -1.0 / 3)).epsilon(1e-14));
  CHECK(batch_for_share(balance, 0.5) == balance);
  CHECK(batched_rate_without_overlap(ceiling, batch_for_share(balance, 0.9), balance) / ceiling ==
        Approx(0.9).epsilon(1e-14));
}

TEST_CASE("properties P1.2 of throughput against batch", "[batching]") {
  property("grows, concave, never more per sequence, up to the ceiling", [] {
    const double p = between(1, 10);
    const double b = between(1, 2000), step = between(0, 100);
    const auto rate = [&](double batch) {
      return batched_rate_p_norm(ceiling, batch * token, balance, p) / ceiling;
    };
    RC_ASSERT(at_most(rate(b), rate(b + step)));
    RC_ASSERT(at_most(rate(b) + rate(b + 2 * step), 2 * rate(b + step)));
    RC_ASSERT(at_most(rate(b + step) / (b + step), rate(b) / b));
    RC_ASSERT(at_most(rate(b), 1));
    RC_ASSERT(rate(1e9) > 0.999);
    RC_ASSERT(near(batched_rate_p_norm(ceiling, b * token, balance, 1) / ceiling,
                   batched_rate_without_overlap(ceiling, b * token, balance) / ceiling));
  });
  property("P1.5 8-bit weights and multiplies balance where 16-bit ones do at twice the peak", [] {
    const double ridge = of_any_size(10, 1000);
    RC_ASSERT(near(critical_batch(FlopsPerByte::from_base(2 * ridge), byte) / token,
                   critical_batch(FlopsPerByte::from_base(ridge), 2 * byte) / token));
  });
  property("differentiates", [] {
    RC_ASSERT(differentiates(
        [](auto b) {
          using S = decltype(b);
          return batched_rate_p_norm<S>(ceiling, With<Tokens, S>::from_base(b),
                                        With<Tokens, S>(balance), 2)
              .base();
        },
        of_any_size(1, 1000)));
  });
}
