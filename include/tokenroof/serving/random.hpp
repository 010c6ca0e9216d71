// Random numbers that are the same everywhere: generator, elementary functions and samplers are
// built from integer arithmetic and IEEE + - * / sqrt alone, because std:: distributions differ
// between libraries and log and exp between platforms in the last bit. (A compiler that contracts
// a*b+c into one rounding, as some do off x86, may still change the last bit: -ffp-contract=off.)
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace tokenroof {

/// xoshiro256** of Blackman and Vigna (2018), seeded through splitmix64: period 2^256 - 1.
class Random {
 public:
  explicit Random(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
      seed += 0x9e3779b97f4a7c15u;
      std::uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
      word = z ^ (z >> 31);
    }
  }

  /// 64 uniform bits.
  std::uint64_t bits() {
    const std::uint64_t result = rotate(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate(state_[3], 45);
    return result;
  }
  /// Uniform in the open interval (0, 1).
  double uniform() { return (static_cast<double>(bits() >> 11) + 0.5) * 0x1p-53; }
  /// Uniform in 0 .. n - 1, n >= 1 (bias below n / 2^53).
  std::uint64_t below(std::uint64_t n) {
    return static_cast<std::uint64_t>(uniform() * static_cast<double>(n));
  }

 private:
  static constexpr std::uint64_t rotate(std::uint64_t x, int k) {
    return (x << k) | (x >> (64 - k));
  }
  std::array<std::uint64_t, 4> state_{};
};

/// Natural logarithm of x > 0, to 2e-16 relative to max(1, |result|), by the atanh series.
[[nodiscard]] inline double portable_log(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < 0.70710678118654752) {
    mantissa *= 2;
    --exponent;
  }
  const double f = (mantissa - 1) / (mantissa + 1);
  const double s = f * f;
  double series = 1.0 / 21;
  for (int odd = 19; odd >= 1; odd -= 2) series = 1.0 / odd + s * series;
  return exponent * 0.69314718055994531 + 2 * f * series;
}

/// Exponential of |x| < 700, to a few 1e-16, by halving the range and a Taylor series.
[[nodiscard]] inline double portable_exp(double x) {
  const double halvings = std::floor(x * 1.4426950408889634 + 0.5);
  // ln 2 in two parts, the first exact for any count of halvings.
  const double r = (x - halvings * 0.69314718036912382) - halvings * 1.9082149292705877e-10;
  double series = 1;
  for (int term = 16; term >= 1; --term) series = 1 + r / term * series;
  return std::ldexp(series, static_cast<int>(halvings));
}

/// Exponential with mean 1.
[[nodiscard]] inline double sample_exponential(Random& random) {
  return -portable_log(random.uniform());
}

/// Standard normal, by Marsaglia's polar method (one of the pair is dropped: no hidden state).
[[nodiscard]] inline double sample_normal(Random& random) {
  for (;;) {
    const double u = 2 * random.uniform() - 1;
    const double v = 2 * random.uniform() - 1;
    const double s = u * u + v * v;
    if (s < 1 && s > 0) return u * std::sqrt(-2 * portable_log(s) / s);
  }
}

/// Gamma with the given shape > 0 and mean 1 (squared coefficient of variation 1 / shape).
/// Marsaglia and Tsang, ACM TOMS 26(3), 2000; below shape 1 boosted by a power of a uniform.
[[nodiscard]] inline double sample_gamma(Random& random, double shape) {
  const double boosted = shape < 1 ? shape + 1 : shape;
  const double d = boosted - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double z = sample_normal(random);
    const double cube = 1 + c * z;
    if (cube <= 0) continue;
    const double v = cube * cube * cube;
    if (portable_log(random.uniform()) > 0.5 * z * z + d - d * v + d * portable_log(v)) continue;
    const double boost = shape < 1 ? portable_exp(portable_log(random.uniform()) / shape) : 1;
    return d * v * boost / shape;
  }
}

/// Geometric on 1, 2, ... with the given mean >= 1.
[[nodiscard]] inline double sample_geometric(Random& random, double mean) {
  if (mean <= 1) return 1;
  return 1 + std::floor(portable_log(random.uniform()) / portable_log(1 - 1 / mean));
}

/// Lognormal with mean 1 and the given coefficient of variation >= 0.
[[nodiscard]] inline double sample_lognormal(Random& random, double cv) {
  const double variance = portable_log(1 + cv * cv);
  return portable_exp(std::sqrt(variance) * sample_normal(random) - 0.5 * variance);
}

}  // namespace tokenroof
