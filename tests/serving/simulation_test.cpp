// What must hold in every run: nothing is lost, causes precede effects, Little's law is exact.
#include "tokenroof/serving/simulation.hpp"

#include <algorithm>
#include <numeric>

#include "properties.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {
Seconds step_time(const SimulatedStep& s) {
  return (0.004 + 1e-4 * s.decoding + 1e-8 * s.decode_context + 1e-5 * s.prefill_tokens +
          1e-10 * s.prefill_pairs) *
         second;
}

struct Run {
  StreamLaw law;
  SimulatedEngine engine;
  SimulationPlan plan;
  std::vector<SimulatedRequest> requests;
  SimulationResult result;
};

Run random_run() {
  Run run;
  run.law.requests = static_cast<std::size_t>(whole(1, 400));
  run.law.arrival_rate = RequestsPerSecond::from_base(of_any_size(0.5, 300));
  run.law.arrival_squared_cv = whole(0, 2) * 1.5 + (whole(0, 1) == 0 ? 0 : 1);
  run.law.input = TokensPerRequest::from_base(of_any_size(1, 900));
  run.law.output = TokensPerRequest::from_base(of_any_size(1, 120));
  run.law.input_law.kind = whole(0, 1) == 0 ? LengthLaw::Kind::geometric : LengthLaw::Kind::fixed;
  run.law.output_law.kind = LengthLaw::Kind::lognormal;
  run.law.output_law.cv = between(0, 1.5);
  if (whole(0, 2) == 0) {
    run.law.prefix_hit_share = between(0, 1);
    run.law.prefix_hit_probability = between(0, 1);
  }
  if (whole(0, 2) == 0) {
    run.law.prefix_groups = whole(1, 5);
    run.law.prefix_tokens = whole(1, 300);
  }
  run.law.seed = static_cast<std::uint64_t>(whole(1, 100000));
  run.engine.max_sequences = whole(1, 40);
  run.engine.chunked = whole(0, 1) == 0;
  run.engine.token_budget = whole(1, 3) == 1 ? whole(1, 64) : whole(64, 4000);
  run.engine.decodes_use_budget = whole(0, 1) == 0;
  run.engine.prompts_per_prefill = whole(0, 1) == 0 ? 1 : 100;
  run.engine.kv_blocks = whole(0, 2) == 0 ? 0 : whole(20, 600);
  run.engine.block_tokens = whole(1, 32);
  run.engine.scheduled_ahead = whole(0, 1) == 1;
  if (whole(0, 1) == 0) run.plan.concurrency = whole(1, 60);
  run.plan.warm_up = 0;
  run.plan.keep_records = true;
  run.requests = draw_requests(run.law);
  run.result = simulate(run.requests, run.engine, run.plan, step_time);
  return run;
}
}  // namespace

TEST_CASE("requests and tokens are conserved, causes precede effects", "[simulation]") {
  CHECK(rc::check("on random engines and traffic", [] {
    const Run run = random_run();
    const SimulationResult& r = run.result;
    RC_ASSERT(r.completed + r.rejected == run.requests.size());
    std::int64_t wanted = 0;
    for (std::size_t i = 0; i < r.records.size(); ++i) {
      const RequestRecord& one = r.records[i];
      if (one.first_token < 0 * second) continue;  // rejected
      wanted += one.output;
      RC_ASSERT(one.arrival <= one.admitted && one.admitted < one.first_token);
      RC_ASSERT(one.first_token <= one.finished);
      RC_ASSERT((one.output == 1) == (one.first_token == one.finished));
      RC_ASSERT(one.cached < one.input + one.output);
      if (run.plan.concurrency == 0) RC_ASSERT(one.arrival == run.requests[i].arrival);
    }
    RC_ASSERT(r.generated_tokens == wanted);
    RC_ASSERT(r.ttft.mean <= r.e2e.mean);
    RC_ASSERT(r.ttft.p95 <= r.e2e.p95);
    RC_ASSERT(run.engine.kv_blocks == 0 || r.peak_kv_usage <= 1);
    RC_ASSERT(run.engine.kv_blocks > 0 || (r.preemptions == 0 && r.rejected == 0));
    // Little's law over the whole run, which starts and ends empty, is an identity.
    RC_ASSERT(near(r.residence_sum, r.system_integral, 1e-9));
    // Each token but the first is one gap.
    if (r.rejected == 0 && r.preemptions == 0)
      RC_ASSERT(r.itl.count == static_cast<std::size_t>(wanted) - r.completed);
  }));
}

TEST_CASE("a prompt token is computed once or found once", "[simulation]") {
  CHECK(rc::check("without preemption", [] {
    const Run run = random_run();
    RC_PRE(run.result.preemptions == 0u && run.result.rejected == 0u);
    std::int64_t prompt = 0;
    for (const SimulatedRequest& r : run.requests) prompt += r.input;
    RC_ASSERT(run.result.prefilled_tokens + run.result.cached_tokens == prompt);
  }));
}

TEST_CASE("equal seeds give equal runs", "[simulation]") {
  StreamLaw law;
  law.requests = 2000;
  law.arrival_rate = RequestsPerSecond::from_base(20);
  law.output = TokensPerRequest::from_base(50);
  law.output_law.kind = LengthLaw::Kind::geometric;
  const auto once = simulate(draw_requests(law), {}, {}, step_time);
  const auto again = simulate(draw_requests(law), {}, {}, step_time);
  CHECK(once.ttft.mean == again.ttft.mean);
  CHECK(once.e2e.p999 == again.e2e.p999);
  CHECK(once.steps == again.steps);
}

TEST_CASE("one request by hand", "[simulation]") {
  // Prompt of 10 tokens in chunks of 4: 3 steps of 1 s; then 2 decode steps for 3 tokens in all.
  SimulatedRequest r;
  r.arrival = 5 * second;
  r.input = 10;
  r.output = 3;
  SimulatedEngine engine;
  engine.token_budget = 4;
  std::vector<SimulatedStep> steps;
  SimulationPlan plan;
  plan.warm_up = 0;
  plan.keep_records = true;
  const auto result = simulate({r}, engine, plan, [&steps](const SimulatedStep& s) {
    steps.push_back(s);
    return 1 * second;
  });
  REQUIRE(steps.size() == 5);
  CHECK(steps[0].prefill_tokens == 4);
  CHECK(steps[2].prefill_tokens == 2);
  CHECK(steps[0].prefill_pairs + steps[1].prefill_pairs + steps[2].prefill_pairs == 55);  // 10*11/2
  CHECK(steps[3].decode_context == 11);
  CHECK(steps[4].decode_context == 12);
  CHECK(result.ttft.mean / second == 3);
  CHECK(result.tpot.mean / second == 1);
  CHECK(result.e2e.mean / second == 5);
  CHECK(result.records[0].finished / second == 10);
}

TEST_CASE("a step that is scheduled ahead misses what comes meanwhile", "[simulation]") {
  // Steps of 1 s from 0 on. The second request comes at 2.5, while the step from 2 on runs: the one
  // from 3 on is scheduled already, so its prompt runs from 4 to 5. The third finds an idle engine.
  std::vector<SimulatedRequest> three(3);
  three[0] = {.arrival = 0 * second, .input = 10, .output = 6};
  three[1] = {.arrival = 2.5 * second, .input = 10, .output = 2};
  three[2] = {.arrival = 20 * second, .input = 10, .output = 1};
  SimulatedEngine engine;
  SimulationPlan plan;
  plan.warm_up = 0;
  plan.keep_records = true;
  const auto first_token = [&](std::size_t request) {
    const auto run = simulate(three, engine, plan, [](const SimulatedStep&) { return 1 * second; });
    return run.records[request].first_token / second;
  };
  CHECK(first_token(1) == 4);
  engine.scheduled_ahead = true;
  CHECK(first_token(0) == 1);
  CHECK(first_token(1) == 5);
  CHECK(first_token(2) == 21);
}

TEST_CASE("decodes stand still while an exclusive prompt is computed", "[simulation]") {
  std::vector<SimulatedRequest> two(2);
  two[0] = {.arrival = 0 * second, .input = 100, .output = 20};
  two[1] = {.arrival = 12.5 * second, .input = 700, .output = 2};
  SimulatedEngine engine;
  engine.chunked = false;
  SimulationPlan plan;
  plan.warm_up = 0;
  const auto result = simulate(two, engine, plan, [](const SimulatedStep& s) {
    return s.prefill_tokens > 0 ? s.prefill_tokens * 0.01 * second : 1 * second;
  });
  CHECK(result.itl.max / second == Approx(8));  // one step and 7 s of the other's prompt
  CHECK(result.ttft.max / second == Approx(7.5));
}

TEST_CASE("a full pool preempts the latest and recomputes it", "[simulation]") {
  std::vector<SimulatedRequest> two(2);
  for (SimulatedRequest& r : two) r = {.arrival = 0 * second, .input = 8, .output = 30};
  SimulatedEngine engine;
  engine.block_tokens = 4;
  engine.kv_blocks = 12;  // 48 tokens; both would need 74
  SimulationPlan plan;
  plan.warm_up = 0;
  plan.keep_records = true;
  const auto result = simulate(two, engine, plan, step_time);
  CHECK(result.completed == 2);
  CHECK(result.preemptions >= 1);
  CHECK(result.records[0].preemptions == 0);
  CHECK(result.records[1].preemptions == static_cast<int>(result.preemptions));
  CHECK(result.generated_tokens == 60);
  CHECK(result.prefilled_tokens > 16);  // the recomputation
  two[1].input = 60;
  const auto refused = simulate(two, engine, plan, step_time);
  CHECK(refused.rejected == 1);
  CHECK(refused.completed == 1);
}

TEST_CASE("a shared prompt is stored once and computed once", "[simulation]") {
  std::vector<SimulatedRequest> group(8);
  for (std::size_t i = 0; i < group.size(); ++i) {
    group[i] = {.arrival = 1.0 * static_cast<double>(i) * second, .input = 170, .output = 4000};
    group[i].prefix_group = 3;
    group[i].prefix_tokens = 160;
  }
  SimulatedEngine engine;
  engine.kv_blocks = 100000;
  SimulationPlan plan;
  plan.warm_up = 0;
  plan.sample_interval = 0.5 * second;
  const auto result = simulate(group, engine, plan, step_time);
  CHECK(result.cached_tokens == 7 * 160);
  CHECK(result.prefilled_tokens == 170 + 7 * 10);
  // At the peak all eight hold their own blocks and the ten shared ones.
  CHECK(result.peak_kv_usage * 100000 <= 8 * 251 + 10);
  REQUIRE(result.occupancy.size() > 10);
  CHECK(result.occupancy[1].time > result.occupancy[0].time);
}

TEST_CASE("prompts shorter than the shared one give back what they took", "[simulation]") {
  // The shorter one leaves last; a pool that leaked would stall the third.
  std::vector<SimulatedRequest> group(3);
  group[0] = {.arrival = 0 * second, .input = 64, .output = 2};
  group[1] = {.arrival = 0 * second, .input = 16, .output = 60};
  group[2] = {.arrival = 9 * second, .input = 150, .output = 5};
  for (SimulatedRequest& r : group) {
    r.prefix_group = 0;
    r.prefix_tokens = std::min(64, r.input);
  }
  SimulatedEngine engine;
  engine.kv_blocks = 10;
  SimulationPlan plan;
  plan.warm_up = 0;
  const auto result = simulate(group, engine, plan, step_time);
  CHECK(result.completed == 3);
  CHECK(result.cached_tokens == 64);  // the second came before the prefix was computed
}

TEST_CASE("progress ends at the end", "[simulation]") {
  StreamLaw law;
  law.requests = 5000;
  std::size_t last = 0, calls = 0;
  SimulationPlan plan;
  plan.progress = [&](std::size_t done, std::size_t total) {
    CHECK(total == 5000);
    last = done;
    ++calls;
  };
  (void)simulate(draw_requests(law), {}, plan, step_time);
  CHECK(last == 5000);
  CHECK(calls <= 1001);
}

TEST_CASE("nothing to simulate", "[simulation]") {
  const auto result = simulate({}, {}, {}, step_time);
  CHECK(result.completed == 0);
  CHECK(result.ttft.count == 0);
  CHECK(result.request_rate.base() == 0);
}

TEST_CASE("histogram quantiles are within a bin", "[simulation]") {
  TimeHistogram histogram;
  std::vector<double> values;
  Random random(3);
  for (int i = 0; i < 20000; ++i) {
    values.push_back(0.03 * sample_exponential(random));
    histogram.add(values.back(), 1);
  }
  const TimeSummary summary = histogram.summary();
  CHECK(summary.p95 / second == Approx(quantile_of(values, 0.95)).epsilon(0.008));
  CHECK(summary.p50 / second == Approx(quantile_of(values, 0.50)).epsilon(0.008));
}
