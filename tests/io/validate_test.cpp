#include "tokenroof/io/validate.hpp"

#include <sstream>

#include "catch2/catch.hpp"
#include "io/json_reader.hpp"
#include "validate_fixtures.hpp"

using namespace tokenroof;
using namespace tokenroof::io;
using namespace tokenroof::test;
using Catch::Matchers::Contains;

namespace {

const std::string gemm = "gpu,engine,engine_version,gemm_dtype,m,n,k,latency_ms\n";
const std::string good = "h100-sxm-80gb,vllm,0.24.0,bfloat16,8192,8192,8192,1.5\n";

}  // namespace

TEST_CASE("a large multiply runs at its share of the peak") {
  const ValidationReport report = validated(gemm + good);
  CHECK(report.kind == "gemm");
  REQUIRE(report.predictions.size() == 1);
  const Prediction& row = report.predictions[0];
  CHECK(row.id == "row 2");
  CHECK(row.metric == "latency_ms");
  CHECK(row.measured == 1.5);
  // 2 x 8192^3 = 1.0995e12 FLOP at 0.793 x 989.4e12 = 1.4014 ms. The memory side: both operands
  // four times (8192 / 2048) and the result, 1.208e9 B at 0.8 x 3.35e12 = 0.4507 ms. The root of
  // the squares is 1.4721 ms, and a few microseconds are fixed.
  CHECK(row.predicted == Approx(1.4721 + 0.0026).epsilon(2e-3));
  CHECK(row.groups == std::vector<std::pair<std::string, std::string>>{
                          {"gpu", "h100-sxm-80gb"}, {"engine", "vllm"}, {"dtype", "bfloat16"}});
}

TEST_CASE("quantised multiplies carry the kernel that quantises their rows") {
  const auto time = [](const std::string& type) {
    return validated(gemm + "h100,vllm,0.24.0," + type + ",8192,8192,8192,1\n")
        .predictions.at(0)
        .predicted;
  };
  // 0.476 ns x (8192 + 4000) x (1 + 8192 / (2 x 132)) = 0.186 ms.
  CHECK(time("fp8") > 0.186 + 0.9);
  CHECK(time("fp8") < time("bfloat16"));
}

TEST_CASE("each kind of kernel is told by its columns") {
  const auto only = [](const std::string& kind, const std::string& text) {
    const ValidationReport report = validated(text);
    CHECK(report.kind == kind);
    REQUIRE(report.predictions.size() == 1);
    CHECK(report.predictions[0].metric == "latency_ms");
    return report.predictions[0];
  };
  const std::string gpu = "gpu,engine,", h100 = "h100-sxm-80gb,vllm,";
  only("attention_decode",
       gpu +
           "attn_dtype,kv_cache_dtype,batch,context_tokens,query_heads,kv_heads,"
           "head_dim,window_tokens,latency_ms\n" +
           h100 + "bfloat16,fp8,64,8192,64,8,128,0,0.5\n");
  only("attention_prefill", gpu +
                                "kv_cache_dtype,batch,input_tokens,query_heads,kv_heads,head_dim,"
                                "window_tokens,prefix_tokens,latency_ms\n" +
                                h100 + "bfloat16,8,3072,64,8,128,0,0,2\n");
  only("moe", gpu +
                  "moe_dtype,tokens,hidden,expert_intermediate,experts_per_token,num_experts,"
                  "moe_tp,moe_ep,routing,latency_ms\n" +
                  h100 + "fp8_block,64,7168,2048,8,256,1,8,power_law_1.2,0.5\n");
  const std::string message = "dtype,gpus,message_elements,latency_ms\n";
  // 2^20 bfloat16 over 8: two-shot, 2 x 5.1 us + 2 x 7/8 x 2.097e6 B / (0.67 x 450e9) = 22.4 us.
  const Prediction all = only(
      "allreduce", gpu + "kernel_source," + message + h100 + "graph,bfloat16,8,1048576,0.02\n");
  CHECK(all.predicted == Approx(0.02237).epsilon(2e-3));
  // All-gather of 2^20 bytes over 4: 1.5 x 5.1 + 3 x 0.8 us + 3/4 x 2^20 / (0.67 x 450e9).
  const Prediction gather =
      only("nccl", gpu + "collective," + message + h100 + "all_gather,int8,4,1048576,0.02\n");
  CHECK(gather.predicted == Approx(0.00765 + 0.0024 + 0.002609).epsilon(2e-3));
  CHECK(gather.groups.back().second == "int8");
}

TEST_CASE("balanced routing touches more experts than skewed routing") {
  const auto time = [](const std::string& routing) {
    return validated(
               "gpu,moe_dtype,tokens,hidden,expert_intermediate,experts_per_token,num_experts,"
               "moe_tp,moe_ep,routing,latency_ms\nh100,bfloat16,32,7168,2048,8,256,1,1," +
               routing + ",1\n")
        .predictions.at(0)
        .predicted;
  };
  CHECK(time("balanced") > time("power_law_1.2"));
}

TEST_CASE("rows that cannot be used are skipped with line and reason, the others evaluated") {
  const ValidationReport report =
      validated(gemm + good +                                             //
                "h100-sxm-80gb,vllm,0.24.0,bfloat16,64,x,8192,0.1\n"      // 3
                "h100-sxm-80gb,vllm,0.24.0,bfloat16,64,64,8192,0\n"       // 4
                "h100-sxm-80gb,vllm,0.24.0,bfloat16,64,64,8192,-2\n"      // 5
                "h1000-sxm,vllm,0.24.0,bfloat16,64,64,8192,0.1\n"         // 6
                "h100-sxm-80gb,vllm,0.24.0,bfloat61,64,64,8192,0.1\n"     // 7
                "h100-sxm-80gb,vllm,0.24.0,bfloat16,64,64,8192\n"         // 8
                "h100-sxm-80gb,vllm,0.24.0,bfloat16,64,64,8192,0.1 ms\n"  // 9
                "h100-sxm-80gb,vllm,0.24.0,bfloat16,0,64,8192,0.1\n"      // 10
                "h100-sxm-80gb,vllm,0.24.0,bfloat16,,64,8192,0.1\n" +
                good);  // 11, 12
  CHECK(report.rows == 11);
  CHECK(report.evaluated == 2);
  REQUIRE(report.skipped.size() == 9);
  const char* reasons[] = {"line 3, n: expected a number, found \"x\"",
                           "line 4, latency_ms: must be above 0, found 0",
                           "line 5, latency_ms: must be above 0, found -2",
                           "unknown accelerator \"h1000-sxm\" (did you mean",
                           "line 7, gemm_dtype: unknown gemm_dtype \"bfloat61\" (did you mean",
                           "has 7 cells, the header has 8",
                           "line 9, latency_ms: expected a number",
                           "line 10, m: must be at least 1, found 0",
                           "line 11, m: is empty"};
  for (std::size_t i = 0; i < 9; ++i) {
    const std::string line = std::to_string(i + 3);
    CHECK(report.skipped[i].id == "row " + line);
    CHECK_THAT(report.skipped[i].reason, Catch::Matchers::StartsWith("line " + line));
    CHECK_THAT(report.skipped[i].reason, Contains(reasons[i]));
  }
  CHECK(report.predictions[1].id == "row 12");
}

TEST_CASE("files that are unusable as a whole") {
  CHECK_THAT(refusal("gpu,gemm_dtype,m,n,kk,latency\nh100,bfloat16,1,1,1,1\n"),
             Contains("line 1: no column \"k\", which gemm rows need (did you mean \"kk\"?)") &&
                 Contains("no column \"latency_ms\"") && Contains("did you mean \"latency\"?"));
  CHECK_THAT(refusal("a,b\n1,2\n"), Contains("no known kind") && Contains("gemm"));
  CHECK_THAT(refusal(""), Contains("the file is empty"));
  CHECK_THAT(refusal("[{\"a\": 1}]"), Contains("no known kind"));
  CHECK_THROWS_AS(validate_file("no/such.csv", files()), SpecError);
}

TEST_CASE("a file without usable rows is an answer") {
  for (const std::string& rows : {std::string(), std::string("nogpu,v,0,bfloat16,1,1,1,1\n")}) {
    const ValidationReport report = validated(gemm + rows);
    CHECK(report.evaluated == 0);
    CHECK(report.metrics().empty());
    CHECK(report.groups().empty());
    const Json json = parse_json(validation_json(report, "1.2.3"), "out");
    CHECK(json["evaluated"] == 0);
    CHECK(json["metrics"].is_object());
    CHECK_FALSE(validation_text(report).empty());
  }
}

namespace {
ValidationReport four_rows() {
  ValidationReport report;
  report.file = "f.csv";
  report.kind = "gemm";
  const auto add = [&](const char* id, double measured, double predicted, const char* gpu) {
    const std::size_t line = ++report.rows + 1;
    report.predictions.push_back({id, line, "latency_ms", measured, predicted, {{"gpu", gpu}}});
  };
  add("a", 10, 11, "h100");  // ratio 1.1
  add("b", 10, 8, "h100");   // 0.8
  add("c", 10, 10, "l40s");  // 1
  add("d", 10, 15, "l40s");  // 1.5
  report.evaluated = 4;
  return report;
}
}  // namespace

TEST_CASE("summaries by hand") {
  const ValidationReport report = four_rows();
  REQUIRE(report.metrics().size() == 1);
  const MetricSummary all = report.metrics()[0];
  CHECK(all.rows == 4);
  CHECK(all.median_ape == Approx(0.15));    // of 0, 0.1, 0.2, 0.5
  CHECK(all.mean_ape == Approx(0.2));       // 0.8 / 4
  CHECK(all.p90_ape == Approx(0.41));       // position 0.9 x 3 = 2.7: 0.2 + 0.7 x 0.3
  CHECK(all.median_ratio == Approx(1.05));  // of 0.8, 1, 1.1, 1.5
  const std::vector<GroupSummary> groups = report.groups();
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].key == "gpu=h100");
  CHECK(groups[1].rows == 2);
  CHECK(groups[1].metrics[0].median_ape == Approx(0.25));
  const auto worst = report.worst();
  REQUIRE(worst.size() == 3);  // c is exact
  CHECK(worst[0]->id == "d");
  CHECK(worst[1]->id == "b");
  CHECK(report.worst(1).size() == 1);
}

TEST_CASE("outputs: JSON keys, CSV, tables") {
  ValidationReport report = four_rows();
  report.rows = 5;
  report.skipped.push_back({"row 6", "line 6, m: is empty", ""});
  const Json json = parse_json(validation_json(report, "1.2.3"), "out");
  for (const char* key : {"schema", "tokenroof_version", "kind", "rows", "evaluated", "skipped",
                          "metrics", "groups", "worst"})
    CHECK(json.contains(key));
  CHECK(json["tokenroof_version"] == "1.2.3");
  CHECK(json["rows"] == 5);
  CHECK(json["skipped"][0]["id"] == "row 6");
  CHECK(json["skipped"][0]["reason"] == "line 6, m: is empty");
  const Json& metric = json["metrics"]["latency_ms"];
  CHECK(metric["rows"] == 4);
  CHECK(metric["median_ape"].get<double>() == Approx(0.15));
  CHECK(metric["mean_ape"].get<double>() == Approx(0.2));
  CHECK(metric["p90_ape"].get<double>() == Approx(0.41));
  CHECK(metric["median_ratio"].get<double>() == Approx(1.05));
  CHECK(json["groups"][0]["key"] == "gpu=h100");
  CHECK(json["groups"][0]["metrics"]["latency_ms"]["rows"] == 2);

  std::ostringstream csv;
  write_validation_csv(report, csv);
  CHECK_THAT(csv.str(), Catch::Matchers::StartsWith("id,metric,measured,predicted,ape\r\n"
                                                    "a,latency_ms,10,11,0.1"));
  CHECK_THAT(validation_text(report), Contains("15.0 %") && Contains("row 6"));
  CHECK_THAT(validation_text(report, Markup::markdown), Contains("| latency_ms | 4 |"));
}

TEST_CASE("models: exact counts count, rounded ones do not") {
  const Folder folder;
  const std::string config = R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 100, "tie_word_embeddings": false})";
  folder.write("configs/tiny.json", config);
  const std::string header =
      "file,published_total_params,derived_total_params_text_decoder,"
      "derived_kv_bytes_per_token_bf16_all_attn_layers_no_window\n";
  // Attention 64 x 64 x 2 + 64 x 32 x 2 = 12288, feed-forward 3 x 64 x 128 = 24576, norms 128;
  // embedding and head 6400 each, last norm 64: 2 x 36992 + 12864 = 86848.
  // KV: 2 layers x 2 x 32 values x 2 B = 256.
  const ValidationReport report = validate_file(
      folder.write("m.csv", header + "tiny.json,86848,86848,256\ntiny.json,87K,86848,256\n" +
                                "tiny.json,,,\nabsent.json,1,1,1\n"),
      files(), {.models_dir = folder.path / "configs", .engine = {}, .stated = {}});
  CHECK(report.rows == 4);
  CHECK(report.evaluated == 2);
  REQUIRE(report.predictions.size() == 3);
  for (const Prediction& row : report.predictions) CHECK(row.predicted == row.measured);
  REQUIRE(report.omitted.size() == 1);
  CHECK(report.omitted[0].metric == "total_parameters");
  REQUIRE(report.skipped.size() == 2);
  CHECK_THAT(report.skipped[1].reason,
             Contains("line 5") && Contains("absent.json") && Contains("unknown model"));
}

TEST_CASE("models are found in the catalogue by their Hugging Face id") {
  const ValidationReport report = validated(
      "file,published_total_params,derived_total_params_text_decoder,"
      "derived_kv_bytes_per_token_bf16_all_attn_layers_no_window\n"
      "meta-llama__Meta-Llama-3.1-8B.json,8030261248,8030261248,131072\n");
  REQUIRE(report.predictions.size() == 2);
  for (const Prediction& row : report.predictions) CHECK(row.ape() == 0);
}

TEST_CASE("models are found by what free text calls them") {
  const std::string head =
      "id,engine_version,model,model_config,dtype,kv_dtype,quant,tp,pp,gpu,gpu_memory_utilization,"
      "max_model_len,weights_gib_per_gpu,kv_cache_tokens,kv_gib_available_per_gpu,"
      "max_concurrency_x,notes\n";
  for (const std::string name :
       {"meta-llama/Llama-3.1-8B-Instruct", "Llama-3.1-8B class (128 KiB/token)",
        "RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic"}) {
    const ValidationReport report = validated(head + "c1,V0 0.6.4," + name +
                                              ",,bf16,bf16,none,1,1,H100-80GB,,2048,,81920,10,,\n");
    INFO(name);
    REQUIRE(report.predictions.size() == 1);
    CHECK(report.predictions[0].ape() < 1e-9);
  }
}

TEST_CASE("capacity: tokens from the stated pool") {
  const ValidationReport report = validated(
      "id,engine_version,model,model_config,dtype,kv_dtype,quant,tp,pp,gpu,gpu_memory_utilization,"
      "max_model_len,weights_gib_per_gpu,kv_cache_tokens,kv_gib_available_per_gpu,"
      "max_concurrency_x,notes\n"
      "c1,V0 0.6.4,Llama-3.1-8B,meta-llama__Meta-Llama-3.1-8B.json,bf16,bf16,none,1,1,H100-80GB,,"
      "2048,14.9888,81920,10,,\n"
      "c2,vLLM 0.9,other,,bf16,bf16,none,1,1,H100-80GB,0.9,2048,1,1,1,1,\n"
      "c3,vLLM 0.9,m,meta-llama__Meta-Llama-3.1-8B.json,bf16,bf16,none,0,1,H100,0.9,,1,,,,\n");
  CHECK(report.kind == "capacity");
  CHECK(report.evaluated == 1);
  REQUIRE(report.skipped.size() == 2);
  CHECK(report.skipped[0].id == "c2");
  CHECK_THAT(report.skipped[0].reason, Contains("unknown model \"other\""));
  CHECK_THAT(report.skipped[1].reason, Contains("tp: must be at least 1"));
  // 10 GiB at 131,072 B per token are 81,920 tokens.
  const auto figure = [&](const std::string& metric) {
    for (const Prediction& row : report.predictions)
      if (row.metric == metric) return row.ape();
    return 1.0;
  };
  CHECK(figure("kv_tokens") < 1e-9);
  CHECK(figure("weights_gib_per_gpu") < 0.005);
  REQUIRE(report.omitted.size() == 1);
  CHECK_THAT(report.omitted[0].reason, Contains("memory fraction not stated"));
}

TEST_CASE("the catalogue's kernel constants are the ones used") {
  const Folder folder;
  folder.write("accelerators/h100-sxm-80gb.json",
               files().text("accelerators/h100-sxm-80gb.json").value());
  folder.write("kernels.json", R"({"constants": {"matmul_fixed": {"value": "1 s", "meaning": "m",
    "source": "s", "date": "2026-01-01"}}})");
  const double usual = validated(gemm + good).predictions.at(0).predicted;
  const double slow = validated(gemm + good, Catalog(folder.path)).predictions.at(0).predicted;
  CHECK(slow - usual == Approx(1000 * 0.904).epsilon(0.01));  // times the H100's latency factor
}
