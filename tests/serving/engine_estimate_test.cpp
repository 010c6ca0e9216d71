#include "tokenroof/serving/engine_estimate.hpp"

#include <vector>

#include "oracle.hpp"
#include "properties.hpp"
#include "tokenroof/serving/simulation.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {
std::vector<Seconds> affine(int places, double base = 0.02, double slope = 0.0002) {
  std::vector<Seconds> steps;
  for (int n = 1; n <= places; ++n) steps.push_back((base + slope * n) * second);
  return steps;
}

struct Setting {
  std::vector<Seconds> steps;
  PrefillLaw law;
  EngineLoad load;
};

Setting setting(int places, PrefillMode mode, double prefill, double cv2, double budget = 2048) {
  Setting s;
  s.steps = affine(places);
  s.law.add(prefill * second, 1);
  s.load.output = TokensPerRequest::from_base(200);
  s.load.output_squared_cv = cv2;
  s.load.mode = mode;
  s.load.prompt = TokensPerRequest::from_base(1024);
  s.load.token_budget = budget * token;
  return s;
}
EngineEstimate at(Setting& s, double share) {
  s.load.prefill = s.law.shares();
  s.load.arrivals = share * engine_limit(s.load, s.steps);
  return engine_estimate(s.load, s.steps);
}
PrefillMode any_mode() { return static_cast<PrefillMode>(whole(0, 2)); }
}  // namespace

TEST_CASE("without prefill the estimate is the textbook engine", "[engine]") {
  // Exclusive prompts of no time: batches are single requests and the law is the plain one.
  property("batch and wait", [] {
    Setting s = setting(whole(2, 300), PrefillMode::one_by_one, 0, between(0, 1));
    const EngineEstimate e = at(s, between(0.05, 0.97));
    EngineTraffic t;
    t.arrivals = s.load.arrivals;
    t.output = s.load.output;
    t.output_squared_cv = s.load.output_squared_cv;
    const EngineQueue q = engine_queue(t, s.steps);
    RC_ASSERT(near(e.running.base(), q.running.base(), 1e-9));
    RC_ASSERT(near(e.waiting_probability, q.waiting_probability, 1e-9));
    RC_ASSERT(near(e.admission.base(), q.admission.base(), 1e-9));
    RC_ASSERT(near(e.tpot.base(), q.tpot.base(), 1e-9));
  });
}

TEST_CASE("K = 64, T = 20 + 0.2 n ms: against the simulation of theory.md", "[engine]") {
  // Mean TTFT of 1.2 million simulated requests (theory.md 10, DES table), load 0.92 and fixed
  // outputs, where the textbook formula is 13 % low; P95 1.8369.
  Setting fixed = setting(64, PrefillMode::one_by_one, 0.03, 0);
  fixed.load.prefill = fixed.law.shares();
  fixed.load.arrivals = RequestsPerSecond::from_base(7);
  const EngineEstimate e = engine_estimate(fixed.load, fixed.steps);
  CHECK(e.ttft / second == Approx(0.3697).epsilon(0.06));
  CHECK(e.ttft_p95 / second == Approx(1.8369).epsilon(0.08));
  CHECK(e.running / request == Approx(55.24).epsilon(0.01));
  CHECK(e.tpot.base() == Approx(0.03947).epsilon(0.005));
}

TEST_CASE("identities of the estimate", "[engine]") {
  property("parts add up, Little's law, order of quantiles", [] {
    Setting s = setting(whole(2, 200), any_mode(), of_any_size(0.001, 0.2), between(0, 2));
    const EngineEstimate e = at(s, between(0.02, 0.97));
    RC_ASSERT(e.stable);
    RC_ASSERT(
        near((e.admission + e.scheduling + e.prefill_queue + e.prefill).base(), e.ttft.base()));
    RC_ASSERT(near(e.waiting.base(), (s.load.arrivals * e.admission).base()));
    RC_ASSERT(near(e.running.base(), s.load.arrivals.base() * 199 * e.tpot.base()));
    RC_ASSERT(near(e.e2e.base(), e.ttft.base() + 199 * e.tpot.base()));
    RC_ASSERT(e.ttft_p50 <= e.ttft_p95 && e.ttft_p95 <= e.ttft_p99);
    RC_ASSERT(at_most(e.tpot_request.base(), e.tpot_p95.base()));
    RC_ASSERT(e.waiting_probability >= 0 && e.waiting_probability <= 1);
    RC_ASSERT(e.longest_gap.base() >= e.tpot.base());
    RC_ASSERT(e.busy >= 0 && e.busy <= 1);
  });
  property("waits grow with the rate", [] {
    Setting s = setting(whole(4, 200), any_mode(), of_any_size(0.001, 0.1), between(0, 1));
    const double share = between(0.05, 0.9);
    const EngineEstimate e = at(s, share), busier = at(s, share + 0.05);
    RC_ASSERT(at_most(e.admission.base(), busier.admission.base()));
    RC_ASSERT(at_most(e.ttft.base(), busier.ttft.base() * 1.0000001));
    RC_ASSERT(at_most(e.tpot.base(), busier.tpot.base()));
  });
  property("burstiness makes the waits longer", [] {
    Setting s = setting(64, any_mode(), of_any_size(0.001, 0.1), between(0, 1));
    const double share = between(0.1, 0.9);
    const EngineEstimate even = at(s, share);
    s.load.arrival_squared_cv = between(1.5, 5);
    const EngineEstimate bursty = at(s, share);
    RC_ASSERT(at_most(even.admission.base(), bursty.admission.base()));
    RC_ASSERT(even.ttft_p99 < bursty.ttft_p99);
  });
}

TEST_CASE("edge cases of the estimate", "[engine]") {
  Setting s = setting(64, PrefillMode::one_by_one, 0.03, 0.995);
  const EngineEstimate idle = at(s, 0);
  CHECK(idle.stable);
  CHECK(idle.ttft / second == Approx(0.03));
  CHECK(idle.ttft_p95 / second == Approx(0.03).epsilon(1e-4));
  CHECK(idle.tpot.base() == Approx(0.0202));
  const EngineEstimate over = at(s, 1.01);
  CHECK_FALSE(over.stable);
  CHECK(over.limit.base() == closed_form("s10.eng.lammax"));
  CHECK(over.ttft / second == 0);
  // Answers of one token are all prefill: M/D/1 behind nothing.
  s.load.output = TokensPerRequest::from_base(1);
  const EngineEstimate prefill_only = at(s, 0.8);
  CHECK(prefill_only.limit.base() == Approx(1 / 0.03));
  CHECK(prefill_only.ttft / second == Approx(0.03 + 2 * 0.03).epsilon(1e-9));
  CHECK(prefill_only.running / request == 0);
  // A budget that carries fewer prompts than the places could decode.
  Setting narrow = setting(256, PrefillMode::chunked, 0.03, 0.995, 300);
  const EngineEstimate bound = at(narrow, 0.5);
  CHECK(bound.prefill_bound);
  CHECK(bound.stable);
}

TEST_CASE("the largest rate meets the objective, and no larger one", "[engine]") {
  Setting s = setting(64, PrefillMode::chunked, 0.03, 0.995);
  s.load.prefill = s.law.shares();
  const auto meets = [](const EngineEstimate& e) { return e.ttft_p95 < 1 * second; };
  const RequestsPerSecond best = largest_rate(s.load, s.steps, meets);
  s.load.arrivals = best;
  CHECK(meets(engine_estimate(s.load, s.steps)));
  s.load.arrivals = 1.001 * best;
  CHECK_FALSE(meets(engine_estimate(s.load, s.steps)));
  const auto never = [](const EngineEstimate&) { return false; };
  CHECK(largest_rate(s.load, s.steps, never).base() == 0);
}

TEST_CASE("laws of prefill times", "[engine]") {
  const auto linear = [](double tokens) { return tokens * 1e-3 * second; };
  const auto mean = TokensPerRequest::from_base(1000);
  for (const LengthLaw& law :
       {LengthLaw{}, LengthLaw{.kind = LengthLaw::Kind::uniform, .low = 0.5, .high = 1.5},
        LengthLaw{.kind = LengthLaw::Kind::lognormal, .cv = 1},
        LengthLaw{.kind = LengthLaw::Kind::geometric}}) {
    const PrefillLaw all = prefill_law(law, mean, linear);
    CHECK(prefill_mean(all.shares()) / second == Approx(1).epsilon(1e-9));
    CHECK(prefill_squared_cv(all.shares()) ==
          Approx(law.squared_cv(1000)).epsilon(0.03).margin(1e-9));
    const PrefillLaw hits = prefill_law(law, mean, linear, 0.5, 0.8);
    CHECK(prefill_mean(hits.shares()) / second == Approx(0.6).epsilon(1e-6));
  }
  CHECK(mean_inverse_decodes({.kind = LengthLaw::Kind::fixed}, TokensPerRequest::from_base(1)) ==
        0);
  Random random(5);
  double sum = 0;
  int count = 0;
  for (int i = 0; i < 400000; ++i) {
    const double o = sample_geometric(random, 100);
    if (o < 2) continue;
    sum += 1 / (o - 1);
    ++count;
  }
  CHECK(mean_inverse_decodes({.kind = LengthLaw::Kind::geometric},
                             TokensPerRequest::from_base(100)) ==
        Approx(sum / count).epsilon(0.02));
}

TEST_CASE("closed form against simulation, a few cases", "[engine][simulation]") {
  // benchmarks/queue_grid.cpp does 180; here one of each kind at tolerances that noise allows.
  const auto compare = [](PrefillMode mode, int places, double share, double prefill,
                          LengthLaw::Kind kind) {
    Setting s = setting(places, mode, prefill, 0, 1024.0 + places);
    const LengthLaw outputs{.kind = kind, .cv = 1};
    s.load.output_squared_cv = outputs.squared_cv(200);
    s.load.mean_inverse_decodes = mean_inverse_decodes(outputs, s.load.output);
    const EngineEstimate e = at(s, share);
    StreamLaw law;
    law.requests = share > 0.9 ? 150000 : 60000;
    law.arrival_rate = s.load.arrivals;
    law.input = s.load.prompt;
    law.output = s.load.output;
    law.output_law = outputs;
    SimulatedEngine engine;
    engine.max_sequences = places;
    engine.chunked = mode == PrefillMode::chunked;
    engine.token_budget = 1024 + places;
    engine.prompts_per_prefill = mode == PrefillMode::one_by_one ? 1 : 1000;
    const auto step = [&](const SimulatedStep& x) {
      const double decode = engine.chunked || x.decoding > 0 ? 0.02 + 0.0002 * x.decoding : 0;
      return (decode + x.prefill_tokens * prefill / 1024) * second;
    };
    // Near saturation runs differ much: the mean of six.
    const int runs = share > 0.9 ? 6 : 1;
    double running = 0, itl = 0, tpot = 0, ttft = 0, p95 = 0;
    for (int run = 1; run <= runs; ++run) {
      law.seed = static_cast<std::uint64_t>(run);
      const SimulationResult r = simulate(draw_requests(law), engine, {}, step);
      running += r.mean_running / request / runs;
      itl += r.itl.mean / second / runs;
      tpot += r.tpot.mean / second / runs;
      ttft += r.ttft.mean / second / runs;
      p95 += r.ttft.p95 / second / runs;
    }
    CAPTURE(static_cast<int>(mode), places, share, static_cast<int>(kind));
    CHECK(e.running / request == Approx(running).epsilon(0.03));
    CHECK(e.tpot.base() == Approx(itl).epsilon(0.03));
    CHECK(e.tpot_request.base() == Approx(tpot).epsilon(0.03));
    CHECK(e.ttft / second == Approx(ttft).epsilon(share > 0.9 ? 0.15 : 0.06));
    CHECK(e.ttft_p95 / second == Approx(p95).epsilon(0.2));
  };
  for (const auto kind :
       {LengthLaw::Kind::fixed, LengthLaw::Kind::geometric, LengthLaw::Kind::lognormal})
    for (const auto mode : {PrefillMode::one_by_one, PrefillMode::packed, PrefillMode::chunked}) {
      compare(mode, 64, 0.3, 0.03, kind);
      compare(mode, 64, 0.92, 0.03, kind);
      compare(mode, 256, 0.7, 0.06, kind);
    }
}
