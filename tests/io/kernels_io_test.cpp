#include "tokenroof/io/kernels_io.hpp"

#include "catch2/catch.hpp"
#include "tokenroof/core/error.hpp"
#include "tokenroof/io/catalog.hpp"

using namespace tokenroof;
using namespace tokenroof::io;
using Catch::Matchers::Contains;

TEST_CASE("kernel constants are read with their units, and written the same") {
  const std::string notes = R"(, "meaning": "m", "source": "s", "date": "2026-01-01", "rows": 7})";
  const std::string text = R"({"constants": {"matmul_fixed": {"value": "3 us")" + notes +
                           R"(, "link_share": {"value": 0.5)" + notes +
                           R"(, "unpack_flops": {"value": "2 TFLOP/s")" + notes + "}}";
  const KernelEntry first = read_kernels(text, "f.json");
  for (const KernelEntry& entry : {first, read_kernels(write_kernels(first), "g.json")}) {
    CHECK(entry.constants.matmul_fixed_s == Approx(3e-6));
    CHECK(entry.constants.link_share == 0.5);
    CHECK(entry.constants.unpack_flops == Approx(2e12));
    CHECK(entry.constants.bus_share == KernelConstants{}.bus_share);
    REQUIRE(entry.notes.size() == 3);
    CHECK(entry.notes[0].name == "matmul_fixed");
    CHECK(entry.notes[0].rows == 7);
  }
  const auto refusal = [&](const std::string& constants) {
    try {
      static_cast<void>(read_kernels("{\"constants\": {" + constants + notes + "}}", "f.json"));
      return std::string("accepted");
    } catch (const SpecError& error) {
      return std::string(error.what());
    }
  };
  CHECK_THAT(refusal(R"("matmul_fixed": {"value": 3)"), Contains("expected a time"));
  CHECK_THAT(refusal(R"("link_share": {"value": 1.5)"), Contains("above 0 to 1"));
  CHECK_THAT(refusal(R"("link_shar": {"value": 0.5)"), Contains("did you mean \"link_share\""));
}

TEST_CASE("the built-in kernel constants are those of data/kernels.json") {
  const Catalog catalog(TOKENROOF_SOURCE_DIR "/data");
  if (!catalog.text("kernels.json")) return;
  const KernelEntry entry = catalog.kernels();
  const KernelEntry built_in{{}, entry.notes};
  CHECK(write_kernels(entry) == write_kernels(built_in));
}
