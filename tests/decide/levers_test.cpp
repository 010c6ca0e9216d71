#include "tokenroof/decide/levers.hpp"

#include "oracle.hpp"
#include "properties.hpp"
#include "textbook_fixtures.hpp"
#include "tokenroof/decide/frontier.hpp"
#include "tokenroof/physics/crossover.hpp"
#include "tokenroof/physics/optimal_batch.hpp"
#include "tokenroof/physics/prefill.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {
TokensPerRequest tokens(double n) { return TokensPerRequest::from_base(n); }
double gain(double batch, double context, double factor = 10) {
  return bandwidth_gain(textbook(llama_70b), h100s(8), batch * request, tokens(context), factor);
}

/// Node seconds of a request: prefill at half of the peak, and decode at batch 64.
struct Mix {
  Seconds prefill;
  Seconds decode;
  [[nodiscard]] Seconds total() const { return prefill + decode; }
  [[nodiscard]] double share() const { return decode / total(); }
};
Mix mix(double input, double output, double context) {
  const PrefillCost<> cost{llama_70b.body_flops(), llama_70b.head_flops(),
                           llama_70b.attention_flops()};
  return {prefill_flops(cost, input * token) / (8 * 0.5 * h100.bf16_roof().math),
          output / 64 * step_70b(8, 64, context).time()};
}
}  // namespace

TEST_CASE("the lever table", "[levers]") {
  LeverQuestion question;
  question.model = textbook(llama_70b);
  question.smaller_model = textbook(llama_8b);
  question.machine = h100s(8);
  question.half_width_peak = h100.fp8_roof().math;
  question.batch = 64 * request;
  question.context = tokens(4096);
  const auto table = lever_table(question);
  const char* keys[] = {"dedicated", "batch8", "tp16", "fp8", "spec_g4a0.8", "model8B", "combo"};
  for (std::size_t i = 0; i < table.size(); ++i) {
    INFO(table[i].name);
    CHECK(table[i].speed == closed_form(std::string("s12.q1.") + keys[i] + ".speed"));
    CHECK(table[i].cost == closed_form(std::string("s12.q1.") + keys[i] + ".cost"));
  }
  CHECK(table[0].quality() == Approx(0.041).epsilon(0.02));
  CHECK(table[3].quality() == Approx(2.967).epsilon(1e-3));
}

TEST_CASE("why experts make the optimal batch larger", "[levers]") {
  const FlopsPerByte fp8 = ridge_intensity(h100.fp8_roof());
  const Tokens balanced = balanced_batch(fp8, byte, deepseek_resident / deepseek_v3.multiplied);
  CHECK(tokens_per_expert(1000 * token, 256, 8) / token ==
        closed_form("s12.q2.perexpert.tokens.B1000"));
  // 295.22 tokens for each of 256 experts, 8 per token
  CHECK(expert_balanced_batch(ridge_intensity(h100.bf16_roof()), 2 * byte, 256, 8) / token ==
        closed_form("s12.q2.B_for_295_per_expert"));
  CHECK(balanced / 72.0 / token == closed_form("s12.q2.perGPU.EP72"));
  // On eight H200 memory runs out at a quarter of the batch that would balance there.
  const Tokens balanced_h200 = balanced_batch(ridge_intensity(h200.fp8_roof()), byte,
                                              deepseek_resident / deepseek_v3.multiplied);
  const Bytes pool = (0.9 * 8 * 141e9 - oracle("s2.total.DeepSeek-V3")) * byte;
  CHECK(capacity_batch(pool, deepseek_v3.kv() * tokens(4989)) * one_token_each / balanced_h200 ==
        closed_form("s12.q2.mfu_cap.8xH200"));
}

TEST_CASE("memory ten times as fast", "[levers]") {
  CHECK(step_70b(8, 64, 4096).time() / second == closed_form("s12.hbm10.chat.before"));
  const auto after = textbook_step(textbook(llama_70b), with_memory_bandwidth(h100s(8), 10.0),
                                   64 * request, tokens(4096));
  CHECK(after.time() / second == closed_form("s12.hbm10.chat.after"));
  CHECK(gain(64, 4096) == closed_form("s12.hbm10.chat.gain"));
  CHECK(gain(64, 32768) == closed_form("s12.hbm10.long.gain"));
  CHECK(gain(256, 2048) == closed_form("s12.hbm10.big.gain"));
  TextbookModel<> silent = textbook(llama_70b);
  silent.all_reduces = 0;
  CHECK(bandwidth_gain(silent, h100s(8), 64 * request, tokens(4096), 10.0) ==
        closed_form("s12.hbm10.chat.gain_nocomm"));
  const Roof<> fast{h100.bf16_roof().math, 10 * h100.bf16_roof().memory};
  CHECK(ridge_intensity(fast).base() == closed_form("s12.hbm10.ridge"));
  CHECK(kv_compute_crossover(llama_70b.linear_flops(), llama_70b.kv(), fast).base() ==
        closed_form("s12.hbm10.Sc.L70"));
  CHECK(drain_time(80 * gigabyte, fast.memory) / second == closed_form("s12.hbm10.drain"));
}

TEST_CASE("whole requests gain less than decode", "[levers]") {
  const Mix chat = mix(3000, 1000, 4096), rag = mix(16000, 400, 16384);
  CHECK(chat.total() / second == closed_form("s12.mix.chat.before"));
  CHECK(chat.share() == closed_form("s12.mix.chat.decode_share"));
  CHECK(whole_gain(chat.share(), gain(64, 4096)) == closed_form("s12.mix.chat.gain"));
  CHECK(whole_gain(chat.share(), HUGE_VAL) == closed_form("s12.mix.chat.limit"));
  CHECK(whole_gain(rag.share(), gain(64, 16384)) == closed_form("s12.mix.rag.gain"));
  CHECK(whole_gain(rag.share(), HUGE_VAL) == closed_form("s12.mix.rag.limit"));
}

TEST_CASE("property P13.5: a better efficiency never slows a step", "[levers]") {
  property("P13.5 each of the four rates, scaled by an efficiency", [] {
    const double worse = between(0.1, 1), better = between(worse, 1);
    const int rate = whole(0, 3);
    const auto time = [&](double efficiency) {
      TextbookMachine<> machine = h100s(8);
      if (rate == 0) machine.linear_peak *= efficiency;
      if (rate == 1) machine.attention_peak *= efficiency;
      if (rate == 2) machine.weight_bandwidth *= efficiency;
      if (rate == 3) machine.kv_bandwidth *= efficiency;
      return textbook_step(textbook(llama_70b), machine, 64 * request, tokens(4096)).time();
    };
    RC_ASSERT(time(better) <= time(worse));
  });
}

TEST_CASE("properties P12 of levers", "[levers]") {
  property("P12.1, P12.2: a gain is 1 at 1, at most the factor, at most 1 / (1 - share)", [] {
    const double batch = of_any_size(1, 1000), context = of_any_size(1, 1e5);
    const double factor = of_any_size(1, 1000);
    const double g = gain(batch, context, factor);
    RC_ASSERT(near(gain(batch, context, 1), 1));
    RC_ASSERT(at_most(1, g));
    RC_ASSERT(at_most(g, factor));
    const TextbookStep<> step = step_70b(8, batch, context);
    RC_PRE(step.weight_reads > step.linear_math);
    const double memory = (step.weight_reads + step.kv_reads) / step.time();
    RC_ASSERT(at_most(g, 1 / (1 - memory)));
    RC_ASSERT(at_most(g, whole_gain(memory, factor)));
  });
  property("P12.3 a smaller batch alone is below 1 exactly when x < sqrt(r)", [] {
    const double x = of_any_size(0.01, 100), r = between(1.01, 100);
    RC_PRE(std::fabs(x / std::sqrt(r) - 1) > 1e-9);
    const SpeedPrice<> offer = smaller_batch(x, r);
    const double quality = offer.speed / offer.price;
    RC_ASSERT(near(quality, offer.speed * offer.speed / r));
    RC_ASSERT((quality < 1) == (x < std::sqrt(r)));
  });
  property("a change against itself changes nothing", [] {
    const Way<> way{between(1e-3, 1) * second, whole(1, 100) * request, 8};
    RC_ASSERT(lever("none", way, way).quality() == 1);
  });
}
