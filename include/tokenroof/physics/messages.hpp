// Time of the messages of a step, and the least time any algorithm could take.
//
// All-reduces of a step run inside captured graphs: one-shot or two-shot, whichever is faster, on a
// fast fabric; a ring where ranks share a host bus. Beyond the fabric they are hierarchical: reduce
// inside, all-reduce of the shares across the network, gather inside.
#pragma once

#include "tokenroof/core/scalar.hpp"
#include "tokenroof/physics/collective.hpp"
#include "tokenroof/physics/kernel_constants.hpp"
#include "tokenroof/physics/machine.hpp"
#include "tokenroof/physics/operators.hpp"

namespace tokenroof {

/// A message's time in parts, all its layers together.
template <Scalar S = double>
struct MessageTime {
  S transfer = S(0);
  S latency = S(0);
};

namespace message {

/// What `ranks` neighbours send through. On a host bus all of more than two share one path as far
/// as `sharing` says: 1 fully, 0 not at all. In a mesh only the links to each other carry anything.
template <Scalar S>
[[nodiscard]] Channel<S> inside(const KernelConstants& c, const Machine<S>& machine, double ranks,
                                double sharing = 1) {
  const double users = ranks > 2 ? 1 + sharing * (ranks - 1) : 1;
  double share = machine.host_bus ? c.bus_share / users : c.link_share;
  if (machine.mesh) share *= std::clamp((ranks - 1) / (machine.domain - 1), 0.0, 1.0);
  const double latency = machine.link_latency >= 0 ? machine.link_latency : c.exchange_s;
  return {With<Seconds, S>::from_base(S(latency)),
          With<BytesPerSecond, S>::from_base(machine.link_bandwidth * share)};
}

/// Between nodes. Without a network entry the host bus has to do.
template <Scalar S>
[[nodiscard]] Channel<S> between(const KernelConstants& c, const Machine<S>& machine) {
  const bool network = value_of(machine.network_bandwidth) > 0;
  const double latency = machine.network_latency >= 0 ? machine.network_latency : 2 * c.exchange_s;
  return {With<Seconds, S>::from_base(S(latency + c.exchange_s)),
          With<BytesPerSecond, S>::from_base(network ? machine.network_bandwidth * c.link_share
                                                     : machine.link_bandwidth * c.bus_share)};
}

template <Scalar S>
[[nodiscard]] MessageTime<S> split(double latency, const S& bytes, const Channel<S>& channel) {
  return {bytes / channel.bandwidth.base(), S(latency)};
}

/// Ring of `steps` steps that sends `volume` x bytes per rank.
template <Scalar S>
[[nodiscard]] MessageTime<S> ring(const KernelConstants& c, const S& bytes, double steps,
                                  double volume, const Channel<S>& channel) {
  const double start = 1.5 * value_of(channel.latency.base());
  return split(start + c.ring_step_s * steps, bytes * volume, channel);
}

/// All-reduce of `bytes` over `n` neighbours, captured in a graph.
template <Scalar S>
[[nodiscard]] MessageTime<S> all_reduce(const KernelConstants& c, const Machine<S>& machine,
                                        const S& bytes, double n, double sharing = 1) {
  const Channel<S> channel = inside(c, machine, n, sharing);
  const double latency = value_of(channel.latency.base());
  if (machine.host_bus && n > 2) return ring(c, bytes, 2 * (n - 1), 2 * (n - 1) / n, channel);
  const MessageTime<S> one = split(latency, bytes * (n - 1), channel);
  if (machine.host_bus) return one;
  const MessageTime<S> two = split(2 * latency, bytes * (2 * (n - 1) / n), channel);
  return two.transfer + two.latency < one.transfer + one.latency ? two : one;
}

/// Ranks on one fabric, and how many fabrics `ranks` need.
template <Scalar S>
[[nodiscard]] double nodes_of(const Machine<S>& machine, double ranks) {
  return ranks <= machine.domain ? 1 : std::ceil(ranks / machine.domain);
}

}  // namespace message

/// Time of one message operator. Transfers are those of the calibrated link shares.
template <Scalar S>
[[nodiscard]] MessageTime<S> message_time(const KernelConstants& c, const Machine<S>& machine,
                                          const Message& op, const StepLoad<S>& rank,
                                          double bus_sharing = 1) {
  const S rows = op.rows(rank);
  if (value_of(rows) <= 0 || op.ranks <= 1) return {};
  const S bytes = rows * op.bytes_per_row;
  const double nodes = message::nodes_of(machine, op.ranks);
  const double near = op.ranks / nodes;
  const Channel<S> inside = message::inside(c, machine, near, bus_sharing);
  MessageTime<S> time;
  const auto add = [&](const MessageTime<S>& part) {
    time.transfer += part.transfer;
    time.latency += part.latency;
  };
  switch (op.kind) {
    case OperatorKind::stage_transfer: {
      const Channel<S> channel =
          op.crosses_nodes ? message::between(c, machine) : message::inside(c, machine, 2.0);
      add(message::split(value_of(channel.latency.base()), bytes, channel));
      break;
    }
    case OperatorKind::all_reduce:
      if (nodes <= 1) {
        add(message::all_reduce(c, machine, bytes, op.ranks, bus_sharing));
      } else {
        add(message::ring(c, bytes, 2 * (near - 1), 2 * (near - 1) / near, inside));
        add(message::ring(c, bytes * (1 / near), 2 * (nodes - 1), 2 * (nodes - 1) / nodes,
                          message::between(c, machine)));
      }
      break;
    default: {  // gathers, dispatch and combine: each rank sends `fanout` copies of its rows
      const double volume = op.fanout * (near - 1) / near;
      add(message::ring(c, bytes, 1, volume, inside));
      if (nodes > 1)
        add(message::ring(c, bytes, 1, std::min(op.fanout, nodes - 1),
                          message::between(c, machine)));
    }
  }
  return {time.transfer * op.layers, time.latency * static_cast<double>(op.layers)};
}

/// The least volume of any algorithm at the full speed of its links, without latency.
template <Scalar S>
[[nodiscard]] S least_message_seconds(const Machine<S>& machine, const Message& op,
                                      const StepLoad<S>& rank) {
  const S rows = op.rows(rank);
  if (value_of(rows) <= 0 || op.ranks <= 1) return S(0);
  const double nodes = message::nodes_of(machine, op.ranks);
  const double near = op.ranks / nodes;
  double volume = op.fanout * (near - 1) / near;
  if (op.kind == OperatorKind::stage_transfer) volume = 1;
  if (op.kind == OperatorKind::all_reduce) volume = least_all_reduce_volume(static_cast<int>(near));
  const bool network = op.crosses_nodes && value_of(machine.network_bandwidth) > 0;
  const S& bandwidth = network ? machine.network_bandwidth : machine.link_bandwidth;
  return rows * (op.bytes_per_row * volume * op.layers) / bandwidth;
}

}  // namespace tokenroof
