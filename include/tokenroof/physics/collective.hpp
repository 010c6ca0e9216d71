// Collectives: time and bytes of all-reduce, all-gather, all-to-all and their kin.
//
//   time = steps x latency + bytes sent per rank / bandwidth
//
// `message` m is the full, unsharded tensor; bandwidth is of one device and one direction; links
// are alike and uncongested; nothing overlaps. One rank needs no time. Sources: Thakur,
// Rabenseifner & Gropp, IJHPCA 19(1), 2005; NCCL src/graph/tuning.cc. Symbols: docs/formulas.md.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "tokenroof/core/scalar.hpp"

namespace tokenroof {

/// What a rank sends through.
template <Scalar S = double>
struct Channel {
  With<Seconds, S> latency;           ///< of one step; >= 0
  With<BytesPerSecond, S> bandwidth;  ///< one direction of one device; > 0
};

/// How an all-reduce is done.
enum class AllReduce {
  ring,      ///< reduce-scatter and all-gather around a ring
  tree,      ///< double binary tree, pipelined
  one_shot,  ///< every rank sends its whole message to every other
  two_shot,  ///< direct reduce-scatter, then direct all-gather
  nvls,      ///< the switch reduces and multicasts
};
inline constexpr std::array all_reduce_algorithms = {
    AllReduce::ring, AllReduce::tree, AllReduce::one_shot, AllReduce::two_shot, AllReduce::nvls};
/// Those that need nothing of the switch.
inline constexpr std::span<const AllReduce> all_reduce_without_switch =
    std::span(all_reduce_algorithms).first<4>();

[[nodiscard]] constexpr const char* to_string(AllReduce algorithm) {
  switch (algorithm) {
    case AllReduce::ring:
      return "ring";
    case AllReduce::tree:
      return "tree";
    case AllReduce::one_shot:
      return "one_shot";
    case AllReduce::two_shot:
      return "two_shot";
    case AllReduce::nvls:
      return "nvls";
  }
  return "unknown";
}

/// Levels of a binary tree over `ranks`: log2, rounded up.
[[nodiscard]] constexpr int tree_levels(int ranks) {
  int levels = 0;
  for (int covered = 1; covered < ranks; covered *= 2) ++levels;
  return levels;
}

/// Latencies paid one after another in an all-reduce over `ranks` >= 1.
[[nodiscard]] constexpr int all_reduce_steps(AllReduce algorithm, int ranks) {
  if (ranks <= 1) return 0;
  switch (algorithm) {
    case AllReduce::ring:
      return 2 * (ranks - 1);
    case AllReduce::tree:
      return 2 * tree_levels(ranks);
    case AllReduce::one_shot:
      return 1;
    case AllReduce::two_shot:
    case AllReduce::nvls:
      return 2;
  }
  return 0;
}

/// Bytes that one rank sends, as a multiple of the message: 2(n-1)/n ring and two-shot, 2 tree,
/// n-1 one-shot, (n+1)/n NVLS; 0 for one rank.
[[nodiscard]] constexpr double all_reduce_volume(AllReduce algorithm, int ranks) {
  if (ranks <= 1) return 0;
  switch (algorithm) {
    case AllReduce::ring:
    case AllReduce::two_shot:
      return 2.0 * (ranks - 1) / ranks;
    case AllReduce::tree:
      return 2;
    case AllReduce::one_shot:
      return ranks - 1;
    case AllReduce::nvls:
      return (ranks + 1.0) / ranks;
  }
  return 0;
}

/// Time of an all-reduce of `message` >= 0 bytes over `ranks`, in seconds.
template <Scalar S>
[[nodiscard]] constexpr With<Seconds, S> all_reduce_time(AllReduce algorithm,
                                                         const With<Bytes, S>& message, int ranks,
                                                         const Channel<S>& channel) {
  return channel.latency * all_reduce_steps(algorithm, ranks) +
         message * all_reduce_volume(algorithm, ranks) / channel.bandwidth;
}

/// An all-reduce and its time.
template <Scalar S = double>
struct AllReduceChoice {
  AllReduce algorithm = AllReduce::ring;
  With<Seconds, S> time;
};

/// The fastest of `allowed` (not empty) for this message; the earlier wins a tie.
template <Scalar S>
[[nodiscard]] constexpr AllReduceChoice<S> fastest_all_reduce(
    const With<Bytes, S>& message, int ranks, const Channel<S>& channel,
    std::span<const AllReduce> allowed = all_reduce_algorithms) {
  AllReduceChoice<S> best;
  bool first = true;
  for (const AllReduce algorithm : allowed) {
    const With<Seconds, S> time = all_reduce_time(algorithm, message, ranks, channel);
    if (first || time < best.time) best = {algorithm, time};
    first = false;
  }
  return best;
}

/// Least volume over `allowed`, as a multiple of the message: what no latency model can beat.
[[nodiscard]] constexpr double least_all_reduce_volume(
    int ranks, std::span<const AllReduce> allowed = all_reduce_algorithms) {
  double least = 0;
  bool first = true;
  for (const AllReduce algorithm : allowed) {
    const double volume = all_reduce_volume(algorithm, ranks);
    if (first || volume < least) least = volume;
    first = false;
  }
  return least;
}

/// Reduce-scatter of a `message`, or all-gather into one: half of the ring all-reduce,
/// (n-1) latency + ((n-1)/n) m / bandwidth.
template <Scalar S>
[[nodiscard]] constexpr With<Seconds, S> all_gather_time(const With<Bytes, S>& message, int ranks,
                                                         const Channel<S>& channel) {
  return 0.5 * all_reduce_time(AllReduce::ring, message, ranks, channel);
}
template <Scalar S>
[[nodiscard]] constexpr With<Seconds, S> reduce_scatter_time(const With<Bytes, S>& message,
                                                             int ranks, const Channel<S>& channel) {
  return all_gather_time(message, ranks, channel);
}

/// Whether the peers of an all-to-all are served at once or one after another.
enum class Peers { at_once, in_turn };

/// All-to-all in which every rank holds `payload` bytes, a share 1/n of them for itself:
/// latency (or n-1 of them) + ((n-1)/n) payload / bandwidth.
template <Scalar S>
[[nodiscard]] constexpr With<Seconds, S> all_to_all_time(const With<Bytes, S>& payload, int ranks,
                                                         const Channel<S>& channel,
                                                         Peers peers = Peers::at_once) {
  if (ranks <= 1) return {};
  return channel.latency * (peers == Peers::at_once ? 1 : ranks - 1) +
         payload * ((ranks - 1.0) / ranks) / channel.bandwidth;
}

/// One message from one rank to another: latency + m / bandwidth.
template <Scalar S>
[[nodiscard]] constexpr With<Seconds, S> send_time(const With<Bytes, S>& message,
                                                   const Channel<S>& channel) {
  return channel.latency + message / channel.bandwidth;
}

/// All-reduce over `nodes` of `per_node` devices: reduce-scatter inside the node, all-reduce of a
/// share 1/per_node across nodes by `across`, all-gather inside.
template <Scalar S>
[[nodiscard]] constexpr With<Seconds, S> hierarchical_all_reduce_time(
    const With<Bytes, S>& message, int per_node, int nodes, const Channel<S>& inside,
    const Channel<S>& between, AllReduce across = AllReduce::ring) {
  return reduce_scatter_time(message, per_node, inside) +
         all_reduce_time(across, message / static_cast<double>(per_node < 1 ? 1 : per_node), nodes,
                         between) +
         all_gather_time(message, per_node, inside);
}

/// Message latency x bandwidth x n/((n-1)(n-2)), in bytes, up to which one-shot is no slower than
/// two-shot. None for fewer than 3 ranks, where one-shot always is.
template <Scalar S>
[[nodiscard]] constexpr std::optional<With<Bytes, S>> one_shot_limit(int ranks,
                                                                     const Channel<S>& channel) {
  if (ranks <= 2) return std::nullopt;
  return channel.latency * channel.bandwidth * (ranks / ((ranks - 1.0) * (ranks - 2.0)));
}

/// Message n (n - 1 - levels) latency x bandwidth, in bytes, up to which the tree is no slower than
/// the ring. 0 for fewer than 4 ranks, where the ring never is slower.
template <Scalar S>
[[nodiscard]] constexpr With<Bytes, S> tree_limit(int ranks, const Channel<S>& channel) {
  if (ranks <= 1) return {};
  return channel.latency * channel.bandwidth *
         (static_cast<double>(ranks) * (ranks - 1 - tree_levels(ranks)));
}

}  // namespace tokenroof
