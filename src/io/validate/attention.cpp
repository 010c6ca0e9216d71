// Attention of one layer with grouped KV heads: decode (one new token a sequence) and prefill.
#include <array>

#include "io/validate/kernel_row.hpp"

namespace tokenroof::io {
namespace {

struct Cache {
  std::string_view name;
  Format format;
};
constexpr std::array<Cache, 5> caches = {{{"bfloat16", formats::bf16},
                                          {"float16", formats::fp16},
                                          {"fp8", formats::fp8},
                                          {"fp8_e4m3", formats::fp8},
                                          {"fp8_e5m2", formats::fp8}}};

constexpr std::array<std::string_view, 9> decode_columns = {
    "gpu",      "kv_cache_dtype", "batch",         "context_tokens", "query_heads",
    "kv_heads", "head_dim",       "window_tokens", "latency_ms"};
constexpr std::array<std::string_view, 10> prefill_columns = {
    "gpu",      "kv_cache_dtype", "batch",         "input_tokens",  "query_heads",
    "kv_heads", "head_dim",       "window_tokens", "prefix_tokens", "latency_ms"};

AttentionCore core_of(Row& row, const KernelRow& kernel) {
  const Format& cache = named(row, "kv_cache_dtype", caches).format;
  row.group("dtype", row.text("kv_cache_dtype"));
  AttentionCore core;
  core.multiply = kernel.multiply(DataType::bf16);
  core.query_heads = row.count("query_heads");
  core.kv_heads = core.prefill_kv_heads = row.count("kv_heads");
  if (core.kv_heads > core.query_heads)
    row.fail("kv_heads",
             fmt::format("{} KV heads for {} query heads", core.kv_heads, core.query_heads));
  const double head = row.count("head_dim");
  core.score_dim = core.value_dim = core.prefill_score_dim = core.prefill_value_dim = head;
  core.cache_bytes_per_token = 2 * head * core.kv_heads * cache.bytes_per_element;
  core.small_cache = cache.bytes_per_element <= 1;
  core.window = row.count("window_tokens", 0);
  return core;
}

void predict_decode(Row& row, Lookups& lookups) {
  const KernelRow kernel(row, lookups);
  const AttentionCore core = core_of(row, kernel);
  const StepLoad<double> load = decode_load(row.count("batch"), row.count("context_tokens"));
  kernel.predict(kernel::decode_attention(kernel.context, core, load));
}

void predict_prefill(Row& row, Lookups& lookups) {
  const KernelRow kernel(row, lookups);
  const AttentionCore core = core_of(row, kernel);
  const StepLoad<double> load =
      prefill_load(row.count("batch"), row.count("input_tokens"), row.count("prefix_tokens", 0));
  kernel.predict(kernel::prefill_attention(kernel.context, core, load));
}

}  // namespace

extern const Kind attention_decode_kind{"attention_decode", decode_columns, predict_decode};
extern const Kind attention_prefill_kind{"attention_prefill", prefill_columns, predict_prefill};

}  // namespace tokenroof::io
