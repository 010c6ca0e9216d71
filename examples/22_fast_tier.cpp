// 22  What does a fast tier cost to serve, and is its price fair?
#include "support.hpp"
#include "tokenroof/decide/economics.hpp"
#include "tokenroof/decide/frontier.hpp"
#include "tokenroof/decide/replica.hpp"

using namespace tokenroof;
using namespace example;

namespace {
/// Every way to decode: each tensor-parallel degree at batches that grow by a quarter.
std::vector<ServingPoint> ways(const Spec& spec) {
  std::vector<ServingPoint> points;
  for (const std::string& devices : spec.texts("devices")) {
    const Scenario scenario = spec.scenario({"deployment.tensor_parallel=" + devices});
    const Replica replica = reduce(scenario, Fidelity::calibrated);
    for (double batch = 1; batch <= replica.admission; batch = std::ceil(batch * 1.25)) {
      const Seconds step = replica.token_time(batch);
      points.push_back(
          {scenario.deployment.devices_per_replica(), batch * request, token / step,
           cost_per_token(*scenario.price.accelerator, scenario.deployment.devices_per_replica(),
                          replica_rate(batch * request, step), 1.0)});
    }
  }
  return speed_cost_frontier(points);
}
}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv, [](const Spec& spec, Report& report) {
    const std::vector<ServingPoint> frontier = ways(spec);
    const auto standard_speed = spec.one<TokensPerSecond>("standard_speed");
    const auto cheapest_at = [&](TokensPerSecond speed) {
      return std::find_if(frontier.begin(), frontier.end(),
                          [&](const ServingPoint& p) { return p.speed >= speed; });
    };
    const auto standard = cheapest_at(standard_speed);
    if (standard == frontier.end()) return report.say("The standard speed is out of reach.");
    report.say(
        "The standard tier promises {}: cheapest with {} devices and {} users at once ({} each, {} "
        "USD per million output tokens, calibrated steps of {}).",
        standard_speed, standard->devices, standard->batch, standard->speed,
        standard->cost / dollar_per_million_tokens, spec.scenario().model.id);
    Rows rows;
    for (std::size_t i = 0; i < spec.texts("tier_speeds").size(); ++i) {
      const SpeedPrice<> offer{spec.list<double>("tier_speeds")[i],
                               spec.list<double>("tier_prices").at(i)};
      const auto point = cheapest_at(offer.speed * standard_speed);
      const auto implied = fast_tier(offer);
      std::vector<Cell> row{offer.speed, offer.price};
      if (point == frontier.end()) {
        row.insert(row.end(), {Cell(), Cell(), Cell(), Cell(), "out of reach here"});
      } else {
        const double cost = point->cost / standard->cost;
        row.insert(row.end(), {point->devices, point->batch, cost, offer.price / cost - 1,
                               cost <= offer.price ? "pays" : "sold below cost"});
      }
      row.push_back(implied ? Cell(implied->shrink) : Cell());
      row.push_back(implied ? Cell(implied->fastest()) : Cell());
      rows.push_back(std::move(row));
    }
    report.say(
        "A fast tier is a smaller batch on more devices. What each offer costs to serve against "
        "the standard tier, the margin its price leaves, and what the offer alone would give away "
        "(the batch so many times smaller, the speed at the very most, if nothing but the batch "
        "changed):");
    report.table({"speed_over_standard", "price_over_standard", "devices", "batch",
                  "cost_over_standard", "margin", "verdict", "implied_shrink", "implied_fastest"},
                 rows);
    report.say(
        "The fastest way here gives {} to a user, {} times the standard, for {} times the cost; no "
        "price buys more from these devices.",
        frontier.back().speed, frontier.back().speed / standard_speed,
        frontier.back().cost / standard->cost);
  });
}
