#include "tokenroof/io/import.hpp"

#include <sstream>

#include "import_fixtures.hpp"

using namespace tokenroof;
using namespace tokenroof::io;
using namespace tokenroof::test;

namespace {

/// A result of `vllm bench serve` with one key replaced.
std::string bench(const std::string& key = {}, const std::string& value = {}) {
  std::string json = "{";
  for (const auto& [name, stated] : Stated{{"model_id", "\"llama-3.1-8b\""},
                                           {"max_concurrency", "8"},
                                           {"completed", "10"},
                                           {"total_input_tokens", "1000"},
                                           {"total_output_tokens", "500"},
                                           {"mean_ttft_ms", "20.5"},
                                           {"median_ttft_ms", "19.5"},
                                           {"mean_tpot_ms", "7.25"}})
    if (!(name == key && value.empty()))
      json += (json.size() > 1 ? ", \"" : "\"") + name + "\": " + (name == key ? value : stated);
  return json + "}";
}

}  // namespace

TEST_CASE("vllm bench: one pretty-printed result", "[import]") {
  const ImportedRows rows = import_of("vllm_bench.json", on_h100);
  CHECK(rows.kind == "closed_loop");
  REQUIRE(rows.rows.size() == 1);
  const ImportCells& row = rows.rows[0];
  CHECK(row.text("id") == "file:1");
  CHECK(row.text("model_config") == "Llama-3.1-70B");
  CHECK(row.text("engine") == "vllm");
  CHECK(row.text("weight_dtype") == "bf16");
  CHECK(row.text("lengths") == "fixed");
  CHECK(*row.number("input_tokens") == 1024);
  CHECK(*row.number("output_tokens") == 256);
  CHECK(*row.number("concurrency") == 64);
  CHECK(*row.number("requests") == 512);
  CHECK(*row.number("tp") == 8);  // --metadata tensor_parallel_size=8
  CHECK(*row.number("num_gpus") == 8);
  CHECK(*row.number("ttft_ms") == 412.0);
  CHECK(*row.number("tpot_ms") == 31.9);
  CHECK(*row.number("ttft_p99_ms") == 1088.4);
  CHECK(*row.number("ttft_p99.9_ms") == 1301.7);
  CHECK(*row.number("output_tokens_per_s_total") == 1839.6);
  CHECK(row.text("meta_cluster") == "east-2");
  CHECK_FALSE(row.has("goodput_requests_per_s"));  // null
}

TEST_CASE("vllm bench: results appended line by line, some torn", "[import]") {
  CHECK_THROWS_WITH(
      import_of("vllm_bench_appended.json", on_h100),
      Catch::Contains("1 closed_loop, 1 measurements, 1 open_loop") && Catch::Contains("--as"));
  const ImportedRows closed = import_of("vllm_bench_appended.json", on_h100, "closed_loop");
  REQUIRE(closed.rows.size() == 1);
  CHECK(closed.rows[0].text("id") == "file:1");
  CHECK(*closed.rows[0].number("tpot_ms") == 19.5);
  REQUIRE(closed.skipped.size() == 4);
  CHECK(closed.skipped[0].id == "file:2");
  CHECK(closed.skipped[0].reason == "line 2: the object that begins here does not end");
  CHECK(closed.skipped[1].reason ==
        "line 5: /mean_tpot_ms: expected a number, found the text \"97%\"");

  const ImportedRows open = import_of("vllm_bench_appended.json", on_h100, "open_loop");
  REQUIRE(open.rows.size() == 1);
  CHECK(*open.rows[0].number("request_rate_per_s") == 2.5);
  CHECK(*open.rows[0].number("ttft_p90_ms") == 480.5);
  CHECK(*open.rows[0].number("e2e_mean_ms") == 9000.5);
  CHECK(*open.rows[0].number("itl_mean_ms") == 31.8);
  // Outputs of 128, 256, 256, 384: mean 256, sqrt(3 x 8192) = 156.8 to either side.
  CHECK(open.rows[0].text("lengths") == "uniform 0.39-1.61");

  const ImportedRows all = import_of("vllm_bench_appended.json", on_h100, "measurements");
  REQUIRE(all.rows.size() == 1);
  CHECK(*all.rows[0].number("value") == 5100.5);
  CHECK(all.rows[0].text("metric") == "output_tokens_per_s_total");
  CHECK_FALSE(all.rows[0].has("batch"));
}

TEST_CASE("InferenceX: seconds, devices, layouts; what rows cannot state is left out", "[import]") {
  const ImportedRows rows = import_of("inferencex.json", {});
  CHECK(rows.kind == "closed_loop");
  REQUIRE(rows.rows.size() == 2);
  const ImportCells& dense = rows.rows[0];
  CHECK(dense.text("gpu") == "h200-sxm-141gb");
  CHECK(dense.text("engine_version") == "0.10.2");
  CHECK(dense.text("weight_dtype") == "fp8");
  CHECK(dense.text("lengths") == "uniform 0.8-1.0");
  CHECK(*dense.number("ttft_ms") == 250);
  CHECK(*dense.number("tpot_ms") == Approx(21.3));
  CHECK(*dense.number("tp") == 4);
  CHECK(*dense.number("total_tokens_per_s") == Approx(4 * 1480.2));
  const ImportCells& spread = rows.rows[1];
  CHECK(spread.text("gpu") == "b200-sxm");
  CHECK(spread.text("engine") == "trtllm");
  CHECK(spread.text("engine_version") == "1.1.0");
  CHECK(spread.text("weight_dtype") == "nvfp4");
  CHECK(spread.text("model_config") == "DeepSeek-R1");
  CHECK(*spread.number("tp") == 1);
  CHECK(*spread.number("attention_dp") == 8);
  CHECK(*spread.number("num_gpus") == 8);
  CHECK(*spread.number("ttft_ms") == 1500);  // the median, as no mean is stated
  const std::string run = R"({"hw": "mi355x", "conc": 4, "model": "openai/gpt-oss-120b", "tp": 1,
      "framework": "vllm", "precision": "fp4", "isl": 1024, "osl": 1024, "median_ttft": 0.5,
      "median_tpot": 0.01})";
  const ImportCells other = import_text_of(run, {}).rows.at(0);
  CHECK(other.text("weight_dtype") == "mxfp4");
  CHECK(*other.number("tpot_ms") == 10);
  REQUIRE(rows.skipped.size() == 2);
  CHECK(rows.skipped[0].reason.find("/disagg") != std::string::npos);
  CHECK(rows.skipped[1].reason.find("speculative decoding (mtp)") != std::string::npos);
}

TEST_CASE("aiconfigurator: another tool's predictions", "[import]") {
  const ImportedRows rows = import_of("aiconfigurator.csv", {});
  CHECK(rows.kind == "closed_loop");
  REQUIRE(rows.rows.size() == 1);
  const ImportCells& row = rows.rows[0];
  CHECK(row.text("gpu") == "h100-sxm-80gb");
  CHECK(row.text("engine_version") == "0.12.0");
  CHECK(row.text("weight_dtype") == "fp8");
  CHECK(row.text("kv_dtype") == "bf16");
  CHECK(*row.number("ttft_ms") == 812.5);
  CHECK(*row.number("tpot_ms") == 18.25);
  CHECK(*row.number("tp") == 4);
  REQUIRE(rows.skipped.size() == 1);
  CHECK(rows.skipped[0].reason.find("line 3") == 0);
}

TEST_CASE("aiconfigurator: separate pools are a prefill and a decode worker", "[import]") {
  const ImportedRows rows = import_of("aiconfigurator_pools.csv", {});
  CHECK(rows.kind == "measurements");
  REQUIRE(rows.rows.size() == 2);
  const ImportCells& prefill = rows.rows[0];
  CHECK(prefill.text("id") == "file:2:prefill");
  CHECK(prefill.text("gpu") == "h200-sxm-141gb");
  CHECK(prefill.text("engine") == "trtllm v1.0.0");
  CHECK(prefill.text("metric") == "ttft_s");
  CHECK(*prefill.number("value") == Approx(0.6125));
  CHECK(*prefill.number("batch") == 1);
  CHECK(*prefill.number("tp") == 2);
  CHECK(*prefill.number("num_gpus") == 2);
  CHECK(prefill.text("kv_dtype") == "bf16");
  const ImportCells& decode = rows.rows[1];
  CHECK(decode.text("id") == "file:2:decode");
  CHECK(decode.text("metric") == "tpot_s");
  CHECK(*decode.number("value") == Approx(0.01425));
  CHECK(*decode.number("batch") == 64);
  CHECK(*decode.number("tp") == 4);
  CHECK(decode.text("kv_dtype") == "fp8");
  CHECK(decode.text("notes").find("no prefill interference") != std::string::npos);
  REQUIRE(rows.skipped.size() == 2);
  CHECK(rows.skipped[0].reason == "line 3: (d)tp: expected a number, found \"four\"");
  CHECK(rows.skipped[1].reason.find("line 4: prefix: a part of the prompt was cached") !=
        std::string::npos);
  // Without the batch of all attention ranks, it is that of one times their number.
  std::string text = text_of("aiconfigurator_pools.csv");
  const auto change = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  change("(d)global_bs", "(d)something");
  change("4,1,1,1,1,tp4pp1", "4,1,2,1,1,tp4pp1");
  const ImportCells spread = import_text_of(text, {}).rows.at(1);
  CHECK(*spread.number("batch") == 128);
  CHECK(*spread.number("num_gpus") == 8);
  const std::string torn = text.substr(0, text.find("tp2pp1"));
  CHECK(message(torn, {}).find("file: line 2: has 27 cells, the header has") == 0);
}

TEST_CASE("logs become rows of capacity", "[import]") {
  const ImportedRows rows = import_of("vllm_0.11_tp2.log", on_h100);
  CHECK(rows.kind == "capacity");
  const ImportCells& row = rows.rows.at(0);
  CHECK(row.text("engine_version") == "vllm 0.11.0");
  CHECK(row.text("accelerator") == "h100-sxm-80gb");
  CHECK(row.text("quant") == "bf16");
  CHECK(row.text("model_config") == "Llama-3.1-8B");
  CHECK(*row.number("tp") == 2);
  CHECK(*row.number("max_model_len") == 8192);
  CHECK(*row.number("kv_cache_tokens") == 1014160);
  CHECK(*row.number("kv_gib_available_per_gpu") == Approx(61.90));
  CHECK(*row.number("weights_gib_per_gpu") == Approx(7.5123));
  CHECK(import_of("sglang.log", {}).rows.at(0).text("engine_version") == "sglang");
  const ImportCells local = import_of("llamacpp.log", {}).rows.at(0);
  CHECK(local.text("model_config") == "Llama-3.1-8B");
  CHECK(local.text("engine_version") == "llama.cpp 4589");  // words that capacity rows know
  CHECK(local.text("quant") == "Q4_K_M");
  CHECK(message(text_of("trtllm.log"), {}) ==
        "file: line 1: the model is not stated; give it with --model");
  CHECK(*import_of("trtllm.log", {{"model", "llama-2-7b"}}).rows.at(0).number("kv_cache_tokens") ==
        132608);
}

TEST_CASE("what is missing is asked for by option, all of it at once", "[import]") {
  CHECK(message(bench(), {}) ==
        "file: line 1: the accelerator is not stated; give it with --accelerator\n"
        "file: line 1: the tp is not stated; give it with --tp");
  CHECK(message(bench("model_id")) ==
        "file: line 1: the model is not stated; give it with --model");
  const std::string unknown = message(bench("model_id", "\"lama-3.1-8b\""));
  CHECK(unknown.find("llama-3.1-8b") != std::string::npos);
  CHECK(unknown.find("--model") != std::string::npos);
  CHECK(message(bench(), {{"gpu", "h10-sxm-80gb"}, {"tp", "1"}}).find("h100-sxm-80gb") !=
        std::string::npos);
  const ImportedRows stated =
      import_text_of(bench(), {{"gpu", "l40s"}, {"num_gpus", "4"}, {"model", "qwen3-32b"}});
  CHECK(*stated.rows.at(0).number("tp") == 4);
  CHECK(stated.rows[0].text("model_config") == "qwen3-32b");
  const ImportedRows twin =
      import_text_of(bench("model_id", "\"RedHatAI/Llama-3.3-70B-Instruct-FP8\""), on_two_h100);
  CHECK(twin.rows.at(0).text("model_config") == "llama-3.1-70b");
  CHECK(twin.rows[0].text("weight_dtype") == "fp8");
  CHECK(twin.notes.size() == 4);  // shapes, engine, weights, lengths
}

TEST_CASE("numbers in every guise", "[import]") {
  const auto row = [](const std::string& text) {
    return import_text_of(text, on_two_h100).rows.at(0);
  };
  CHECK(*row(bench("mean_tpot_ms", "\"7.25\"")).number("tpot_ms") == 7.25);
  CHECK(*row(bench("mean_ttft_ms", "NaN")).number("ttft_ms") == 19.5);  // the median
  CHECK(*row("\xEF\xBB\xBF" + bench() + "\r\n").number("tpot_ms") == 7.25);
  CHECK(*row("[" + bench() + "]").number("tpot_ms") == 7.25);
  CHECK(row(bench() + bench()).text("id") == "file:1");
  CHECK(message(bench("mean_tpot_ms", "NaN")) == "file: line 1: states no mean tpot");
  CHECK(message(bench("total_input_tokens")).find("/total_input_tokens: is missing") !=
        std::string::npos);
  CHECK(message(bench("total_output_tokens", "-4")).find("above 0, found -4") != std::string::npos);
  CHECK(message(bench("mean_ttft_ms", "-5")) ==
        "file: line 1: /mean_ttft_ms: expected a number from 0, found -5");
  CHECK(message(bench("completed", "0")).find("no request was completed") != std::string::npos);
  CHECK(message(bench("mean_tpot_ms", "[1]")).find("found an array") != std::string::npos);
}

TEST_CASE("files that are none of these", "[import]") {
  CHECK(message("") == "file: is empty");
  CHECK(message(" \r\n") == "file: is empty");
  CHECK(message("hello").find("nothing in it is known") != std::string::npos);
  CHECK(message("{\"a\": 1}").find("none of the kinds") != std::string::npos);
  CHECK(message(std::string("\x7f"
                            "ELF\0\0",
                            6))
            .find("is binary") != std::string::npos);
  CHECK(message("[]").find("none of the kinds") != std::string::npos);
  CHECK(message(bench().substr(0, 120)).find("does not end") != std::string::npos);
  CHECK(importable(bench()));
  CHECK(importable("Available KV cache memory: 61.92 GiB\n"));
  CHECK_FALSE(importable("id,engine_version,model,gpu,notes\na,0.11,m,g,# GPU blocks: 7 seen\n"));
  CHECK_FALSE(importable("[{\"id\": \"20\", \"stages\": [], \"measured_ms\": {}}]"));
}

TEST_CASE("rows read back as CSV", "[import]") {
  std::ostringstream out;
  write_import_csv(import_of("vllm_bench.json", on_h100), out);
  std::istringstream in(out.str());
  CsvReader reader(in, "rows.csv");
  REQUIRE(reader.next());
  CHECK(*reader.number(reader.required_column("tpot_ms")) == 31.9);
  CHECK(reader.text(reader.required_column("gpu")) == "h100-sxm-80gb");
  CHECK(reader.text(reader.required_column("kv_dtype")).empty());
}
