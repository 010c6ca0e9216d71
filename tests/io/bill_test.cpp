#include "tokenroof/io/bill.hpp"

#include <sstream>

#include "catch2/catch.hpp"
#include "tokenroof/decide/estimate.hpp"
#include "tokenroof/io/prices.hpp"

using namespace tokenroof;
using namespace tokenroof::io;
using Catch::Matchers::Contains;

namespace {

const Catalog& catalog() {
  static const Catalog data;
  return data;
}
ScenarioEntry entry(const std::string& workload, const std::string& price = "\"2.50 USD\"") {
  return ScenarioDocument::parse(R"({"model": "llama-3.1-8b", "accelerator": "h100-sxm-80gb",
      "engine": "vllm", "price": {"accelerator_hour": )" +
                                     price + R"(, "utilization": 0.6}, "workload": )" + workload +
                                     "}",
                                 "s.json")
      .read(catalog());
}
BillReport bill(const ScenarioEntry& of, const ApiPrice* api = nullptr) {
  return bill_report(of, Fidelity::calibrated, catalog().kernels().constants, api);
}
const std::string mix = R"({"arrival_rate": "4 req/s", "classes": [
    {"name": "chat", "share": 3, "input_tokens": 600, "output_tokens": 200, "prefix_hit_rate": 0.5},
    {"name": "documents", "share": 1, "input_tokens": 6000, "output_tokens": 400}]})";
ApiPrice list_price() {
  ApiPrice price;
  price.model = "listed";
  price.rates.input = DollarsPerToken::from_base(1e-6);
  price.rates.output = DollarsPerToken::from_base(4e-6);
  return price;
}

}  // namespace

TEST_CASE("requests of one kind pay what the answer says a token costs", "[bill]") {
  const ScenarioEntry one =
      entry(R"({"arrival_rate": "4 req/s", "input_tokens": 1024, "output_tokens": 256})");
  const BillReport report = bill(one);
  const EconomicsAnswer economics =
      estimate(one.scenario, Fidelity::calibrated, catalog().kernels().constants).economics;
  REQUIRE(report.classes.size() == 1);
  CHECK(*report.bill.prices.input / *economics.input == Approx(1).epsilon(1e-12));
  CHECK(*report.bill.prices.output / *economics.output == Approx(1).epsilon(1e-12));
  CHECK(*report.bill.prices.total / *economics.total == Approx(1).epsilon(1e-12));
}

TEST_CASE("classes share the traffic and add up to the bill", "[bill]") {
  const ScenarioEntry two = entry(mix);
  const Workload& workload = two.scenario.workload;
  CHECK(workload.input.base() == Approx(0.75 * 600 + 0.25 * 6000));
  CHECK(workload.output.base() == Approx(250));
  CHECK(workload.prefix_hit_rate == Approx(0.75 * 600 * 0.5 / workload.input.base()));
  CHECK(workload.lengths.input_samples.size() == 10000);
  CHECK(workload.lengths.squared_cv(250) == Approx(7500.0 / 62500));

  const BillReport report = bill(two);
  REQUIRE(report.bill.lines.size() == 2);
  CHECK(report.classes[0].rate.base() == Approx(0.6 * 3));
  CHECK(report.bill.paid_devices == Approx(1));
  CHECK(*report.bill.spend / dollar_per_hour == Approx(2.5));
  CHECK(report.classes[0].cached.base() == Approx(300));
  double spend = 0, shares = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    spend += report.classes[i].rate.base() * report.bill.lines[i].request->total().base();
    shares += report.bill.lines[i].share;
  }
  CHECK(spend == Approx(report.bill.spend->base()).epsilon(1e-12));
  CHECK(shares == Approx(1).epsilon(1e-12));
  CHECK(report.bill.lines[1].request->input > report.bill.lines[0].request->input);
}

TEST_CASE("an API charges by its list, cached tokens like others without a price", "[bill]") {
  ApiPrice price = list_price();
  const BillReport report = bill(entry(mix), &price);
  REQUIRE(report.api);
  CHECK(report.api->requests[0].base() == Approx(600e-6 + 200 * 4e-6));
  CHECK(report.api->spend.base() == Approx(0.6 * (3 * 1400e-6 + 7600e-6)));
  price.rates.cache_read = DollarsPerToken::from_base(1e-7);
  CHECK(bill(entry(mix), &price).api->requests[0].base() == Approx(300e-6 + 30e-6 + 800e-6));
  const BreakEven& even = *report.api->even;
  CHECK(hosting_cost(report.api->choice, even.first) / api_spend(report.api->choice, even.first) ==
        Approx(1).epsilon(1e-9));
}

TEST_CASE("what has no bill says so", "[bill]") {
  CHECK_THROWS_WITH(bill(entry(R"({"batch": 8, "context_tokens": 1024})")),
                    Contains("arrival_rate or a concurrency"));
  ApiPrice price = list_price();
  price.rates.output.reset();
  CHECK_THROWS_WITH(bill(entry(mix), &price), Contains("no price for a kind of token"));
  for (const char* wrong : {R"({"arrival_rate": "1 req/s", "classes": []})",
                            R"({"arrival_rate": "1 req/s", "input_tokens": 5,
            "classes": [{"name": "a", "share": 1, "input_tokens": 5, "output_tokens": 5}]})",
                            R"({"arrival_rate": "1 req/s",
            "classes": [{"name": "a", "share": 0, "input_tokens": 5, "output_tokens": 5}]})"})
    CHECK_THROWS_AS(entry(wrong), SpecError);
}

TEST_CASE("an unknown price leaves dollars empty", "[bill]") {
  const auto free = ScenarioDocument::parse(R"({"model": "llama-3.1-8b", "accelerator": "mi300x",
      "workload": {"input_tokens": 100, "output_tokens": 50, "arrival_rate": "1 req/s"}})",
                                            "s.json")
                        .read(catalog());
  const BillReport report = bill(free);
  CHECK_FALSE(report.bill.spend);
  CHECK(report.bill.busy_replicas > 0);
  const ApiPrice price = list_price();
  CHECK_THROWS_WITH(bill(free, &price), Contains("price is unknown"));
  CHECK_THAT(bill_text(report, free.scenario), Contains("unknown"));
  CHECK_THAT(bill_json(report, "1"), Contains("\"spend\": {"));
  std::ostringstream csv;
  write_bill_csv(report, csv);
  CHECK_THAT(csv.str(), Contains("1,all,1,1,,"));
  CHECK_THAT(csv.str(), Contains(",class\r\n1,all,") && Contains(",total\r\n"));  // told apart
}
