// 05  How many requests are inside at once, and what do 20 per cluster mean?
#include "support.hpp"
#include "tokenroof/serving/concurrency.hpp"
#include "tokenroof/serving/queueing.hpp"

using namespace tokenroof;
using namespace example;

int main(int argc, char** argv) {
  return run(argc, argv, [](const Spec& spec, Report& report) {
    const Scenario scenario = spec.scenario();
    const RequestsPerSecond arrivals = std::get<OpenLoop>(scenario.workload.traffic).arrival_rate;
    const Seconds residence = spec.one<Seconds>("residence");
    const int clusters = scenario.deployment.replicas;
    const Requests inside = little_concurrency(arrivals, residence);
    const Requests each = per_cluster(inside, clusters);
    const Roof<> roof = roof_of(scenario);
    const Tokens critical = critical_batch(ridge_intensity(roof), bytes_per_weight(scenario));
    // Weights alone decide: the share is the same for every dense model and number of devices.
    const auto used = [&](Requests batch) {
      const Work<> work{linear_flops(scenario.model) * (batch * one_token_each),
                        weights_read(scenario, token)};
      return utilization(work, roof).compute;
    };

    report.say("Little's law: {} x {} = {} requests inside. Over {} clusters: {} each.", arrivals,
               residence, inside, clusters, each);
    report.say("Claim: {} sequences per cluster are where batching eats up the compute.", each);
    report.say(
        "Right: {} of it (= {} / {}). The step is still bound by reading weights; {} sequences "
        "would fill the arithmetic, which these {} requests do in {} clusters.",
        percent(used(each), 5), each, critical, critical, inside,
        inside * one_token_each / critical);
    Rows rows;
    for (const double count : spec.list<double>("clusters")) {
      const Requests batch = per_cluster(inside, count);
      rows.push_back({count, batch / request, used(batch),
                      batch * one_token_each < critical ? "memory" : "compute"});
    }
    report.table({"clusters", "sequences_per_cluster", "compute_used", "bound"}, rows);
    report.say(
        "(At equal residence. With fewer clusters steps take longer beyond the ridge, so "
        "requests stay longer and more are inside.)");

    report.say("Claim: waiting time is determined by Little's law.");
    report.say(
        "Right: the law ties three averages together and fixes none of them. Here {} requests "
        "are in service per cluster whatever the number of slots, and the wait before service "
        "ranges from much to nothing (Poisson arrivals, exponential service of {}):",
        each, residence);
    Rows waits;
    for (const double slots : spec.list<double>("slots")) {
      const ServerQueue queue{arrivals / static_cast<double>(clusters), residence,
                              static_cast<int>(slots)};
      const auto wait = mmc_wait(queue);
      const auto late = mmc_wait_quantile(queue, 0.95);
      if (!wait || !late) {
        waits.push_back({slots, each / request, {}, {}, {}, "arrivals exceed the slots"});
        continue;
      }
      waits.push_back({slots, each / request, *wait / second, *late / second,
                       little_concurrency(queue.arrivals, *wait) / request, ""});
    }
    report.text_table({"slots", "in_service", "wait_mean_s", "wait_p95_s", "in_queue", "reason"},
                      waits);
    report.say("The law holds in every row: in_queue = arrivals x wait_mean.");
  });
}
