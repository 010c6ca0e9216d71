// An accelerator as its datasheet states it: dense peaks, one direction of each link.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "tokenroof/core/units.hpp"
#include "tokenroof/describe/precision.hpp"

namespace tokenroof {

/// A link between devices, per device and per direction.
struct Link {
  std::string kind;                ///< nvlink4, pcie5, infinity_fabric, ... or ethernet
  BytesPerSecond bandwidth;        ///< one direction of one device
  std::optional<Seconds> latency;  ///< of one message; unset: the constant of the link kind
  int domain_size = 1;             ///< devices on this fabric; 1: no fast fabric, only the host bus
  bool switched = false;           ///< every pair has the full bandwidth at once
};

/// One device.
struct Accelerator {
  std::string id;
  std::string name;
  std::string vendor;
  std::string architecture;
  /// Dense peak by type, 0 where the device has no such unit. Sparse marketing peaks never.
  std::array<FlopsPerSecond, data_type_count> dense_peak{};
  BytesPerSecond memory_bandwidth;
  Bytes memory_nominal;     ///< as sold
  Bytes memory_visible;     ///< what the driver shows: plans use this
  Bytes l2_cache;           ///< 0: unknown
  int multiprocessors = 0;  ///< 0: unknown
  Link scale_up;
  std::optional<Link> scale_out;
  std::optional<Watts> power;
  std::optional<DollarsPerSecond> price;
  std::string price_as_of;
  std::optional<Dollars> capex;

  [[nodiscard]] FlopsPerSecond peak(DataType type) const {
    return dense_peak[static_cast<std::size_t>(type)];
  }
};

/// The type a multiply in `format` really runs in: the first of the wish, the wider types of its
/// kind, bf16, fp16, tf32, fp32 that the device has a peak for.
[[nodiscard]] inline DataType multiply_type(const Accelerator& device, DataType wish) {
  const auto has = [&](DataType type) { return device.peak(type) > FlopsPerSecond{}; };
  if (has(wish)) return wish;
  if (wish == DataType::fp4 && has(DataType::fp8)) return DataType::fp8;
  if (wish == DataType::int4 && has(DataType::int8)) return DataType::int8;
  for (const DataType type : {DataType::bf16, DataType::fp16, DataType::tf32, DataType::fp32})
    if (has(type)) return type;
  return DataType::fp32;
}

/// The type a multiply with weights in `format` runs in. Block-scaled fp8 needs the accumulation of
/// Hopper and later: before, it runs at the 16-bit rate. Only devices with 4-bit units multiply mx
/// formats as they are, and then with 8-bit rows.
[[nodiscard]] inline DataType multiply_type(const Accelerator& device, const Format& format) {
  DataType wish = format.multiply;
  if (format == formats::fp8_block && device.architecture == "ada") wish = DataType::bf16;
  if (format == formats::mxfp4 && device.peak(DataType::fp4) > FlopsPerSecond{})
    wish = DataType::fp8;
  return multiply_type(device, wish);
}

/// Whether kernels for weights in `format` unpack them once for many rows, beside the multiply.
/// Those for mx weights do, which feed the asynchronous multiplies of Hopper; those for integers,
/// and for older devices, unpack again for every block of rows (timed: 1.6 times slower at large
/// batches).
[[nodiscard]] inline bool unpacks_fast(const Accelerator& device, const Format& format) {
  return format == formats::mxfp4 && device.architecture == "hopper";
}

}  // namespace tokenroof
