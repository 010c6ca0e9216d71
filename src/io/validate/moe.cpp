// The routed experts of one layer on the busiest rank: permutation, both grouped multiplies,
// activation, quantisation, weighted sum. `tokens` enter the whole expert-parallel group.
#include <array>

#include "io/validate/kernel_row.hpp"

namespace tokenroof::io {
namespace {

struct ExpertType {
  std::string_view name;
  DataType multiply;
  double weight_bytes;  ///< per element, scales included
  double input_bytes;
  bool weight_only = false;
};
constexpr std::array<ExpertType, 8> types = {{
    {"bfloat16", DataType::bf16, 2, 2},
    {"float16", DataType::fp16, 2, 2},
    {"fp8", DataType::fp8, 1, 1},
    {"fp8_block", DataType::fp8, formats::fp8_block.bytes_per_element, 1},
    {"nvfp4", DataType::fp4, formats::nvfp4.bytes_per_element, formats::nvfp4.bytes_per_element},
    {"int4_wo", DataType::bf16, formats::int4.bytes_per_element, 2, true},
    {"w4a16_mxfp4", DataType::bf16, formats::mxfp4.bytes_per_element, 2, true},
    {"w4a8_mxfp4_mxfp8", DataType::fp8, formats::mxfp4.bytes_per_element,
     formats::mxfp8.bytes_per_element},
}};

/// Routings that the benchmark draws tokens from. A power law over experts has this coefficient of
/// variation of their popularity, read off the benchmark's own generator.
struct Routing {
  std::string_view name;
  double skew;  ///< 0: every expert is equally busy
};
constexpr std::array<Routing, 3> routings = {
    {{"balanced", 0}, {"power_law_1.01", 1.5}, {"power_law_1.2", 1.9}}};

constexpr std::array<std::string_view, 11> columns = {
    "gpu",         "moe_dtype", "tokens", "hidden",  "expert_intermediate", "experts_per_token",
    "num_experts", "moe_tp",    "moe_ep", "routing", "latency_ms"};

void predict(Row& row, Lookups& lookups) {
  const KernelRow kernel(row, lookups);
  const ExpertType& type = named(row, "moe_dtype", types);
  const double skew = named(row, "routing", routings).skew;
  row.group("dtype", type.name);
  Experts op;
  op.multiply = kernel.multiply(type.multiply);
  op.bytes_per_weight = type.weight_bytes;
  op.input_bytes = type.input_bytes;
  // Devices with 4-bit units take mx weights as they are, beside 16-bit rows too.
  const bool native = kernel.multiply(formats::mxfp4) == DataType::fp8;
  const bool mx = type.name == "w4a16_mxfp4";
  op.weight_only = type.weight_only && !(native && mx);
  op.fast_unpack = mx && unpacks_fast(kernel.device.accelerator, formats::mxfp4);
  op.experts = row.count("num_experts");
  op.top_k = row.count("experts_per_token");
  if (op.top_k > op.experts)
    row.fail("experts_per_token", fmt::format("{} of {} experts", op.top_k, op.experts));
  op.expert_parallel = row.count("moe_ep");
  if (op.expert_parallel > op.experts)
    row.fail("moe_ep", fmt::format("{} ranks for {} experts", op.expert_parallel, op.experts));
  op.local_experts = op.experts / op.expert_parallel;
  op.input = row.count("hidden");
  op.width = row.count("expert_intermediate") / row.count("moe_tp");

  const double tokens = row.count("tokens");
  kernel::RoutingLoad<double> load;
  load.assignments = tokens * op.top_k / op.expert_parallel;
  load.distinct = std::min(op.local_experts, std::max(1.0, load.assignments));
  if (skew > 0) load = kernel::skewed_routing(op, tokens, skew);
  kernel.predict(kernel::experts(kernel.context, op, tokens, load.assignments, load.distinct));
}

}  // namespace

extern const Kind moe_kind{"moe", columns, predict};

}  // namespace tokenroof::io
