#include "tokenroof/io/kernels_io.hpp"

#include "constants_table.hpp"

namespace tokenroof::io {
namespace {

constexpr Range share = Range::share();
constexpr Range any_time = Range::non_negative();

// The one place that knows which name in the file is which constant.
using K = KernelConstants;
constexpr ConstantField<K> fields[] = {
    {"matmul_compute_16bit", &K::matmul_compute_16bit, share},
    {"matmul_compute_8bit", &K::matmul_compute_8bit, share},
    {"weight_stream", &K::weight_stream, share},
    {"matmul_fixed", &K::matmul_fixed_s, any_time, time_constant},
    {"matmul_loop", &K::matmul_loop_s, any_time, time_constant},
    {"quantize_element", &K::quantize_element_s, any_time, time_constant},
    {"attention_stream", &K::attention_stream, share},
    {"attention_compute", &K::attention_compute, share},
    {"attention_fixed", &K::attention_fixed_s, any_time, time_constant},
    {"attention_fixed_8bit", &K::attention_fixed_8bit_s, any_time, time_constant},
    {"attention_item", &K::attention_item_s, any_time, time_constant},
    {"attention_context", &K::attention_context_s, any_time, time_constant},
    {"attention_write", &K::attention_write_s, any_time, time_constant},
    {"experts_compute", &K::experts_compute, share},
    {"unpack_flops", &K::unpack_flops, Range::positive(), flop_rate_constant},
    {"experts_fixed", &K::experts_fixed_s, any_time, time_constant},
    {"experts_each", &K::experts_each_s, any_time, time_constant},
    {"experts_unpack_spread", &K::experts_unpack_spread_s, any_time, time_constant},
    {"recurrent_stream", &K::recurrent_stream, share},
    {"recurrent_compute", &K::recurrent_compute, share},
    {"exchange", &K::exchange_s, any_time, time_constant},
    {"ring_step", &K::ring_step_s, any_time, time_constant},
    {"link_share", &K::link_share, share},
    {"bus_share", &K::bus_share, share},
};
static_assert(sizeof(fields) / sizeof(fields[0]) == sizeof(K) / sizeof(double),
              "a member of KernelConstants has no name in the file");

}  // namespace

KernelEntry read_kernels(std::string_view json_text, const std::string& file) {
  const Json json = parse_json(json_text, file);
  Faults faults(file);
  ObjectReader reader(json, "", faults);
  KernelEntry entry;
  reader.ignore("$schema");
  if (reader.required("constants") != nullptr)
    entry.notes =
        read_constants<K>(*reader.object("constants"), fields, entry.constants, {.most = 24});
  reader.finish();
  faults.throw_if_any();
  return entry;
}

std::string write_kernels(const KernelEntry& entry) {
  Json json = Json::object();
  json["constants"] = write_constants<K>(fields, entry.constants, {}, entry.notes);
  return json.dump(2) + "\n";
}

}  // namespace tokenroof::io
