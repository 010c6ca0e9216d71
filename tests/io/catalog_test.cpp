#include "tokenroof/io/catalog.hpp"

#include "catch2/catch.hpp"
#include "tokenroof/core/error.hpp"

using namespace tokenroof;
using namespace tokenroof::io;
using Catch::Matchers::Contains;

TEST_CASE("names, aliases and capitals lead to the same device") {
  const Catalog catalog;
  CHECK(catalog.accelerator("h100-sxm-80gb").accelerator.id == "h100-sxm-80gb");
  CHECK(catalog.accelerator("H100-SXM-80GB").accelerator.id == "h100-sxm-80gb");
  CHECK(catalog.accelerator("h100").accelerator.id == "h100-sxm-80gb");
  CHECK(catalog.accelerator("h100").accelerator.peak(DataType::bf16) == 989.4e12 * flop / second);
}

TEST_CASE("an unknown name is answered with suggestions and how to list") {
  const Catalog catalog;
  CHECK_THROWS_WITH(
      catalog.accelerator("h100-sxm-80bg"),
      Contains("unknown accelerator \"h100-sxm-80bg\" (did you mean \"h100-sxm-80gb\"?)") &&
          Contains("tokenroof list accelerators"));
  CHECK_THROWS_WITH(catalog.model("no-such-model"), Contains("tokenroof list models"));
  CHECK_THROWS_AS(Catalog("/nonexistent"), SpecError);
  CHECK_THROWS_AS(Catalog::open("/nonexistent"), SpecError);
}

TEST_CASE("an engine without a profile can stand on the default one") {
  const EngineEntry entry = Catalog().engine_or_default("never-heard-of");
  CHECK(entry.engine.name == "never-heard-of");
  CHECK_FALSE(entry.engine.has_profile);
}
