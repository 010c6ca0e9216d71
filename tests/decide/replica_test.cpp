#include "tokenroof/decide/replica.hpp"

#include "catch2/catch.hpp"
#include "step_fixtures.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

TEST_CASE("a prompt on one attention rank delays them all, unless prompts are aligned") {
  Scenario scenario = step_scenarios()[3];  // sixteen attention ranks
  const auto share = [&](bool aligned, double together) {
    scenario.engine.aligned_prompts = aligned;
    return reduce(scenario, Fidelity::calibrated).prefill_beside(2048, 0, 64, together);
  };
  CHECK(share(false, 1) > 4 * share(true, 1));
  // Enough prompts fill all ranks by themselves.
  CHECK(share(false, 16) / share(true, 16) == Approx(1));
  // One rank has nothing to wait for.
  scenario = step_scenarios()[0];
  CHECK(share(false, 1) == share(true, 1));
}

TEST_CASE("a local runtime's devices overlap in a prompt, as its step says") {
  Scenario scenario = step_scenario(models::llama_31_8b(), {.pipeline_parallel = 4});
  scenario.engine.local_runtime.emplace();
  const Replica replica = reduce(scenario, Fidelity::calibrated);
  scenario.deployment.pipeline_parallel = 1;
  const Replica alone = reduce(scenario, Fidelity::calibrated);
  const double speedup = alone.prefill(8192, 0).total() / replica.prefill(8192, 0).total();
  CHECK(speedup > 2);
  CHECK(speedup < 4);
  CHECK(replica.decode(1, 1000).total() >= alone.decode(1, 1000).total());
}
