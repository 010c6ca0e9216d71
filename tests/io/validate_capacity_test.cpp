#include "tokenroof/io/validate_capacity.hpp"

#include <sstream>

#include "catch2/catch.hpp"
#include "memory_fixtures.hpp"
#include "tokenroof/core/error.hpp"

using namespace tokenroof;
using namespace tokenroof::test;
using namespace tokenroof::io;

namespace {

const std::string header =
    "id,source_url,engine_version,model,model_config,dtype,kv_dtype,quant,tp,pp,gpu,"
    "gpu_memory_utilization,max_model_len,weights_gib_per_gpu,kv_cache_tokens,"
    "kv_gib_available_per_gpu,max_concurrency_x,notes\n";

CapacityRow row(const std::string& line) {
  std::istringstream in(header + line + "\n");
  CsvReader reader(in, "capacity.csv");
  return read_capacity(reader).at(0);
}
CapacityQuestion asked(const std::string& line) {
  return interpret(row(line), models::deepseek_v3());
}
std::string engine_row(const std::string& text) { return "a,u," + text + ",m,,,,,1,1,,,,,,,,"; }
std::string gpu_row(const std::string& text) {
  return "a,u,0.19,m,,,,,1,1,\"" + text + "\",,,,,,,";
}

}  // namespace

TEST_CASE("engine and version from free text", "[capacity]") {
  const auto version = [](const char* text) { return asked(engine_row(text)).version; };
  CHECK(version("V0 0.2.3 before fix") == "0.2.3");
  CHECK(version("V0 ~0.6.4") == "0.6.4");
  CHECK(version("0.11.x (V1)") == "0.11");
  CHECK(version("0.20.1rc1") == "0.20.1");
  CHECK(version("V1 Jan-2025 (pre-0.7.1)") == "0.7.0");
  CHECK(version("vLLM Jul-2025") == "0.10.0");
  CHECK(version("vLLM 2025 via Ray Serve") == "0.13.0");
  CHECK(version("SGLang Jul-2025").empty());
  CHECK(asked(engine_row("SGLang Jul-2025")).engine == "sglang");
  CHECK(asked(engine_row("TensorRT-LLM 0.8")).engine == "trtllm");
  CHECK(asked(engine_row("Aphrodite Dec-2023 after fix")).engine == "vllm");
}

TEST_CASE("device and visible memory from free text", "[capacity]") {
  const auto gib = [](const char* text) { return *asked(gpu_row(text)).visible / gibibyte; };
  CHECK(gib("H100-80GB SXM (79.18 GiB)") == 79.18);
  CHECK(gib("H200-141GB (143,771 MiB)") == Approx(140.4).margin(0.01));
  CHECK(gib("RTX 5090 32GB (31.4 GiB usable)") == 31.4);
  const auto id = [](const char* text) { return asked(gpu_row(text)).accelerator; };
  CHECK(id("H100-80GB (2 nodes x8)") == "h100-sxm-80gb");
  CHECK(id("H100 NVL 94GB (Standard_NC80adis_H100_v5)") == "h100-nvl-94gb");
  CHECK(id("H20") == "h20-96gb");
  CHECK(id("RTX 3090 Ti 24GB (24,112 MiB visible)") == "rtx-3090-ti");
  CHECK(id("L4 or A10G 24GB").empty());
  CHECK(id("not stated (80 GB class)").empty());
}

TEST_CASE("formats and layout", "[capacity]") {
  const CapacityQuestion sparse = asked(
      "a,u,SGLang Oct-2025,m,,,fp8_ds_mla + fp8 indexer,fp8,8,1,B200,0.8 (default "
      "mem-fraction),,,,,,\"tp8 dp8 dp-attention, per rank\"");
  CHECK(sparse.deployment.tensor_parallel == 1);
  CHECK(sparse.deployment.attention_data_parallel == 8);
  CHECK(*sparse.fraction == 0.8);
  CHECK(sparse.precision.kv_cache == formats::fp8);
  CHECK(sparse.precision.of(Part::attention) == formats::fp8);
  CHECK(sparse.precision.of(Part::head) == formats::bf16);
  const CapacityQuestion context =
      asked("a,u,0.11.x,m,,bf16,bf16,int4,8,1,H200,,,,,,,decode-context-parallel 8: x8");
  CHECK(context.deployment.context_parallel == 8);
  CHECK(context.precision.of(Part::routed_experts) == formats::int4_g32);
  CHECK(context.precision.of(Part::attention) == formats::bf16);
}

TEST_CASE("a row of the file against our figures", "[capacity]") {
  const CapacityRow logged =
      row("cap053,u,0.19.0,meta-llama/Llama-3.1-8B-Instruct,c.json,bf16,bf16,none,1,1,"
          "H100-80GB SXM (79.19 GiB),0.95,2048,14.99,476016,58.11,,");
  const auto figures = predict_capacity(logged, models::llama_31_8b(), vllm(""), std::nullopt);
  REQUIRE(figures.size() == 3);
  CHECK(figures[0].metric == "weights_gib_per_gpu");
  CHECK(*figures[0].predicted == Approx(14.99).epsilon(0.01));
  CHECK(figures[1].metric == "kv_tokens");
  CHECK(*figures[1].predicted == Approx(476016).epsilon(0.002));
  CHECK(figures[2].metric == "kv_pool_gib");
  CHECK(*figures[2].predicted == Approx(58.11).epsilon(0.005));
}

TEST_CASE("what cannot be predicted has a reason", "[capacity]") {
  const CapacityRow unknown =
      row("x,u,0.19.0,m,c.json,bf16,bf16,none,1,1,not stated,0.9,8192,,,4.07,13.02,");
  const auto figures = predict_capacity(unknown, models::llama_31_8b(), vllm(""), std::nullopt);
  REQUIRE(figures.size() == 2);
  CHECK_FALSE(figures[0].predicted);
  CHECK(figures[0].reason == "device not stated");
  CHECK(figures[1].predicted);  // concurrency from the stated pool
  const CapacityRow uneven =
      row("x,u,0.19.0,m,c.json,bf16,bf16,none,3,1,H100,0.9,8192,,,4.07,13.02,");
  for (const CapacityFigure& figure :
       predict_capacity(uneven, models::llama_31_8b(), vllm(""), h100()))
    CHECK_FALSE(figure.reason.empty());
}

TEST_CASE("a faulty cell is named", "[capacity]") {
  CHECK_THROWS_AS(row("x,u,0.19,m,,,,,many,1,,,,,,,,"), SpecError);
  CHECK_THROWS_AS(row("x,u,0.19,m,,,,,0,1,,,,,,,,"), SpecError);
}
