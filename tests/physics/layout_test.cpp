#include "tokenroof/physics/layout.hpp"

#include <rapidcheck.h>

#include <numeric>

#include "catch2/catch.hpp"
#include "memory_fixtures.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

TEST_CASE("KV heads of a rank: shared, or copied when there are more ranks", "[layout]") {
  CHECK(kv_heads_per_rank(8, 1) == 8);
  CHECK(kv_heads_per_rank(8, 4) == 2);
  CHECK(kv_heads_per_rank(4, 8) == 1);   // transformers#48307
  CHECK(kv_heads_per_rank(8, 32) == 1);  // InfiniCore#1127: never a fraction
}

TEST_CASE("layers of pipeline stages: the remainder before the last", "[layout]") {
  const auto stages = [](int layers, int count) {
    std::vector<int> each;
    for (int stage = 0; stage < count; ++stage) each.push_back(stage_layers(layers, count, stage));
    return each;
  };
  CHECK(stages(61, 4) == std::vector<int>{15, 15, 16, 15});
  CHECK(stages(62, 4) == std::vector<int>{15, 16, 16, 15});
  CHECK(stages(63, 4) == std::vector<int>{16, 16, 16, 15});
  CHECK(stages(32, 2) == std::vector<int>{16, 16});
  CHECK(stages(7, 1) == std::vector<int>{7});
  CHECK(stage_group_counts(models::deepseek_v3(), 4, 0) == std::vector<int>{3, 12});
  CHECK(stage_group_counts(models::deepseek_v3(), 4, 2) == std::vector<int>{0, 16});
}

TEST_CASE("degrees that do not divide are refused with a reason", "[layout]") {
  const auto reason = [](const Model& model, const Deployment& deployment) {
    const Verdict verdict = layout_verdict(model, deployment);
    CHECK(verdict.outcome == Outcome::invalid_layout);
    CHECK_FALSE(verdict.remedy.empty());
    return verdict.reason;
  };
  CHECK(layout_verdict(models::llama_31_70b(), {.tensor_parallel = 8}).ok());
  CHECK(reason(models::llama_31_70b(), {.tensor_parallel = 6}).find("query heads") !=
        std::string::npos);
  CHECK(reason(models::qwen25_7b(), {.tensor_parallel = 14}).find("KV heads") != std::string::npos);
  CHECK(layout_verdict(models::qwen3_235b(), {.tensor_parallel = 8, .expert_parallel = 8}).ok());
  CHECK(
      reason(models::qwen3_235b(), {.tensor_parallel = 8, .expert_parallel = 3}).find("experts") !=
      std::string::npos);
  CHECK(reason(models::qwen3_235b(), {.tensor_parallel = 4, .expert_parallel = 8}).find("ranks") !=
        std::string::npos);
  CHECK(reason(models::llama_31_8b(), {.pipeline_parallel = 33}).find("layers") !=
        std::string::npos);
  CHECK(reason(models::llama_31_70b(), {.tensor_parallel = 8, .context_parallel = 3})
            .find("context_parallel 3") != std::string::npos);
  CHECK(Deployment{.tensor_parallel = 8, .context_parallel = 8}.devices() == 8);
}

TEST_CASE("properties of layouts", "[layout][property]") {
  CHECK(rc::check("stages hold every layer once and differ by at most one", [] {
    const int layers = *rc::gen::inRange(1, 200);
    const int count = *rc::gen::inRange(1, layers + 1);
    int sum = 0, least = layers, most = 0;
    for (int stage = 0; stage < count; ++stage) {
      const int held = stage_layers(layers, count, stage);
      sum += held;
      least = std::min(least, held);
      most = std::max(most, held);
    }
    RC_ASSERT(sum == layers);
    RC_ASSERT(most - least <= 1);
    RC_ASSERT(stage_layers(layers, count, count - 1) == layers / count);
  }));
}
