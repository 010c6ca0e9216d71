#include "tokenroof/io/accelerator_io.hpp"

#include "catch2/catch.hpp"
#include "tokenroof/core/error.hpp"

using namespace tokenroof;
using namespace tokenroof::io;
using Catch::Matchers::Contains;

namespace {
std::string refusal(const std::string& text, Sources sources = Sources::optional) {
  try {
    static_cast<void>(read_accelerator(text, "f.json", sources));
    return "accepted";
  } catch (const SpecError& error) {
    return error.what();
  }
}
const std::string small =
    R"("dense_peak": {"bf16": "100 TFLOP/s"}, "memory_bandwidth": "1 TB/s", "memory_nominal": "80 GB")";
}  // namespace

TEST_CASE("a device in place needs three things") {
  const AcceleratorEntry entry = read_accelerator("{" + small + "}", "f.json");
  CHECK(entry.accelerator.id == "custom");
  CHECK(entry.accelerator.peak(DataType::bf16) == 100e12 * flop / second);
  CHECK(entry.accelerator.peak(DataType::fp8) == FlopsPerSecond{});
  CHECK(entry.accelerator.memory_visible == 80 * gigabyte);
  CHECK_FALSE(entry.accelerator.power);
  CHECK_FALSE(entry.accelerator.price);
  CHECK_THAT(refusal("{}"), Contains("/dense_peak: is required") &&
                                Contains("/memory_bandwidth: is required") &&
                                Contains("/memory_nominal: is required"));
}

TEST_CASE("every part of a full file is read") {
  const AcceleratorEntry entry = read_accelerator(
      "{" + small + R"(, "id": "x", "name": "X", "aliases": ["y"], "memory_visible": "79.15 GiB",
      "scale_up": {"link": "nvlink4", "bandwidth_per_direction": "450 GB/s", "domain_size": 8, "switched": true},
      "scale_out": {"bandwidth_per_direction": "400 Gbit/s", "latency": "5 us"},
      "power": "700 W", "price": {"hour": "3.60 USD", "as_of": "2026-08-22"}, "launch_year": 2022})",
      "f.json");
  const Accelerator& device = entry.accelerator;
  CHECK(entry.aliases == std::vector<std::string>{"y"});
  CHECK(device.scale_up.domain_size == 8);
  CHECK(device.scale_up.switched);
  CHECK_FALSE(device.scale_up.latency);
  REQUIRE(device.scale_out);
  CHECK(device.scale_out->bandwidth == 50e9 * byte / second);
  CHECK(*device.scale_out->latency == 5 * microsecond);
  CHECK(*device.price / (dollar / hour) == Approx(3.6));
  CHECK(device.price_as_of == "2026-08-22");
  CHECK(entry.launch_year == 2022);
}

TEST_CASE("devices that are refused") {
  CHECK_THAT(
      refusal(
          R"({"dense_peak": {"bf61": "1 TFLOP/s"}, "memory_bandwidth": "80GB", "memory_nominal": "-80 GB"})"),
      Contains("/dense_peak/bf61: unknown key (did you mean \"bf16\"?)") &&
          Contains("/memory_bandwidth: expected a rate in bytes per second") &&
          Contains("/memory_nominal: must not be negative"));
  CHECK_THAT(refusal("{" + small + R"(, "memory_visible": "81 GiB"})"),
             Contains("exceeds memory_nominal"));
  CHECK_THAT(refusal("{" + small + R"(, "price": {"hour": "2 USD", "as_of": "22.8.2026"}})"),
             Contains("expected a date"));
  CHECK_THAT(refusal("{" + small +
                     R"(, "scale_up": {"bandwidth_per_direction": "1 GB/s", "domain_size": 0}})"),
             Contains("/scale_up/domain_size"));
}

TEST_CASE("in data/ every number names its source") {
  const std::string sources = R"("sources": {"dense_peak": "a", "memory_bandwidth": "b"})";
  CHECK_THAT(refusal("{\"id\": \"x\", " + small + ", " + sources + "}", Sources::required),
             Contains("/memory_nominal: has no entry in \"sources\"") && !Contains("/dense_peak"));
  CHECK_THAT(refusal("{\"id\": \"x\", " + small +
                         R"(, "sources": {"memory": "a"}, "unverified": ["power"]})",
                     Sources::required),
             Contains("names \"memory\", which is no numeric key") &&
                 Contains("names \"power\", which the file does not have"));
}
