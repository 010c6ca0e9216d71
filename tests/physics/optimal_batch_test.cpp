#include "tokenroof/physics/optimal_batch.hpp"

#include "oracle.hpp"
#include "properties.hpp"
#include "theory_fixtures.hpp"
#include "tokenroof/physics/crossover.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {
TokensPerRequest tokens(double n) { return TokensPerRequest::from_base(n); }
const FlopsPerByte bf16 = ridge_intensity(h100.bf16_roof());
const FlopsPerByte fp8 = ridge_intensity(h100.fp8_roof());
const BytesPerSecond eight = 8 * h100.bf16_roof().memory;
const Bytes weights_70b = llama_70b.weights(2);
const BytesPerToken kv_70b = llama_70b.kv();
const Seconds a_70b = weights_70b / eight;
const SecondsPerRequest b_70b = kv_70b * tokens(8192) / eight;
}  // namespace

TEST_CASE("balanced batches of the oracle", "[optimal_batch]") {
  CHECK(balanced_batch(bf16, 2 * byte, 1.0) / token == closed_form("s7.Bstar.dense.h100"));
  const double sparsity = deepseek_resident / deepseek_v3.multiplied;
  CHECK(sparsity == closed_form("s7.sparsity.DS"));
  CHECK(balanced_batch(fp8, byte, sparsity) / token == closed_form("s7.Bstar.DS.h100"));
  CHECK(expert_balanced_batch(fp8, byte, 256, 8) / token == closed_form("s7.Bstar.DS.routed.h100"));
  // The lecture: 300 multiply-adds per byte of one-byte weights, 32 of 256 experts.
  CHECK(expert_balanced_batch(FlopsPerByte::from_base(600), byte, 256, 32) / token ==
        closed_form("s7.Bstar.pope"));
  // Mixtral 8x7B, resident over multiplied, both without the input embedding (norms included).
  const double resident = oracle("s2.total.Mixtral-8x7B") - 32000.0 * 4096;
  CHECK(balanced_batch(bf16, 2 * byte, resident / oracle("s2.mm.Mixtral-8x7B")) / token ==
        closed_form("s7.Bstar.mixtral.h100"));
}

TEST_CASE("the balanced batch grows with context and diverges", "[optimal_batch]") {
  const TokensPerRequest crossover =
      kv_compute_crossover(llama_70b.linear_flops(), kv_70b, h100.bf16_roof());
  const Requests alone = balanced_batch(bf16, 2 * byte, 1.0) / one_token_each;
  for (const int context : {0, 512, 1024, 1400})
    CHECK(*balanced_batch_at_context(alone, tokens(context), crossover) / request ==
          closed_form("s7.BstarS.L70.S" + std::to_string(context)));
  CHECK_FALSE(balanced_batch_at_context(alone, crossover, crossover).has_value());
}

TEST_CASE("Llama 70B at 8192 tokens on eight H100", "[optimal_batch]") {
  CHECK(a_70b / second == closed_form("s7.a.L70"));
  CHECK(b_70b.base() == closed_form("s7.b.L70.S8192"));
  const Requests half = half_ceiling_batch(weights_70b, kv_70b, tokens(8192));
  CHECK(half / request == closed_form("s7.halfbatch.L70.S8192"));
  CHECK(kv_rate_ceiling(eight, kv_70b, tokens(8192)).base() ==
        closed_form("s7.Xceil.L70.S8192.8xH100"));
  CHECK(batch_for_ceiling_share(half, 0.8) / request == closed_form("s7.Beta.0.8.L70.S8192"));
  CHECK(batch_for_ceiling_share(half, 0.9) / request == closed_form("s7.Beta.0.9.L70.S8192"));
  CHECK(latency_batch(50 * millisecond, a_70b, b_70b) / request ==
        closed_form("s7.Bslo.50ms.L70.S8192"));
}

TEST_CASE("what fits", "[optimal_batch]") {
  const auto fit = [](double pool, double kv, double context) {
    return capacity_batch(pool * byte, BytesPerToken::from_base(kv) * tokens(context)) / request;
  };
  const double pool = 0.9 * 8 * 80e9 - 2 * oracle("s2.total.Llama-3.1-70B");
  CHECK(pool == closed_form("s3.pool.L70.8xH100"));
  CHECK(fit(pool, 327680, 1024) == oracle("s3.maxB.L70.8xH100.S1024"));
  CHECK(fit(pool, 327680, 8192) == oracle("s7.Bcap.L70.S8192"));
  CHECK(fit(pool, 327680, 8192) == oracle("s3.maxB.L70.8xH100.S8192"));
  CHECK(fit(pool, 327680, 32768) == oracle("s3.maxB.L70.8xH100.S32768"));
  CHECK(fit(pool, 327680, 131072) == oracle("s3.maxB.L70.8xH100.S131072"));
  const double deepseek = 0.9 * 8 * 141e9 - oracle("s2.total.DeepSeek-V3");
  CHECK(deepseek == closed_form("s7.pool.DS.8xH200"));
  CHECK(fit(deepseek, 70272, 4989) == oracle("s7.Bcap.DS.8xH200.S4989"));
  CHECK(fit(deepseek / 8, 70272, 4989) == oracle("s7.Bcap.DS.8xH200.TP8.S4989"));
  CHECK(fit(-1, 70272, 4989) == 0);
}

TEST_CASE("experts at the balanced batch", "[optimal_batch]") {
  CHECK(tokens_per_expert(1000 * token, 256, 8) / token ==
        closed_form("s12.q2.perexpert.tokens.B1000"));
  CHECK(share_untouched(256, 8, 5404 * token) < 1e-74);
  CHECK(share_untouched(8, 8, token) == 0);
  CHECK(share_untouched(8, 8, Tokens{}) == 1);
}

TEST_CASE("the best batch and what binds it", "[optimal_batch]") {
  CHECK(optimal_batch(162 * request, 447.4 * request).batch == 162 * request);
  CHECK(optimal_batch(162 * request, 447.4 * request).bound == Bound::capacity);
  CHECK(optimal_batch(981 * request, 447.4 * request).batch == 447 * request);
  CHECK(optimal_batch(981 * request, 447.4 * request).bound == Bound::latency);
  CHECK(optimal_batch(-5 * request, 3 * request).batch == Requests{});
  CHECK(latency_batch(millisecond, a_70b, b_70b) == Requests{});
  CHECK(memory_bound_rate(Requests{}, a_70b, b_70b) == TokensPerSecond{});
  CHECK(largest_where(1000, [](std::int64_t n) { return n * n <= 1000; }) == 31);
  CHECK(largest_where(10, [](std::int64_t) { return true; }) == 10);
  CHECK(largest_where(10, [](std::int64_t) { return false; }) == 0);
  CHECK(largest_where(0, [](std::int64_t) { return true; }) == 0);
  // straight to 300, then flat: 90 % is reached at 270
  const auto rate = [](std::int64_t n) {
    return static_cast<double>(std::min<std::int64_t>(n, 300));
  };
  CHECK(knee_batch(1000, 0.9, rate) == 270);
  CHECK(knee_batch(1, 0.9, rate) == 1);
  CHECK(knee_batch(0, 0.9, rate) == 0);
}

TEST_CASE("properties P7 of the optimal batch", "[optimal_batch]") {
  property("P7.1, P7.2: grows with context, and memory time is compute time there", [] {
    const Roof<> roof{FlopsPerSecond::from_base(of_any_size(1e13, 1e16)),
                      BytesPerSecond::from_base(of_any_size(1e11, 2e13))};
    const double active = of_any_size(1e9, 1e11), r = between(1, 30), width = between(0.5, 2);
    const auto kv = BytesPerToken::from_base(of_any_size(1e3, 1e6));
    const FlopsPerToken linear = active * flops_per_weight;
    const TokensPerRequest limit = kv_compute_crossover(linear, kv, roof);
    const Requests alone = balanced_batch(ridge_intensity(roof), width * byte, r) / one_token_each;
    const double part = between(0, 0.99);
    const Requests batch = *balanced_batch_at_context(alone, part * limit, limit);
    RC_ASSERT(batch >= alone);
    const Seconds memory =
        (active * r * width * byte + kv * (batch * (part * limit))) / roof.memory;
    const Seconds compute = linear * (batch * one_token_each) / roof.math;
    RC_ASSERT(near(memory / compute, 1, 1e-11));
    // P7.3
    RC_ASSERT(near(balanced_batch(2.0 * ridge_intensity(roof), width * byte, r) / token,
                   2 * alone.base()));
  });
  property("P7.4: the rate at batch_for_ceiling_share is that share", [] {
    const double share = between(0.01, 0.99);
    const TokensPerRequest context = tokens(of_any_size(100, 1e6));
    const Requests batch =
        batch_for_ceiling_share(half_ceiling_batch(weights_70b, kv_70b, context), share);
    const TokensPerSecond rate = memory_bound_rate(batch, a_70b, kv_70b * context / eight);
    RC_ASSERT(near(rate / kv_rate_ceiling(eight, kv_70b, context), share));
  });
  property("P7.5: the best batch never grows with context", [] {
    const auto best = [](TokensPerRequest context) {
      return optimal_batch(capacity_batch(400 * gigabyte, kv_70b * context),
                           latency_batch(50 * millisecond, a_70b, kv_70b * context / eight))
          .batch;
    };
    const TokensPerRequest context = tokens(of_any_size(100, 1e6));
    RC_ASSERT(best(context * between(1, 5)) <= best(context));
  });
  property("a batch within the latency limit meets it", [] {
    const Seconds limit = between(1e-3, 0.2) * second;
    const std::int64_t best = largest_where(100000, [&](std::int64_t n) {
      return a_70b + static_cast<double>(n) * request * b_70b <= limit;
    });
    RC_ASSERT(best == std::floor(latency_batch(limit, a_70b, b_70b) / request));
  });
}
