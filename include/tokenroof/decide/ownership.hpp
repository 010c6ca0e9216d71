// Ownership: dollars per hour of a device that is bought, and joules per token.
//
//   price = capital / lifetime, with interest + power x electricity + operations
//
// Source: the annuity formula of any textbook of engineering economics. Symbols: docs/formulas.md.
#pragma once

#include <cmath>

#include "tokenroof/core/scalar.hpp"
#include "tokenroof/core/units.hpp"

namespace tokenroof {

/// Share i (1 + i)^y / ((1 + i)^y - 1) of a loan paid back each year, so that nothing is left after
/// `years` y > 0 at yearly interest `rate` i >= 0. 1 / y without interest.
[[nodiscard]] inline double capital_recovery_factor(double rate, double years) {
  if (rate <= 0) return 1 / years;
  return rate / -std::expm1(-years * std::log1p(rate));
}

/// What owning one device takes, all-in: its share of server, network and building.
struct Ownership {
  Dollars capital;
  double interest = 0;          ///< per year
  double years = 4;             ///< until it is written off
  Watts power;                  ///< drawn, without cooling
  double facility_factor = 1;   ///< facility power over device power (PUE), >= 1
  DollarsPerJoule electricity;  ///< price of energy
  DollarsPerSecond operations;  ///< people, space, spares
};

/// Price of a device by what it pays for; per AVAILABLE time. Divide by the utilisation for the
/// price of busy time.
struct OwnershipPrice {
  DollarsPerSecond capital;
  DollarsPerSecond power;
  DollarsPerSecond operations;
  [[nodiscard]] constexpr DollarsPerSecond total() const { return capital + power + operations; }
};

/// capital x recovery factor / year, power x facility factor x electricity, operations.
[[nodiscard]] inline OwnershipPrice ownership_price(const Ownership& device) {
  return {device.capital * capital_recovery_factor(device.interest, device.years) / year,
          device.power * device.facility_factor * device.electricity, device.operations};
}

/// Joules devices x power x step / batch of one output token; times the facility factor for the
/// whole building. `batch` > 0 tokens per step.
template <Scalar S>
[[nodiscard]] constexpr With<JoulesPerToken, S> energy_per_token(double devices,
                                                                 const With<Watts, S>& power,
                                                                 const With<Seconds, S>& step,
                                                                 const With<Tokens, S>& batch) {
  return devices * power * step / batch;
}

using JoulesPerByte = decltype(joule / byte);
using JoulesPerFlop = decltype(joule / flop);

/// Order-of-magnitude inputs for today's memory and tensor units: 4 pJ per bit, 0.7 pJ per FLOP.
inline constexpr JoulesPerByte typical_energy_per_byte = 8 * 4e-12 * joule / byte;
inline constexpr JoulesPerFlop typical_energy_per_flop = 0.7e-12 * joule / flop;

/// Joules bytes x per byte + FLOPs x per FLOP that moving and computing cannot avoid.
template <Scalar S>
[[nodiscard]] constexpr With<Joules, S> least_energy(
    const With<Bytes, S>& moved, const With<Flops, S>& computed,
    const With<JoulesPerByte, S>& per_byte = typical_energy_per_byte,
    const With<JoulesPerFlop, S>& per_flop = typical_energy_per_flop) {
  return moved * per_byte + computed * per_flop;
}

}  // namespace tokenroof
