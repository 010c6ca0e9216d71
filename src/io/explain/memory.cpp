// Weights, pool, concurrency, context; bytes of a cached token; lengths.
#include <fmt/format.h>

#include <algorithm>

#include "explainer.hpp"

namespace tokenroof::io {
namespace {

void weights(Explainer& to) {
  const MemoryPlan& plan = to.answer.memory;
  const Precision& precision = to.scenario.precision;
  for (std::size_t i = 0; i < part_count; ++i) {
    const Part part = static_cast<Part>(i);
    const double bytes = plan.weights_by_part.of(part).base();
    if (bytes <= 0) continue;
    const Format& format = precision.of(part);
    to.input(fmt::format("b_{}", to_string(part)), fmt::format("bytes per weight, {}", format.name),
             format.bytes_per_element, "B", to.stated("/precision/weights"));
    to.part(fmt::format("{}: {} weights of {} bytes", to_string(part),
                        amount(bytes / format.bytes_per_element, "1"), format.bytes_per_element),
            bytes, "B");
  }
  to.input("t", "tensor parallel degree", to.scenario.deployment.tensor_parallel, "",
           to.stated("/deployment/tensor_parallel"));
  const double attached = plan.weights_by_part.attachments.base();
  if (attached > 0) to.part("towers and prediction layers that are loaded", attached, "B");
  const double rest = (plan.weights - plan.weights_by_part.total()).base();
  if (rest != 0) to.part("up to whole bytes", rest, "B");
  to.step("sum", plan.weights.base(), "B");
}

void pool(Explainer& to) {
  const MemoryPlan& plan = to.answer.memory;
  to.input("visible", "memory that the driver shows", plan.visible.base(), "B",
           to.device("memory_visible"));
  to.input("fraction", "share the engine may fill", to.scenario.engine.memory_fraction, "1",
           to.stated("/engine/memory_fraction"));
  to.part("budget: the fraction of visible memory", plan.budget.base(), "B");
  for (const MemoryLine& line : plan.lines())
    if (line.name != "kv_pool" && line.name != "unclaimed" && line.bytes > Bytes{})
      to.part(fmt::format("less {} ({})", line.name,
                          line.name == "weights" ? "explain memory.weights_bytes_per_device"
                                                 : "reserve of engine " + to.scenario.engine.name),
              -line.bytes.base(), "B");
  if (plan.deficit > Bytes{}) to.part("too little: the pool is empty", plan.deficit.base(), "B");
  to.step("sum", plan.kv_pool.base(), "B");
}

void capacity(Explainer& to, std::string_view metric) {
  const MemoryPlan& plan = to.answer.memory;
  to.input("pool", "KV pool of a device", plan.kv_pool.base(), "B",
           "explain memory.kv_pool_bytes_per_device");
  to.input("S", "tokens of a sequence at its end", plan.context.base(), "token",
           std::holds_alternative<SingleStep>(to.scenario.workload.traffic)
               ? to.stated("/workload/context_tokens")
               : to.stated("/workload/input_tokens") + "; " + to.stated("/workload/output_tokens"));
  if (metric == "memory.max_context") {
    const double stated = static_cast<double>(to.scenario.model.maximum_context);
    if (stated > 0)
      to.input("S_max", "longest context the model states", stated, "token",
               to.model("max_position_embeddings"));
    to.step(fmt::format("longest S with KV(S) <= {}", amount(plan.kv_pool.base(), "B")),
            plan.pool_context.base(), "token");
    to.step("at most what the model states", plan.max_context.base(), "token");
    return;
  }
  to.step("KV(S): reserved for such a sequence, whole blocks", plan.kv_per_sequence.base(), "B");
  if (plan.blocks > 0) to.step("blocks of the pool", plan.blocks, "");
  if (metric == "memory.kv_tokens") {
    to.step(fmt::format("tokens that {} hold, as the engine counts them",
                        amount(plan.kv_pool.base(), "B")),
            plan.kv_tokens.base(), "token");
    return;
  }
  to.input("ranks", "attention data parallel degree",
           to.scenario.deployment.attention_data_parallel, "",
           to.stated("/deployment/attention_data_parallel"));
  to.step(fmt::format("pool / KV(S) = {} / {}", amount(plan.kv_pool.base(), "B"),
                      amount(plan.kv_per_sequence.base(), "B")),
          plan.concurrency, "");
  to.step("whole sequences x attention ranks", plan.max_concurrency.base(), "request");
}

void kv_bytes(Explainer& to) {
  const Model& model = to.scenario.model;
  const Format& format = to.scenario.precision.kv_cache;
  to.input("b_k", fmt::format("bytes of a cache element, {}", format.name),
           format.bytes_per_element, "B", to.stated("/precision/kv_cache"));
  double sum = 0;
  std::vector<std::string> shapes;
  for (const LayerGroup& group : model.groups) {
    const Attention& a = group.attention;
    const double bytes = layer_kv_bytes_per_token(a, format);
    if (bytes <= 0 || a.window > 0) continue;  // windows keep a constant
    const bool latent = a.kind == AttentionKind::latent;
    const std::string shape =
        latent ? fmt::format("({} + {}) elements", a.latent_rank, a.rotary_dim)
               : fmt::format("{} KV heads x ({} + {})", a.kv_heads, a.key_dim, a.value_dim);
    const double total = group.count * bytes / a.compress_ratio;
    to.part(fmt::format("{}: {} layers x {} x {} B{}", group.name, group.count, shape,
                        format.bytes_per_element,
                        a.compress_ratio > 1 ? fmt::format(" / {}", a.compress_ratio) : ""),
            total, "B/token");
    sum += total;
    // Groups of another shape than the first add inputs of their own.
    const std::string of = shapes.empty() ? "" : " of " + group.name;
    if (std::find(shapes.begin(), shapes.end(), shape) != shapes.end()) continue;
    shapes.push_back(shape);
    const auto size = [&](const char* symbol, const char* meaning, double value, const char* key) {
      to.input(symbol + of, meaning, value, "", to.model(key));
    };
    if (latent) {
      size("d_c", "width of a latent cache entry", a.latent_rank, "kv_lora_rank");
      size("d_r", "width of its rotary part", a.rotary_dim, "qk_rope_head_dim");
      continue;
    }
    size("n_kv", "KV heads", a.kv_heads, "num_key_value_heads");
    size("d_h", "head size", a.key_dim, "head_dim (or hidden_size / num_attention_heads)");
    if (a.value_dim != a.key_dim) size("d_v", "head size of values", a.value_dim, "v_head_dim");
  }
  to.input("L", "layers", model.layers(), "", to.model("num_hidden_layers"));
  to.result.value = sum;
  to.step("sum: growth of the whole model's cache per token", sum, "B/token");
}

/// S = E[P] + E[O] (1 + c^2) / 2, or the context that a step is asked at.
void live_context(Explainer& to) {
  const WorkloadLengths& lengths = to.replica.lengths;
  if (std::holds_alternative<SingleStep>(to.scenario.workload.traffic)) {
    to.step("as asked: " + to.stated("/workload/context_tokens"), lengths.live, "token");
    return;
  }
  to.input("P", "mean prompt", lengths.prompt, "token", to.stated("/workload/input_tokens"));
  to.input("O", "mean output", lengths.output, "token", to.stated("/workload/output_tokens"));
  to.input("c_O^2", "squared coefficient of variation of outputs",
           to.scenario.workload.lengths.squared_cv(lengths.output), "1",
           to.stated("/workload/lengths"));
  to.part("mean prompt", lengths.prompt, "token");
  to.part("half of the output, longer ones more often seen", lengths.live - lengths.prompt,
          "token");
  to.step("sum", lengths.live, "token");
}

}  // namespace

bool explain_memory(Explainer& to, std::string_view metric) {
  if (metric == "memory.weights_bytes_per_device") {
    weights(to);
  } else if (metric == "memory.kv_pool_bytes_per_device") {
    pool(to);
  } else if (metric == "kv_bytes_per_token") {
    kv_bytes(to);
  } else if (metric == "decode.context_tokens") {
    live_context(to);
  } else if (metric.starts_with("memory.")) {
    capacity(to, metric);
  } else {
    return false;
  }
  return true;
}

}  // namespace tokenroof::io
