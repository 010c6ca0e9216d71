#include "tokenroof/physics/prefill.hpp"

#include "oracle.hpp"
#include "properties.hpp"
#include "theory_fixtures.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {
const PrefillCost<> cost_70b{llama_70b.body_flops(), llama_70b.head_flops(),
                             llama_70b.attention_flops()};
const FlopsPerSecond half_of_eight = 8 * 0.5 * h100.bf16_roof().math;
}  // namespace

TEST_CASE("FLOPs of Llama 70B prompts", "[prefill]") {
  for (const int n : {512, 8192, 131072}) {
    const std::string key = ".L70.N" + std::to_string(n);
    CHECK(prefill_linear_flops(cost_70b, n * token) / flop == closed_form("s5.lin" + key));
    CHECK(prefill_attention_flops(cost_70b, n * token) / flop == closed_form("s5.attn" + key));
    if (n > 512)
      CHECK(prefill_flops(cost_70b, n * token) / half_of_eight / second ==
            closed_form("s5.t" + key + ".8xH100.mfu0.5"));
  }
}

TEST_CASE("a hit of 7168 in 8192 tokens", "[prefill]") {
  CHECK(prefill_flops(cost_70b, 1024 * token, 7168 * token) / flop ==
        closed_form("s5.prefix.flops.n1024.C7168"));
  CHECK(prefix_saving(cost_70b, 8192 * token, 7168 * token) ==
        closed_form("s5.prefix.saving.8192"));
}

TEST_CASE("fetch or compute again", "[prefill]") {
  CHECK(fetch_bandwidth(llama_70b.kv(), half_of_eight, llama_70b.body_flops()).base() ==
        closed_form("s5.bw_breakeven.L70.8xH100.mfu0.5"));
  CHECK(fetch_bandwidth(deepseek_v3.kv(), 8 * 0.4 * h100.fp8_roof().math, deepseek_v3.body_flops())
            .base() == closed_form("s5.bw_breakeven.DS.8xH100.fp8.mfu0.4"));
}

TEST_CASE("the hand-over of a cache", "[prefill]") {
  const Seconds time = kv_transfer_time(llama_70b.kv(), 8192 * token, 400.0 * gigabyte / second);
  CHECK(time / second == closed_form("s5.kvxfer.L70.N8192.400GBs"));
  CHECK(exposed_transfer_time(time, second, 80) / second == Approx(time / second / 80));
  CHECK(exposed_transfer_time(time, Seconds{}, 80) == time);
  CHECK(exposed_transfer_time(time, second, 1) == time);
}

TEST_CASE("a full hit still computes one token", "[prefill]") {
  CHECK(computed_tokens(100 * token, 100 * token) == token);
  CHECK(computed_tokens(100 * token, 30 * token) == 70 * token);
  CHECK(prefix_saving(cost_70b, 100 * token, Tokens{}) == 0);
}

TEST_CASE("properties P5 of prefill", "[prefill]") {
  property("P5.3 FLOPs grow with the prompt, convexly", [] {
    const Tokens n = whole(1, 100000) * token, step = whole(1, 1000) * token;
    const auto f = [](Tokens t) { return prefill_flops(cost_70b, t) / flop; };
    RC_ASSERT(f(n) < f(n + step));
    RC_ASSERT(at_most(2 * f(n + step), f(n) + f(n + 2 * step)));
  });
  property("P5.5 the saving rises with the hit, below 1", [] {
    const int n = whole(10, 100000);
    const double hit = whole(0, n - 2);
    const double saving = prefix_saving(cost_70b, n * token, hit * token);
    RC_ASSERT(saving >= 0);
    RC_ASSERT(saving < prefix_saving(cost_70b, n * token, (hit + 1) * token));
    RC_ASSERT(prefix_saving(cost_70b, n * token, (n - 1) * token) < 1);
  });
  property("differentiates", [] {
    RC_ASSERT(differentiates(
        [](auto hit) {
          using S = decltype(hit);
          const PrefillCost<S> cost{cost_70b.body, cost_70b.head, cost_70b.attention};
          return prefix_saving(cost, With<Tokens, S>(8192 * token),
                               With<Tokens, S>::from_base(hit));
        },
        between(10, 8000)));
  });
}
