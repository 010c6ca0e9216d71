// The rates of one device and its links, over a scalar: what sensitivities differentiate by.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "tokenroof/core/scalar.hpp"
#include "tokenroof/core/units.hpp"
#include "tokenroof/describe/accelerator.hpp"
#include "tokenroof/describe/deployment.hpp"

namespace tokenroof {

/// Datasheet rates of one device. `scale_out_bandwidth` is 0 where there is no network.
template <Scalar S = double>
struct Machine {
  S memory_bandwidth = S(0);              ///< B/s
  std::array<S, data_type_count> peak{};  ///< FLOP/s, dense; 0: none
  S link_bandwidth = S(0);                ///< B/s, one direction, inside the fast domain
  S network_bandwidth = S(0);             ///< B/s, one direction, between domains
  double link_latency = -1;               ///< s; negative: the constant of the link kind
  double network_latency = -1;
  double domain = 1;               ///< devices on the fast fabric (or on one host bus)
  bool mesh = false;               ///< fast fabric of single links from each device to each other
  bool host_bus = false;           ///< the "fast" link is PCIe
  DataType wide = DataType::bf16;  ///< the 16-bit type the device multiplies in
  bool tensor_units = true;        ///< multiplies faster than its vector units do
  double processors = 1;           ///< multiprocessors, or their equivalent
  double latency_factor = 1;       ///< fixed times relative to 5 TFLOP/s per processor

  [[nodiscard]] const S& peak_of(DataType type) const {
    return peak[static_cast<std::size_t>(type)];
  }
};

/// The rates of `device`. Devices without a fast fabric share the host bus of a node.
[[nodiscard]] inline Machine<double> machine_of(const Accelerator& device,
                                                const Deployment& deployment) {
  Machine<double> machine;
  machine.memory_bandwidth = device.memory_bandwidth.base();
  for (std::size_t i = 0; i < data_type_count; ++i) machine.peak[i] = device.dense_peak[i].base();
  machine.link_bandwidth = device.scale_up.bandwidth.base();
  if (device.scale_up.latency) machine.link_latency = device.scale_up.latency->base();
  machine.host_bus = device.scale_up.domain_size <= 1;
  machine.domain = machine.host_bus ? deployment.devices_per_node : device.scale_up.domain_size;
  // Larger domains without a switch are tori, on which a ring keeps its links whatever its length.
  machine.mesh = !machine.host_bus && !device.scale_up.switched && machine.domain <= 8;
  if (device.scale_out) {
    machine.network_bandwidth = device.scale_out->bandwidth.base();
    if (device.scale_out->latency) machine.network_latency = device.scale_out->latency->base();
  }
  machine.wide = multiply_type(device, DataType::bf16);
  machine.tensor_units = machine.peak_of(machine.wide) > 1.5 * machine.peak_of(DataType::fp32);
  const double per_processor = 5e12;  // dense 16-bit FLOP/s of a processor with factor 1
  const double peak = machine.peak_of(machine.wide);
  machine.processors =
      device.multiprocessors > 0 ? device.multiprocessors : std::max(8.0, peak / per_processor);
  machine.latency_factor = std::sqrt(std::sqrt(per_processor * machine.processors / peak));
  return machine;
}

/// The same rates over a dual scalar, derivatives zero.
template <Scalar S>
[[nodiscard]] Machine<S> widen(const Machine<double>& from) {
  Machine<S> to;
  to.memory_bandwidth = S(from.memory_bandwidth);
  for (std::size_t i = 0; i < data_type_count; ++i) to.peak[i] = S(from.peak[i]);
  to.link_bandwidth = S(from.link_bandwidth);
  to.network_bandwidth = S(from.network_bandwidth);
  to.link_latency = from.link_latency;
  to.network_latency = from.network_latency;
  to.domain = from.domain;
  to.mesh = from.mesh;
  to.host_bus = from.host_bus;
  to.wide = from.wide;
  to.tensor_units = from.tensor_units;
  to.processors = from.processors;
  to.latency_factor = from.latency_factor;
  return to;
}

}  // namespace tokenroof
