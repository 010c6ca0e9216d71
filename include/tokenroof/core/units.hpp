// Quantities with dimensions, so that a sum or a hand-over of unlike things does not compile.
//
//   Bytes memory = 80 * gigabyte;            number times unit goes in
//   double ms = time / millisecond;          division by a unit comes out
//   Seconds t = bytes / bandwidth;           dimensions follow the arithmetic
//
// Values are held in base units (second, byte, FLOP, token, request, US dollar, joule). There is no
// implicit conversion from or to double; a quotient of like quantities is a plain number. GB is 1e9
// bytes, GiB is 2^30 bytes: two spellings, no switch. A query, a sequence and a user are requests.
#pragma once

#include <compare>
#include <type_traits>

namespace tokenroof {

/// Exponents of the seven base dimensions.
template <int Second, int Byte, int Flop, int Token, int Request, int Dollar, int Joule>
struct Dimension {};

template <class A, class B>
struct DimensionProduct;
template <int... A, int... B>
struct DimensionProduct<Dimension<A...>, Dimension<B...>> {
  using type = Dimension<(A + B)...>;
};
template <class A>
struct DimensionInverse;
template <int... A>
struct DimensionInverse<Dimension<A...>> {
  using type = Dimension<(-A)...>;
};

using NoDimension = Dimension<0, 0, 0, 0, 0, 0, 0>;

template <class Dim, class S = double>
class Quantity;

template <class Dim, class S>
struct QuantityOrNumber {
  using type = Quantity<Dim, S>;
};
template <class S>
struct QuantityOrNumber<NoDimension, S> {
  using type = S;
};

template <class T>
inline constexpr bool is_quantity = false;
template <class Dim, class S>
inline constexpr bool is_quantity<Quantity<Dim, S>> = true;

/// Types that may scale a quantity; core/scalar.hpp adds dual numbers. A closed list, so that the
/// operators stay out of the way of other libraries' expression types.
template <class T>
inline constexpr bool is_number = std::is_arithmetic_v<T>;
template <class T>
concept Number = is_number<std::remove_cvref_t<T>>;

/// An amount of dimension `Dim`, stored as scalar `S` in base units.
template <class Dim, class S>
class Quantity {
 public:
  using dimension = Dim;
  using scalar = S;

  constexpr Quantity() = default;
  /// The amount in base units; explicit on purpose.
  static constexpr Quantity from_base(S value) {
    Quantity quantity;
    quantity.value_ = value;
    return quantity;
  }
  /// A double quantity widens to a dual one (derivatives zero), never back.
  template <class T>
  requires(!std::is_same_v<T, S> && std::is_convertible_v<T, S> &&
           std::is_same_v<T, double>) constexpr Quantity(const Quantity<Dim, T>& other)
      : value_(other.base()) {}

  /// The number of base units.
  [[nodiscard]] constexpr const S& base() const { return value_; }

  constexpr Quantity& operator+=(const Quantity& other) { return *this = *this + other; }
  constexpr Quantity& operator-=(const Quantity& other) { return *this = *this - other; }
  constexpr Quantity& operator*=(const S& factor) { return *this = *this * factor; }
  constexpr Quantity& operator/=(const S& factor) { return *this = *this / factor; }
  constexpr Quantity operator-() const { return from_base(-value_); }

  friend constexpr Quantity operator+(const Quantity& a, const Quantity& b) {
    return from_base(a.value_ + b.value_);
  }
  friend constexpr Quantity operator-(const Quantity& a, const Quantity& b) {
    return from_base(a.value_ - b.value_);
  }
  friend constexpr bool operator==(const Quantity& a, const Quantity& b) {
    return a.value_ == b.value_;
  }
  friend constexpr auto operator<=>(const Quantity& a, const Quantity& b) {
    return a.value_ <=> b.value_;
  }

 private:
  S value_{};
};

template <class A, class B>
using ProductScalar = decltype(A{} * B{});

template <class D1, class S1, class D2, class S2>
[[nodiscard]] constexpr auto operator*(const Quantity<D1, S1>& a, const Quantity<D2, S2>& b) {
  using S = ProductScalar<S1, S2>;
  using R = typename QuantityOrNumber<typename DimensionProduct<D1, D2>::type, S>::type;
  if constexpr (is_quantity<R>) {
    return R::from_base(a.base() * b.base());
  } else {
    return R(a.base() * b.base());
  }
}

template <class D1, class S1, class D2, class S2>
[[nodiscard]] constexpr auto operator/(const Quantity<D1, S1>& a, const Quantity<D2, S2>& b) {
  using S = ProductScalar<S1, S2>;
  using Inverse = typename DimensionInverse<D2>::type;
  using R = typename QuantityOrNumber<typename DimensionProduct<D1, Inverse>::type, S>::type;
  if constexpr (is_quantity<R>) {
    return R::from_base(a.base() / b.base());
  } else {
    return R(a.base() / b.base());
  }
}

template <class D, class S, Number N>
[[nodiscard]] constexpr auto operator*(const Quantity<D, S>& a, const N& factor) {
  return Quantity<D, ProductScalar<S, N>>::from_base(a.base() * factor);
}
template <class D, class S, Number N>
[[nodiscard]] constexpr auto operator*(const N& factor, const Quantity<D, S>& a) {
  return a * factor;
}
template <class D, class S, Number N>
[[nodiscard]] constexpr auto operator/(const Quantity<D, S>& a, const N& divisor) {
  return Quantity<D, ProductScalar<S, N>>::from_base(a.base() / divisor);
}
template <class D, class S, Number N>
[[nodiscard]] constexpr auto operator/(const N& number, const Quantity<D, S>& a) {
  return Quantity<typename DimensionInverse<D>::type, ProductScalar<S, N>>::from_base(number /
                                                                                      a.base());
}

/// The same quantity over another scalar: With<Seconds, Dual<3>>.
template <class Q, class S>
using With = Quantity<typename Q::dimension, S>;

// Named quantities. ------------------------------------------------------------------------------
using Seconds = Quantity<Dimension<1, 0, 0, 0, 0, 0, 0>>;
using Bytes = Quantity<Dimension<0, 1, 0, 0, 0, 0, 0>>;
using Flops = Quantity<Dimension<0, 0, 1, 0, 0, 0, 0>>;
using Tokens = Quantity<Dimension<0, 0, 0, 1, 0, 0, 0>>;
using Requests = Quantity<Dimension<0, 0, 0, 0, 1, 0, 0>>;
using Dollars = Quantity<Dimension<0, 0, 0, 0, 0, 1, 0>>;
using Joules = Quantity<Dimension<0, 0, 0, 0, 0, 0, 1>>;

using BytesPerSecond = Quantity<Dimension<-1, 1, 0, 0, 0, 0, 0>>;
using FlopsPerSecond = Quantity<Dimension<-1, 0, 1, 0, 0, 0, 0>>;
using FlopsPerByte = Quantity<Dimension<0, -1, 1, 0, 0, 0, 0>>;
using FlopsPerToken = Quantity<Dimension<0, 0, 1, -1, 0, 0, 0>>;
using BytesPerToken = Quantity<Dimension<0, 1, 0, -1, 0, 0, 0>>;
using TokensPerSecond = Quantity<Dimension<-1, 0, 0, 1, 0, 0, 0>>;
using TokensPerRequest = Quantity<Dimension<0, 0, 0, 1, -1, 0, 0>>;
using RequestsPerSecond = Quantity<Dimension<-1, 0, 0, 0, 1, 0, 0>>;
using SecondsPerToken = Quantity<Dimension<1, 0, 0, -1, 0, 0, 0>>;
using DollarsPerSecond = Quantity<Dimension<-1, 0, 0, 0, 0, 1, 0>>;
using DollarsPerToken = Quantity<Dimension<0, 0, 0, -1, 0, 1, 0>>;
using DollarsPerJoule = Quantity<Dimension<0, 0, 0, 0, 0, 1, -1>>;
using Watts = Quantity<Dimension<-1, 0, 0, 0, 0, 0, 1>>;
using JoulesPerToken = Quantity<Dimension<0, 0, 0, -1, 0, 0, 1>>;

// Unit constants. --------------------------------------------------------------------------------
inline constexpr Seconds second = Seconds::from_base(1);
inline constexpr Seconds millisecond = Seconds::from_base(1e-3);
inline constexpr Seconds microsecond = Seconds::from_base(1e-6);
inline constexpr Seconds nanosecond = Seconds::from_base(1e-9);
inline constexpr Seconds minute = Seconds::from_base(60);
inline constexpr Seconds hour = Seconds::from_base(3600);
inline constexpr Seconds day = Seconds::from_base(86400);
/// 365 days: the year of prices and depreciation.
inline constexpr Seconds year = Seconds::from_base(8760.0 * 3600.0);

inline constexpr Bytes byte = Bytes::from_base(1);
inline constexpr Bytes kilobyte = Bytes::from_base(1e3);
inline constexpr Bytes megabyte = Bytes::from_base(1e6);
inline constexpr Bytes gigabyte = Bytes::from_base(1e9);
inline constexpr Bytes terabyte = Bytes::from_base(1e12);
inline constexpr Bytes kibibyte = Bytes::from_base(1024.0);
inline constexpr Bytes mebibyte = Bytes::from_base(1048576.0);
inline constexpr Bytes gibibyte = Bytes::from_base(1073741824.0);
inline constexpr Bytes tebibyte = Bytes::from_base(1099511627776.0);

inline constexpr Flops flop = Flops::from_base(1);
inline constexpr Flops gigaflop = Flops::from_base(1e9);
inline constexpr Flops teraflop = Flops::from_base(1e12);

inline constexpr Tokens token = Tokens::from_base(1);
inline constexpr Requests request = Requests::from_base(1);
inline constexpr Dollars dollar = Dollars::from_base(1);
inline constexpr Joules joule = Joules::from_base(1);
inline constexpr Watts watt = Watts::from_base(1);
inline constexpr Watts kilowatt = Watts::from_base(1e3);
inline constexpr Joules kilowatt_hour = Joules::from_base(3.6e6);

}  // namespace tokenroof
