// Overlap: how arithmetic and memory traffic of one kernel share time when neither hides the other
// completely. Between the sum (no overlap) and the maximum (perfect overlap) lie two families.
//
// For kernels that run one after another, overlap each kernel and add: max of sums <= sum of maxima
// <= sum of sums. Source: theory of rooflines, Williams et al. 2009; the p-norm is a common smooth
// maximum. Symbols: docs/formulas.md.
#pragma once

#include <cmath>
#include <limits>

#include "tokenroof/core/scalar.hpp"

namespace tokenroof {

/// (a^p + b^p)^(1/p), of two times that share a resource (or any two like amounts >= 0).
/// `p` = 1 adds, `p` = 2 is the hypotenuse, an infinite `p` is the maximum; `p` below 1 is taken
/// as 1. Always in [max, 2^(1/p) max]; falls as `p` grows. Name memory before compute.
template <class D, Scalar S>
[[nodiscard]] Quantity<D, S> p_norm(const Quantity<D, S>& a, const Quantity<D, S>& b, double p) {
  if (p <= 1) return a + b;
  const Quantity<D, S> longer = max(a, b);
  const Quantity<D, S> shorter = a < b ? a : b;
  if (std::isinf(p) || shorter <= Quantity<D, S>{}) return longer;
  return longer * pow(1.0 + pow(S(shorter / longer), p), 1 / p);
}

/// max + (1 - overlap) min, of two times. `overlap` in [0, 1] is the share of the shorter one that
/// is hidden: 0 adds, 1 is the maximum. Not clamped. Name memory before compute.
template <class D, Scalar S>
[[nodiscard]] constexpr Quantity<D, S> linear_overlap(const Quantity<D, S>& a,
                                                      const Quantity<D, S>& b, double overlap) {
  const Quantity<D, S> longer = max(a, b);
  const Quantity<D, S> shorter = a < b ? a : b;
  return longer + shorter * (1 - overlap);
}

/// The p whose p-norm equals linear overlap where both parts take equally long: ln 2 / ln(2 - o).
/// `overlap` in [0, 1); 1 and above give infinity, the p of the maximum.
[[nodiscard]] inline double p_norm_of_overlap(double overlap) {
  if (overlap >= 1) return std::numeric_limits<double>::infinity();
  return std::log(2.0) / std::log(2 - overlap);
}

/// The inverse: hidden share 2 - 2^(1/p) that equals a p-norm at the ridge. `p` >= 1.
[[nodiscard]] inline double overlap_of_p_norm(double p) { return 2 - std::pow(2.0, 1 / p); }

}  // namespace tokenroof
