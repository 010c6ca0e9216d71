// Roofline: how long a piece of work takes when arithmetic and memory traffic overlap perfectly.
//
//   time = max(bytes / bandwidth, FLOPs / peak)
//
// One memory level; no launch cost. Sub-byte formats carry their scales in the bytes.
// Source: Williams, Waterman & Patterson, CACM 52(4), 2009. Symbols: docs/formulas.md.
#pragma once

#include "tokenroof/core/scalar.hpp"
#include "tokenroof/core/units.hpp"

namespace tokenroof {

/// What a kernel, a layer or a whole step asks of the machine; both >= 0.
template <Scalar S = double>
struct Work {
  With<Flops, S> math;     ///< one multiply-accumulate is 2 FLOP
  With<Bytes, S> traffic;  ///< bytes to and from device memory

  friend constexpr Work operator+(const Work& a, const Work& b) {
    return {a.math + b.math, a.traffic + b.traffic};
  }
  /// The same work done `times` times.
  friend constexpr Work operator*(const Work& work, const S& times) {
    return {work.math * times, work.traffic * times};
  }
};

/// Rates that the machine sustains: dense peaks, scaled by an efficiency where one is known; > 0.
template <Scalar S = double>
struct Roof {
  With<FlopsPerSecond, S> math;
  With<BytesPerSecond, S> memory;
};

/// Time to do the arithmetic alone: FLOPs / peak.
template <Scalar S>
[[nodiscard]] constexpr With<Seconds, S> math_time(const Work<S>& work, const Roof<S>& roof) {
  return work.math / roof.math;
}

/// Time to move the bytes alone: bytes / bandwidth.
template <Scalar S>
[[nodiscard]] constexpr With<Seconds, S> traffic_time(const Work<S>& work, const Roof<S>& roof) {
  return work.traffic / roof.memory;
}

/// Time of `work`: the slower resource decides. No work takes no time. Not differentiable at the
/// ridge, where the memory-bound side is taken.
template <Scalar S>
[[nodiscard]] constexpr With<Seconds, S> roofline_time(const Work<S>& work, const Roof<S>& roof) {
  return max(traffic_time(work, roof), math_time(work, roof));
}

/// Arithmetic intensity FLOPs / bytes of `work`, in FLOP/B; 0 where nothing is moved and nothing
/// computed. Traffic of 0 with arithmetic has no finite intensity: ask `roofline_time` instead.
template <Scalar S>
[[nodiscard]] constexpr With<FlopsPerByte, S> intensity(const Work<S>& work) {
  if (work.math == With<Flops, S>{}) return {};
  return work.math / work.traffic;
}

/// Intensity peak / bandwidth, in FLOP/B, above which arithmetic and not memory is the limit.
template <Scalar S>
[[nodiscard]] constexpr With<FlopsPerByte, S> ridge_intensity(const Roof<S>& roof) {
  return roof.math / roof.memory;
}

/// Arithmetic rate min(peak, intensity x bandwidth), in FLOP/s, at `at` >= 0 FLOP/B.
template <Scalar S>
[[nodiscard]] constexpr With<FlopsPerSecond, S> attainable_rate(const Roof<S>& roof,
                                                                const With<FlopsPerByte, S>& at) {
  return min(at * roof.memory, roof.math);
}

/// Shares of the two peaks in use, each in [0, 1]. Under the roofline the larger is 1.
template <Scalar S = double>
struct Utilization {
  S compute{};
  S memory{};
};

/// Utilisation of both resources while `work` takes `time`; no time uses nothing.
template <Scalar S>
[[nodiscard]] constexpr Utilization<S> utilization(const Work<S>& work, const Roof<S>& roof,
                                                   const With<Seconds, S>& time) {
  if (time <= With<Seconds, S>{}) return {};
  return {math_time(work, roof) / time, traffic_time(work, roof) / time};
}

/// Utilisation of both resources at the roofline's own time.
template <Scalar S>
[[nodiscard]] constexpr Utilization<S> utilization(const Work<S>& work, const Roof<S>& roof) {
  return utilization(work, roof, roofline_time(work, roof));
}

/// Bytes of one element of the three operands of a matrix multiply; fractions are allowed.
template <Scalar S = double>
struct OperandBytes {
  With<Bytes, S> activation;
  With<Bytes, S> weight;
  With<Bytes, S> output;
};

/// Work of rows x inner times inner x columns: 2 MNK FLOP, and each operand moved once:
/// b_a MK + b_w KN + b_o MN bytes. Sizes >= 0; `rows` is the number of tokens.
template <Scalar S>
[[nodiscard]] constexpr Work<S> matrix_multiply(const S& rows, const S& columns, const S& inner,
                                                const OperandBytes<S>& bytes) {
  return {2.0 * rows * columns * inner * flop, bytes.activation * (rows * inner) +
                                                   bytes.weight * (inner * columns) +
                                                   bytes.output * (rows * columns)};
}

}  // namespace tokenroof
