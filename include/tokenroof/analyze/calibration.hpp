// What a calibration takes and gives; the fit itself is in calibration_fit.hpp.
//
// Constants are learned by robust least squares of log(predicted / measured), so that a row that is
// twice too fast weighs as much as one twice too slow and a wrong row cannot pull far. A constant
// is fitted only when the rows tell it apart from all others; the rest keep their values, by name
// and with the reason.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tokenroof {

/// A constant to be learned, within [low, high]; `start` is what it is if nothing is learned.
struct CalibrationParameter {
  std::string name;
  double start = 0;
  double low = 0;
  double high = 1;
  /// Weak pull towards `start`, in rows: weight of log(value / start). 0: none.
  double pull = 0;

  /// What counts as a large change: its size, or a fiftieth of its range for one near 0.
  [[nodiscard]] double scale() const {
    const double size = start < 0 ? -start : start;
    return size > 0.02 * (high - low) ? size : 0.02 * (high - low);
  }
};

/// A measurement, > 0. Rows of one group share what a prediction could have memorised.
struct CalibrationRow {
  double measured = 1;
  std::string group;
  double weight = 1;
};

/// Prediction of a row, > 0, from the values of all parameters.
using RowPrediction = std::function<double(std::size_t row, std::span<const double> values)>;

struct CalibrationOptions {
  double robust = 0.15;       ///< residual in logarithms from which rows count less (soft L1)
  int iterations = 60;        ///< at most
  double doubt = 1;           ///< standard error over scale() above which nothing was learned
  bool all_required = false;  ///< refuse when any parameter cannot be told apart
  bool leave_out = true;      ///< refit without each group for the error on unseen groups
};

/// Errors of predictions, as fractions.
struct FitError {
  std::size_t rows = 0;
  double median_ape = 0;
  double mean_ape = 0;
  double p90_ape = 0;
  double median_ratio = 1;  ///< predicted / measured
};

/// One parameter after the fit.
struct FittedParameter {
  std::string name;
  double value = 0;
  bool fitted = false;
  bool at_bound = false;
  double standard_error = 0;  ///< of the value, where fitted
  std::string reason;         ///< why not fitted
};

struct Calibration {
  std::string refusal;  ///< not empty: why nothing was fitted; the parameters are as they were
  std::vector<FittedParameter> parameters;
  std::size_t rows = 0;
  std::size_t groups = 0;
  double condition = 1;  ///< of the scaled Jacobian of what is fitted
  int iterations = 0;
  FitError in_sample;
  FitError left_out;           ///< each group predicted by a fit without it; rows = 0: not asked
  double spread_low = 1;       ///< 10th percentile of measured / predicted, of left-out predictions
  double spread_high = 1;      ///< 90th percentile
  std::vector<double> ratios;  ///< predicted / measured by row, fitted on all

  [[nodiscard]] bool ok() const { return refusal.empty(); }
};

}  // namespace tokenroof
