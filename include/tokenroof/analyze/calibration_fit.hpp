// Robust nonlinear least squares with bounds: Levenberg-Marquardt on scaled parameters, numeric
// derivatives, soft-L1 loss by reweighting, bounds by projection.
//
//   minimise  sum over rows  2 c^2 (sqrt(1 + (w r / c)^2) - 1),   r = log(predicted / measured)
//
// Which parameters the rows identify is decided on the Jacobian before the fit: columns enter by
// what they add to the ones before (Gram-Schmidt with pivoting), as long as their standard error
// stays below their own size. Symbols: docs/formulas.md#calibration.
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "tokenroof/analyze/calibration.hpp"

namespace tokenroof {

namespace detail {

/// The fit over a subset of rows, with a subset of the parameters free.
class RobustFit {
 public:
  RobustFit(std::span<const CalibrationParameter> parameters, std::span<const CalibrationRow> rows,
            const RowPrediction& predict, const CalibrationOptions& options)
      : parameters_(parameters), rows_(rows), predict_(predict), options_(options) {}

  [[nodiscard]] std::vector<double> start() const {
    std::vector<double> values;
    for (const CalibrationParameter& p : parameters_)
      values.push_back(std::clamp(p.start, p.low, p.high));
    return values;
  }

  [[nodiscard]] double residual(std::size_t row, std::span<const double> values) const {
    return std::log(predict_(row, values) / rows_[row].measured);
  }

  /// Weighted residuals of `which`, then the pulls of all parameters.
  [[nodiscard]] Eigen::VectorXd residuals(std::span<const std::size_t> which,
                                          std::span<const double> values) const {
    Eigen::VectorXd r(static_cast<Eigen::Index>(which.size() + parameters_.size()));
    Eigen::Index at = 0;
    for (const std::size_t row : which) r[at++] = rows_[row].weight * residual(row, values);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const CalibrationParameter& p = parameters_[i];
      const double floor = 0.02 * (p.high - p.low);
      r[at++] = p.pull * std::log((values[i] - p.low + floor) / (p.start - p.low + floor));
    }
    return r;
  }

  /// Derivatives of the residuals by the scaled parameters `free`.
  [[nodiscard]] Eigen::MatrixXd jacobian(std::span<const std::size_t> which,
                                         std::vector<double> values,
                                         const std::vector<std::size_t>& free,
                                         const Eigen::VectorXd& at) const {
    Eigen::MatrixXd j(at.size(), static_cast<Eigen::Index>(free.size()));
    for (std::size_t k = 0; k < free.size(); ++k) {
      const CalibrationParameter& p = parameters_[free[k]];
      const double here = values[free[k]];
      double step = 1e-5 * p.scale();
      if (here + step > p.high) step = -step;
      values[free[k]] = here + step;
      j.col(static_cast<Eigen::Index>(k)) = (residuals(which, values) - at) * (p.scale() / step);
      values[free[k]] = here;
    }
    return j;
  }

  [[nodiscard]] double cost(const Eigen::VectorXd& r) const {
    const double c = options_.robust;
    return (2 * c * c * ((1 + (r.array() / c).square()).sqrt() - 1)).sum();
  }

  /// Moves the parameters `free` of `values` to the minimum over the rows `which`; steps taken.
  int minimise(std::span<const std::size_t> which, const std::vector<std::size_t>& free,
               std::vector<double>& values, int most) const {
    if (free.empty() || which.empty()) return 0;
    Eigen::VectorXd r = residuals(which, values);
    double best = cost(r), damping = 1e-3;
    for (int taken = 1; taken <= most; ++taken) {
      const Eigen::MatrixXd j = jacobian(which, values, free, r);
      const Eigen::ArrayXd weight = (1 + (r.array() / options_.robust).square()).rsqrt();
      const Eigen::VectorXd slope = j.transpose() * (weight * r.array()).matrix();
      Eigen::MatrixXd curvature = j.transpose() * weight.matrix().asDiagonal() * j;
      hold_bounds(free, values, slope, curvature);
      bool moved = false;
      double gained = 0;
      for (int attempt = 0; attempt < 12 && !moved; ++attempt) {
        Eigen::MatrixXd damped = curvature;
        damped.diagonal() *= 1 + damping;
        damped.diagonal().array() += 1e-12;
        const std::vector<double> next = stepped(free, values, damped.ldlt().solve(-slope));
        const Eigen::VectorXd there = residuals(which, next);
        const double reached = cost(there);
        moved = std::isfinite(reached) && reached < best;
        damping = std::clamp(moved ? damping * 0.2 : damping * 8, 1e-14, 1e8);
        if (!moved) continue;
        gained = best - reached;
        values = next;
        r = there;
        best = reached;
      }
      if (!moved || gained <= 1e-13 * best + 1e-26) return taken;
    }
    return most;
  }

 private:
  /// Parameters that stand at a bound and would leave it do not move.
  void hold_bounds(const std::vector<std::size_t>& free, const std::vector<double>& values,
                   const Eigen::VectorXd& slope, Eigen::MatrixXd& curvature) const {
    for (std::size_t k = 0; k < free.size(); ++k) {
      const CalibrationParameter& p = parameters_[free[k]];
      const auto at = static_cast<Eigen::Index>(k);
      const bool outward = (values[free[k]] <= p.low && slope[at] > 0) ||
                           (values[free[k]] >= p.high && slope[at] < 0);
      if (!outward) continue;
      curvature.row(at).setZero();
      curvature.col(at).setZero();
      curvature(at, at) = 1e12;
    }
  }

  [[nodiscard]] std::vector<double> stepped(const std::vector<std::size_t>& free,
                                            std::vector<double> values,
                                            const Eigen::VectorXd& step) const {
    for (std::size_t k = 0; k < free.size(); ++k) {
      const CalibrationParameter& p = parameters_[free[k]];
      const double moved = values[free[k]] + step[static_cast<Eigen::Index>(k)] * p.scale();
      values[free[k]] = std::clamp(moved, p.low, p.high);
    }
    return values;
  }

  std::span<const CalibrationParameter> parameters_;
  std::span<const CalibrationRow> rows_;
  const RowPrediction& predict_;
  const CalibrationOptions& options_;
};

/// Interpolated quantile; `sorted` is not empty.
[[nodiscard]] inline double quantile_of(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

[[nodiscard]] inline FitError fit_error(const std::vector<double>& ratios) {
  FitError error;
  error.rows = ratios.size();
  if (ratios.empty()) return error;
  std::vector<double> ape, sorted = ratios;
  for (const double ratio : ratios) ape.push_back(std::fabs(ratio - 1));
  std::sort(ape.begin(), ape.end());
  std::sort(sorted.begin(), sorted.end());
  error.median_ape = quantile_of(ape, 0.5);
  error.mean_ape = std::accumulate(ape.begin(), ape.end(), 0.0) / static_cast<double>(ape.size());
  error.p90_ape = quantile_of(ape, 0.9);
  error.median_ratio = quantile_of(sorted, 0.5);
  return error;
}

/// Splits the columns of `j` into those that the rows identify, and those that they do not, with
/// reasons. `noise` is the residual that rows have anyway.
[[nodiscard]] inline std::vector<std::size_t> identified(Eigen::MatrixXd j, double noise,
                                                         double doubt,
                                                         std::vector<FittedParameter>& out) {
  const Eigen::MatrixXd whole = j;
  std::vector<std::size_t> accepted, open(out.size());
  std::iota(open.begin(), open.end(), std::size_t{0});
  const auto col = [](std::size_t i) { return static_cast<Eigen::Index>(i); };
  while (!open.empty() && accepted.size() < static_cast<std::size_t>(j.rows())) {
    const auto best = std::max_element(open.begin(), open.end(), [&](std::size_t a, std::size_t b) {
      return j.col(col(a)).norm() < j.col(col(b)).norm();
    });
    const std::size_t chosen = *best;
    const double left = j.col(col(chosen)).norm();
    if (!(left * doubt > noise)) break;
    accepted.push_back(chosen);
    open.erase(best);
    const Eigen::VectorXd direction = j.col(col(chosen)) / left;
    for (const std::size_t i : open) j.col(col(i)) -= direction * direction.dot(j.col(col(i)));
  }
  for (const std::size_t i : open) {
    const double size = whole.col(col(i)).norm();
    if (!(size * doubt > noise)) {
      out[i].reason = "the rows hardly depend on it";
      continue;
    }
    std::size_t like = accepted.front();
    double most = 0;
    for (const std::size_t a : accepted) {
      const double alike =
          std::fabs(whole.col(col(a)).dot(whole.col(col(i)))) / (size * whole.col(col(a)).norm());
      if (alike > most) most = alike, like = a;
    }
    out[i].reason = "the rows do not tell it apart from " + out[like].name;
  }
  std::sort(accepted.begin(), accepted.end());
  for (const std::size_t i : accepted) out[i].fitted = true;
  return accepted;
}

/// Condition number and standard errors at the minimum. The variance is that of the robust loss, so
/// that a wrong row does not make everything uncertain.
inline void judge(const RobustFit& problem, std::span<const CalibrationParameter> parameters,
                  std::span<const std::size_t> rows, const std::vector<std::size_t>& free,
                  const std::vector<double>& values, Calibration& result) {
  const auto count = static_cast<Eigen::Index>(rows.size());
  const Eigen::VectorXd r = problem.residuals(rows, values);
  const Eigen::MatrixXd j = problem.jacobian(rows, values, free, r).topRows(count);
  const Eigen::VectorXd singular = j.jacobiSvd().singularValues();
  const double smallest = singular[singular.size() - 1];
  result.condition = smallest > 0 ? singular[0] / smallest : 1e300;
  const double spare =
      std::max(1.0, static_cast<double>(rows.size()) - static_cast<double>(free.size()));
  const double variance = problem.cost(r.head(count)) / spare;
  const Eigen::MatrixXd covariance =
      (j.transpose() * j).completeOrthogonalDecomposition().pseudoInverse() * variance;
  for (std::size_t k = 0; k < free.size(); ++k) {
    const CalibrationParameter& asked = parameters[free[k]];
    FittedParameter& p = result.parameters[free[k]];
    const auto at = static_cast<Eigen::Index>(k);
    p.value = values[free[k]];
    p.standard_error = std::sqrt(std::max(0.0, covariance(at, at))) * asked.scale();
    p.at_bound = p.value <= asked.low || p.value >= asked.high;
  }
}

/// Predictions of every row by a fit that has not seen its group, over measurements.
[[nodiscard]] inline std::vector<double> left_out_ratios(
    const RobustFit& problem, const std::map<std::string, std::vector<std::size_t>>& groups,
    const std::vector<std::size_t>& free, const std::vector<double>& values, int iterations,
    std::size_t rows) {
  std::vector<double> ratios(rows);
  for (const auto& [name, members] : groups) {
    std::vector<std::size_t> others;
    for (const auto& [other, theirs] : groups)
      if (other != name) others.insert(others.end(), theirs.begin(), theirs.end());
    std::vector<double> without = values;
    problem.minimise(others, free, without, iterations);
    for (const std::size_t row : members) ratios[row] = std::exp(problem.residual(row, without));
  }
  return ratios;
}

/// The parameters that were not fitted, with reasons, in one line.
[[nodiscard]] inline std::string unidentified(const Calibration& result) {
  std::string names;
  for (const FittedParameter& p : result.parameters)
    if (!p.fitted) names += (names.empty() ? "" : "; ") + p.name + " (" + p.reason + ")";
  return names;
}

}  // namespace detail

/// Fits `parameters` to `rows`. Refused: no rows, a row that is not above 0 or not predicted above
/// 0, no parameter identified, or some not identified when all are required; the refusal names
/// them.
[[nodiscard]] inline Calibration fit(std::span<const CalibrationParameter> parameters,
                                     std::span<const CalibrationRow> rows,
                                     const RowPrediction& predict,
                                     const CalibrationOptions& options = {}) {
  const detail::RobustFit problem(parameters, rows, predict, options);
  Calibration result;
  result.rows = rows.size();
  std::vector<double> values = problem.start();
  for (std::size_t i = 0; i < parameters.size(); ++i)
    result.parameters.push_back({parameters[i].name, values[i], false, false, 0, {}});
  if (rows.empty()) result.refusal = "there are no rows to learn from";

  std::map<std::string, std::vector<std::size_t>> groups;
  std::vector<std::size_t> all(rows.size()), every(parameters.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::iota(every.begin(), every.end(), std::size_t{0});
  for (const std::size_t row : all) {
    groups[rows[row].group].push_back(row);
    if (!(rows[row].measured > 0) || !std::isfinite(problem.residual(row, values)))
      result.refusal =
          "row " + std::to_string(row + 1) + ": measured and predicted must be above 0";
  }
  result.groups = groups.size();
  if (!result.ok()) return result;

  // Identification looks at the rows alone, not at the pulls.
  const Eigen::MatrixXd slopes =
      problem.jacobian(all, values, every, problem.residuals(all, values))
          .topRows(static_cast<Eigen::Index>(rows.size()));
  const std::vector<std::size_t> free =
      detail::identified(slopes, options.robust, options.doubt, result.parameters);
  if (free.empty() || (options.all_required && free.size() < parameters.size())) {
    result.refusal = "the rows do not identify " + detail::unidentified(result);
    for (FittedParameter& p : result.parameters) p.fitted = false;
    return result;
  }

  result.iterations = problem.minimise(all, free, values, options.iterations);
  detail::judge(problem, parameters, all, free, values, result);
  for (const std::size_t row : all)
    result.ratios.push_back(std::exp(problem.residual(row, values)));
  result.in_sample = detail::fit_error(result.ratios);
  std::vector<double> unseen = result.ratios;
  if (options.leave_out && groups.size() > 1) {
    unseen = detail::left_out_ratios(problem, groups, free, values,
                                     std::min(options.iterations, 12), rows.size());
    result.left_out = detail::fit_error(unseen);
  }
  for (double& ratio : unseen) ratio = 1 / ratio;
  std::sort(unseen.begin(), unseen.end());
  result.spread_low = detail::quantile_of(unseen, 0.1);
  result.spread_high = detail::quantile_of(unseen, 0.9);
  return result;
}

}  // namespace tokenroof
