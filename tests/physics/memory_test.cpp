#include "tokenroof/physics/memory.hpp"

#include <rapidcheck.h>

#include "catch2/catch.hpp"
#include "memory_fixtures.hpp"
#include "oracle.hpp"
#include "tokenroof/core/normal.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {

TokensPerRequest tokens_each(double n) { return TokensPerRequest::from_base(n); }
MemoryPlan lines(const Model& model, const Engine& engine, const Deployment& deployment = {},
                 double context = 8192, const Accelerator& accelerator = h100(),
                 const Precision& precision = {}, const MemoryOptions& options = {}) {
  return memory_lines(model, accelerator, engine, precision, deployment, tokens_each(context),
                      options);
}
Bytes sum(const MemoryPlan& plan) {
  Bytes all;
  for (const MemoryLine& line : plan.lines()) all += line.bytes;
  return all - plan.deficit;
}

}  // namespace

TEST_CASE("Llama-3.1-70B on eight H100: 162 sequences of 8,192 by the nominal memory", "[memory]") {
  const Deployment tp8{.tensor_parallel = 8};
  const auto sequences = [&](double context, bool nominal) {
    Accelerator accelerator = h100();
    accelerator.memory_visible = 79.15 * gibibyte;
    return lines(models::llama_31_70b(), bare_engine(), tp8, context, accelerator, {},
                 {.nominal_memory = nominal})
        .max_concurrency.base();
  };
  CHECK(sequences(8192, true) == oracle("s3.maxB.L70.8xH100.S8192"));
  CHECK(sequences(1024, true) == oracle("s3.maxB.L70.8xH100.S1024"));
  CHECK(sequences(32768, true) == oracle("s3.maxB.L70.8xH100.S32768"));
  CHECK(sequences(131072, true) == oracle("s3.maxB.L70.8xH100.S131072"));
  CHECK(sequences(8192, false) == 175);
  const MemoryPlan plan =
      lines(models::llama_31_70b(), bare_engine(), tp8, 8192, h100(), {}, {.nominal_memory = true});
  CHECK(8 * plan.kv_pool.base() == Approx(oracle("s3.pool.L70.8xH100")).epsilon(1e-4));
}

TEST_CASE("pools as vLLM logged them on H100, GiB", "[memory]") {
  const auto pool = [](const Model& model, const char* version, double fraction,
                       const Deployment& deployment = {}, const Precision& precision = {}) {
    Engine engine = vllm(version);
    engine.memory_fraction = fraction;
    return lines(model, engine, deployment, 8192, h100(), precision).kv_pool / gibibyte;
  };
  const Deployment tp2{.tensor_parallel = 2}, tp4{.tensor_parallel = 4};
  CHECK(pool(models::llama_31_8b(), "0.19.0", 0.95) == Approx(58.11).epsilon(0.002));
  CHECK(pool(models::llama_31_8b(), "0.19.0", 0.95, tp4) == Approx(67.44).epsilon(0.002));
  CHECK(pool(models::qwen25_7b(), "0.19.0", 0.95, tp2) == Approx(63.84).epsilon(0.002));
  CHECK(pool(models::gemma_2_27b(), "0.19.0", 0.95) == Approx(20.59).epsilon(0.004));
  CHECK(pool(models::qwen3_14b(), "0.16.0", 0.95) == Approx(41.94).epsilon(0.002));
  CHECK(pool(models::qwen3_14b(), "0.17.0", 0.95) == Approx(45.34).epsilon(0.002));
  CHECK(pool(models::llama_31_8b(), "0.11", 0.9) == Approx(51.38).epsilon(0.002));
  CHECK(pool(models::qwen3_32b(), "0.11", 0.9) == Approx(4.45).epsilon(0.01));
  CHECK(pool(models::qwen3_32b(), "0.11", 0.9, tp2) == Approx(34.49).epsilon(0.003));
  CHECK(pool(models::llama_31_70b(), "0.11", 0.9, tp2, narrow_weights(formats::fp8)) ==
        Approx(32.0).epsilon(0.003));
}

TEST_CASE("what the framework does not see", "[memory][pitfalls]") {
  // vllm#2031, Llama-2-70B, TP 4, A100: 31,615 blocks of 16, 20,865 once NCCL was counted.
  const auto blocks = [](const char* version) {
    Engine engine = vllm(version);
    engine.max_sequences = 256;
    engine.max_batched_tokens = 2560;
    return lines(models::llama_2_70b(), engine, {.tensor_parallel = 4}, 4096,
                 device(79.15 * gibibyte))
        .blocks;
  };
  CHECK(blocks("0.2.3") == Approx(31615).epsilon(0.01));
  CHECK(blocks("0.2.5") == Approx(20865).epsilon(0.01));
  // vllm 0.21 counts captured graphs: the pool of 0.9 is what 0.8878 was.
  Engine before = vllm("0.20"), since = vllm("0.21");
  before.memory_fraction = 0.8878;
  CHECK(lines(models::llama_31_8b(), before).kv_pool / gibibyte ==
        Approx(lines(models::llama_31_8b(), since).kv_pool / gibibyte).epsilon(1e-3));
}

TEST_CASE("a fraction of the free memory, and a stated reserve", "[memory]") {
  // TensorRT-LLM#1400: 0.9 of what 6,683 MiB of engine leave of an A100: 64.75 GiB.
  Engine trt;
  trt.memory_fraction = 0.9;
  EngineReserve habits;
  habits.fraction_of_free = true;
  habits.runtime = 0.7 * gibibyte;
  trt.reserves = {habits};
  const MemoryPlan plan = lines(models::llama_2_7b(), trt, {}, 2048, device(79.15 * gibibyte), {},
                                {.weights = 6683 * mebibyte});
  CHECK(plan.kv_pool / gibibyte == Approx(64.75).epsilon(0.002));
  CHECK(sum(plan) == plan.visible);

  Engine stated = vllm("0.24");
  stated.reserve_auto = false;
  stated.reserve = 5 * gibibyte;
  const MemoryPlan reserved = lines(models::llama_31_8b(), stated);
  CHECK(reserved.reserve == 5 * gibibyte);
  CHECK(reserved.activations + reserved.runtime + reserved.graphs == Bytes{});
}

TEST_CASE("the stage that limits is the one shown", "[memory][pitfalls]") {
  // vllm#34076: a stage needs the cache of its own layers only: 32 of 48, not all 48.
  const Model model = models::deepseek_v3();
  const Deployment four{.tensor_parallel = 8, .pipeline_parallel = 4};
  const MemoryPlan plan = lines(model, bare_engine(), four, 4096, device(80 * gibibyte));
  CHECK(plan.stage == 2);  // 16 layers of experts
  CHECK(plan.kv_per_sequence.base() == 16.0 * 576 * 2 * 4096);
  // The last stage samples: it has less memory than the first.
  CHECK(lines(models::llama_31_8b(), vllm("0.19"), {.pipeline_parallel = 2}).stage == 1);
}

TEST_CASE("from a stated pool", "[memory]") {
  const MemoryPlan plan = lines(models::llama_31_8b(), vllm("0.19"), {}, 8192, h100(), {},
                                {.kv_pool = 58.11 * gibibyte});
  CHECK(plan.kv_tokens.base() == Approx(476016).epsilon(1e-3));
  CHECK(sum(plan) == plan.visible);
}

TEST_CASE("sequences of the whole replica, context of the model", "[memory]") {
  const Deployment dp8{.expert_parallel = 8, .attention_data_parallel = 8};
  Model model = models::deepseek_v3();
  model.maximum_context = 163840;
  const MemoryPlan plan =
      lines(model, bare_engine(), dp8, 8192, device(180 * gibibyte), narrow_weights(formats::fp8));
  CHECK(plan.max_concurrency.base() == 8 * std::floor(plan.concurrency));
  CHECK(plan.max_context.base() == 163840);
  CHECK(plan.pool_context.base() > 163840);
}

TEST_CASE("lengths that vary", "[memory]") {
  CHECK(mean_live_tokens(tokens_each(161), tokens_each(338), 0).base() == oracle("s3.lenbias.det"));
  CHECK(mean_live_tokens(tokens_each(161), tokens_each(338), 1).base() == oracle("s3.lenbias.exp"));
  CHECK(mean_live_tokens(tokens_each(161), tokens_each(338), 1 - 1 / 338.0).base() ==
        Approx(oracle("s3.lenbias.geo")));
  const double z = 2.3263478740408408;
  CHECK(overflow_safe_concurrency(1000, 600, 200000, z) == closed_form("s3.safeK.raw"));
  CHECK(overflow_safe_concurrency(1000, 600, 200000, 0) == Approx(200));
  CHECK(overflow_safe_concurrency(1000, 600, 0, z) == 0);
}

TEST_CASE("properties of plans", "[memory][property]") {
  static const auto random_plan = [](double fraction, double context) {
    const int tp = 1 << *rc::gen::inRange(0, 4);
    const int pp = *rc::gen::inRange(1, 5);
    const char* versions[] = {"0.2.3", "0.6", "0.11", "0.19", "0.24"};
    Engine engine = vllm(versions[*rc::gen::inRange(0, 5)]);
    engine.memory_fraction = fraction;
    engine.reserve_auto = *rc::gen::arbitrary<bool>();
    engine.reserve = *rc::gen::inRange(0, 20) * gigabyte;
    const Model model =
        *rc::gen::arbitrary<bool>() ? models::llama_31_70b() : models::gpt_oss_120b();
    return std::tuple{model, engine, Deployment{.tensor_parallel = tp, .pipeline_parallel = pp},
                      context};
  };
  CHECK(rc::check("the lines add up to the visible memory, to the byte", [] {
    const double fraction = *rc::gen::inRange(1, 1001) / 1000.0;
    const auto [model, engine, deployment, context] =
        random_plan(fraction, *rc::gen::inRange(0, 200000));
    const Accelerator accelerator = device(*rc::gen::inRange(1, 300) * 0.97 * gibibyte);
    const MemoryPlan plan = lines(model, engine, deployment, context, accelerator);
    RC_ASSERT(sum(plan) == plan.visible);
    RC_ASSERT(plan.kv_pool == Bytes{} || plan.deficit == Bytes{});
    RC_ASSERT(plan.max_concurrency >= Requests{});
  }));
  CHECK(rc::check("a lower fraction never gives a larger pool", [] {
    const double fraction = *rc::gen::inRange(1, 1000) / 1000.0;
    auto [model, engine, deployment, context] = random_plan(fraction, 4096);
    const MemoryPlan low = lines(model, engine, deployment, context);
    engine.memory_fraction += 0.001;
    RC_ASSERT(lines(model, engine, deployment, context).kv_pool >= low.kv_pool);
  }));
  CHECK(rc::check("B x KV(S) <= pool < (B + 1) x KV(S), up to a block", [] {
    const Model model = models::llama_31_8b();
    const double context = *rc::gen::inRange(1, 60000);
    const MemoryPlan plan = lines(model, bare_engine(), {}, context);
    const double n = plan.max_concurrency.base();
    RC_ASSERT(n * plan.kv_per_sequence <= plan.kv_pool);
    RC_ASSERT((n + 1) * plan.kv_per_sequence + 16.0 * 131072 * byte > plan.kv_pool);
  }));
}
