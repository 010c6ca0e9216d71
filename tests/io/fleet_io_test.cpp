#include "tokenroof/io/fleet_io.hpp"

#include <sstream>

#include "catch2/catch.hpp"
#include "tokenroof/decide/estimate.hpp"

using namespace tokenroof;
using namespace tokenroof::io;
using Catch::Matchers::Contains;

namespace {
const Catalog& catalog() {
  static const Catalog data(TOKENROOF_SOURCE_DIR "/data");
  return data;
}
FleetRequest wanted(const std::string& model, const std::string& device, const std::string& load,
                    const FleetSearch& search = {}) {
  const auto document = ScenarioDocument::parse(
      "{\"model\": \"" + model + "\", \"accelerator\": \"" + device +
          "\", \"engine\": \"vllm\", \"workload\": {\"input_tokens\": 1024, \"output_tokens\": "
          "512, \"arrival_rate\": \"" +
          load +
          "\"}, \"objective\": {\"ttft_p95\": \"2 s\", \"tpot_mean\": \"100 ms\"}, \"price\": "
          "{\"accelerator_hour\": \"5 USD\"}}",
      "test");
  return fleet_request(document.read(catalog()), catalog(), search);
}
std::string refusal(const FleetSearch& search) {
  try {
    static_cast<void>(wanted("llama-3.1-8b", "h100-sxm-80gb", "1 req/s", search));
    return "accepted";
  } catch (const SpecError& error) {
    return error.what();
  }
}
}  // namespace

TEST_CASE("a small load on a 550B model takes one node of eight, not eleven", "[fleet_io]") {
  FleetRequest asked = wanted("nemotron-3-ultra-550b-a55b", "h200-sxm-141gb", "0.5 req/s",
                              {.accelerators = {"h200-sxm-141gb"}, .precisions = {"fp8"}});
  asked.whole_nodes = true;
  const FleetPlan plan = plan_fleet(asked, catalog().kernels().constants);
  REQUIRE(plan.verdict.ok());
  CHECK(plan.deployments.front().devices == 8);
  CHECK(plan.deployments.front().deployment.replicas == 1);
}

TEST_CASE("what a plan says of a deployment is what an estimate of it says", "[fleet_io]") {
  const FleetRequest asked =
      wanted("llama-3.1-8b", "h100-sxm-80gb", "40 req/s",
             {.accelerators = {"h100-sxm-80gb", "h200-sxm-141gb"}, .precisions = {"fp8"}});
  const KernelConstants kernels = catalog().kernels().constants;
  const FleetPlan plan = plan_fleet(asked, kernels);
  REQUIRE(plan.deployments.size() > 2);
  for (const PlannedDeployment& d : plan.deployments) {
    Scenario scenario = asked.scenario;
    const FleetCandidate& candidate = asked.candidates[d.candidate];
    scenario.accelerator = candidate.accelerator;
    scenario.precision = candidate.precision;
    scenario.deployment = d.deployment;
    scenario.price.accelerator = candidate.accelerator.price;
    const Answer answer = estimate(scenario, Fidelity::calibrated, kernels);
    CHECK(answer.verdict.ok());
    CHECK(*answer.serving.ttft.mean / d.ttft == Approx(1).epsilon(0.01));
    CHECK(*answer.serving.ttft.p95 / d.ttft_p95 == Approx(1).epsilon(0.01));
    CHECK(*answer.serving.tpot.mean / d.tpot == Approx(1).epsilon(0.01));
    CHECK(*answer.serving.utilization == Approx(d.load).epsilon(0.01));
    CHECK(*answer.economics.total / d.cost_per_token == Approx(1).epsilon(1e-6));
  }
}

TEST_CASE("candidates have prices, the scenario's own first and at its price", "[fleet_io]") {
  const FleetRequest asked =
      wanted("llama-3.1-8b", "h100-sxm-80gb", "1 req/s",
             {.accelerators = {"b200-sxm", "h100-sxm-80gb"}, .precisions = {"bf16", "fp8"}});
  REQUIRE(asked.candidates.size() == 4);
  CHECK(asked.candidates[0].accelerator.id == "h100-sxm-80gb");
  CHECK(*asked.candidates[0].accelerator.price / (dollar / hour) == Approx(5));
  CHECK(asked.candidates[3].label == "fp8");
  CHECK_THAT(refusal({.accelerators = {"mi300x"}, .precisions = {}}), Contains("has no price"));
  const FleetRequest rest = wanted("llama-3.1-8b", "h100-sxm-80gb", "1 req/s",
                                   {.accelerators = {"h100-sxm-80gb", "mi300x"}, .precisions = {}});
  CHECK(rest.candidates.size() == 1);
  CHECK(rest.unpriced == std::vector<std::string>{"mi300x"});
  CHECK_THAT(refusal({.accelerators = {"h1000"}, .precisions = {}}), Contains("h1000"));
  CHECK_THAT(refusal({.accelerators = {}, .precisions = {"fp9"}}),
             Contains("did you mean \"fp8\""));
}

TEST_CASE("a plan as text, JSON and CSV", "[fleet_io]") {
  const FleetRequest asked =
      wanted("llama-3.1-8b", "h100-sxm-80gb", "20 req/s",
             {.accelerators = {"h200-sxm-141gb"}, .precisions = {"bf16", "fp8"}});
  const FleetPlan plan = plan_fleet(asked, catalog().kernels().constants);
  REQUIRE(plan.verdict.ok());
  const std::string text = fleet_text(asked, plan, 5, Markup::plain);
  CHECK_THAT(text, Contains("Cheapest first") && Contains("Frontier") && Contains("enumerated"));
  CHECK_THAT(fleet_reason(asked, plan), Contains("carry the load") && Contains("binds"));
  const std::string json = fleet_json(asked, plan, 5, "0");
  CHECK_THAT(json, Contains("tokenroof/plan/1") && !Contains("nan") && !Contains("inf"));
  std::ostringstream csv;
  write_fleet_csv(asked, plan, csv);
  std::istringstream in(csv.str());
  CsvReader reader(in, "plan.csv");
  std::size_t rows = 0;
  double before = 0;
  while (reader.next()) {
    ++rows;
    const double cost = reader.number(reader.required_column("cost_usd_per_hour")).value();
    CHECK(cost >= before);
    before = cost;
  }
  CHECK(rows == plan.deployments.size());
}
