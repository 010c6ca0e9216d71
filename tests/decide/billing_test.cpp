#include "tokenroof/decide/billing.hpp"

#include "oracle.hpp"
#include "properties.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {
TokensPerRequest tokens(double n) { return TokensPerRequest::from_base(n); }
double dollars_per_hour(DollarsPerSecond price) { return price / dollar_per_hour; }

TrafficClass any_class() {
  TrafficClass c;
  c.name = "any";
  c.rate = between(0, 20) * request / second;
  c.input = tokens(whole(0, 1) * of_any_size(1, 1e5));
  c.cached = tokens(whole(0, 1) * of_any_size(1, 1e5));
  c.output = tokens(whole(0, 1) * of_any_size(1, 1e4));
  c.replica = request_time(c.input.base() * 1e-5 * second, c.cached.base() * 1e-7 * second,
                           c.output * request, between(1e-3, 0.1) * second, whole(1, 256) * token);
  return c;
}
/// Dollars of a class's tokens at its own prices, per request.
double priced(const BillLine& line, const TrafficClass& c) {
  double sum = 0;
  if (line.prices.input) sum += line.prices.input->base() * c.input.base();
  if (line.prices.cached) sum += line.prices.cached->base() * c.cached.base();
  if (line.prices.output) sum += line.prices.output->base() * c.output.base();
  return sum;
}
}  // namespace

TEST_CASE("a chat and a summary on one node, by hand", "[billing]") {
  // One node of 8 at $2/h, busy 60 % of paid time: $26.67 per busy hour.
  const std::vector<TrafficClass> classes{
      // 0.1 s prefill + 200 x 0.02 / 40 = 0.1 s decode; 2 requests/s: 0.4 replicas
      {"chat", 2 * request / second, tokens(1000), tokens(0), tokens(200),
       request_time(0.1 * second, Seconds{}, 200 * token, 0.02 * second, 40 * token)},
      // 0.5 s prefill, 0.05 s fetch, 100 x 0.02 / 40 = 0.05 s decode; 0.5 requests/s: 0.3 replicas
      {"summary", 0.5 * request / second, tokens(5000), tokens(3000), tokens(100),
       request_time(0.5 * second, 0.05 * second, 100 * token, 0.02 * second, 40 * token)}};
  const Bill bill = bill_of(classes, {.per_replica = 8,
                                      .utilization = 0.6,
                                      .price = 2 * dollar_per_hour,
                                      .power = 700 * joule / second,
                                      .facility_factor = 1.3});
  CHECK(bill.busy_replicas == Approx(0.7));
  CHECK(bill.paid_devices == Approx(0.7 * 8 / 0.6));
  CHECK(dollars_per_hour(*bill.spend) == Approx(0.7 * 16 / 0.6));
  REQUIRE(bill.lines.size() == 2);
  const BillLine &chat = bill.lines[0], &summary = bill.lines[1];
  CHECK(chat.share == Approx(0.4 / 0.7));
  CHECK(dollars_per_hour(*summary.spend) == Approx(0.3 * 16 / 0.6));
  // 0.1 s x 16/3600/0.6 $/s over 1000 tokens = 0.7407 $/M; output 0.1 s over 200: 3.704 $/M
  CHECK(*chat.prices.input / dollar_per_million_tokens == Approx(0.1 * 16 / 3600 / 0.6 * 1e3));
  CHECK(*chat.prices.output / dollar_per_million_tokens == Approx(0.1 * 16 / 3600 / 0.6 * 5e3));
  CHECK(*chat.prices.output_over_input() == Approx(5));
  CHECK_FALSE(chat.prices.cached.has_value());
  CHECK(*summary.prices.cached < *summary.prices.input);
  CHECK(*bill.prices.total /
            (*bill.spend / (2 * 1200 * token / second + 0.5 * 8100 * token / second)) ==
        Approx(1));
  CHECK(bill.power->base() == Approx(700 * 1.3 * bill.paid_devices));
  const auto figures = bill_figures(bill, {.per_replica = 8, .utilization = 0.6});
  CHECK(figures[7].name == "spend");
  CHECK(*figures[7].value == Approx(0.7 * 16 / 0.6));
  CHECK(*figures[3].value == Approx(*bill.prices.total / dollar_per_million_tokens));
  // 8 x 700 W x 1.3 / 0.6 x 0.2 s over 200 tokens
  CHECK(chat.energy->base() == Approx(8 * 700 * 1.3 / 0.6 * 0.2 / 200));
}

TEST_CASE("an unknown price leaves dollars empty, not 0", "[billing]") {
  const std::vector<TrafficClass> classes{
      {"one", 1 * request / second, tokens(10), tokens(0), tokens(10),
       request_time(1 * second, Seconds{}, 10 * token, 1 * second, 1 * token)}};
  const Bill bill = bill_of(classes, {.per_replica = 8});
  CHECK_FALSE(bill.spend.has_value());
  CHECK_FALSE(bill.power.has_value());
  CHECK_FALSE(bill.prices.total.has_value());
  CHECK_FALSE(bill.lines[0].request.has_value());
  CHECK_FALSE(bill.lines[0].prices.output.has_value());
  CHECK_FALSE(bill_figures(bill, {})[7].value.has_value());
  CHECK(bill_of({}, {}).lines.empty());
}

TEST_CASE("on demand, reserved and owned", "[billing]") {
  DevicePrices prices{.on_demand = 6.16 * dollar_per_hour, .reserved = {}, .owned = {}};
  CHECK_FALSE(prices.of(PaidAs::reserved).has_value());
  CHECK_FALSE(prices.of(PaidAs::owned).has_value());
  prices.owned = Ownership{.capital = 40000 * dollar,
                           .interest = 0.1,
                           .years = 4,
                           .power = 1275 * joule / second,
                           .facility_factor = 1.3,
                           .electricity = 0.08 * dollar / (3.6e6 * joule),
                           .operations = 0.1 * dollar_per_hour};
  CHECK(dollars_per_hour(*prices.of(PaidAs::owned)) == closed_form("s11.tco.total"));
  CHECK(std::string(to_string(PaidAs::owned)) == "owned");
}

TEST_CASE("storing a prefix against computing it again", "[billing]") {
  const DollarsPerByteSecond storage = 0.005 * dollar / (gigabyte * hour);
  const DollarsPerToken again = oracle("s11.cache.recompute") * dollar_per_million_tokens;
  const BytesPerToken kv = 327680 * byte / token;
  const auto at_minute = store_or_recompute(again, kv, 60 * second, storage);
  CHECK(at_minute.break_even / hour == closed_form("s11.cache.hold.L70.h"));
  CHECK(at_minute.store_pays());
  CHECK_FALSE(store_or_recompute(again, kv, 1 * hour, storage).store_pays());
}

TEST_CASE("properties P11.2 of bills", "[billing]") {
  property("P11.2 classes add up to the bill, and tokens x prices to each class", [] {
    std::vector<TrafficClass> classes;
    for (int i = whole(0, 6); i > 0; --i) classes.push_back(any_class());
    const PaidDevices devices{.per_replica = static_cast<double>(whole(1, 64)),
                              .utilization = between(0.05, 1),
                              .price = of_any_size(0.1, 10) * dollar_per_hour,
                              .power = 500 * joule / second};
    const Bill bill = bill_of(classes, devices);
    double spend = 0, shares = 0;
    for (std::size_t i = 0; i < classes.size(); ++i) {
      const BillLine& line = bill.lines[i];
      spend += line.spend->base();
      shares += line.share;
      RC_ASSERT(near(line.request->total().base() * classes[i].rate.base(), line.spend->base()));
      if (classes[i].input.base() + classes[i].output.base() > 0 &&
          classes[i].cached.base() + classes[i].output.base() > 0 &&
          classes[i].input.base() + classes[i].cached.base() > 0)
        RC_ASSERT(near(priced(line, classes[i]), line.request->total().base(), 1e-11));
    }
    RC_ASSERT(near(spend, bill.spend->base(), 1e-11));
    RC_ASSERT(near(bill.spend->base(), bill.paid_devices * devices.price->base(), 1e-11));
    if (bill.busy_replicas > 0) RC_ASSERT(near(shares, 1, 1e-11));
  });
}
