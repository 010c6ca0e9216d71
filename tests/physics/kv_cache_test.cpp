#include "tokenroof/physics/kv_cache.hpp"

#include <rapidcheck.h>

#include "catch2/catch.hpp"
#include "memory_fixtures.hpp"
#include "oracle.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {

double growth(const Model& model, const Format& format = formats::bf16) {
  return kv_geometry(model, format).growth().base();
}
Bytes at(const Model& model, double context, const Format& format = formats::bf16) {
  return kv_geometry(model, format).bytes_at(TokensPerRequest::from_base(context));
}
/// `layers` layers of one latent entry of 512 + 64.
Attention latent() { return models::deepseek_v3().groups[0].attention; }

}  // namespace

TEST_CASE("bytes per token equal the oracle", "[kv_cache]") {
  CHECK(growth(models::llama_2_7b()) == oracle("s3.kv.Llama-2-7B.b2"));
  CHECK(growth(models::llama_2_13b()) == oracle("s3.kv.Llama-2-13B.b2"));
  CHECK(growth(models::llama_31_8b()) == oracle("s3.kv.Llama-3.1-8B.b2"));
  CHECK(growth(models::llama_31_70b()) == oracle("s3.kv.Llama-3.1-70B.b2"));
  CHECK(growth(models::llama_31_405b()) == oracle("s3.kv.Llama-3.1-405B.b2"));
  CHECK(growth(models::mixtral_8x7b()) == oracle("s3.kv.Mixtral-8x7B.b2"));
  CHECK(growth(models::qwen25_7b()) == oracle("s3.kv.Qwen2.5-7B.b2"));
  CHECK(growth(models::qwen3_30b()) == oracle("s3.kv.Qwen3-30B-A3B.b2"));
  CHECK(growth(models::qwen3_235b()) == oracle("s3.kv.Qwen3-235B-A22B.b2"));
  CHECK(growth(models::deepseek_v3()) == oracle("s3.kv.DeepSeek-V3.b2"));
  CHECK(growth(models::deepseek_v3(), formats::fp8) == oracle("s3.kv.DeepSeek-V3.b1"));
  CHECK(at(models::llama_31_70b(), 131072).base() == oracle("s3.ctx.L70.131072"));
  CHECK(at(models::llama_31_70b(), 131072) == 40 * gibibyte);  // P3.6
}

TEST_CASE("sparse latent attention: 656 bytes of cache and 132 of index a layer", "[kv_cache]") {
  Attention sparse = latent();
  sparse.index_top_k = 2048;
  sparse.index_heads = 64;
  sparse.index_dim = 128;
  const Model model = cache_only({{61, sparse}});
  CHECK(growth(model, formats::fp8) == oracle("s3.kv.DeepSeek-V3.fp8mixed"));
  CHECK(kv_geometry(model, formats::fp8).index_growth().base() == 61 * 132);
  // The log of DeepSeek-V3.2: 61 x (656 + 132) B per token, 975,424 tokens in 43.67 GiB.
  CHECK(975424 * at(model, 1, formats::fp8) / gibibyte == Approx(43.67).epsilon(2e-4));
}

TEST_CASE("windows bound the cache", "[kv_cache]") {
  Model mistral = models::mistral_7b();
  CHECK(at(mistral, 32768).base() == oracle("s3.full.Mistral7B.S32768"));
  mistral.groups[0].attention.window = 4096;
  CHECK(at(mistral, 32768).base() == oracle("s3.swa.Mistral7B.S32768"));
  CHECK(growth(mistral) == 0);
  CHECK(kv_geometry(mistral, formats::bf16).growth_without_windows().base() == 131072);

  const Model gemma = cache_only({{52, grouped(16, 128, 1024)}, {10, grouped(16, 128)}});
  const Model whole = cache_only({{62, grouped(16, 128)}});
  CHECK(at(gemma, 131072).base() == oracle("s3.gemma3-27b.S131072"));
  CHECK(at(whole, 131072).base() == oracle("s3.gemma3-27b.full.S131072"));
  CHECK(at(models::gpt_oss_120b(), 131072).base() == oracle("s3.gptoss120b.S131072"));
  // mlxcel#172: Gemma-3-1B at 32,768 keeps 139 MiB, not 832.
  CHECK(at(cache_only({{22, grouped(1, 256, 512)}, {4, grouped(1, 256)}}), 32768) ==
        139 * mebibyte);
}

TEST_CASE("recurrent layers keep a state and nothing per token", "[kv_cache]") {
  const Model model = cache_only({{36, delta_rule(32, 16)}, {12, grouped(2, 256)}});
  const KvGeometry cache = kv_geometry(model, formats::bf16);
  CHECK(cache.state_bytes == oracle("s3.qwen3next.state"));
  CHECK(cache.growth().base() == oracle("s3.qwen3next.kv"));
  CHECK(cache.state_bytes / cache.growth().base() == oracle("s3.qwen3next.S_eq"));
  CHECK(cache.bytes_at(TokensPerRequest::from_base(0)).base() == cache.state_bytes);
}

TEST_CASE("compressed layers keep a window of single tokens and one entry per so many",
          "[kv_cache]") {
  Attention compressed = grouped(1, 512, 128);
  compressed.one_entry_for_both = true;
  compressed.compress_ratio = 4;
  const Model model = cache_only({{10, compressed}});
  CHECK(at(model, 100).base() == 10 * 1024 * (100 + 25));
  CHECK(at(model, 8192).base() == 10 * 1024 * (128 + 2048));
  CHECK(growth(model) == 10 * 1024 / 4);
  // fp8: 448 + 128 + 7 scales, padded by one
  CHECK(layer_kv_bytes_per_token(compressed, formats::fp8) == 584);
}

TEST_CASE("wrong figures of other tools", "[kv_cache][pitfalls]") {
  // vllm-fit#1: no further factor of heads. vllm#29736: not 2 x hidden.
  CHECK(growth(models::llama_2_7b()) == 512 * 1024);
  CHECK(growth(models::llama_31_8b()) == 131072);
  // LMCache#2248: GLM-4.5's heads are 128 wide, not 5,120 / 96.
  CHECK(growth(cache_only({{92, grouped(8, 128)}})) == 376832);
  // LMCache#694 and unsloth#4757: 576 elements per layer and token.
  CHECK(growth(cache_only({{61, latent()}})) == 70272);
  CHECK(at(cache_only({{61, latent()}}), 163840) / gibibyte == Approx(10.72).margin(0.005));
  CHECK(at(cache_only({{61, latent()}}), 262144) / gibibyte == Approx(17.16).margin(0.005));
  // unsloth#4757: Qwen3-0.6B's heads are 128 wide.
  CHECK(at(cache_only({{28, grouped(8, 128)}}), 40960) == 4.375 * gibibyte);
  // ODS#3375: from layers and heads, not from the parameter count.
  CHECK(at(cache_only({{36, grouped(8, 128)}}), 32768) == 4.5 * gibibyte);
  CHECK(at(cache_only({{36, grouped(8, 128)}}), 262144) == 36 * gibibyte);
  // Rapid-MLX#1423: Gemma-4-12B grows by 16 KiB a token, 8 global layers of one head of 512.
  CHECK(growth(cache_only({{40, grouped(8, 256, 1024)}, {8, grouped(1, 512)}})) == 16 * 1024);
  // TensorRT-LLM#1400: 69,524,783,104 bytes are 132,608 tokens.
  CHECK(132608 * at(models::llama_2_7b(), 1).base() == 69524783104.0);
  // gguf-parser-go#8: DeepSeek-V3 at 65,536 with keys and values of every head: 305 GiB, not 4.3.
  CHECK(65536 * 61.0 * 128 * (192 + 128) * 2 / gibibyte.base() == Approx(305));
  CHECK(at(cache_only({{61, latent()}}), 65536) / gibibyte == Approx(4.29).margin(0.005));
}

TEST_CASE("the cache format is independent of the weights", "[kv_cache][pitfalls]") {
  // configiq#112: nvfp4 weights leave the cache 16-bit; formats with scales cost their scales.
  const Model model = models::gemma_4_31b_cache();
  CHECK(kv_geometry(model, formats::bf16).growth_without_windows().base() ==
        50 * 16384 + 10 * 8192);
  CHECK(growth(models::llama_31_8b(), formats::q8_0) == 131072 / 2.0 * 34 / 32);
  CHECK(growth(models::llama_31_8b(), formats::q4_0) == 131072 / 2.0 * 18 / 32);
}

TEST_CASE("cross-attention and shared layers store nothing", "[kv_cache]") {
  Attention shared = grouped(8, 128);
  shared.stores_kv = false;
  Attention images = grouped(8, 128);
  images.cross_attention = true;
  CHECK(growth(cache_only({{8, shared}, {8, images}, {2, grouped(8, 128)}})) == 2 * 4096);
}

TEST_CASE("context parallel divides, a long context is found", "[kv_cache]") {
  const Model model = models::llama_31_8b();
  const KvGeometry eighth = kv_geometry(model, {32}, formats::bf16, formats::bf16, 1, 8);
  CHECK(eighth.growth().base() == 131072 / 8);
  const KvGeometry cache = kv_geometry(model, formats::bf16);
  CHECK(cache.longest_context(1 * gibibyte).base() == 8192);
  CHECK(cache.longest_context(1 * byte).base() == 0);
}

TEST_CASE("properties of the cache", "[kv_cache][property]") {
  CHECK(rc::check("P3.1: non-decreasing, linear for full attention, constant past the window", [] {
    const int window = *rc::gen::inRange(1, 5000);
    const double context = *rc::gen::inRange(1, 100000);
    const double more = context + *rc::gen::inRange(1, 100000);
    const Model full = cache_only({{3, grouped(2, 64)}});
    RC_ASSERT(at(full, context) + at(full, more) == at(full, context + more));
    const Model bounded = cache_only({{3, grouped(2, 64, window)}});
    RC_ASSERT(at(bounded, more) >= at(bounded, context));
    if (context >= window) RC_ASSERT(at(bounded, more) == at(bounded, context));
  }));
  CHECK(rc::check("P3.5: latent is smaller than grouped iff d_c + d_r < 2 n_kv d_h", [] {
    Attention a = latent();
    a.latent_rank = *rc::gen::inRange(1, 2000);
    a.rotary_dim = *rc::gen::inRange(0, 200);
    const int heads = *rc::gen::inRange(1, 17);
    const Attention b = grouped(heads, 128);
    RC_ASSERT(
        (layer_kv_bytes_per_token(a, formats::bf16) < layer_kv_bytes_per_token(b, formats::bf16)) ==
        (a.latent_rank + a.rotary_dim < 2 * heads * 128));
  }));
  CHECK(rc::check("ranks share the heads, or copy them", [] {
    const int heads = 1 << *rc::gen::inRange(0, 6);
    const int ranks = 1 << *rc::gen::inRange(0, 7);
    const Attention a = grouped(heads, 128);
    const double each = layer_kv_bytes_per_token(a, formats::bf16, ranks);
    const double whole = layer_kv_bytes_per_token(a, formats::bf16);
    RC_ASSERT(each * ranks == whole * std::max(1, ranks / heads));
  }));
}
