// Dense matrix multiplies: m rows x k times k x n. Timings of quantised types include the kernel
// that quantises the rows.
#include <array>

#include "io/validate/kernel_row.hpp"

namespace tokenroof::io {
namespace {

struct Multiply {
  std::string_view name;
  Format format;
};
constexpr std::array<Multiply, 5> multiplies = {{{"bfloat16", formats::bf16},
                                                 {"float16", formats::fp16},
                                                 {"fp8", formats::fp8},
                                                 {"fp8_block", formats::fp8_block},
                                                 {"nvfp4", formats::nvfp4}}};

constexpr std::array<std::string_view, 6> columns = {"gpu", "gemm_dtype", "m",
                                                     "n",   "k",          "latency_ms"};

void predict(Row& row, Lookups& lookups) {
  const KernelRow kernel(row, lookups);
  const Format& format = named(row, "gemm_dtype", multiplies).format;
  row.group("dtype", row.text("gemm_dtype"));
  Matmul op;
  op.multiply = kernel.multiply(format);
  op.n = row.count("n");
  op.k = row.count("k");
  op.bytes_per_weight = op.input_bytes = format.bytes_per_element;
  op.dynamic_scales = format.quantizes_activations;
  const double separate = 1;  // the quantisation kernel is in the timing
  kernel.predict(kernel::matmul(kernel.context, op, row.count("m"), separate));
}

}  // namespace

extern const Kind gemm_kind{"gemm", columns, predict};

}  // namespace tokenroof::io
