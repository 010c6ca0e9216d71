#include "tokenroof/physics/activation_memory.hpp"

#include <rapidcheck.h>

#include "catch2/catch.hpp"
#include "memory_fixtures.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {

double gib(const Model& model, const Engine& engine, const Deployment& deployment = {},
           int stage = 0, double tokens = 8192) {
  return activation_peak(model, Precision{}, engine, deployment, stage, tokens) / gibibyte;
}

}  // namespace

TEST_CASE("a worked peak: sampling over the whole vocabulary", "[activations]") {
  // 1,024 sequences x 128,256 x 38.4 B + 8,192 tokens x 4,096 x 2 B
  CHECK(gib(models::llama_31_8b(), vllm("0.11")) * gibibyte.base() ==
        Approx(1024.0 * 128256 * 38.4 + 8192.0 * 4096 * 2));
}

TEST_CASE("peaks as vLLM logged them", "[activations]") {
  CHECK(gib(models::llama_31_8b(), vllm("0.11")) == Approx(4.76).epsilon(0.01));
  CHECK(gib(models::llama_31_70b(), vllm("0.11"), {.tensor_parallel = 2}) ==
        Approx(4.84).epsilon(0.01));
  CHECK(gib(models::qwen3_32b(), vllm("0.11")) == Approx(5.64).epsilon(0.01));
  CHECK(gib(models::gpt_oss_20b(), vllm("0.11")) == Approx(7.38).epsilon(0.01));
  // llm-d-planner#205: the same model before and after 0.17.
  CHECK(gib(models::qwen3_14b(), vllm("0.16.0")) == Approx(5.64).epsilon(0.01));
  CHECK(gib(models::qwen3_14b(), vllm("0.17.0")) == Approx(2.23).epsilon(0.01));
  CHECK(gib(models::llama_31_8b(), vllm("0.19")) == Approx(1.89).epsilon(0.01));
  CHECK(gib(models::qwen25_7b(), vllm("0.19"), {.tensor_parallel = 4}) ==
        Approx(2.21).epsilon(0.01));
  CHECK(gib(models::gemma_2_27b(), vllm("0.19")) == Approx(3.66).epsilon(0.02));
  // Experts' scratch stays allocated.
  CHECK(gib(models::mixtral_8x7b(), vllm("0.19"), {.tensor_parallel = 2}) ==
        Approx(1.21).epsilon(0.08));
  CHECK(gib(models::qwen3_30b(), vllm("0.19")) == Approx(2.68).epsilon(0.08));
}

TEST_CASE("the first stage of a pipeline does not sample", "[activations]") {
  const Deployment pp2{.pipeline_parallel = 2};
  CHECK(gib(models::llama_31_8b(), vllm("0.19"), pp2, 0) < 1.10);
  CHECK(gib(models::llama_31_8b(), vllm("0.19"), pp2, 1) == Approx(1.89).epsilon(0.01));
}

TEST_CASE("whole prompts raise the peak, chunks bound it", "[activations]") {
  // vllm#10517, 0.6: 17.98 - 14.99 = 2.99 GiB at 29,000 tokens of Llama-3.1-8B.
  Engine engine = vllm("0.6.4");
  engine.max_sequences = 256;
  engine.max_batched_tokens = 2048;
  engine.chunked_prefill = false;
  CHECK(profiled_tokens(engine, 29000) == 29000);
  CHECK(profiled_tokens(engine, 100) == 2048);
  CHECK(gib(models::llama_31_8b(), engine, {}, 0, 29000) == Approx(2.99).epsilon(0.01));
  engine.chunked_prefill = true;
  CHECK(profiled_tokens(engine, 35000) == 2048);
}

TEST_CASE("an engine without figures claims nothing", "[activations]") {
  CHECK(gib(models::deepseek_v3(), Engine{}) == 0);
}

TEST_CASE("properties of the peak", "[activations][property]") {
  CHECK(rc::check("more tokens or sequences never take less", [] {
    Engine engine = vllm(*rc::gen::arbitrary<bool>() ? "0.24" : "0.11");
    engine.max_sequences = *rc::gen::inRange(1, 2000);
    const double tokens = *rc::gen::inRange(1, 20000);
    const Model model = *rc::gen::arbitrary<bool>() ? models::deepseek_v3() : models::qwen3_30b();
    const double now = gib(model, engine, {}, 0, tokens);
    RC_ASSERT(gib(model, engine, {}, 0, tokens + 100) >= now);
    engine.max_sequences += 100;
    RC_ASSERT(gib(model, engine, {}, 0, tokens) >= now);
  }));
}
