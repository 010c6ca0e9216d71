#include "tokenroof/io/units_text.hpp"

#include <cmath>
#include <limits>

#include "catch2/catch.hpp"

using namespace tokenroof;
using namespace tokenroof::io;
using Catch::Matchers::Contains;

namespace {
template <class Q>
double base(std::string_view text, Sign sign = Sign::positive) {
  const Parsed<Q> parsed = parse_quantity<Q>(text, sign);
  INFO(parsed.reason);
  REQUIRE(parsed);
  return parsed.value->base();
}
template <class Q>
std::string reason(std::string_view text, Sign sign = Sign::positive) {
  return parse_quantity<Q>(text, sign).reason;
}
}  // namespace

TEST_CASE("text with units becomes base units") {
  CHECK(base<BytesPerSecond>("3.35 TB/s") == 3.35e12);
  CHECK(base<Bytes>("80 GB") == 80e9);
  CHECK(base<Bytes>("80GB") == 80e9);
  CHECK(base<Bytes>(" 79.15 GiB ") == 79.15 * 1073741824.0);
  CHECK(base<Seconds>("50 ms") == Approx(0.05));
  CHECK(base<Seconds>("5 \u00b5s") == Approx(5e-6));
  CHECK(base<RequestsPerSecond>("4 req/s") == 4);
  CHECK(base<RequestsPerSecond>("120 req/min") == 2);
  CHECK(base<Dollars>("2.50 USD") == 2.5);
  CHECK(base<DollarsPerSecond>("3.6 USD/h") == Approx(1e-3));
  CHECK(base<Watts>("700 W") == 700);
  CHECK(base<FlopsPerSecond>("989.4 TFLOP/s") == 989.4e12);
  CHECK(base<FlopsPerSecond>("1979 TOPS") == 1979e12);
  CHECK(base<DollarsPerJoule>("0.08 USD/kWh") == Approx(0.08 / 3.6e6));
  CHECK(base<BytesPerSecond>("400 Gbit/s") == 50e9);
  CHECK(base<TokensPerSecond>("1.5k tokens/s") == 1500);
}

TEST_CASE("counts take multiples and need no unit") {
  CHECK(base<TokensPerRequest>("128k") == 128000);
  CHECK(base<TokensPerRequest>("128Ki") == 131072);
  CHECK(base<TokensPerRequest>("128k tokens") == 128000);
  CHECK(base<TokensPerRequest>("512 tokens/req") == 512);
  CHECK(base<Tokens>("1.5M") == 1.5e6);
  CHECK(base<Requests>("64") == 64);
  CHECK(*parse_quantity<double>("8k").value == 8000);
  CHECK_THAT(reason<Tokens>("8kB"), Contains("expected a number of tokens"));
}

TEST_CASE("what is refused, and why") {
  CHECK_THAT(reason<BytesPerSecond>("80GB"), Contains("3.35 TB/s") && Contains("80GB"));
  CHECK_THAT(reason<Bytes>("80"), Contains("the unit is missing"));
  CHECK_THAT(reason<Bytes>("80 gb"), Contains("unknown unit \"gb\" (did you mean \"GB\""));
  CHECK_THAT(reason<BytesPerSecond>("400 Gb/s"), Contains("ambiguous"));
  CHECK_THAT(reason<Bytes>("-80 GB"), Contains("must not be negative"));
  CHECK_THAT(reason<Bytes>("0 GB"), Contains("must be greater than 0"));
  CHECK(parse_quantity<Bytes>("0 GB", Sign::non_negative));
  CHECK_THAT(reason<Bytes>("nan GB"), Contains("not a finite number"));
  CHECK_THAT(reason<Bytes>("inf GB"), Contains("not a finite number"));
  CHECK_THAT(reason<Bytes>("1e400 GB"), Contains("out of range"));
  CHECK_THAT(reason<Bytes>("1e305 GB"), Contains("out of range"));
  for (const char* text : {"", " ", "GB", "eighty GB", "80 GB/", "80 /s", "80 GB s", "1,000 GB"})
    CHECK_FALSE(parse_quantity<Bytes>(text));
  CHECK_THAT(reason<Dollars>("2.50 EUR"), Contains("unknown unit \"EUR\""));
}

TEST_CASE("quantities for people") {
  CHECK(to_text(12.5 * millisecond) == "12.5 ms");
  CHECK(to_text(Seconds{}) == "0 ns");
  CHECK(to_text(90 * second) == "90 s");
  CHECK(to_text(3 * hour) == "3 h");
  CHECK(to_text(80 * gigabyte) == "74.51 GiB");
  CHECK(to_text_decimal(80 * gigabyte) == "80 GB");
  CHECK(to_text(3.35e12 * byte / second) == "3.35 TB/s");
  CHECK(to_text(1978.9e12 * flop / second, 5) == "1978.9 TFLOP/s");
  CHECK(to_text(327680 * byte / token) == "320 KiB/token");
  CHECK(to_text(2.5 * dollar / hour) == "2.5 USD/h");
  CHECK(to_text(999.96 * microsecond) == "1 ms");
  CHECK(to_text(123456.0) == "123456");
  CHECK(to_text(0.000123456) == "0.0001235");
  CHECK(to_text(1e-9) == "1e-09");
  CHECK(to_text(std::numeric_limits<double>::infinity()) == "-");
  CHECK(to_text(Seconds::from_base(std::nan(""))) == "-");
}
