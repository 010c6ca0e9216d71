// Messages between the devices of a node: all-reduces captured in a graph, and NCCL's rings.
// `message_elements` are those of the full tensor: the vector that every rank reduces, the gathered
// output, the input of a rank that is scattered.
#include <array>

#include "io/validate/kernel_row.hpp"
#include "tokenroof/physics/messages.hpp"

namespace tokenroof::io {
namespace {

struct Element {
  std::string_view name;
  double bytes;
};
constexpr std::array<Element, 7> elements = {{{"bfloat16", 2},
                                              {"float16", 2},
                                              {"half", 2},
                                              {"float", 4},
                                              {"float32", 4},
                                              {"int8", 1},
                                              {"fp8", 1}}};

/// A ring over n ranks: so many steps, so many times the message sent by each rank.
struct Ring {
  std::string_view name;
  double (*steps)(double n);
  double (*volume)(double n);
};
constexpr double share_sent(double n) { return (n - 1) / n; }
constexpr std::array<Ring, 4> rings = {{
    {"all_reduce", [](double n) { return 2 * (n - 1); },
     [](double n) { return 2 * share_sent(n); }},
    {"all_gather", [](double n) { return n - 1; }, share_sent},
    {"reduce_scatter", [](double n) { return n - 1; }, share_sent},
    {"alltoall", [](double) { return 1.0; }, share_sent},
}};

constexpr std::array<std::string_view, 6> allreduce_columns = {
    "gpu", "kernel_source", "dtype", "gpus", "message_elements", "latency_ms"};
constexpr std::array<std::string_view, 6> nccl_columns = {"gpu",  "collective",       "dtype",
                                                          "gpus", "message_elements", "latency_ms"};

double message_bytes(Row& row) {
  const Element& element = named(row, "dtype", elements);
  row.group("dtype", element.name);
  return row.count("message_elements") * element.bytes;
}

void predict_allreduce(Row& row, Lookups& lookups) {
  const KernelRow kernel(row, lookups);
  Message op;
  op.layers = 1;
  op.ranks = row.count("gpus", 2);
  op.bytes_per_row = message_bytes(row);
  const MessageTime<double> time =
      message_time(lookups.kernels(), kernel.device.machine, op, decode_load(1.0, 0.0));
  kernel.predict(time.transfer + time.latency);
}

void predict_nccl(Row& row, Lookups& lookups) {
  const KernelRow kernel(row, lookups);
  const Ring& ring = named(row, "collective", rings);
  row.group("collective", ring.name);
  const double bytes = message_bytes(row);
  const double ranks = row.count("gpus", 2);
  const Machine<double>& machine = kernel.device.machine;
  if (ranks > machine.domain)
    row.fail("gpus", fmt::format("rings beyond one fabric of {} devices are not predicted here",
                                 machine.domain));
  const MessageTime<double> time =
      message::ring(lookups.kernels(), bytes, ring.steps(ranks), ring.volume(ranks),
                    message::inside(lookups.kernels(), machine, ranks));
  kernel.predict(time.transfer + time.latency);
}

}  // namespace

extern const Kind allreduce_kind{"allreduce", allreduce_columns, predict_allreduce};
extern const Kind nccl_kind{"nccl", nccl_columns, predict_nccl};

}  // namespace tokenroof::io
