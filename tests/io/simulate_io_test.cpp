#include "tokenroof/io/simulate_io.hpp"

#include <sstream>

#include "catch2/catch.hpp"
#include "tokenroof/core/error.hpp"

using namespace tokenroof;
using namespace tokenroof::io;

TEST_CASE("what the simulator does not cover is refused by its key") {
  Scenario scenario;
  scenario.workload.traffic = SingleStep{};
  const auto pointer = [&] {
    try {
      check_simulated(scenario, "s.json");
    } catch (const SpecError& error) {
      return error.faults().front().json_pointer;
    }
    return std::string();
  };
  CHECK(pointer() == "/workload");
  scenario.workload.traffic = ClosedLoopTraffic{};
  scenario.speculation = Speculation{};
  CHECK(pointer().empty());
  scenario.disaggregation = Disaggregation{};
  CHECK(pointer() == "/disaggregation");
  scenario.workload.traffic = OpenLoop{};
  CHECK(pointer().empty());
}

TEST_CASE("one line a request; a rejected one has no times") {
  ScenarioRunResult result;
  RequestRecord served{.arrival = 1 * second,
                       .admitted = 2 * second,
                       .first_token = 3 * second,
                       .finished = 7 * second,
                       .input = 10,
                       .output = 5,
                       .cached = 0,
                       .preemptions = 0};
  RequestRecord rejected;
  rejected.arrival = 4 * second;
  rejected.input = 1000000;
  rejected.output = 1;
  result.run.records = {served, rejected};
  std::ostringstream out;
  write_simulation_csv(result, out);
  CHECK(out.str() ==
        "request,arrival_s,admitted_s,first_token_s,finished_s,input_tokens,output_tokens,"
        "cached_tokens,preemptions,ttft_s,tpot_s,e2e_s\r\n"
        "0,1,2,3,7,10,5,0,0,2,1,6\r\n"
        "1,4,,,,1000000,1,,,,,\r\n");
}

TEST_CASE("a run that did not happen has nulls and a reason") {
  ScenarioRunResult result;
  result.verdict = {Outcome::does_not_fit, "1 GiB too little", "fewer"};
  const std::string json = simulation_json(result, Scenario{}, "1.2.3");
  CHECK(json.find(R"("schema": "tokenroof/simulate/1")") != std::string::npos);
  CHECK(json.find(R"("reason": "1 GiB too little")") != std::string::npos);
  CHECK(json.find("\"stable\": null") != std::string::npos);
  CHECK(simulation_text(result, Scenario{}).find("Does not fit") != std::string::npos);
}
