#include "tokenroof/analyze/metrics.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>

#include "step_fixtures.hpp"
#include "tokenroof/decide/estimate.hpp"

#include "catch2/catch.hpp"

namespace tokenroof {
namespace {

using namespace test;

TEST_CASE("keys and columns are snake case, unique, and found by both names") {
  std::set<std::string> keys, columns;
  for (const Metric& metric : metrics()) {
    CHECK(keys.emplace(metric.key).second);
    CHECK(columns.insert(metric.column()).second);
    CHECK_FALSE(metric.unit.empty());
    CHECK_FALSE(metric.meaning.empty());
    const bool snake = std::all_of(metric.key.begin(), metric.key.end(), [](char c) {
      return std::islower(static_cast<unsigned char>(c)) != 0 ||
             std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
    });
    CHECK(snake);
    CHECK(find_metric(metric.key) == &metric);
    CHECK(find_metric(metric.column()) == &metric);
  }
  CHECK(find_metric("decode.step") == nullptr);
}

TEST_CASE("a metric reads its place of the answer, in its unit") {
  Scenario scenario = step_scenario(models::llama_31_8b(), {});
  scenario.price.accelerator = 2.5 * dollar / hour;
  scenario.deployment.replicas = 4;
  const Answer answer = estimate(scenario);
  const auto value = [&](std::string_view key) { return find_metric(key)->value(answer); };
  CHECK(value("decode.step_s") == answer.decode->step.base());
  CHECK(value("decode.batch") == 64.0);
  CHECK(value("economics.usd_per_hour").value() == Approx(10));
  CHECK(value("economics.usd_per_mtok_output").value() ==
        Approx(2.5 / 3600 * answer.decode->step.base() / 64 * 1e6));
  CHECK(value("memory.max_concurrency") == answer.memory.max_concurrency.base());
  CHECK_FALSE(value("serving.ttft_s.mean").has_value());  // one step has no traffic
}

TEST_CASE("an answer without a layout or a price has no numbers in their place") {
  Scenario scenario = step_scenario(models::llama_31_8b(), {.tensor_parallel = 3});
  const Answer invalid = estimate(scenario);
  REQUIRE(invalid.verdict.outcome == Outcome::invalid_layout);
  CHECK_FALSE(find_metric("decode.step_s")->value(invalid).has_value());
  scenario.deployment.tensor_parallel = 1;
  CHECK_FALSE(find_metric("economics.usd_per_mtok_output")->value(estimate(scenario)).has_value());
}

}  // namespace
}  // namespace tokenroof
