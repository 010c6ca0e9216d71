#include "tokenroof/decide/objective.hpp"

#include "catch2/catch.hpp"

namespace tokenroof {
namespace {

TEST_CASE("an objective is kept, missed, or open") {
  Objective objective;
  ServingAnswer serving;
  CHECK_FALSE(asks(objective));
  CHECK(keeps(objective, serving));
  objective.ttft_p95 = 1 * second;
  CHECK(asks(objective));
  CHECK_FALSE(keeps(objective, serving));  // nobody knows
  CHECK(undecided_objectives(objective, serving) == "ttft_p95");
  CHECK(missed_objective(objective, serving).empty());
  serving.ttft.p95 = 1 * second;
  CHECK(keeps(objective, serving));
  CHECK(undecided_objectives(objective, serving).empty());
  serving.ttft.p95 = 1.5 * second;
  CHECK(missed_objective(objective, serving).find("ttft_p95 is 1.5 s, the limit 1 s") == 0);
}

TEST_CASE("times in words are scaled") {
  CHECK(detail::time_text(0 * second) == "0 ns");
  CHECK(detail::time_text(250 * microsecond) == "250 us");
  CHECK(detail::time_text(12.345 * millisecond) == "12.35 ms");
  CHECK(detail::time_text(999.99 * millisecond) == "1 s");
  CHECK(detail::time_text(90 * second) == "90 s");
  CHECK(detail::time_text(150 * second) == "2.5 min");
  CHECK(detail::time_text(3 * hour) == "3 h");
  CHECK(detail::time_text(20933879036.0 * millisecond) == "242.3 d");
}

TEST_CASE("a user's rate is a limit on the time per token") {
  Objective objective;
  objective.tokens_per_second_per_user = 50 * token / second;
  objective.e2e_p95 = 10 * second;
  ServingAnswer serving;
  CHECK(undecided_objectives(objective, serving) == "e2e_p95, tokens_per_s_per_user");
  serving.e2e.p95 = 9 * second;
  serving.tpot.mean = 19 * millisecond;
  CHECK(keeps(objective, serving));
  serving.tpot.mean = 25 * millisecond;
  CHECK(missed_objective(objective, serving).find("a user sees 40.0") == 0);
}

}  // namespace
}  // namespace tokenroof
