#include "tokenroof/physics/memory_verdict.hpp"

#include <rapidcheck.h>

#include "catch2/catch.hpp"
#include "memory_fixtures.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {

TokensPerRequest tokens_each(double n) { return TokensPerRequest::from_base(n); }
bool mentions(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("what fits has no remedy", "[verdict]") {
  const MemoryPlan plan =
      memory_plan(models::llama_31_8b(), h100(), vllm("0.24"), {}, {}, tokens_each(8192));
  CHECK(plan.verdict.ok());
  CHECK(plan.verdict.remedy.empty());
}

TEST_CASE("weights that do not fit: deficit, blame, changes", "[verdict]") {
  // Llama-3.3-70B in fp8 on one H100 (vLLM 0.11): 67.72 GiB of weights, cache -1.44: no start.
  const Precision fp8 = narrow_weights(formats::fp8);
  const MemoryPlan plan =
      memory_plan(models::llama_31_70b(), h100(), vllm("0.11"), fp8, {}, tokens_each(16000));
  CHECK(plan.verdict.outcome == Outcome::does_not_fit);
  CHECK(plan.deficit / gibibyte == Approx(1.44).margin(0.1));
  CHECK(plan.max_concurrency == Requests{});
  CHECK(plan.kv_pool == Bytes{});
  INFO(plan.verdict.reason + " / " + plan.verdict.remedy);
  CHECK(mentions(plan.verdict.reason, "weights take 67.67 GiB of the 71.27 GiB"));
  CHECK(mentions(plan.verdict.remedy, "tensor_parallel 2"));
  CHECK(mentions(plan.verdict.remedy, "weights int4"));
  CHECK_FALSE(mentions(plan.verdict.remedy, "memory_fraction"));  // 5 GiB of cache needed
}

TEST_CASE("the least fraction that starts", "[verdict][pitfalls]") {
  // InferenceX#2128: 125.65 GiB of weights exceed 0.88 x 140.4; with 2.30 of reserve, 0.9113 do.
  Engine engine = bare_engine(0.88);
  engine.reserve = 2.30 * gibibyte;
  const Model model = models::deepseek_v3();
  const MemoryPlan plan = memory_plan(model, device(140.4 * gibibyte), engine, {}, {},
                                      tokens_each(0), {.weights = 125.65 * gibibyte});
  CHECK(plan.verdict.outcome == Outcome::does_not_fit);
  CHECK(plan.least_fraction == Approx(0.9113).margin(1e-4));
  INFO(plan.verdict.remedy);
  CHECK(mentions(plan.verdict.remedy, "memory_fraction 0.912"));
}

TEST_CASE("a context that does not fit", "[verdict][pitfalls]") {
  // kaito#2132: 1,048,576 tokens need 22.5 GiB, 17.39 are free: at most 810,208.
  const Model model = cache_only({{36, grouped(1, 160)}});
  const MemoryPlan plan = memory_plan(model, h100(), vllm("0.24"), {}, {}, tokens_each(1048576),
                                      {.kv_pool = 17.39 * gibibyte});
  CHECK(plan.verdict.outcome == Outcome::context_does_not_fit);
  CHECK(plan.max_context.base() == Approx(810208).epsilon(5e-4));
  INFO(plan.verdict.reason + " / " + plan.verdict.remedy);
  CHECK(mentions(plan.verdict.reason, "needs 22.50 GiB"));
  CHECK(mentions(plan.verdict.remedy, "a context of at most 810"));
  CHECK(mentions(plan.verdict.remedy, "kv_cache fp8"));
}

TEST_CASE("whole prompts: 29,000 tokens fail where 35,000 in chunks start", "[verdict][pitfalls]") {
  // vllm#10517: Llama-3.1-8B on an RTX 3090; beyond 32k tokens that version chunked prompts.
  Engine engine = vllm("0.6.4");
  engine.max_sequences = 256;
  engine.max_batched_tokens = 2048;
  engine.chunked_prefill = false;
  const Accelerator card = device(23.58 * gibibyte);
  const auto plan = [&](double context) {
    return memory_plan(models::llama_31_8b(), card, engine, {}, {}, tokens_each(context));
  };
  CHECK(plan(29000).verdict.outcome == Outcome::context_does_not_fit);
  CHECK(plan(29000).kv_tokens.base() == Approx(23648).epsilon(0.1));
  engine.max_batched_tokens = 512;
  engine.chunked_prefill = true;
  CHECK(plan(35000).verdict.ok());
}

TEST_CASE("DeepSeek-V3 on 32 consumer cards", "[verdict][pitfalls]") {
  const Deployment four{.tensor_parallel = 8, .pipeline_parallel = 4};
  const MemoryPlan plan = memory_plan(models::deepseek_v3(), device(23.6 * gibibyte), vllm("0.11"),
                                      narrow_weights(formats::fp8), four, tokens_each(4096));
  CHECK(plan.verdict.outcome == Outcome::does_not_fit);
  CHECK_FALSE(plan.verdict.remedy.empty());
}

TEST_CASE("an invalid layout is named and keeps the sum", "[verdict]") {
  const MemoryPlan plan = memory_plan(models::llama_31_8b(), h100(), vllm("0.24"), {},
                                      {.tensor_parallel = 3}, tokens_each(8192));
  CHECK(plan.verdict.outcome == Outcome::invalid_layout);
  CHECK(plan.unclaimed == plan.visible);
  CHECK(plan.max_concurrency == Requests{});
}

TEST_CASE("a remedy that is named helps", "[verdict][property]") {
  CHECK(rc::check("raising the fraction as told fits", [] {
    Engine engine = vllm("0.24");
    engine.memory_fraction = *rc::gen::inRange(1, 900) / 1000.0;
    const double context = *rc::gen::inRange(1, 100000);
    const MemoryPlan plan =
        memory_plan(models::qwen3_14b(), h100(), engine, {}, {}, tokens_each(context));
    const std::string key = "memory_fraction ";
    if (plan.verdict.ok() || plan.verdict.remedy.rfind(key, 0) != 0) return;
    engine.memory_fraction = std::stod(plan.verdict.remedy.substr(key.size()));
    RC_ASSERT(memory_plan(models::qwen3_14b(), h100(), engine, {}, {}, tokens_each(context))
                  .verdict.ok());
  }));
}
