#include "tokenroof/serving/closed_queue.hpp"

#include <vector>

#include "properties.hpp"
#include "tokenroof/serving/simulation.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {
std::vector<Seconds> affine(int places) {
  std::vector<Seconds> steps;
  for (int n = 1; n <= places; ++n) steps.push_back((0.015 + 0.0001 * n) * second);
  return steps;
}
EngineLoad load(PrefillMode mode, const PrefillShare& share, double output) {
  EngineLoad l;
  l.output = TokensPerRequest::from_base(output);
  l.prefill = {&share, 1};
  l.mode = mode;
  l.prompt = TokensPerRequest::from_base(1024);
  l.token_budget = (mode == PrefillMode::chunked ? 2048 : 8192) * token;
  return l;
}
}  // namespace

TEST_CASE("one request alone", "[closed]") {
  const auto steps = affine(4);
  const PrefillShare share{0.1 * second, 1};
  const ClosedQueue q = closed_queue(load(PrefillMode::one_by_one, share, 11), steps, 1 * request);
  CHECK(q.residence / second == Approx(0.1 + 10 * 0.0151));
  CHECK(q.ttft / second == Approx(0.1));
  CHECK(q.tpot.base() == Approx(0.0151));
}

TEST_CASE("work is conserved in a closed loop", "[closed]") {
  property("residence = TTFT + (O - 1) TPOT = C / rate", [] {
    const auto steps = affine(whole(1, 128));
    const PrefillShare share{of_any_size(0.001, 0.2) * second, 1};
    const double O = whole(2, 500), C = whole(1, 300);
    const EngineLoad l = load(static_cast<PrefillMode>(whole(0, 2)), share, O);
    const ClosedQueue q = closed_queue(l, steps, C * request, between(0, 1));
    RC_ASSERT(near(q.residence.base(), C / q.rate.base()));
    RC_ASSERT(q.ttft >= q.admission + share.time * 0.999999);
    if (q.tpot.base() > 0)
      RC_ASSERT(near(q.residence.base(), q.ttft.base() + (O - 1) * q.tpot.base()));
  });
}

TEST_CASE("the closed loop is what the simulator does", "[closed][simulation]") {
  const auto steps = affine(128);
  for (const auto mode : {PrefillMode::one_by_one, PrefillMode::packed, PrefillMode::chunked})
    for (const int C : {4, 64, 200})
      for (const double prefill : {0.01, 0.06}) {
        StreamLaw law;
        law.requests = static_cast<std::size_t>(C) * 100;
        law.input = TokensPerRequest::from_base(1024);
        law.output = TokensPerRequest::from_base(300);
        law.output_law = {.kind = LengthLaw::Kind::uniform, .low = 0.8, .high = 1.2};
        SimulatedEngine engine;
        engine.max_sequences = 128;
        engine.chunked = mode == PrefillMode::chunked;
        engine.token_budget = engine.chunked ? 2048 : 8192;
        engine.prompts_per_prefill = mode == PrefillMode::one_by_one ? 1 : 1000;
        SimulationPlan plan;
        plan.concurrency = C;
        plan.warm_up = 0.3;
        const auto r = simulate(draw_requests(law), engine, plan, [&](const SimulatedStep& s) {
          const double decode = engine.chunked || s.decoding > 0 ? 0.015 + 0.0001 * s.decoding : 0;
          return (decode + s.prefill_tokens * prefill / 1024) * second;
        });
        const PrefillShare share{prefill * second, 1};
        const ClosedQueue q = closed_queue(load(mode, share, 300), steps, C * request);
        CAPTURE(static_cast<int>(mode), C, prefill);
        CHECK(q.rate.base() == Approx(r.request_rate.base()).epsilon(0.015));
        CHECK(q.tpot.base() == Approx(r.itl.mean.base()).epsilon(0.015));
        CHECK(q.ttft / second == Approx(r.ttft.mean / second).epsilon(0.08));
      }
}

TEST_CASE("equal lengths under exclusive prefill stay in step", "[closed]") {
  const auto steps = affine(64);
  const PrefillShare share{0.06 * second, 1};
  const EngineLoad l = load(PrefillMode::one_by_one, share, 50);
  CHECK(closed_queue(l, steps, 64 * request, 1).ttft / second == Approx(65 * 0.03));
}
