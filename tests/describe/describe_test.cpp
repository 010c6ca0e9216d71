#include "catch2/catch.hpp"
#include "tokenroof/describe/scenario.hpp"

namespace tokenroof {
namespace {

TEST_CASE("formats count their scales") {
  CHECK(format("nvfp4")->bytes_per_element == 0.5625);
  CHECK(format("mxfp4")->bytes_per_element == 0.53125);
  CHECK(format("int4")->bytes_per_element == 0.515625);
  CHECK(format("q8_0")->bytes_per_element * 32 == 34);
  CHECK(format("q4_0")->bytes_per_element * 32 == 18);
  CHECK_FALSE(format("fp7"));
}

TEST_CASE("a multiply runs in what the device has") {
  Accelerator device;
  const auto give = [&](DataType type) {
    device.dense_peak[static_cast<std::size_t>(type)] = 1 * teraflop / second;
  };
  give(DataType::bf16);
  CHECK(multiply_type(device, DataType::fp8) == DataType::bf16);
  give(DataType::fp8);
  CHECK(multiply_type(device, DataType::fp8) == DataType::fp8);
  CHECK(multiply_type(device, DataType::fp4) == DataType::fp8);
}

TEST_CASE("devices of a deployment") {
  const Deployment layout{.tensor_parallel = 4, .pipeline_parallel = 2, .replicas = 3};
  CHECK(layout.devices_per_replica() == 8);
  CHECK(layout.devices() == 24);
}

TEST_CASE("length laws") {
  LengthLaw uniform{.kind = LengthLaw::Kind::uniform, .low = 0.8, .high = 1.0};
  CHECK(uniform.mean_factor() == Approx(0.9));
  // Variance of U(0.8, 1) is 0.2^2/12; over the squared mean 0.81.
  CHECK(uniform.squared_cv(1000) == Approx(0.04 / 12 / 0.81));
  LengthLaw geometric{.kind = LengthLaw::Kind::geometric};
  CHECK(geometric.squared_cv(200) == Approx(1 - 1.0 / 200));
  LengthLaw empirical{.kind = LengthLaw::Kind::empirical};
  empirical.output_samples = {100, 300};
  CHECK(empirical.squared_cv(200) == Approx(0.25));
}

}  // namespace
}  // namespace tokenroof
