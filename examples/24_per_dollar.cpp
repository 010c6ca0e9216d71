// 24  H100, H200, B200, MI300X: which gives most per dollar when users get the same speed?
#include "support.hpp"
#include "tokenroof/decide/economics.hpp"
#include "tokenroof/decide/replica.hpp"
#include "tokenroof/physics/optimal_batch.hpp"

using namespace tokenroof;
using namespace example;

namespace {
/// The cheapest layout of a device at a speed.
struct Offer {
  int devices = 0;
  double batch = 0;
  TokensPerSecond rate;  ///< of the replica, output tokens
  DollarsPerToken cost;  ///< of an output token, its share of the prompts included
  Bound bound = Bound::none;
};

/// A sequence's token takes the step and its share of the prompts that come in between.
Seconds token_time(const Replica& replica, double batch) {
  const WorkloadLengths& l = replica.lengths;
  const Seconds prompt = replica.prompt_time(l.computed(), l.cached(), batch);
  return replica.token_time(batch) + batch / l.output * prompt;
}

Offer best_offer(const Spec& spec, const std::string& accelerator, const std::string& price,
                 TokensPerSecond speed) {
  Offer best;
  for (const std::string& devices : spec.texts("devices")) {
    std::vector<std::string> changes{"accelerator=" + accelerator};
    changes.push_back("deployment.tensor_parallel=" + devices);
    if (!price.empty()) changes.push_back("price.accelerator_hour=" + price);
    const Scenario scenario = spec.scenario(changes);
    const Replica replica = reduce(scenario, Fidelity::calibrated);
    const auto batch = static_cast<double>(
        largest_where(static_cast<std::int64_t>(replica.admission), [&](std::int64_t n) {
          return token / token_time(replica, static_cast<double>(n)) >= speed;
        }));
    if (batch < 1) continue;
    const int count = scenario.deployment.devices_per_replica();
    const TokensPerSecond rate = replica_rate(batch * request, token_time(replica, batch));
    const DollarsPerToken cost =
        cost_per_token(scenario.price.accelerator.value(), count, rate, scenario.price.utilization);
    if (best.devices == 0 || cost < best.cost)
      best = {count, batch, rate, cost, replica.decode(batch, replica.lengths.live).bound()};
  }
  return best;
}
}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv, [](const Spec& spec, Report& report) {
    Rows rows;
    for (const TokensPerSecond speed : spec.list<TokensPerSecond>("speeds")) {
      for (std::size_t i = 0; i < spec.texts("accelerators").size(); ++i) {
        const std::string& name = spec.texts("accelerators")[i];
        const Offer offer = best_offer(spec, name, spec.texts("hour_prices").at(i), speed);
        std::vector<Cell> row{speed, name};
        if (offer.devices == 0)
          row.insert(row.end(), {Cell(), Cell(), Cell(), Cell(), "too slow or too small"});
        else
          row.insert(row.end(), {offer.devices, offer.batch, offer.rate / offer.devices,
                                 offer.cost / dollar_per_million_tokens, to_string(offer.bound)});
        rows.push_back(std::move(row));
      }
    }
    const Scenario scenario = spec.scenario();
    report.say(
        "Tokens per second and device say little: a device that is given a larger batch makes more "
        "of them and each user waits longer. At equal speed for the user, {} with {} tokens in and "
        "{} out, the layout of each device that is cheapest (prices: shipped list, or the spec's):",
        scenario.model.id, scenario.workload.input, scenario.workload.output);
    report.table({"tokens_per_s_per_user", "accelerator", "devices", "batch",
                  "tokens_per_s_per_device", "usd_per_mtok_output", "binds"},
                 rows);
    report.say("All of it hangs on the prices: put your own in the spec.");
  });
}
