// The number a formula is written over: double, or Dual<N> for exact derivatives.
//
// A formula calls max, min, sqrt, exp, log, pow unqualified and works for both, and for quantities
// where the operation keeps the dimension.
//
// The kink of max. A roofline is a maximum, and a maximum has no derivative where its arguments are
// equal. Rule: on a tie the FIRST argument wins, value and derivatives. Formulas therefore name
// memory before compute, so at the ridge the answer is the derivative of the memory-bound side;
// one-sided derivatives are had by moving an argument by a relative 1e-9 (analyze/sensitivity.hpp).
#pragma once

#include <array>
#include <cmath>
#include <compare>
#include <cstddef>
#include <type_traits>

#include "tokenroof/core/units.hpp"

namespace tokenroof {

/// A value with its N partial derivatives (forward-mode differentiation).
template <std::size_t N>
struct Dual {
  double value = 0;
  std::array<double, N> gradient{};

  constexpr Dual() = default;
  constexpr Dual(double v) : value(v) {}
  /// The `index`-th independent variable at `v`.
  static constexpr Dual variable(double v, std::size_t index) {
    Dual dual(v);
    dual.gradient[index] = 1;
    return dual;
  }
  /// f(x) by the chain rule, from the value and slope of f at x.
  [[nodiscard]] constexpr Dual chain(double f, double slope) const {
    Dual result(f);
    for (std::size_t i = 0; i < N; ++i) result.gradient[i] = slope * gradient[i];
    return result;
  }

  constexpr Dual& operator+=(const Dual& b) { return *this = *this + b; }
  constexpr Dual& operator-=(const Dual& b) { return *this = *this - b; }
  constexpr Dual& operator*=(const Dual& b) { return *this = *this * b; }
  constexpr Dual& operator/=(const Dual& b) { return *this = *this / b; }
  constexpr Dual operator-() const { return chain(-value, -1); }

  friend constexpr Dual operator+(const Dual& a, const Dual& b) {
    return combine(a, b, a.value + b.value, 1, 1);
  }
  friend constexpr Dual operator-(const Dual& a, const Dual& b) {
    return combine(a, b, a.value - b.value, 1, -1);
  }
  friend constexpr Dual operator*(const Dual& a, const Dual& b) {
    return combine(a, b, a.value * b.value, b.value, a.value);
  }
  friend constexpr Dual operator/(const Dual& a, const Dual& b) {
    return combine(a, b, a.value / b.value, 1 / b.value, -a.value / (b.value * b.value));
  }
  friend constexpr bool operator==(const Dual& a, const Dual& b) { return a.value == b.value; }
  friend constexpr auto operator<=>(const Dual& a, const Dual& b) { return a.value <=> b.value; }

 private:
  static constexpr Dual combine(const Dual& a, const Dual& b, double value, double by_a,
                                double by_b) {
    Dual result(value);
    for (std::size_t i = 0; i < N; ++i)
      result.gradient[i] = by_a * a.gradient[i] + by_b * b.gradient[i];
    return result;
  }
};

template <class T>
inline constexpr bool is_dual = false;
template <std::size_t N>
inline constexpr bool is_dual<Dual<N>> = true;
template <std::size_t N>
inline constexpr bool is_number<Dual<N>> = true;

/// What a formula may be instantiated with.
template <class T>
concept Scalar = std::is_same_v<T, double> || is_dual<T>;

/// The value without derivatives.
[[nodiscard]] constexpr double value_of(double x) { return x; }
template <std::size_t N>
[[nodiscard]] constexpr double value_of(const Dual<N>& x) {
  return x.value;
}

/// The larger; on a tie the first, see the header comment.
template <class T>
[[nodiscard]] constexpr T max(const T& a, const T& b) {
  return a < b ? b : a;
}
/// The smaller; on a tie the first.
template <class T>
[[nodiscard]] constexpr T min(const T& a, const T& b) {
  return b < a ? b : a;
}

[[nodiscard]] inline double sqrt(double x) { return std::sqrt(x); }
[[nodiscard]] inline double exp(double x) { return std::exp(x); }
[[nodiscard]] inline double log(double x) { return std::log(x); }
[[nodiscard]] inline double pow(double x, double exponent) { return std::pow(x, exponent); }

template <std::size_t N>
[[nodiscard]] Dual<N> sqrt(const Dual<N>& x) {
  const double root = std::sqrt(x.value);
  return x.chain(root, root > 0 ? 0.5 / root : 0);
}
template <std::size_t N>
[[nodiscard]] Dual<N> exp(const Dual<N>& x) {
  const double e = std::exp(x.value);
  return x.chain(e, e);
}
template <std::size_t N>
[[nodiscard]] Dual<N> log(const Dual<N>& x) {
  return x.chain(std::log(x.value), 1 / x.value);
}
/// x^exponent for a constant exponent; x >= 0.
template <std::size_t N>
[[nodiscard]] Dual<N> pow(const Dual<N>& x, double exponent) {
  return x.chain(std::pow(x.value, exponent), exponent * std::pow(x.value, exponent - 1));
}

/// Length of the hypotenuse sqrt(a^2 + b^2): the smooth maximum with p = 2. Within [max, sqrt2
/// max].
template <class D, Scalar S>
[[nodiscard]] Quantity<D, S> smooth_max(const Quantity<D, S>& a, const Quantity<D, S>& b) {
  return Quantity<D, S>::from_base(sqrt(a.base() * a.base() + b.base() * b.base()));
}

}  // namespace tokenroof
