// How much of the hardware's rates a model's own work uses, and what tiles and waves leave unused.
//
//   MFU   FLOPs of the model per second / (devices x peak)
//   MBU   (weights + cache read per step) / (step time x devices x bandwidth)
//   tile  rows / (tiles x rows of a tile)          a multiply works on whole tiles
//   wave  tiles / (waves x processors)             processors work on whole waves of tiles
//
// Sources: PaLM, 2204.02311 (MFU); Databricks' inference notes (MBU: parameters and cache).
// Symbols: docs/formulas.md#utilization. Not differentiable where tiles or waves are counted.
#pragma once

#include <cmath>

#include "tokenroof/core/scalar.hpp"
#include "tokenroof/core/units.hpp"

namespace tokenroof {

/// Model FLOP utilisation. State whether attention is among the FLOPs. `devices`, `peak` > 0.
template <Scalar S>
[[nodiscard]] constexpr S model_flops_utilization(const With<FlopsPerSecond, S>& done,
                                                  double devices,
                                                  const With<FlopsPerSecond, S>& peak) {
  return done / (devices * peak);
}

/// Model bandwidth utilisation of a step of `step` > 0 that reads `bytes` once.
template <Scalar S>
[[nodiscard]] constexpr S model_bandwidth_utilization(const With<Bytes, S>& bytes,
                                                      const With<Seconds, S>& step, double devices,
                                                      const With<BytesPerSecond, S>& bandwidth) {
  return bytes / step / (devices * bandwidth);
}

/// Share of the rows of whole tiles that are used, (0, 1]. `rows`, `tile` >= 1.
[[nodiscard]] inline double tile_efficiency(double rows, double tile) {
  return rows / (std::ceil(rows / tile) * tile);
}

/// Share of the processors' time that whole waves of `tiles` use, (0, 1]; 1 when they divide.
[[nodiscard]] inline double wave_efficiency(double tiles, double processors) {
  return tiles / (std::ceil(tiles / processors) * processors);
}

}  // namespace tokenroof
