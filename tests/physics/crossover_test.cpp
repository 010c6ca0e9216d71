#include "tokenroof/physics/crossover.hpp"

#include "oracle.hpp"
#include "properties.hpp"
#include "theory_fixtures.hpp"
#include "tokenroof/physics/experts.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {

TokensPerRequest tokens(double n) { return TokensPerRequest::from_base(n); }
FlopsPerSecond peak(double n) { return FlopsPerSecond::from_base(n); }

/// A row of the table: bytes per weight and KV element, and whether linear layers run in fp8.
struct Row {
  const char* name;
  const TheoryModel* model;
  double weight_bytes;
  double kv_bytes;
  bool fp8;
};
const Row rows[] = {{"L70.bf16", &llama_70b, 2, 2, false},
                    {"L405.bf16", &llama_405b, 2, 2, false},
                    {"L70.fp8", &llama_70b, 1, 1, true},
                    {"L405.fp8", &llama_405b, 1, 1, true},
                    {"DS", &deepseek_v3, 1, 2, true}};

Bytes weights_read(const Row& row, double batch) {
  if (row.model != &deepseek_v3) return row.model->weights(row.weight_bytes);
  return mixture_weights_read(deepseek_always * byte,
                              deepseek_mixture_layers * deepseek_expert * byte,
                              distinct_experts(256, 8, batch * token));
}
}  // namespace

TEST_CASE("the crossover table of the oracle", "[crossover]") {
  for (const Row& row : rows) {
    const BytesPerToken kv = row.model->kv(row.kv_bytes);
    for (const int batch : {1, 32, 256})
      CHECK(kv_weights_crossover(weights_read(row, batch), kv, batch * request).base() ==
            closed_form(std::string("s6.Sw.") + row.name + ".B" + std::to_string(batch)));
    for (const auto& [name, device] : {std::pair{"h100", &h100}, std::pair{"h200", &h200}}) {
      const Roof<> roof = row.fp8 ? device->fp8_roof() : device->bf16_roof();
      const std::string key = std::string(".") + row.name + "." + name;
      CHECK(kv_compute_crossover(row.model->linear_flops(), kv, roof).base() ==
            closed_form("s6.Sc0" + key));
      const auto with_attention = kv_compute_crossover_with_attention(
          row.model->linear_flops(), row.model->attention_flops(), kv, roof, peak(device->bf16));
      if (std::isinf(oracle("s6.Sc1" + key))) {
        CHECK_FALSE(with_attention.has_value());
      } else {
        REQUIRE(with_attention.has_value());
        CHECK(with_attention->base() == closed_form("s6.Sc1" + key));
      }
    }
  }
}

TEST_CASE("intensity of decode attention", "[crossover]") {
  const auto ai = [](const TheoryModel& model, double kv) {
    return decode_attention_intensity(model.attention_flops(), model.kv(kv)).base();
  };
  CHECK(ai(llama_70b, 2) == closed_form("s6.attn_ai.L70"));
  CHECK(ai(deepseek_v3, 2) == closed_form("s6.attn_ai.DS"));
  CHECK(ai(deepseek_v3, 1) == closed_form("s6.attn_ai.DS.fp8kv"));
}

TEST_CASE("what a price step at 200 K says about the cache", "[crossover]") {
  const auto implied = [](double active, double ridge) {
    return kv_implied_by_price_step(active * flops_per_weight, FlopsPerByte::from_base(ridge),
                                    tokens(200e3))
        .base();
  };
  // The lecture's 300 counts multiply-adds per byte: 600 FLOP/B.
  CHECK(implied(100e9, 600) == closed_form("s6.kappa.pope.100B.300.200K"));
  const double fp8 = ridge_intensity(h100.fp8_roof()).base();
  CHECK(implied(100e9, fp8) == closed_form("s6.kappa.100B.h100.fp8.200K"));
  CHECK(implied(100e9, ridge_intensity(h100.bf16_roof()).base()) ==
        closed_form("s6.kappa.100B.h100.bf16.200K"));
  CHECK(implied(37e9, fp8) == closed_form("s6.kappa.37B.h100.fp8.200K"));
}

TEST_CASE("drain times", "[crossover]") {
  const auto drain = [](double memory, double bandwidth) {
    return drain_time(memory * byte, bandwidth * byte / second) / second;
  };
  CHECK(drain(80e9, 3.35e12) == closed_form("s6.drain.h100"));
  CHECK(drain(141e9, 4.8e12) == closed_form("s6.drain.h200"));
  CHECK(drain(192e9, 8e12) == closed_form("s6.drain.b200"));
  CHECK(drain(288e9, 20e12) == closed_form("s6.drain.rubin"));
}

TEST_CASE("a windowed model crosses later, or never", "[crossover]") {
  // Half of the layers see 4096 tokens: 1 B per token each half; target 6144 B -> context 2048 +
  // ...
  const auto bytes = [](TokensPerRequest s) { return s.base() + std::min(s.base(), 4096.0); };
  const auto where = [&](double target) {
    return context_where(tokens(1e6), [&](TokensPerRequest s) { return bytes(s) >= target; });
  };
  CHECK(where(6144)->base() == Approx(3072).epsilon(1e-12));
  CHECK(where(10000)->base() == Approx(5904).epsilon(1e-12));
  CHECK(where(0)->base() == 0);
  CHECK_FALSE(where(2e6).has_value());
}

TEST_CASE("properties P6 of crossovers", "[crossover]") {
  property("all", [] {
    const auto linear = FlopsPerToken::from_base(of_any_size(1e9, 1e12));
    const auto kv = BytesPerToken::from_base(of_any_size(1e3, 1e6));
    const Bytes weights = of_any_size(1e9, 1e12) * byte;
    const Requests batch = whole(1, 1000) * request;
    const Roof<> roof{peak(of_any_size(1e13, 1e16)),
                      BytesPerSecond::from_base(of_any_size(1e11, 2e13))};
    const TokensPerRequest s0 = kv_compute_crossover(linear, kv, roof);
    const TokensPerRequest sw = kv_weights_crossover(weights, kv, batch);
    // P6.1
    RC_ASSERT(near(kv_weights_crossover(weights, kv, 2.0 * batch).base() * 2, sw.base()));
    // P6.2
    const auto attention = FlopsPerToken::from_base(kv.base() * of_any_size(0.1, 1000));
    const auto s1 = kv_compute_crossover_with_attention(linear, attention, kv, roof, roof.math);
    const bool compute_bound = decode_attention_intensity(attention, kv) >= ridge_intensity(roof);
    RC_ASSERT(s1.has_value() != compute_bound);
    RC_ASSERT(!s1 || *s1 >= s0);
    // P6.3
    RC_ASSERT(near(kv_implied_by_price_step(linear, ridge_intensity(roof), s0).base(), kv.base()));
    // P6.4
    RC_ASSERT(near(kv_compute_crossover(linear, 0.5 * kv, roof).base(), 2 * s0.base()));
    RC_ASSERT(near(kv_weights_crossover(weights, 0.5 * kv, batch).base(), 2 * sw.base()));
    // P6.5 the two meet at the balanced batch
    const Requests balanced = ridge_intensity(roof) * weights / (linear * one_token_each);
    RC_ASSERT(near(kv_weights_crossover(weights, kv, balanced).base(), s0.base()));
    // P6.6
    RC_ASSERT(near(kv_compute_crossover(linear, kv, {roof.math, 10.0 * roof.memory}).base(),
                   10 * s0.base()));
    RC_ASSERT(differentiates(
        [&](auto x) {
          using S = decltype(x);
          const Roof<S> r{roof.math, With<BytesPerSecond, S>::from_base(x)};
          return kv_compute_crossover<S>(linear, kv, r).base();
        },
        roof.memory.base()));
  });
}
