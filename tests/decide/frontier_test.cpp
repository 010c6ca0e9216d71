#include "tokenroof/decide/frontier.hpp"

#include "oracle.hpp"
#include "properties.hpp"
#include "textbook_fixtures.hpp"
#include "tokenroof/decide/economics.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {
ServingPoint serve(int devices, double batch) {
  const Seconds step = step_70b(devices, batch, 4096).time();
  return {devices, batch * request, token / step,
          cost_per_token(2.0 * dollar_per_hour, devices, replica_rate(batch * request, step), 1.0)};
}
}  // namespace

TEST_CASE("speed and cost of the oracle", "[frontier]") {
  const auto check = [](int devices, int batch) {
    const ServingPoint point = serve(devices, batch);
    const std::string key = "s11.pareto.n" + std::to_string(devices) + ".B" + std::to_string(batch);
    CHECK(point.speed.base() == closed_form(key + ".speed"));
    CHECK(point.cost / dollar_per_million_tokens == closed_form(key + ".cost"));
  };
  check(8, 1);
  check(8, 8);
  check(8, 64);
  check(16, 8);
  check(16, 64);
}

TEST_CASE("an advertised 2.5 times the speed at 6 times the price", "[frontier]") {
  const auto tier = fast_tier(SpeedPrice<>{2.5, 6.0});
  REQUIRE(tier.has_value());
  CHECK(tier->shrink == closed_form("s11.fast.r"));
  CHECK(tier->kv_over_fixed == closed_form("s11.fast.x"));
  CHECK(tier->fastest() == closed_form("s11.fast.maxspeed"));
  CHECK_FALSE(fast_tier(SpeedPrice<>{2, 1}).has_value());
  CHECK_FALSE(fast_tier(SpeedPrice<>{0.5, 2}).has_value());
}

TEST_CASE("properties P11.4 and P11.6 of the frontier", "[frontier]") {
  property("P11.4 no shrinking, no speed; speed stays below 1 + x; inversion undoes", [] {
    const double x = of_any_size(0.01, 100), r = between(1.01, 100);
    RC_ASSERT(near(smaller_batch(x, 1.0).speed, 1));
    const SpeedPrice<> offer = smaller_batch(x, r);
    RC_ASSERT(offer.speed < 1 + x);
    RC_ASSERT(near(smaller_batch(x, 1e15).speed, 1 + x, 1e-9));
    RC_PRE(offer.price > 1.0001);
    const auto tier = fast_tier(offer);
    RC_ASSERT(near(tier->shrink, r, 1e-10));
    RC_ASSERT(near(tier->kv_over_fixed, x, 1e-7));
  });
  property("P11.6 cost rises with speed and nothing beats a kept point", [] {
    std::vector<ServingPoint> points;
    for (int i = whole(0, 40); i > 0; --i) points.push_back(serve(1 << whole(0, 5), whole(1, 200)));
    const auto frontier = speed_cost_frontier(points);
    RC_ASSERT(frontier.empty() == points.empty());
    for (std::size_t i = 1; i < frontier.size(); ++i) {
      RC_ASSERT(frontier[i].speed > frontier[i - 1].speed);
      RC_ASSERT(frontier[i].cost > frontier[i - 1].cost);
    }
    for (const ServingPoint& kept : frontier)
      for (const ServingPoint& other : points)
        RC_ASSERT(!(other.speed > kept.speed && other.cost < kept.cost));
  });
}
