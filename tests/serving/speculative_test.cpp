#include "tokenroof/serving/speculative.hpp"

#include <array>

#include "oracle.hpp"
#include "properties.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {
// Llama-3.1-70B in bf16 on 8 H100, no communication: theory.md 4 with eta = 1.
double step(double sequences, double tokens_each, double context) {
  constexpr double devices = 8, peak = 989e12, bandwidth = 3.35e12;
  constexpr double matmul = 69501714432, kv = 327680, attention = 4.0 * 80 * 64 * 128;
  const double tokens = sequences * tokens_each;
  const double linear =
      std::max(2 * matmul / (devices * bandwidth), 2 * matmul * tokens / (devices * peak));
  const double attend = std::max(sequences * kv * context / (devices * bandwidth),
                                 attention * context * tokens / (devices * peak));
  return linear + attend;
}
double verification(double sequences, double context) {
  return step(sequences, 5, context) / step(sequences, 1, context);
}
double always_one(int) { return 1; }
}  // namespace

TEST_CASE("expected tokens a step", "[speculative]") {
  CHECK(expected_tokens(0.8, 4) == closed_form("s9.E.a0.8.g4"));
  CHECK(expected_tokens(0.7, 4) == closed_form("s9.E.a0.7.g4"));
  CHECK(expected_tokens(0.9, 3) == closed_form("s9.E.a0.9.g3"));
  CHECK(expected_tokens(0.6, 7) == closed_form("s9.E.a0.6.g7"));
  CHECK(expected_tokens(0.85, 1) == closed_form("s9.E.a0.85.g1"));
  CHECK(expected_tokens(1.0, 6) == 7);
  CHECK(expected_tokens(0.0, 6) == 1);
  constexpr std::array<double, 3> by_position{0.9, 0.5, 0.2};
  CHECK(expected_tokens(by_position) == Approx(1 + 0.9 + 0.45 + 0.09));
  CHECK(wasted_drafts(0.8, 4) == Approx(4 - 2.3616));
}

TEST_CASE("the best draft length", "[speculative]") {
  const auto best = [](double a, double c) { return best_speculation(a, c, 64, always_one); };
  CHECK(best(0.8, 0.05).drafts == oracle("s9.gopt.a0.8.c0.05"));
  CHECK(best(0.8, 0.05).speedup == closed_form("s9.S.a0.8.c0.05"));
  CHECK(best(0.8, 0.02).drafts == oracle("s9.gopt.a0.8.c0.02"));
  CHECK(best(0.8, 0.02).speedup == closed_form("s9.S.a0.8.c0.02"));
  CHECK(best(0.6, 0.05).drafts == oracle("s9.gopt.a0.6.c0.05"));
  CHECK(best(0.6, 0.05).speedup == closed_form("s9.S.a0.6.c0.05"));
  CHECK(best(0.9, 0.1).drafts == oracle("s9.gopt.a0.9.c0.1"));
  CHECK(best(0.9, 0.1).speedup == closed_form("s9.S.a0.9.c0.1"));
  CHECK(best(0.3, 0.5).drafts == 0);  // alpha < c: better not
  CHECK(best(0.3, 0.5).speedup == 1);
}

TEST_CASE("what a measured speed-up implies", "[speculative]") {
  CHECK(implied_overhead(expected_tokens(0.875, 1), 1.8) == closed_form("s9.mtp.overhead.a0.875"));
  CHECK(breakeven_verification(0.8, 4, 0.05) == closed_form("s9.breakeven_v.a0.8.g4.c0.05"));
}

TEST_CASE("speculation loses at a large batch with short contexts", "[speculative]") {
  CHECK(verification(1, 1024) == closed_form("s9.v.L70.B1.S1024.g4"));
  CHECK(verification(128, 1024) == closed_form("s9.v.L70.B128.S1024.g4"));
  CHECK(verification(295, 1024) == closed_form("s9.v.L70.B295.S1024.g4"));
  CHECK(verification(295, 32768) == closed_form("s9.v.L70.B295.S32768.g4"));
  const auto speedup = [](double b, double s) {
    return speculative_speedup(0.8, 4, 0.05, verification(b, s));
  };
  CHECK(speedup(128, 1024) == closed_form("s9.S.L70.B128.S1024.g4.a0.8.c0.05"));
  CHECK(speedup(295, 1024) == closed_form("s9.S.L70.B295.S1024.g4.a0.8.c0.05"));
  CHECK(speedup(295, 32768) == closed_form("s9.S.L70.B295.S32768.g4.a0.8.c0.05"));
}

TEST_CASE("time per token and memory of the draft", "[speculative]") {
  const SpeculativeStep times{10 * millisecond, 12 * millisecond, 1 * millisecond};
  CHECK(speculative_token_time(times, 0.8, 4) / millisecond == Approx(16 / 3.3616));
  CHECK(speculative_token_time(times, 0.8, 0) == times.target);
  const auto per_token = BytesPerToken::from_base(300), draft = BytesPerToken::from_base(100);
  CHECK(pool_beside_draft(100 * byte, 20 * byte, per_token, draft) / byte == Approx(60));
  CHECK(pool_beside_draft(100 * byte, 200 * byte, per_token, draft) / byte == 0);
}

TEST_CASE("properties of speculation", "[speculative]") {
  property("P9.1, P9.2, P9.4", [] {
    const double a = between(0, 0.999);
    const int g = whole(1, 40);
    const double e = expected_tokens(a, g);
    RC_ASSERT(e >= 1 && at_most(e, g + 1));
    RC_ASSERT(at_most(e, expected_tokens(a, g + 1)));
    RC_ASSERT(at_most(e, expected_tokens(std::min(1.0, a + 0.01), g)));
    RC_ASSERT(at_most(expected_tokens(a, 100000), 1 / (1 - a)));
    RC_ASSERT(near(e, (1 - std::pow(a, g + 1)) / (1 - a), 1e-10));
    RC_ASSERT(speculative_speedup(a, 0, 0.1, 1.0) == 1);
    RC_ASSERT(near(speculative_speedup(a, g, 0.0, 1.0), e));
    RC_ASSERT(
        differentiates([g](const auto& x) { return expected_tokens(x, g); }, between(0.05, 0.95)));
  });
  property("P9.3, P9.5: 1 <= v <= gamma + 1", [] {
    const double v = verification(of_any_size(1, 5000), of_any_size(1, 1e6));
    RC_ASSERT(at_most(1, v) && at_most(v, 5));
  });
  CHECK(verification(1e6, 1) == Approx(5).epsilon(1e-3));
  property("a speed-up exists iff alpha > c, when checking is free", [] {
    const double a = between(0, 1), c = between(0, 1);
    RC_PRE(std::fabs(a - c) > 1e-9);
    RC_ASSERT((best_speculation(a, c, 64, always_one).speedup > 1) == (a > c));
  });
  property("break-even acceptance is where the speed-up is 1", [] {
    const int g = whole(1, 12);
    const double c = between(0, 0.3), v = between(1, 3);
    const double a = breakeven_acceptance(g, c, v);
    if (a <= 1) RC_ASSERT(near(speculative_speedup(a, g, c, v), 1, 1e-9));
    if (a > 1) RC_ASSERT(speculative_speedup(1.0, g, c, v) < 1);
  });
  CHECK(breakeven_acceptance(0, 0, 1) == 0);
}

TEST_CASE("drawn steps yield the expected tokens", "[speculative]") {
  Random random(4);
  CHECK(draw_speculative_steps(random, 0, 5, 7) == 7);
  CHECK(draw_speculative_steps(random, 1, 3, 9) == 3);
  CHECK(draw_speculative_steps(random, 0.5, 3, 0) == 0);
  // A long run: a step yields E tokens, but the last one more than is asked for.
  const double steps = draw_speculative_steps(random, 0.7, 3, 1000000);
  CHECK(1000000 / steps == Approx(expected_tokens(0.7, 3)).epsilon(0.005));
}
