#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "catch2/catch.hpp"
#include "tokenroof/core/error.hpp"
#include "tokenroof/io/calibrate.hpp"
#include "tokenroof/io/engine_io.hpp"
#include "tokenroof/io/validate.hpp"

using namespace tokenroof;
using namespace tokenroof::io;
using Catch::Matchers::Contains;

namespace {

const Catalog& files() {
  static const Catalog catalog(TOKENROOF_SOURCE_DIR "/data");
  return catalog;
}

constexpr const char* header =
    "id,source,gpu,num_gpus,tp,pp,ep,dp,model,model_config,weight_dtype,activation_dtype,kv_dtype,"
    "quant_note,engine,input_tokens,output_tokens,context_tokens,batch,metric,value,notes\n";

/// A CSV file that is gone after the test.
struct File {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() /
      ("tokenroof_measurements_" + std::to_string(reinterpret_cast<std::uintptr_t>(this)) + ".csv");
  explicit File(const std::string& rows) { std::ofstream(path) << header << rows; }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

ValidationReport validated(const std::string& rows) {
  const File file(rows);
  return validate_file(file.path, files());
}
/// Predicted over measured of a single row; its reason when it is skipped.
double ratio(const std::string& row) {
  const ValidationReport report = validated(row + "\n");
  INFO(row);
  if (report.predictions.empty()) FAIL(report.skipped.at(0).reason);
  return report.predictions[0].ratio();
}
std::string group(const std::string& row, const std::string& dimension) {
  const ValidationReport report = validated(row + "\n");
  for (const auto& [key, value] : report.predictions.at(0).groups)
    if (key == dimension) return value;
  return {};
}
double predicted(const std::string& row) {
  return validated(row + "\n").predictions.at(0).predicted;
}

const std::string llama_cpp =
    "\"llama.cpp (llama-bench, May 2024, flash-attention off by default)\"";

}  // namespace

TEST_CASE("published figures of every engine are met") {
  const auto within = [](double share) { return Approx(1).margin(share); };
  // Prompt of 4096 tokens on four GeForce cards, layers split: figures of llama-bench.
  CHECK(ratio("a,s,rtx-4090,4,1,4,1,1,meta-llama/Meta-Llama-3-8B,,f16,f16,f16,GGUF F16," +
              llama_cpp + ",4096,0,,1,prefill_tokens_per_s_total,15143.84,") == within(0.15));
  CHECK(
      ratio("a,s,apple-m2-ultra,1,1,1,1,1,meta-llama/Meta-Llama-3-8B,,q4_k_m,f16,f16,GGUF Q4_K_M," +
            llama_cpp + ",0,512,256,1,decode_tokens_per_s_per_seq,78.81,") == within(0.15));
  // The model is described in words.
  CHECK(ratio("a,s,a100-sxm-80gb,1,1,1,1,1,ft/gpt-6.7b,,fp16,fp16,fp16,,FasterTransformer 5.x,512,"
              "32,528,8,e2e_latency_s,0.69962,\"full latency; arch: 32 layers, 32 heads x 128, "
              "vocab 51200; 4*d MLP\"") == within(0.15));
  CHECK(ratio("a,s,h100-sxm-80gb,1,1,1,1,1,meta-llama/Llama-3.1-8B,,fp8,fp8,fp8,,\"TensorRT-LLM "
              "v0.17 (trtllm-bench, TRT backend)\",128,2048,1152,,output_tokens_per_s_total,"
              "21109.38,") == within(0.15));
  CHECK(ratio("a,s,h100-sxm-80gb,1,1,1,1,1,EleutherAI/gpt-j-6b,,fp8,fp8,fp8,FP8 per-tensor,"
              "TensorRT-LLM v0.5 static batching (gptSessionBenchmark),2048,1,,1,"
              "prefill_latency_s,0.029,") == within(0.15));
  CHECK(ratio("a,s,a100-sxm-80gb,2,2,1,1,1,Qwen/Qwen2.5-72B-Instruct,,int4,fp16,fp16,GPTQ-Int4,"
              "vLLM 0.6.3,1,2048,1025,1,output_tokens_per_s_total,46.3,") == within(0.15));
  // Attention on every device: the words of the document overrule the tensor parallel column.
  const std::string spread =
      "a,s,h200-sxm-141gb,8,8,1,1,1,Qwen/Qwen3-235B-A22B,,fp8,fp8,fp8,,\"TensorRT-LLM v1.0 "
      "(trtllm-bench, PyTorch backend)\",128,128,192,,output_tokens_per_s_total,30429,";
  CHECK(ratio(spread + "doc command for MoE enables attention DP") == within(0.25));
  CHECK(predicted(spread) < predicted(spread + "doc command for MoE enables attention DP"));
}

TEST_CASE("words decide what a figure is") {
  const auto row = [](const std::string& metric, const std::string& batch,
                      const std::string& notes) {
    return predicted(
        "a,s,h100-sxm-80gb,1,1,1,1,1,meta-llama/Llama-3.1-8B,,bf16,bf16,bf16,,vLLM "
        "0.19,1024,256,," +
        batch + "," + metric + ",1," + notes);
  };
  const double whole = row("output_tokens_per_s_total", "8", "");
  const double decode = row("tokens_per_s_per_gpu", "8", "DECODE output tokens/s");
  CHECK(whole < decode);                                           // prompts take time
  CHECK(row("total_tokens_per_s", "8", "") == Approx(5 * whole));  // 1024 + 256 per 256
  CHECK(row("tpot_s", "8", "no prefill interference") == Approx(8 / decode));
  CHECK(row("tpot_s", "8", "concurrency 8") > row("tpot_s", "8", ""));
  CHECK(row("ttft_s", "8", "concurrency 8") < row("ttft_s", "8", "includes waiting"));
  CHECK(row("tokens_per_s_per_gpu", "8", "PREFILL-only") ==
        Approx(8 * 1024 / row("ttft_s", "8", "")));
  CHECK(row("decode_tokens_per_s_per_seq", "1", "") == Approx(1 / row("tpot_s", "1", "")));
  // An empty batch: as many as fit, so more than 64 and less than what 8 would do 1000 times.
  CHECK(row("output_tokens_per_s_total", "", "") > row("output_tokens_per_s_total", "64", ""));
}

TEST_CASE("the version of an engine decides its era, words before numbers") {
  const auto row = [](const std::string& engine) {
    return "a,s,a100-sxm-80gb,1,1,1,1,1,meta-llama/Llama-3.1-8B,,bf16,bf16,bf16,," + engine +
           ",1,256,,1,tpot_s,0.01,";
  };
  CHECK(predicted(row("vLLM 0.6.3")) > 1.05 * predicted(row("vLLM 0.18.1")));
  CHECK(predicted(row("vLLM 0.18.1")) == predicted(row("vLLM")));
  // The number is of the server around it, not of the engine.
  CHECK(predicted(row("TensorRT-LLM 0.5.1-rc0")) == predicted(row("TensorRT-LLM 1.1.0")));
  CHECK(predicted(row("TensorRT-LLM v0.5 (gptSessionBenchmark)")) !=
        predicted(row("TensorRT-LLM 1.1.0")));
  CHECK(group(row("LMDeploy TurboMind v0.2.0"), "engine") == "default");
  CHECK(group(row("SGLang 0.5.8"), "engine") == "sglang");
}

TEST_CASE("rows that say too little are skipped with the reason") {
  const ValidationReport report = validated(
      "m,s,h100-sxm-80gb,1,1,1,1,1,nobody/unheard-of-7b,,bf16,,,,vLLM,1,1,,1,tpot_s,0.01,\n"
      "t,s,h100-sxm-80gb,1,1,1,1,1,meta-llama/Llama-3.1-8B,,fp7,,,,vLLM,1,1,,1,tpot_s,0.01,\n"
      "l,s,h100-sxm-80gb,16,,,,,meta-llama/Llama-3.1-8B,,bf16,,,,vLLM,1,1,,1,tpot_s,0.01,\n"
      "h,s,h100-sxm-80gb,3,3,1,1,1,meta-llama/Llama-3.1-8B,,bf16,,,,vLLM,1,1,,1,tpot_s,0.01,\n"
      "v,s,h100-sxm-80gb,1,1,1,1,1,meta-llama/Llama-3.1-8B,,bf16,,,,vLLM,1,1,,1,tpot_s,0,\n"
      "u,s,h100-sxm-80gb,1,1,1,1,1,meta-llama/Llama-3.1-8B,,bf16,,,,vLLM,1,1,,1,happiness,1,\n"
      "w,s,h100-sxm-80gb,1,1,1,1,1,meta-llama/Llama-3.1-8B,,,,,,vLLM,1,1,,1,tpot_s,0.01,\n");
  REQUIRE(report.kind == "measurements");
  CHECK(report.evaluated == 0);
  REQUIRE(report.skipped.size() == 7);
  const char* reasons[] = {"unheard-of", "unknown data type \"fp7\"",
                           "layout",     "query heads",
                           "above 0",    "unknown metric",
                           "not stated"};
  for (std::size_t i = 0; i < 7; ++i) CHECK_THAT(report.skipped[i].reason, Contains(reasons[i]));
}

TEST_CASE("calibrate learns the constants that made the rows") {
  // Rows as a changed vLLM would give them: predictions of its own profile with other constants.
  EngineEntry changed = files().engine("vllm");
  changed.engine.constants.per_layer = 40 * microsecond;
  changed.engine.constants.weight_stream = 0.9;
  const std::filesystem::path data =
      std::filesystem::temp_directory_path() /
      ("tokenroof_data_" + std::to_string(reinterpret_cast<std::uintptr_t>(&changed)));
  std::filesystem::create_directories(data);
  for (const char* folder : {"accelerators", "models"})
    std::filesystem::create_directory_symlink(
        std::filesystem::path(TOKENROOF_SOURCE_DIR) / "data" / folder, data / folder);
  std::filesystem::create_directory(data / "engines");
  std::ofstream(data / "engines" / "vllm.json") << write_engine(changed);
  std::string rows;
  for (const char* gpu : {"h100-sxm-80gb", "h200-sxm-141gb", "a100-sxm-80gb"})
    for (const char* model : {"llama-3.1-8b", "qwen2.5-14b", "qwen3-32b"})
      for (const char* batch : {"1", "16", "128"}) {
        const std::string row = std::string("r,s,") + gpu + ",1,1,1,1,1," + model +
                                ",,bf16,bf16,bf16,,vLLM 0.19,512,256,," + batch + ",tpot_s,";
        const File one(row + "1,\n");
        const double value = validate_file(one.path, Catalog(data)).predictions.at(0).predicted;
        rows += row + std::to_string(value) + ",\n";
      }
  rows +=
      "o,s,h100-sxm-80gb,1,1,1,1,1,llama-3.1-8b,,bf16,bf16,bf16,,SGLang,512,256,,1,tpot_s,1,\n"
      "e,s,h100-sxm-80gb,1,1,1,1,1,llama-3.1-8b,,bf16,bf16,bf16,,vLLM 0.6,512,256,,1,tpot_s,"
      "1,\n";
  std::filesystem::remove_all(data);

  const File file(rows);
  CalibrateOptions options;
  options.engine = "vllm";
  options.constants = {"per_layer", "per_latent_layer", "weight_stream"};
  options.pull = 0;
  options.date = "2026-11-30";
  const EngineCalibration learned = calibrate_file(file.path, files(), options);
  REQUIRE(learned.fit.ok());
  CHECK(learned.fit.rows == 27);
  CHECK(learned.fit.groups == 9);
  CHECK(learned.skipped.size() == 2);
  const EngineConstants& constants = learned.profile.engine.constants;
  CHECK(constants.per_layer / microsecond == Approx(40).epsilon(0.01));
  CHECK(constants.weight_stream == Approx(0.9).epsilon(0.01));
  // No row has latent attention: that constant stays, and is named.
  CHECK(constants.per_latent_layer == files().engine("vllm").engine.constants.per_latent_layer);
  CHECK(learned.fit.parameters[1].reason.find("hardly") != std::string::npos);
  CHECK(learned.fit.in_sample.median_ape < 1e-3);
  CHECK(learned.fit.left_out.median_ape < 1e-3);

  // The profile can be read back, with the error beside each new value.
  const EngineEntry again = read_engine(write_engine(learned.profile), "vllm.json");
  for (const ConstantNote& note : again.constants)
    if (note.name == "per_layer") {
      CHECK(note.rows == 27);
      CHECK(note.fit_error < 1e-3);
      CHECK(note.date == "2026-11-30");
    }
  options.fit.all_required = true;
  CHECK_THAT(calibrate_file(file.path, files(), options).fit.refusal, Contains("per_latent_layer"));
  options.constants = {"per_layr"};
  CHECK_THROWS_WITH(calibrate_file(file.path, files(), options), Contains("did you mean"));
}

TEST_CASE("calibrate refuses files that say nothing about engines") {
  const File file("");
  CalibrateOptions options;
  options.engine = "vllm";
  CHECK_THAT(calibrate_file(file.path, files(), options).fit.refusal, Contains("no rows"));
  const std::filesystem::path gemm = file.path.string() + ".gemm.csv";
  std::ofstream(gemm) << "gpu,gemm_dtype,m,n,k,latency_ms\nh100-sxm-80gb,bf16,1,1,1,1\n";
  CHECK_THROWS_WITH(calibrate_file(gemm, files(), options), Contains("do not depend"));
  std::filesystem::remove(gemm);
}
