// Three constants of a kernel from its timings: fixed time and two efficiencies.
//
//   t = t0 + F / (eta_c P) + Q / (eta_b BW)      minimise the sum of ((t - measured) / measured)^2
//
// Linear in (t0, 1/eta_c, 1/eta_b), so the answer is exact. It needs timings on both sides of the
// ridge and one small kernel; otherwise it is refused. Symbols: docs/formulas.md#calibration.
#pragma once

#include <Eigen/Dense>
#include <span>
#include <string>

#include "tokenroof/core/units.hpp"

namespace tokenroof {

/// A timed kernel: what it computes and moves, and how long it took (> 0).
struct KernelSample {
  Flops flops;
  Bytes bytes;
  Seconds time;
};

struct KernelFit {
  Seconds fixed;
  double compute_share = 0;  ///< of the peak
  double memory_share = 0;   ///< of the bandwidth
  double condition = 0;      ///< of the problem with its columns brought to one length
  std::string refusal;       ///< not empty: nothing was fitted
  /// Fixed time >= 0 and shares in (0, 1]; a fit outside says that the form does not suit the
  /// timings, and is given as it is.
  bool physical = false;
};

/// Fits the timings of a device with `peak` and `bandwidth` > 0. Condition numbers above
/// `most_condition` are refused.
[[nodiscard]] inline KernelFit fit_kernel(std::span<const KernelSample> samples,
                                          FlopsPerSecond peak, BytesPerSecond bandwidth,
                                          double most_condition = 1e4) {
  KernelFit fit;
  const auto rows = static_cast<Eigen::Index>(samples.size());
  Eigen::MatrixX3d a(rows, 3);
  for (Eigen::Index i = 0; i < rows; ++i) {
    const KernelSample& s = samples[static_cast<std::size_t>(i)];
    if (!(s.time > Seconds{})) {
      fit.refusal = "a time is not above 0";
      return fit;
    }
    a.row(i) << 1 / s.time.base(), s.flops / peak / s.time, s.bytes / bandwidth / s.time;
  }
  const Eigen::RowVector3d length =
      rows > 0 ? Eigen::RowVector3d(a.colwise().norm()) : Eigen::RowVector3d::Zero();
  if (rows < 3 || !(length.minCoeff() > 0)) {
    fit.refusal = "three constants need three timings with work and traffic";
    return fit;
  }
  const Eigen::MatrixX3d scaled = a.array().rowwise() / length.array();
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(scaled, Eigen::ComputeThinU | Eigen::ComputeThinV);
  const Eigen::VectorXd singular = svd.singularValues();
  fit.condition = singular[2] > 0 ? singular[0] / singular[2] : 1e300;
  if (!(fit.condition < most_condition)) {
    fit.refusal =
        "the timings do not tell fixed time, compute and memory apart: they need kernels on both "
        "sides of the ridge and a small one";
    return fit;
  }
  const Eigen::Vector3d x =
      svd.solve(Eigen::VectorXd::Ones(rows)).array() / length.transpose().array();
  fit.fixed = Seconds::from_base(x[0]);
  fit.compute_share = 1 / x[1];
  fit.memory_share = 1 / x[2];
  fit.physical = x[0] >= 0 && x[1] >= 1 && x[2] >= 1;
  return fit;
}

}  // namespace tokenroof
