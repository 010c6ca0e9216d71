#include "tokenroof/io/engine_log.hpp"

#include <fstream>
#include <sstream>

#include "catch2/catch.hpp"

using namespace tokenroof;
using namespace tokenroof::io;

namespace {

using Q = LogQuantity;

EngineLog read(const std::string& text) {
  std::istringstream in(text);
  return read_engine_log(in, "server.log");
}
EngineStart read_one(const std::string& name) {
  std::ifstream in(TOKENROOF_TEST_DIR "/io/import/" + name, std::ios::binary);
  EngineLog log = read_engine_log(in, name);
  CHECK(log.broken == 0);
  REQUIRE(log.starts.size() == 1);
  return log.starts.front();
}
double gib(const EngineStart& start, Q quantity) {
  REQUIRE(start.value(quantity));
  return *start.value(quantity) / 1073741824.0;
}
double plain(const EngineStart& start, Q quantity) {
  REQUIRE(start.value(quantity));
  return *start.value(quantity);
}

}  // namespace

TEST_CASE("vLLM 0.6: GB that is GiB, pages, profile in one line", "[engine_log]") {
  const EngineStart start = read_one("vllm_0.6.log");
  CHECK(start.engine == "vllm");
  CHECK(start.version == "0.6.4.post1");
  CHECK(start.model == "meta-llama/Llama-3.1-8B-Instruct");
  CHECK(start.dtype == "bfloat16");
  CHECK(start.quantization.empty());
  CHECK(gib(start, Q::weights) == Approx(14.9888));
  CHECK(start.figure(Q::weights)->line == 4);
  CHECK(gib(start, Q::visible) == Approx(79.19));
  CHECK(gib(start, Q::runtime) == Approx(0.61));
  CHECK(gib(start, Q::kv_pool) == Approx(54.46));
  CHECK(gib(start, Q::graphs) == Approx(0.79));
  CHECK(plain(start, Q::kv_blocks) == 27883);
  CHECK(*start.kv_tokens() == 446128);  // 27,883 x 16
  CHECK(plain(start, Q::concurrency) == 54.46);
  CHECK(plain(start, Q::concurrency_length) == 8192);
  CHECK(plain(start, Q::memory_fraction) == 0.9);
}

TEST_CASE("vLLM 0.7: the sentence about what is left", "[engine_log]") {
  const EngineStart start = read_one("vllm_0.7.log");
  CHECK(start.version == "0.7.2");
  CHECK(gib(start, Q::weights) == Approx(14.25));
  CHECK(gib(start, Q::runtime) == Approx(0.16));
  CHECK(gib(start, Q::activations) == Approx(4.35));
  CHECK(gib(start, Q::kv_pool) == Approx(52.51));
  CHECK(plain(start, Q::kv_blocks) == 61452);
}

TEST_CASE("vLLM 0.11: colours, CRLF, byte-order mark, two ranks", "[engine_log]") {
  const EngineStart start = read_one("vllm_0.11_tp2.log");
  CHECK(start.model == "meta-llama/Llama-3.1-8B-Instruct");
  CHECK(plain(start, Q::tensor_parallel) == 2);
  CHECK(plain(start, Q::memory_fraction) == 0.95);
  CHECK(gib(start, Q::weights) == Approx(7.5123));  // the largest
  CHECK(start.figure(Q::weights)->line == 5);
  CHECK(start.figure(Q::weights)->times == 2);
  CHECK(gib(start, Q::kv_pool) == Approx(61.90));  // the smallest
  CHECK(plain(start, Q::kv_tokens) == 1014160);
  CHECK(plain(start, Q::concurrency) == 123.80);
  CHECK(start.figure(Q::kv_tokens)->text == "GPU KV cache size: 1,014,160 tokens");
}

TEST_CASE("vLLM that refused to start", "[engine_log]") {
  const EngineStart start = read_one("vllm_refused.log");
  CHECK(start.refused);
  CHECK(gib(start, Q::kv_pool) == Approx(7.25));
  CHECK(plain(start, Q::max_length) == 40960);
  CHECK_FALSE(start.kv_tokens());
}

TEST_CASE("later wordings of vLLM", "[engine_log]") {
  const EngineStart start =
      read(
          "Total non KV cache memory: 18.31GiB; torch peak memory increase: 2.23GiB; non-torch "
          "forward increase memory: 0.25GiB; weights memory: 15.83GiB.\n"
          "Estimated CUDA graph memory: 0.97 GiB total\n"
          "CUDA graph pool memory: 0.85 GiB (actual), 0.97 GiB (estimated)\n")
          .starts.at(0);
  CHECK(gib(start, Q::activations) == Approx(2.23));
  CHECK(gib(start, Q::runtime) == Approx(0.25));
  CHECK(gib(start, Q::weights) == Approx(15.83));
  CHECK(gib(start, Q::graphs_counted) == Approx(0.97));
  CHECK(gib(start, Q::graphs) == Approx(0.85));
}

TEST_CASE("SGLang prints GiB as GB and keys beside values", "[engine_log]") {
  const EngineStart start = read_one("sglang.log");
  CHECK(start.engine == "sglang");
  CHECK(start.model == "meta-llama/Llama-3.1-8B-Instruct");
  CHECK(start.dtype == "bfloat16");
  CHECK(gib(start, Q::weights) == Approx(15.08));
  CHECK(gib(start, Q::kv_pool) == Approx(51.64));  // 25.82 + 25.82
  CHECK(plain(start, Q::kv_tokens) == 423064);
  CHECK(gib(start, Q::graphs) == Approx(1.25));
  CHECK(plain(start, Q::memory_fraction) == 0.85);
  CHECK(plain(start, Q::max_sequences) == 2048);
  CHECK(plain(start, Q::max_length) == 131072);
}

TEST_CASE("TensorRT-LLM and llama.cpp", "[engine_log]") {
  const EngineStart trt = read_one("trtllm.log");
  CHECK(trt.engine == "trtllm");
  CHECK(trt.version == "0.8.0");
  CHECK(plain(trt, Q::weights) == 12855.0 * 1048576);
  CHECK(plain(trt, Q::kv_pool) == 69524783104.0);
  CHECK(plain(trt, Q::kv_tokens) == 132608);

  const EngineStart local = read_one("llamacpp.log");
  CHECK(local.engine == "llamacpp");
  CHECK(local.version == "4589");
  CHECK(local.model == "/models/Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf");
  CHECK(local.quantization == "Q4_K_M");
  CHECK(local.kv_dtype == "q8_0");
  CHECK(plain(local, Q::weights) == Approx(4403.49 * 1048576));  // without what stays on the host
  CHECK(plain(local, Q::activations) == Approx(560.01 * 1048576));
  CHECK(plain(local, Q::kv_pool) == 3264.0 * 1048576);
  CHECK(plain(local, Q::kv_tokens) == 49152);
  CHECK(plain(local, Q::max_length) == 49152);
}

TEST_CASE("buffers of several devices and caches of windowed models add up", "[engine_log]") {
  const EngineStart start =
      read(
          "load_tensors:  CUDA0 model buffer size =  100.00 MiB\n"
          "load_tensors:  CUDA1 model buffer size =   50.00 MiB\n"
          "llama_kv_cache: size =  10.00 MiB ( 8192 cells,   4 layers,  1/1 seqs)\n"
          "llama_kv_cache: size =   5.00 MiB ( 1536 cells,  22 layers,  1/1 seqs)\n")
          .starts.at(0);
  CHECK(plain(start, Q::weights) == 150.0 * 1048576);
  CHECK(plain(start, Q::kv_pool) == 15.0 * 1048576);
  CHECK(plain(start, Q::kv_tokens) == 8192);
}

TEST_CASE("a log of several starts", "[engine_log]") {
  const std::string begin = "Initializing a V1 LLM engine (v0.11.0) with config: model='a'\n";
  const EngineLog log = read(begin + "Available KV cache memory: 10.5 GiB\n" + begin +
                             "Available KV cache memory: 12.5 GiB\n");
  REQUIRE(log.starts.size() == 2);
  CHECK(gib(log.starts[0], Q::kv_pool) == 10.5);
  CHECK(gib(log.starts[1], Q::kv_pool) == 12.5);
  CHECK(log.starts[1].line == 3);
}

TEST_CASE("lines that should state a figure and do not", "[engine_log]") {
  const auto reason = [](const std::string& text) {
    const EngineLog log = read(text);
    REQUIRE(log.broken == 1);
    return log.faults.at(0).json_pointer + " " + log.faults.at(0).reason;
  };
  CHECK(reason("ok\nAvailable KV cache memory: 45%\n") ==
        "line 2 \"Available KV cache memory: ...\": expected a size such as 12.5 GiB, found "
        "\"45%\"");
  CHECK(reason("Available KV cache memory: nan GiB\n").find("\"nan GiB\"") != std::string::npos);
  CHECK(reason("Model loading took 14.9 furlongs\n").find("furlongs") != std::string::npos);
  // The file ends within the number, or within the words behind it.
  CHECK(reason("# GPU blocks: 278").find("\"278\"") != std::string::npos);
  CHECK(reason("GPU KV cache size: 476,0").find("expected a number") != std::string::npos);
  CHECK(*read("# GPU blocks: 278\n").starts.at(0).kv_tokens() == 4448);
  CHECK(gib(read("Available KV cache memory: -1.5 GiB\n").starts.at(0), Q::kv_pool) == -1.5);
}

TEST_CASE("what is no log, and lines of any length", "[engine_log]") {
  CHECK(read("").starts.empty());
  CHECK(read("hello\n\nworld").starts.empty());
  CHECK_THROWS_WITH(read(std::string("ELF\0\0", 5)), Catch::Contains("line 1: is binary"));
  CHECK_THROWS_WITH(read("\xFF\xFEI\0N"), Catch::Contains("UTF-16"));
  const std::string huge(3'000'000, 'x');
  const EngineLog log =
      read(huge + "\nGPU KV cache size: 1,000 tokens\n" + huge + huge + "\n# GPU blocks: 7\n");
  REQUIRE(log.starts.size() == 1);
  CHECK(log.starts[0].figure(Q::kv_tokens)->line == 2);
  CHECK(log.starts[0].figure(Q::kv_blocks)->line == 4);
}
