#include "io/import/log_phrases.hpp"

namespace tokenroof::io {
namespace {

using Q = LogQuantity;
using V = LogValue;
using M = LogMerge;

constexpr LogPhrase size(std::string_view engine, std::string_view words, Q quantity, M merge,
                         std::string_view then = {}, std::string_view after = {},
                         std::string_view plus = {}) {
  return {engine, words, then, after, V::size, quantity, merge, plus};
}
constexpr LogPhrase device_size(std::string_view words, Q quantity, std::string_view then) {
  LogPhrase phrase = size("llamacpp", words, quantity, M::sum, then);
  phrase.device_only = true;
  return phrase;
}
constexpr LogPhrase count(std::string_view engine, std::string_view words, Q quantity,
                          M merge = M::last, std::string_view then = {},
                          std::string_view after = {}) {
  return {engine, words, then, after, V::count, quantity, merge};
}
constexpr LogPhrase number(std::string_view engine, std::string_view words, Q quantity,
                           M merge = M::last, std::string_view then = {},
                           std::string_view after = {}) {
  return {engine, words, then, after, V::number, quantity, merge};
}
constexpr LogPhrase text(std::string_view engine, std::string_view words,
                         std::string EngineStart::*member, std::string_view then = {},
                         bool begins = false, std::string_view after = {}) {
  return {engine, words, then, after, V::text, Q::weights, M::last, {}, member, begins};
}
constexpr LogPhrase refusal(std::string_view engine, std::string_view words) {
  return {engine, words, {}, {}, V::nothing};
}

constexpr LogPhrase phrases[] = {
    // vLLM. Announcements and settings.
    text("vllm", "vLLM API server version ", &EngineStart::version, {}, true),
    text("vllm", "LLM engine (v", &EngineStart::version, {}, true),
    text("vllm", "Initializing an LLM engine with config: ", &EngineStart::model, "model='", true),
    text("vllm", "with config: model=", &EngineStart::model),
    text("vllm", ", dtype=torch.", &EngineStart::dtype),
    text("vllm", ", quantization=", &EngineStart::quantization),
    text("vllm", "kv_cache_dtype=", &EngineStart::kv_dtype),
    count("vllm", "max_seq_len=", Q::max_length),
    count("vllm", "tensor_parallel_size=", Q::tensor_parallel),
    count("vllm", "pipeline_parallel_size=", Q::pipeline_parallel),
    count("vllm", "data_parallel_size=", Q::data_parallel),
    count("vllm", "tensor_parallel_size': ", Q::tensor_parallel),
    count("vllm", "pipeline_parallel_size': ", Q::pipeline_parallel),
    count("vllm", "data_parallel_size': ", Q::data_parallel),
    count("vllm", "max_num_seqs=", Q::max_sequences),
    count("vllm", "max_num_seqs': ", Q::max_sequences),
    count("vllm", "max_num_batched_tokens=", Q::max_batched_tokens),
    count("vllm", "max_num_batched_tokens': ", Q::max_batched_tokens),
    number("vllm", "gpu_memory_utilization=", Q::memory_fraction),
    number("vllm", "gpu_memory_utilization': ", Q::memory_fraction),
    number("vllm", "gpu_memory_utilization (", Q::memory_fraction, M::last, {}, ")"),
    // Memory: 0.2 to 0.8, the profile of 0.6.4 to 0.8 in one line, then 0.8 to 0.29.
    size("vllm", "Loading model weights took ", Q::weights, M::largest),
    size("vllm", "Model loading took ", Q::weights, M::largest),
    size("vllm", "total_gpu_memory (", Q::visible, M::smallest),
    size("vllm", "total_gpu_memory=", Q::visible, M::smallest),
    size("vllm", "non_torch_memory=", Q::runtime, M::largest),
    size("vllm", "kv_cache_size=", Q::kv_pool, M::smallest),
    size("vllm", "model weights take ", Q::weights, M::largest),
    size("vllm", "non_torch_memory takes ", Q::runtime, M::largest),
    size("vllm", "PyTorch activation peak memory takes ", Q::activations, M::largest),
    size("vllm", "memory reserved for KV Cache is ", Q::kv_pool, M::smallest),
    size("vllm", "torch peak memory increase: ", Q::activations, M::largest),
    size("vllm", "non-torch forward increase memory: ", Q::runtime, M::largest),
    size("vllm", "; weights memory: ", Q::weights, M::largest),
    size("vllm", "Available KV cache memory: ", Q::kv_pool, M::smallest),
    size("vllm", "available KV cache memory (", Q::kv_pool, M::smallest),
    size("vllm", "Graph capturing finished in ", Q::graphs, M::largest, "took "),
    size("vllm", "CUDA graph pool memory: ", Q::graphs, M::largest, {}, " (actual"),
    size("vllm", "Estimated CUDA graph memory: ", Q::graphs_counted, M::largest),
    count("vllm", "# GPU blocks: ", Q::kv_blocks, M::smallest),
    count("vllm", "# CUDA blocks: ", Q::kv_blocks, M::smallest),
    count("vllm", "# cuda blocks: ", Q::kv_blocks, M::smallest),
    count("vllm", "GPU KV cache size: ", Q::kv_tokens, M::smallest, {}, " tokens"),
    count("vllm", "Maximum concurrency for ", Q::concurrency_length, M::last, {}, " tokens"),
    number("vllm", "Maximum concurrency for ", Q::concurrency, M::smallest, "request: ", "x"),
    count("vllm", "max seq len (", Q::max_length, M::last, {}, ")"),
    refusal("vllm", "To serve at least one request with the model"),
    refusal("vllm", "No available memory for the cache blocks"),
    // SGLang.
    text("sglang", "server_args=ServerArgs(", &EngineStart::model, "model_path='", true),
    count("sglang", ", tp_size=", Q::tensor_parallel),
    count("sglang", ", pp_size=", Q::pipeline_parallel),
    count("sglang", ", dp_size=", Q::data_parallel),
    number("sglang", "mem_fraction_static=", Q::memory_fraction),
    count("sglang", "max_running_requests=", Q::max_sequences),
    count("sglang", "chunked_prefill_size=", Q::max_batched_tokens),
    count("sglang", ", context_len=", Q::max_length),
    text("sglang", "Load weight end.", &EngineStart::dtype, "dtype=torch."),
    size("sglang", "Load weight end.", Q::weights, M::largest, "mem usage="),
    size("sglang", "apture cuda graph end.", Q::graphs, M::largest, "mem usage="),
    count("sglang", "KV Cache is allocated.", Q::kv_tokens, M::smallest, "#tokens: ", ","),
    size("sglang", "KV Cache is allocated.", Q::kv_pool, M::smallest, ", K size: ", {}, "V size: "),
    size("sglang", "KV Cache is allocated.", Q::kv_pool, M::smallest, "KV size: "),
    count("sglang", "max_total_num_tokens=", Q::kv_tokens, M::smallest, {}, ","),
    // TensorRT-LLM.
    text("trtllm", "TensorRT-LLM version: ", &EngineStart::version, {}, true),
    text("trtllm", "TensorRT LLM version: ", &EngineStart::version, {}, true),
    count("trtllm", "TRTGptModel maxSequenceLen: ", Q::max_length),
    count("trtllm", "TRTGptModel maxBatchSize: ", Q::max_sequences),
    count("trtllm", "TRTGptModel maxNumTokens: ", Q::max_batched_tokens),
    count("trtllm", "Number of tokens per block: ", Q::block_tokens),
    count("trtllm", "Number of blocks in KV cache primary pool: ", Q::kv_blocks, M::smallest),
    size("trtllm", "Loaded engine size: ", Q::weights, M::largest),
    size("trtllm", "Allocated ", Q::activations, M::largest, {}, " for execution context memory"),
    size("trtllm", "Allocated ", Q::kv_pool, M::smallest, {}, " for max tokens in paged KV cache"),
    size("trtllm", "Allocate ", Q::kv_pool, M::smallest, {}, " for k/v cache"),
    count("trtllm", "max tokens in paged KV cache (", Q::kv_tokens, M::smallest, {}, ")"),
    count("trtllm", "Using ", Q::kv_tokens, M::smallest, {}, " tokens in paged KV cache"),
    size("trtllm", "Memory usage when calculating max tokens", Q::visible, M::smallest, "total: "),
    // llama.cpp: buffers of several devices add up, and so do the caches of windowed models.
    text("llamacpp", "build: ", &EngineStart::version, {}, true, " ("),
    text("llamacpp", "llama_model_loader: loaded meta data", &EngineStart::model, "from ", true),
    text("llamacpp", "file type", &EngineStart::quantization, "= "),
    text("llamacpp", "type_k = '", &EngineStart::kv_dtype),
    text("llamacpp", "llama_kv_cache", &EngineStart::kv_dtype, " K ("),
    text("llamacpp", "KV self size", &EngineStart::kv_dtype, " K ("),
    count("llamacpp", "n_ctx ", Q::max_length, M::last, "= "),
    device_size("load_tensors: ", Q::weights, "buffer size ="),
    device_size("compute buffer size", Q::activations, "="),
    size("llamacpp", "KV self size", Q::kv_pool, M::sum, "="),
    size("llamacpp", "llama_kv_cache", Q::kv_pool, M::sum, ": size =", " ("),
    count("llamacpp", "llama_kv_cache", Q::kv_tokens, M::largest, "MiB (", " cells"),
};

}  // namespace

std::span<const LogPhrase> log_phrases() { return phrases; }

}  // namespace tokenroof::io
