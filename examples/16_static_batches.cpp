// 16  What does joining and leaving at any step buy over batches that start and end together?
#include "support.hpp"
#include "tokenroof/decide/estimate.hpp"
#include "tokenroof/decide/simulated.hpp"
#include "tokenroof/serving/batching.hpp"

using namespace tokenroof;
using namespace example;

namespace {
/// Requests in batches of `size`, in order of arrival, each run until its longest member ends: mean
/// wait for the first token, and the rate once requests are never short.
struct StaticRun {
  Seconds ttft, busy;
};
StaticRun run_static(const std::vector<SimulatedRequest>& requests, std::size_t size,
                     Seconds prefill, Seconds step) {
  StaticRun run;
  Seconds free;
  for (std::size_t first = 0; first + size <= requests.size(); first += size) {
    const Seconds start = max(free, requests[first + size - 1].arrival);
    int longest = 0;
    for (std::size_t i = first; i < first + size; ++i) {
      longest = std::max(longest, requests[i].output);
      run.ttft += start + prefill - requests[i].arrival;
    }
    const Seconds length = prefill + (longest - 1) * step;
    free = start + length;
    run.busy += length;
  }
  run.ttft /= static_cast<double>(requests.size() / size * size);
  return run;
}
}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv, [](const Spec& spec, Report& report) {
    const std::size_t requests = static_cast<std::size_t>(spec.one("requests"));
    const double share = spec.one("load");
    Rows rows;
    for (const std::string& lengths : spec.texts("lengths"))
      for (const double size : spec.list<double>("batches")) {
        Scenario scenario =
            spec.scenario({"workload.lengths=" + lengths,
                           "engine.max_sequences=" + std::to_string(static_cast<int>(size))});
        auto& open = std::get<OpenLoop>(scenario.workload.traffic);
        const Replica replica = reduce(scenario, Fidelity::calibrated);
        const double output = replica.lengths.output, prompt = replica.lengths.prompt;
        const int batch = static_cast<int>(size);
        const double padding =
            padding_loss_lognormal(batch, scenario.workload.lengths.squared_cv(output));
        const Seconds prompts = replica.step(prefill_load(size, prompt)).total();
        const Seconds step = replica.decode(size, prompt + 0.5 * padding * output).total();
        const RequestsPerSecond limit =
            static_batch_rate(batch, prompts / size, step, padding * output - 1);

        open.arrival_rate = share * limit;
        const Answer answer = estimate(scenario);
        const StaticRun fixed = run_static(simulated_requests(scenario, requests, 1),
                                           static_cast<std::size_t>(batch), prompts, step);
        const SimulationResult run = simulate_scenario(scenario, {.requests = requests}).run;
        rows.push_back({lengths, size, padding, limit,
                        std::floor(static_cast<double>(requests) / size) * size / fixed.busy.base(),
                        answer.serving.limit_rate, *answer.serving.limit_rate / limit,
                        batch_fill_wait(batch, open.arrival_rate), fixed.ttft,
                        answer.serving.ttft.mean, run.ttft.mean, step / millisecond,
                        run.tpot.mean / millisecond});
      }
    report.say("Claim: continuous batching lets requests join and leave at any step.");
    report.say(
        "What it buys: a batch that starts and ends together is padded to its longest answer, and "
        "waits to fill up. Rates in requests/s: of static batches by formula and simulated, and "
        "the limit of the engine with as many places. Times to first token in s when {} of the "
        "static limit arrives: filling alone, all of it (simulated), and continuous by formula and "
        "simulated. Time per token in ms.",
        percent(share, 3));
    report.table({"lengths", "batch", "padding", "static", "static_simulated", "continuous", "gain",
                  "fill", "static_ttft", "ttft", "ttft_simulated", "static_tpot", "tpot"},
                 rows);
  });
}
