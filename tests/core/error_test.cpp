#include "tokenroof/core/error.hpp"

#include "catch2/catch.hpp"

namespace tokenroof {
namespace {

TEST_CASE("an error names file, pointer and reason, one fault a line") {
  const SpecError error({{"a.json", "/x/y", "must be > 0, got -3"}, {"a.json", "", "empty"}});
  CHECK(std::string(error.what()) == "a.json: /x/y: must be > 0, got -3\na.json: empty");
  CHECK(error.faults().size() == 2);
}

TEST_CASE("verdicts have names") {
  CHECK(Verdict{}.ok());
  CHECK_FALSE(Verdict{Outcome::unstable, "", ""}.ok());
  CHECK(std::string(to_string(Outcome::does_not_fit)) == "does_not_fit");
  CHECK(std::string(to_string(Bound::kv_cache)) == "kv_cache");
}

}  // namespace
}  // namespace tokenroof
