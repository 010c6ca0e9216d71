#include "tokenroof/physics/kv_policy.hpp"

#include <rapidcheck.h>

#include "catch2/catch.hpp"
#include "memory_fixtures.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {

std::vector<int> all_layers(const Model& model) { return stage_group_counts(model, 1, 0); }
TokensPerRequest tokens_each(double n) { return TokensPerRequest::from_base(n); }

KvReservation reserved(const Model& model, const Engine& engine, const Format& format,
                       const KvLayoutOptions& options = {}) {
  Precision precision;
  precision.kv_cache = format;
  return kv_reservation(model, engine, precision, all_layers(model), options);
}
/// As the log prints it: two digits.
double printed(double ratio) { return std::round(ratio * 100) / 100; }

void property(const char* name, void (*body)()) {
  INFO(name);
  CHECK(rc::check(name, body));
}

}  // namespace

TEST_CASE("pages of like layers: tokens are whole blocks of the pool", "[kv_policy]") {
  const KvReservation cache = reserved(models::llama_31_8b(), vllm("0.19"), formats::bf16);
  const Bytes pool = 58.11 * gibibyte;  // logged: 476,016 tokens in 58.11 GiB
  CHECK(cache.blocks(pool) * 16 == cache.tokens(pool, {}).base());
  CHECK(cache.tokens(pool, {}).base() == Approx(476016).epsilon(1e-4));
  CHECK(cache.concurrency(pool, tokens_each(16 * 100 - 3)) == cache.blocks(pool) / 100);
}

TEST_CASE("the cache is divided over tensor ranks, the latent one over context ranks only",
          "[kv_policy]") {
  // transformers#48566: a pool per rank holds four times the tokens at TP 4, not the same.
  const Model qwen = models::qwen3_32b();
  Engine engine = vllm("0.19");
  engine.block_tokens = 256;
  const Bytes pool = 3258.0 * 256 * 65536 * byte;
  CHECK(reserved(qwen, engine, formats::bf16, {.tensor_parallel = 4}).blocks(pool) == 3258);
  CHECK(reserved(qwen, engine, formats::bf16).blocks(pool) == 814);

  // Kimi-K2: 715,072 tokens in 46.80 GiB at TP 8, eight times as many with context parallel 8.
  const Model latent = models::deepseek_v3();
  const Bytes logged = 46.8 * gibibyte;
  const auto tokens = [&](int cp) {
    return reserved(latent, vllm("0.11"), formats::bf16,
                    {.tensor_parallel = 8, .context_parallel = cp})
        .tokens(logged, {})
        .base();
  };
  CHECK(tokens(1) == Approx(715072).epsilon(2e-4));
  CHECK(tokens(8) == 8 * tokens(1));
}

TEST_CASE("hybrid models: Gemma-2-27b as vLLM 0.19 logged it", "[kv_policy]") {
  // 23 windowed and 23 full layers: two groups, 20.59 GiB are 58,672 tokens and 7.16 x 8,192.
  const KvReservation cache = reserved(models::gemma_2_27b(), vllm("0.19"), formats::bf16);
  const Bytes pool = 20.59 * gibibyte;
  CHECK(cache.tokens(pool, tokens_each(8192)).base() == Approx(58672).epsilon(3e-4));
  CHECK(printed(cache.concurrency(pool, tokens_each(8192))) == Approx(7.16).margin(0.011));
}

TEST_CASE("hybrid models: Gemma-4-31B before and since capacity is reported", "[kv_policy]") {
  const Model model = models::gemma_4_31b_cache();
  // hf-mem#61: 983,040 bytes per token charged, 26,800 tokens in 24.54 GiB.
  CHECK(reserved(model, vllm("0.19"), formats::bf16).tokens(24.54 * gibibyte, {}).base() == 26800);
  // configiq#112: vLLM 0.24 logged 626,949 tokens in 64.68 GiB (one rounding step: 2e-4).
  const KvReservation cache = reserved(model, vllm("0.24"), formats::bf16);
  CHECK(cache.tokens(64.68 * gibibyte, tokens_each(262144)).base() == Approx(626949).epsilon(1e-5));
  CHECK(cache.tokens(103.92 * gibibyte, tokens_each(262144)).base() ==
        Approx(1007303).epsilon(1e-4));
}

TEST_CASE("hybrid models with recurrent layers", "[kv_policy]") {
  // Qwen3.5-27B on 0.19: 16 full and 48 recurrent layers; pages of 784 tokens; logged 290,864
  // tokens and 33.04 x 32,768. A ratio of the two would be wrong by a factor of 3.7.
  const Model small = cache_only({{48, delta_rule(48, 16)}, {16, grouped(4, 256)}});
  const KvReservation cache = reserved(small, vllm("0.19"), formats::bf16);
  const Bytes pool = 1487 * cache.pages.front().block_bytes * byte;
  CHECK(cache.pages.back().block_tokens == 784);
  CHECK(cache.tokens(pool, tokens_each(32768)).base() == 290864);
  CHECK(printed(cache.concurrency(pool, tokens_each(32768))) == 33.04);

  // Qwen3.6-35B-A3B, fp8 cache, 0.24: 569,878 tokens in 6.01 GiB, 4.35 x 131,072.
  const Model mixture = cache_only({{30, delta_rule(32, 16)}, {10, grouped(2, 256)}});
  const KvReservation counted = reserved(mixture, vllm("0.24"), formats::fp8);
  CHECK(counted.tokens(6.01 * gibibyte, tokens_each(131072)).base() == 569878);
  CHECK(printed(counted.concurrency(6.01 * gibibyte, tokens_each(131072))) == 4.35);

  // Qwen3.6-27B, TP 2, fp8 cache, three draft tokens and their layer: 623,873 in 11.05 GiB.
  const Model drafting = cache_only({{48, delta_rule(48, 16)}, {17, grouped(4, 256)}});
  const KvReservation drafts =
      reserved(drafting, vllm("0.24"), formats::fp8, {.tensor_parallel = 2, .draft_tokens = 3});
  const Bytes blocks = 426 * drafts.pages.front().block_bytes * byte;
  CHECK(blocks / gibibyte == Approx(11.05).epsilon(1e-3));
  CHECK(drafts.tokens(blocks, tokens_each(262144)).base() == 623873);
}

TEST_CASE("windowed layers before the hybrid cache keep every token", "[kv_policy]") {
  // gpt-oss-120b: 78,384 tokens in 5.38 GiB, all 36 layers charged: 73,728 B per token.
  const Model model = models::gpt_oss_120b();
  for (const char* version : {"0.6", "0.19"})
    CHECK(reserved(model, vllm(version), formats::bf16).tokens(5.38 * gibibyte, {}).base() ==
          Approx(78384).epsilon(1e-3));
  // hf-mem#70, gpt-oss-20b, 32 x 8,192: 12.00 GiB reserved where the mathematics needs 6.09.
  const Model small = models::gpt_oss_20b();
  CHECK(32 * reserved(small, vllm("0.6"), formats::bf16).bytes_at(tokens_each(8192)) ==
        12 * gibibyte);
  CHECK(32 * kv_geometry(small, formats::bf16).bytes_at(tokens_each(8192)) / gibibyte ==
        Approx(6.09).margin(0.005));
}

TEST_CASE("latent attention before its kernels: padded keys and values per head", "[kv_policy]") {
  // vllm#4650, DeepSeek-Coder-V2, TP 8: 983,040 B per token and rank, 2,368 tokens in 2.17 GiB.
  Attention latent;
  latent.kind = AttentionKind::latent;
  latent.query_heads = 128;
  latent.key_dim = latent.value_dim = 128;
  latent.latent_rank = 512;
  latent.rotary_dim = 64;
  const Model model = cache_only({{60, latent}});
  const KvReservation old = reserved(model, vllm("0.5.4"), formats::bf16, {.tensor_parallel = 8});
  CHECK(old.bytes_at(tokens_each(16)) == 16 * 983040.0 * byte);
  CHECK(old.tokens(2368.0 * 983040 * byte, {}).base() == 2368);
  const KvReservation now = reserved(model, vllm("0.11"), formats::bf16, {.tensor_parallel = 8});
  CHECK(now.bytes_at(tokens_each(16)) == 16.0 * 60 * 576 * 2 * byte);
}

TEST_CASE("compressed layers: a fixed part per sequence dominates", "[kv_policy]") {
  // vllm#51041, vllm#54703: DeepSeek-V4-Flash logged 2,175,276 tokens and 8.30 x 262,144 in 32.08
  // GiB: about 3,300 B per token and 3.2e9 B per sequence. Ours is within 6 % of the log.
  Attention sliding = grouped(1, 512, 128);
  sliding.one_entry_for_both = true;
  Attention coarse = sliding, fine = sliding;
  coarse.compress_ratio = 128;
  fine.compress_ratio = 4;
  fine.index_heads = 64;
  fine.index_dim = 128;
  fine.index_top_k = 512;
  const Model model = cache_only({{2, sliding}, {20, coarse}, {21, fine}});
  const KvReservation cache = reserved(model, vllm("0.24"), formats::fp8);
  CHECK(cache.concurrency(32.08 * gibibyte, tokens_each(262144)) == Approx(8.30).epsilon(0.06));
  const double slope =
      (cache.bytes_at(tokens_each(1048576)) - cache.bytes_at(tokens_each(524288))).base() / 524288;
  CHECK(slope == Approx(3300).epsilon(0.2));
  CHECK(cache.bytes_at(tokens_each(262144)).base() - 262144 * slope == Approx(3.2e9).epsilon(0.1));
}

TEST_CASE("llama.cpp: windows keep window + micro-batch cells", "[kv_policy]") {
  // Gemma-4-26B-A4B, 25 windowed layers of 8 x 256, 5 global of 2 x 512: GB at 4k, 32k, 128k.
  Engine engine = bare_engine();
  engine.kv_policy = KvPolicy::windowed_cells;
  engine.block_tokens = 1;
  const Model model = cache_only({{25, grouped(8, 256, 1024)}, {5, grouped(2, 512)}});
  const KvReservation cache = reserved(model, engine, formats::fp16);
  CHECK(printed(cache.bytes_at(tokens_each(4096)) / gigabyte) == 0.40);
  CHECK(printed(cache.bytes_at(tokens_each(32768)) / gigabyte) == 0.99);
  CHECK(printed(cache.bytes_at(tokens_each(131072)) / gigabyte) == 3.00);
  // llama-toolchest#58, ollama#6160: bytes of q8_0 are 34 per 32 elements.
  const Model mistral = cache_only({{56, grouped(8, 128)}});
  CHECK(reserved(mistral, engine, formats::q8_0).bytes_at(tokens_each(49152)) == 5712 * mebibyte);
}

TEST_CASE("the longest context is where one sequence just fits", "[kv_policy]") {
  // kaito#2132: 17.39 GiB at 23,040 B per token; the engine said 810,208 (block 16).
  const Model model = cache_only({{36, grouped(1, 160)}});
  const KvReservation cache = reserved(model, vllm("0.24"), formats::bf16);
  CHECK(cache.bytes_at(tokens_each(1048576)) / gibibyte == 22.5);
  const double longest = cache.longest_context(17.39 * gibibyte).base();
  CHECK(longest == Approx(810208).epsilon(5e-4));
  CHECK(std::fmod(longest, 16) == 0);
  CHECK(cache.longest_context({}).base() == 0);
  CHECK(cache.longest_context(1 * byte).base() == 0);
}

TEST_CASE("a model of recurrent layers alone is bounded by its states", "[kv_policy]") {
  const Model model = cache_only({{4, delta_rule(2, 2)}});
  const KvReservation cache = reserved(model, vllm("0.24"), formats::bf16);
  const Bytes state = cache.bytes_at(tokens_each(1));
  CHECK(cache.bytes_at(tokens_each(1e6)) == state);
  CHECK(cache.concurrency(10.5 * state, tokens_each(1e6)) == Approx(10.5));
  CHECK(cache.longest_context(state).base() == KvReservation::unlimited);
}

TEST_CASE("properties of reservations", "[kv_policy][property]") {
  static const auto random_cache = [] {
    const int window = *rc::gen::inRange(1, 5000);
    const Model model =
        cache_only({{*rc::gen::inRange(1, 60), grouped(*rc::gen::inRange(1, 9), 128, window)},
                    {*rc::gen::inRange(1, 60), grouped(*rc::gen::inRange(1, 9), 128)},
                    {*rc::gen::inRange(0, 60), delta_rule(16, 8)}});
    Engine engine = vllm(*rc::gen::arbitrary<bool>() ? "0.24" : "0.19");
    engine.kv_policy = static_cast<KvPolicy>(*rc::gen::inRange(0, 4));
    engine.block_tokens = 1 << *rc::gen::inRange(0, 7);
    return std::pair{model, engine};
  };
  property("more context never raises concurrency, and never takes less memory", [] {
    const auto [model, engine] = random_cache();
    const KvReservation cache = reserved(model, engine, formats::bf16);
    const Bytes pool = *rc::gen::inRange(0, 80) * gibibyte;
    const double context = *rc::gen::inRange(1, 200000);
    const double more = context + *rc::gen::inRange(1, 200000);
    RC_ASSERT(cache.concurrency(pool, tokens_each(more)) <=
              cache.concurrency(pool, tokens_each(context)));
    RC_ASSERT(cache.bytes_at(tokens_each(more)) >= cache.bytes_at(tokens_each(context)));
  });
  property("an engine reserves at least what the mathematics needs", [] {
    const auto [model, engine] = random_cache();
    const double context = *rc::gen::inRange(1, 200000);
    const Bytes needed = kv_geometry(model, formats::bf16).bytes_at(tokens_each(context));
    const Bytes held = reserved(model, engine, formats::bf16).bytes_at(tokens_each(context));
    RC_ASSERT(held >= needed * (1 - 1e-12));
  });
  property("the longest context fits and one more block does not", [] {
    const auto [model, engine] = random_cache();
    const KvReservation cache = reserved(model, engine, formats::bf16);
    const Bytes pool = *rc::gen::inRange(1, 80) * gibibyte;
    const double longest = cache.longest_context(pool).base();
    if (longest < 1 || longest >= KvReservation::unlimited) return;
    RC_ASSERT(cache.concurrency(pool, tokens_each(longest)) >= 1);
    RC_ASSERT(cache.concurrency(pool, tokens_each(longest + 1)) < 1);
  });
}
