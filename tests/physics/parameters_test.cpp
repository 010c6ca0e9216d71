#include "tokenroof/physics/parameters.hpp"

#include <rapidcheck.h>

#include "catch2/catch.hpp"
#include "fixtures.hpp"
#include "oracle.hpp"

using namespace tokenroof;
using namespace tokenroof::test;
using namespace tokenroof::test::models;

namespace {

void check_total(const std::string& name, const Model& model) {
  INFO(name);
  CHECK(parameter_count(model).total == static_cast<std::int64_t>(oracle("s2.total." + name)));
}
void check_active(const std::string& name, const Model& model) {
  INFO(name);
  CHECK(parameter_count(model).active == static_cast<std::int64_t>(oracle("s2.active." + name)));
}
void check_matmul(const std::string& name, const Model& model) {
  INFO(name);
  CHECK(parameter_count(model).matmul == static_cast<std::int64_t>(oracle("s2.mm." + name)));
}
double flops_per_token(const Model& model, double context) {
  return 2.0 * static_cast<double>(parameter_count(model).matmul) +
         attention_flops_per_context_token(model).base() * context;
}

Shape random_shape(bool mixture) {
  Shape shape;
  shape.layers = *rc::gen::inRange(1, 100);
  shape.hidden = 64 * *rc::gen::inRange<std::int64_t>(1, 200);
  shape.kv_heads = *rc::gen::inRange(1, 17);
  shape.heads = shape.kv_heads * *rc::gen::inRange(1, 9);
  shape.head_dim = 16 * *rc::gen::inRange(1, 17);
  shape.width = 64 * *rc::gen::inRange<std::int64_t>(1, 400);
  shape.vocabulary = *rc::gen::inRange<std::int64_t>(1, 300000);
  if (mixture) {
    shape.experts = *rc::gen::inRange(1, 257);
    shape.top_k = *rc::gen::inRange(1, shape.experts + 1);
  }
  return shape;
}

void property(const char* name, void (*body)()) {
  INFO(name);
  CHECK(rc::check(name, body));
}

}  // namespace

TEST_CASE("totals equal the oracle to the integer", "[parameters]") {
  check_total("GPT-2-small", gpt2_small());
  check_total("GPT-3-175B", gpt3_175b());
  check_total("Llama-2-7B", llama_2_7b());
  check_total("Llama-2-13B", llama_2_13b());
  check_total("Llama-2-70B", llama_2_70b());
  check_total("Llama-3.1-8B", llama_31_8b());
  check_total("Llama-3.1-70B", llama_31_70b());
  check_total("Llama-3.1-405B", llama_31_405b());
  check_total("Mistral-7B-v0.1", mistral_7b());
  check_total("Mixtral-8x7B", mixtral_8x7b());
  check_total("Qwen2.5-7B", qwen25_7b());
  check_total("Qwen3-8B", qwen3_8b());
  check_total("Qwen3-30B-A3B", qwen3_30b());
  check_total("Qwen3-235B-A22B", qwen3_235b());
  check_total("DeepSeek-V3", deepseek_v3());
}

TEST_CASE("active and matmul counts equal the oracle", "[parameters]") {
  check_active("Mixtral-8x7B", mixtral_8x7b());
  check_active("Qwen3-30B-A3B", qwen3_30b());
  check_active("Qwen3-235B-A22B", qwen3_235b());
  check_active("DeepSeek-V3", deepseek_v3());
  check_matmul("Llama-3.1-8B", llama_31_8b());
  check_matmul("Llama-3.1-70B", llama_31_70b());
  check_matmul("Llama-3.1-405B", llama_31_405b());
  check_matmul("Mixtral-8x7B", mixtral_8x7b());
  check_matmul("Qwen3-30B-A3B", qwen3_30b());
  check_matmul("DeepSeek-V3", deepseek_v3());
}

TEST_CASE("attention FLOPs per context token", "[parameters]") {
  const Model llama = llama_31_70b();
  const Model deepseek = deepseek_v3();
  CHECK(attention_flops_per_context_token(llama).base() == oracle("s2.attn_coef.L70"));
  CHECK(attention_flops_per_context_token(deepseek).base() == oracle("s2.attn_coef.DS.absorb"));
  CHECK(attention_flops_per_context_token(deepseek, LatentForm::expanded).base() ==
        oracle("s2.attn_coef.DS.noabsorb"));
  CHECK(flops_per_token(llama, 0) == oracle("s2.flops_tok.L70.S0"));
  CHECK(flops_per_token(llama, 4096) == oracle("s2.flops_tok.L70.S4096"));
  CHECK(flops_per_token(llama, 131072) == oracle("s2.flops_tok.L70.S131072"));
  CHECK(flops_per_token(deepseek, 4096) == oracle("s2.flops_tok.DS.S4096"));

  const double logits = 2.0 * static_cast<double>(head_weights(llama));
  CHECK(logits == oracle("s2.logits.L70"));
  CHECK(logits / flops_per_token(llama, 0) == closed_form("s2.logits_frac.L70"));
  CHECK(flops_per_token(llama, 0) / attention_flops_per_context_token(llama).base() ==
        closed_form("s2.S_attn_eq_lin.L70"));
  CHECK(flops_per_token(deepseek, 0) / attention_flops_per_context_token(deepseek).base() ==
        closed_form("s2.S_attn_eq_lin.DS"));
}

TEST_CASE("the 12 L d^2 rule for GPT-3 is 0.4 % low", "[parameters]") {
  const Model model = gpt3_175b();
  const double rule = 12.0 * model.layers() * static_cast<double>(model.hidden * model.hidden);
  CHECK(rule == oracle("s2.kipply.GPT3"));
  CHECK(rule / static_cast<double>(parameter_count(model).total) - 1 ==
        closed_form("s2.kipply.relerr.GPT3"));
}

TEST_CASE("bounded layers add nothing per further token but their indexer", "[parameters]") {
  Attention attention;
  attention.query_heads = attention.kv_heads = 4;
  attention.key_dim = attention.value_dim = 8;
  CHECK(attention_flops_per_context_token(attention, LatentForm::absorbed) == 2 * 4 * 16);
  attention.window = 128;
  CHECK(attention_flops_per_context_token(attention, LatentForm::absorbed) == 0);
  attention.window = 0;
  attention.index_top_k = 2048;
  attention.index_heads = 2;
  attention.index_dim = 16;
  CHECK(attention_flops_per_context_token(attention, LatentForm::absorbed) == 64);
}

TEST_CASE("weight bytes follow the parts", "[parameters]") {
  const Model model = mixtral_8x7b();
  const ParameterCount count = parameter_count(model);
  CHECK(weight_bytes(model, Precision{}).base() == 2.0 * static_cast<double>(count.total));

  Precision precision;
  precision.set(Part::routed_experts, formats::fp8);
  CHECK(weight_bytes(model, precision).base() ==
        2.0 * static_cast<double>(count.total) - static_cast<double>(count.routed_experts));
}

TEST_CASE("properties of the counts", "[parameters][property]") {
  property("P2.1: one expert is the dense network plus its router", [] {
    Shape shape = random_shape(false);
    const Model dense = make_model(shape);
    shape.experts = shape.top_k = 1;
    const Model mixture = make_model(shape);
    const auto router = parameter_count(mixture).router;
    RC_ASSERT(parameter_count(mixture).total - router == parameter_count(dense).total);
    RC_ASSERT(parameter_count(mixture).matmul - router == parameter_count(dense).matmul);
  });
  property("P2.2: active is at most total, equal only when every expert is met", [] {
    const Shape shape = random_shape(*rc::gen::arbitrary<bool>());
    const ParameterCount count = parameter_count(make_model(shape));
    RC_ASSERT(count.active <= count.total);
    RC_ASSERT((count.active == count.total) == (shape.experts == shape.top_k));
  });
  property("P2.3: total is linear in layers and in experts", [] {
    Shape shape = random_shape(true);
    const auto total = [&](int layers, int experts) {
      shape.layers = layers;
      shape.experts = experts;
      return parameter_count(make_model(shape)).total;
    };
    RC_ASSERT(total(3, 8) - total(2, 8) == total(2, 8) - total(1, 8));
    RC_ASSERT(total(2, 9) - total(2, 8) == total(2, 8) - total(2, 7));
  });
  property("P2.4: a removed KV head saves 2 d d_h per layer", [] {
    Shape shape = random_shape(false);
    const auto more = parameter_count(make_model(shape)).total;
    shape.kv_heads -= 1;
    const auto fewer = parameter_count(make_model(shape)).total;
    RC_ASSERT(more - fewer == shape.layers * 2 * shape.hidden * shape.head_dim);
  });
  property("P2.5: tying removes the head from the total and nothing from the multiplies", [] {
    const Shape shape = random_shape(*rc::gen::arbitrary<bool>());
    const ParameterCount free = parameter_count(make_model(shape));
    const ParameterCount tied = parameter_count(make_model(shape, {.tied = true}));
    RC_ASSERT(free.total - tied.total == shape.vocabulary * shape.hidden);
    RC_ASSERT(free.matmul == tied.matmul);
  });
  property("P2.6: attention FLOPs do not depend on KV heads", [] {
    Shape shape = random_shape(false);
    const auto a = attention_flops_per_context_token(make_model(shape));
    shape.kv_heads = 1;
    RC_ASSERT(attention_flops_per_context_token(make_model(shape)) == a);
  });
  property("P2.7: absorbed over expanded is (2 d_c + d_r) / (d_n + d_r + d_v)", [] {
    Attention a = deepseek_v3().groups[0].attention;
    a.latent_rank = *rc::gen::inRange(1, 2048);
    const double ratio = attention_flops_per_context_token(a, LatentForm::absorbed) /
                         attention_flops_per_context_token(a, LatentForm::expanded);
    const double expected =
        (2.0 * a.latent_rank + a.rotary_dim) / (a.key_dim + a.rotary_dim + a.value_dim);
    RC_ASSERT(std::abs(ratio - expected) < 1e-12 * expected);
  });
}
