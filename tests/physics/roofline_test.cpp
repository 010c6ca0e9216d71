#include "tokenroof/physics/roofline.hpp"

#include "oracle.hpp"
#include "properties.hpp"
#include "theory_fixtures.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {
Roof<> random_roof() {
  return {FlopsPerSecond::from_base(of_any_size(1e12, 1e16)),
          BytesPerSecond::from_base(of_any_size(1e11, 2e13))};
}
FlopsPerByte flops_per_byte(double x) { return FlopsPerByte::from_base(x); }
OperandBytes<> all_of(double bytes) { return {bytes * byte, bytes * byte, bytes * byte}; }
}  // namespace

TEST_CASE("ridges of the oracle", "[roofline]") {
  const auto check = [](const char* key, const Roof<>& roof) {
    CHECK(ridge_intensity(roof).base() == closed_form(key));
  };
  check("s1.ridge.a100.bf16", a100.bf16_roof());
  check("s1.ridge.h100.bf16", h100.bf16_roof());
  check("s1.ridge.h100.fp8", h100.fp8_roof());
  check("s1.ridge.h200.bf16", h200.bf16_roof());
  check("s1.ridge.h200.fp8", h200.fp8_roof());
  check("s1.ridge.b200.bf16", b200.bf16_roof());
  check("s1.ridge.b200.fp8", b200.fp8_roof());
  check("s1.ridge.b200.fp4", b200.roof(9000e12));
}

TEST_CASE("at one FLOP per byte an H100 idles", "[roofline]") {
  const Work<> work{1e9 * flop, 1e9 * byte};
  const Utilization<> used = utilization(work, h100.bf16_roof());
  CHECK(used.compute == closed_form("s1.util_ai1"));
  CHECK(1 - used.compute == closed_form("s1.idle_ai1"));
  CHECK(used.memory == 1);
}

TEST_CASE("a matrix multiply's intensity", "[roofline]") {
  // 2 * 16 * 8192 * 8192 / (2 * (16*8192 + 8192*8192 + 16*8192)) = 8192 * 16 / (8192 + 32)
  const Work<> gemm = matrix_multiply(16.0, 8192.0, 8192.0, all_of(2));
  CHECK(gemm.math.base() == 2147483648.0);
  CHECK(intensity(gemm).base() == closed_form("s1.gemm_ai.16x8192x8192.bf16"));
}

TEST_CASE("the roofline at its edges", "[roofline]") {
  const Roof<> roof{100.0 * flop / second, 10.0 * byte / second};
  CHECK(roofline_time(Work<>{}, roof) == Seconds{});
  CHECK(roofline_time(Work<>{50 * flop, Bytes{}}, roof) == 0.5 * second);
  CHECK(roofline_time(Work<>{Flops{}, 5 * byte}, roof) == 0.5 * second);
  CHECK(utilization(Work<>{}, roof).compute == 0);
  CHECK(intensity(Work<>{}) == FlopsPerByte{});
  static_assert(ridge_intensity(Roof<>{100.0 * flop / second, 10.0 * byte / second}) ==
                10.0 * flop / byte);
  // On the ridge the memory side gives the derivative: half of the bandwidth's cost, none of the
  // peak's.
  const Roof<Dual<2>> dual{With<FlopsPerSecond, Dual<2>>::from_base(Dual<2>::variable(100, 0)),
                           With<BytesPerSecond, Dual<2>>::from_base(Dual<2>::variable(10, 1))};
  const auto time = roofline_time(Work<Dual<2>>{100 * flop, 10 * byte}, dual).base();
  CHECK(time.value == 1);
  CHECK(time.gradient[0] == 0);
  CHECK(time.gradient[1] == Approx(-0.1));
}

TEST_CASE("properties P1 of the roofline", "[roofline]") {
  property("P1.1 the attainable rate grows with intensity and rates, up to the peak", [] {
    const Roof<> roof = random_roof();
    const double ai = of_any_size(1e-2, 1e5);
    const double more = between(1, 10);
    const FlopsPerSecond rate = attainable_rate(roof, flops_per_byte(ai));
    RC_ASSERT(rate <= roof.math);
    RC_ASSERT(rate <= attainable_rate(roof, flops_per_byte(ai * more)));
    RC_ASSERT(rate <= attainable_rate({roof.math * more, roof.memory}, flops_per_byte(ai)));
    RC_ASSERT(rate <= attainable_rate({roof.math, roof.memory * more}, flops_per_byte(ai)));
    RC_ASSERT(near(attainable_rate(roof, ridge_intensity(roof)) / roof.math, 1));
  });
  property("P1.4 a multiply's intensity is symmetric and below 2 min(M, N, K) / bytes", [] {
    const double m = whole(1, 5000), n = whole(1, 5000), k = whole(1, 5000);
    const double b = between(0.5, 4);
    const double ai = intensity(matrix_multiply(m, n, k, all_of(b))).base();
    RC_ASSERT(near(ai, intensity(matrix_multiply(n, m, k, all_of(b))).base()));
    RC_ASSERT(ai < 2 * std::min({m, n, k}) / b);
  });
  property("P1.6 both rates times c: ridge unchanged, time divided by c", [] {
    const Roof<> roof = random_roof();
    const double c = of_any_size(0.01, 100);
    const Roof<> scaled{roof.math * c, roof.memory * c};
    const Work<> work{of_any_size(1, 1e15) * flop, of_any_size(1, 1e12) * byte};
    RC_ASSERT(near(ridge_intensity(scaled).base(), ridge_intensity(roof).base()));
    RC_ASSERT(near(roofline_time(work, scaled).base() * c, roofline_time(work, roof).base()));
  });
  property("one of both resources is used up, none more than that", [] {
    const Work<> work{of_any_size(1, 1e15) * flop, of_any_size(1, 1e12) * byte};
    const Utilization<> used = utilization(work, random_roof());
    RC_ASSERT(near(std::max(used.compute, used.memory), 1));
  });
  property("the derivative is the difference quotient", [] {
    const double math = of_any_size(1e9, 1e15);
    const double traffic = of_any_size(1e7, 1e12);
    RC_PRE(std::fabs(math / traffic / 295 - 1) > 1e-3);
    RC_ASSERT(differentiates(
        [=](auto bandwidth) {
          using S = decltype(bandwidth);
          const Roof<S> roof{With<FlopsPerSecond, S>::from_base(S(295.0 * 3e12)),
                             With<BytesPerSecond, S>::from_base(bandwidth)};
          return roofline_time(Work<S>{math * flop, traffic * byte}, roof).base();
        },
        3e12));
  });
}
