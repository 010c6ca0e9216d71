// Text with units: "3.35 TB/s", "80 GB", "50 ms", "4 req/s", "128k". The door at which units are
// converted; behind it everything is in base units.
//
//   Numbers   digits, point, exponent: 80, 0.5, 9.894e14. A space before the unit is optional.
//   Counts    tokens and requests need no unit; k = 1000, M = 1e6, G = 1e9, Ki = 1024, Mi = 2^20.
//             "128k" is 128,000 tokens and "128Ki" is 131,072: what a vendor calls "128k context"
//             is usually the second.
//   Bytes     B kB MB GB TB PB (powers of 1000), KiB MiB GiB TiB PiB (of 1024), kbit Mbit Gbit Tbit
//   Seconds   ns us ms s min h d
//   FLOP      FLOP kFLOP MFLOP GFLOP TFLOP PFLOP EFLOP, and with /s; "TFLOPS" and "TOPS" are
//   TFLOP/s Others    tok token tokens, req request requests, USD, J kJ MJ Wh kWh MWh, W kW MW
//   Quotients one or more "/": GB/s, USD/kWh, tokens/s, tokens/req
// Units are case-sensitive, because Mb and MB, or ms and Ms, are not the same.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "tokenroof/core/units.hpp"

namespace tokenroof::io {

/// Exponents of second, byte, FLOP, token, request, dollar, joule, as a value.
using UnitDimension = std::array<int, 7>;

template <class Dim>
struct DimensionExponents;
template <int... Exponents>
struct DimensionExponents<Dimension<Exponents...>> {
  static constexpr UnitDimension value{Exponents...};
};
/// The dimension of a quantity type; of double: none.
template <class Q>
inline constexpr UnitDimension unit_dimension = DimensionExponents<typename Q::dimension>::value;
template <>
inline constexpr UnitDimension unit_dimension<double> = {};

/// Which values are sensible.
enum class Sign { positive, non_negative, any };

/// What became of a text: a value in base units, or the reason why there is none.
template <class T>
struct Parsed {
  std::optional<T> value;
  std::string reason;
  [[nodiscard]] explicit operator bool() const { return value.has_value(); }
};

/// Reads `text` as a quantity of `dimension`, in base units. The reason names what was expected,
/// with an example, and what was found: no unit, another dimension, an unknown unit (with
/// did-you-mean), the wrong sign, nan, inf, or a number beyond double.
[[nodiscard]] Parsed<double> parse_units(std::string_view text, const UnitDimension& dimension,
                                         Sign sign = Sign::positive);

/// The same for a named quantity: parse_quantity<Bytes>("80 GB"); double takes "128k" and "0.5".
template <class Q>
[[nodiscard]] Parsed<Q> parse_quantity(std::string_view text, Sign sign = Sign::positive) {
  Parsed<double> base = parse_units(text, unit_dimension<Q>, sign);
  if (!base) return {std::nullopt, std::move(base.reason)};
  if constexpr (is_quantity<Q>) {
    return {Q::from_base(*base.value), {}};
  } else {
    return {*base.value, {}};
  }
}

/// Whether a plain number is a complete value of this dimension: numbers, tokens, requests and
/// their quotient.
[[nodiscard]] constexpr bool is_count(const UnitDimension& dimension) {
  UnitDimension rest = dimension;
  rest[3] = rest[4] = 0;
  return rest == UnitDimension{} &&
         (dimension[3] == 1 || dimension[4] == 1 || dimension == UnitDimension{});
}
/// "a rate of memory or a link, such as \"3.35 TB/s\"": what a message says was expected.
[[nodiscard]] std::string expected_text(const UnitDimension& dimension);

// For people: `digits` significant digits, the unit that puts one to three of them before the
// point. Values that are not finite read "-".
[[nodiscard]] std::string to_text(Seconds time, int digits = 4);         ///< "12.5 ms"
[[nodiscard]] std::string to_text(Bytes size, int digits = 4);           ///< binary: "74.51 GiB"
[[nodiscard]] std::string to_text_decimal(Bytes size, int digits = 4);   ///< decimal: "80 GB"
[[nodiscard]] std::string to_text(BytesPerSecond rate, int digits = 4);  ///< "3.35 TB/s"
[[nodiscard]] std::string to_text(FlopsPerSecond rate, int digits = 4);  ///< "989.4 TFLOP/s"
[[nodiscard]] std::string to_text(Flops work, int digits = 4);           ///< "141.2 GFLOP"
[[nodiscard]] std::string to_text(FlopsPerToken work, int digits = 4);
[[nodiscard]] std::string to_text(BytesPerToken size, int digits = 4);  ///< "320 KiB/token"
[[nodiscard]] std::string to_text(TokensPerSecond rate, int digits = 4);
[[nodiscard]] std::string to_text(RequestsPerSecond rate, int digits = 4);
[[nodiscard]] std::string to_text(Watts power, int digits = 4);
[[nodiscard]] std::string to_text(Dollars amount, int digits = 4);  ///< "2.5 USD"
[[nodiscard]] std::string to_text(DollarsPerSecond rate,
                                  int digits = 4);  ///< per hour: "2.5 USD/h"
/// A plain number with `digits` significant digits, thousands unmarked: "1234", "0.03125".
[[nodiscard]] std::string to_text(double number, int digits = 4);

}  // namespace tokenroof::io
