// Random inputs for properties, and the test that a formula differentiates.
#pragma once

#include <cmath>

#include "catch2/catch.hpp"
#include "rapidcheck.h"
#include "tokenroof/core/scalar.hpp"

namespace tokenroof::test {

/// Checks a property on a hundred random cases.
template <class Body>
void property(const char* name, Body body) {
  INFO(name);
  CHECK(rc::check(name, body));
}

/// An evenly random number in [low, high].
inline double between(double low, double high) {
  return low + (high - low) * *rc::gen::inRange(0, 1000001) / 1e6;
}
/// A random number in [low, high] whose logarithm is even; low > 0.
inline double of_any_size(double low, double high) {
  return low * std::pow(high / low, between(0, 1));
}
inline int whole(int low, int high) { return *rc::gen::inRange(low, high + 1); }

/// a <= b but for rounding.
inline bool at_most(double a, double b) {
  return a <= b + 1e-12 * (std::fabs(a) + std::fabs(b)) + 1e-300;
}
inline bool near(double a, double b, double epsilon = 1e-12) {
  return std::fabs(a - b) <= epsilon * (std::fabs(a) + std::fabs(b)) + 1e-300;
}

/// `formula(x)` must be generic in its scalar: the dual value is the double value, and the
/// derivative is the central difference.
template <class Formula>
bool differentiates(const Formula& formula, double x) {
  const Dual<1> dual = formula(Dual<1>::variable(x, 0));
  const double h = 1e-5 * x;
  const double slope = (formula(x + h) - formula(x - h)) / (2 * h);
  return near(dual.value, formula(x), 1e-14) &&
         std::fabs(dual.gradient[0] - slope) <=
             1e-6 * (std::fabs(slope) + std::fabs(formula(x)) / std::fabs(x));
}

}  // namespace tokenroof::test
