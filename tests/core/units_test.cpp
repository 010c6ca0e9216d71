#include "tokenroof/core/units.hpp"

#include <type_traits>

#include "catch2/catch.hpp"
#include "rapidcheck.h"

namespace tokenroof {
namespace {

// What the types promise without running anything.
static_assert(sizeof(Bytes) == sizeof(double));
static_assert(std::is_trivially_copyable_v<Bytes>);
static_assert(!std::is_convertible_v<double, Bytes>);
static_assert(!std::is_convertible_v<Bytes, double>);
static_assert(std::is_same_v<decltype(1 * byte / (1 * second)), BytesPerSecond>);
static_assert(std::is_same_v<decltype((1 * byte) / (2 * byte)), double>);
static_assert(std::is_same_v<decltype(1 / (1 * second) * (1 * second)), double>);
static_assert(gibibyte / byte == 1073741824.0);
static_assert(gigabyte / byte == 1e9);

TEST_CASE("a weight read takes bytes over bandwidth") {
  // 700 GB at 3 TB/s: 700e9 / 3e12 s = 0.2333 s.
  const Seconds time = 700 * gigabyte / (3 * terabyte / second);
  CHECK(time / second == Approx(0.23333333333333334).epsilon(1e-15));
}

TEST_CASE("GB and GiB differ by 7.4 percent") {
  CHECK((80 * gibibyte) / gigabyte == Approx(85.89934592));
  CHECK((80 * gigabyte) / gibibyte == Approx(74.505806).epsilon(1e-7));
}

TEST_CASE("requests keep their own dimension") {
  const TokensPerRequest context = 8192 * token / request;
  const BytesPerToken growth = 327680 * byte / token;
  const Bytes cache = growth * context * (2 * request);
  CHECK(cache / gibibyte == 5);
}

TEST_CASE("money and energy") {
  const DollarsPerSecond price = 2.5 * dollar / hour;
  CHECK(price * day / dollar == Approx(60));
  CHECK(700 * watt * hour / kilowatt_hour == Approx(0.7));
}

TEST_CASE("order and signs") {
  CHECK(1 * kilobyte < 1 * kibibyte);
  CHECK(-(2 * second) + 3 * second == 1 * second);
  Seconds time = 2 * second;
  time *= 3.0;
  time -= 1 * second;
  time /= 5.0;
  CHECK(time == 1 * second);
}

TEST_CASE("unit round trip") {
  CHECK(rc::check("number x unit / unit is the number", [](double x) {
    RC_PRE(x == x && x * 0 == 0);
    RC_ASSERT((x * byte) / byte == x);
    const double back = (x * gibibyte) / gibibyte;
    RC_ASSERT(back == x || std::abs(x) > 1e290);
  }));
}

}  // namespace
}  // namespace tokenroof
