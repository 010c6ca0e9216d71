// 13  What does a hundred times the money buy for one user?
#include "support.hpp"
#include "tokenroof/decide/economics.hpp"
#include "tokenroof/decide/frontier.hpp"
#include "tokenroof/decide/levers.hpp"
#include "tokenroof/physics/optimal_batch.hpp"
#include "tokenroof/physics/tensor_parallel.hpp"

using namespace tokenroof;
using namespace example;

int main(int argc, char** argv) {
  return run(argc, argv, [](const Spec& spec, Report& report) {
    const Scenario scenario = spec.scenario();
    const auto& [batch, context] = std::get<SingleStep>(scenario.workload.traffic);
    const Seconds latency = spec.one<Seconds>("all_reduce_latency");
    const auto point = [&, length = context](const Scenario& one, Requests users) {
      const TextbookMachine<> machine = textbook_machine(one, latency);
      const Seconds step = textbook_step(textbook_model(one, token), machine, users, length).time();
      return ServingPoint{
          machine.devices, users, token / step,
          cost_per_token(*one.price.accelerator, machine.devices, replica_rate(users, step), 1.0)};
    };

    const ServingPoint base = point(scenario, batch), alone = point(scenario, request);
    std::vector<ServingPoint> points;
    for (const std::string& devices : spec.texts("devices")) {
      const Scenario one = spec.scenario({"deployment.tensor_parallel=" + devices});
      const BytesPerToken kv = textbook_model(one, token).kv;
      for (const Requests users : spec.list<Requests>("batches"))
        if (users <= capacity_batch(cache_pool(one), kv * context))
          points.push_back(point(one, users));
    }
    const std::vector<ServingPoint> frontier = speed_cost_frontier(points);
    Rows rows;
    ServingPoint best = base;
    for (const ServingPoint& p : frontier) {
      rows.push_back({p.devices, p.batch, p.speed, p.cost / dollar_per_million_tokens,
                      p.speed / base.speed, p.cost / base.cost});
      if (p.cost <= spec.one("budget") * base.cost) best = p;
    }
    report.say("Baseline: {} devices, {} users at {} tokens: {} each, {} USD per million tokens.",
               base.devices, base.batch, context, base.speed,
               base.cost / dollar_per_million_tokens);
    report.say(
        "Claim: no money buys an instant answer; fast tiers spread a smaller batch over more "
        "devices until communication is a wall.");
    const TextbookModel<> model = textbook_model(scenario, token);
    const Seconds floor = latency_floor(model.all_reduces, latency, model.message * token,
                                        scenario.accelerator.scale_up.bandwidth);
    report.say(
        "Right. The devices for one user alone: {} times the speed for {} times the money. {} "
        "times the money buys at most {} times the speed: {} devices at a batch of {}. And {} "
        "all-reduces of {} leave a floor of {}, so {} times ({}) is never passed, whatever is "
        "paid.",
        alone.speed / base.speed, alone.cost / base.cost, spec.one("budget"),
        best.speed / base.speed, best.devices, best.batch, model.all_reduces, latency, floor,
        token / floor / base.speed, token / floor);
    report.say(
        "The offers that no other beats in both speed and cost (one fabric for all devices; this "
        "one's reaches {}):",
        scenario.accelerator.scale_up.domain_size);
    report.table({"devices", "batch", "tokens_per_s_per_user", "usd_per_mtok",
                  "speed_over_baseline", "cost_over_baseline"},
                 rows);

    const SpeedPrice<> offer{spec.one("offered_speed"), spec.one("offered_price")};
    const auto tier = fast_tier(offer);
    if (!tier) return;
    report.say(
        "Reading an offer backwards: {} times the speed for {} times the price, if only the "
        "batch shrinks, means a batch {} times smaller, a cache that took {} times as long as "
        "the weights, and {} times the speed at the very most.",
        offer.speed, offer.price, tier->shrink, tier->kv_over_fixed, tier->fastest());
  });
}
