#include "tokenroof/serving/engine_queue.hpp"

#include <vector>

#include "oracle.hpp"
#include "properties.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {
std::vector<Seconds> affine(int places, double base = 0.02, double slope = 0.0002) {
  std::vector<Seconds> steps;
  for (int n = 1; n <= places; ++n) steps.push_back((base + slope * n) * second);
  return steps;
}
EngineTraffic traffic(double arrivals, double cv2 = 1 - 1.0 / 200, double prefill = 0.03) {
  EngineTraffic t;
  t.arrivals = RequestsPerSecond::from_base(arrivals);
  t.output = TokensPerRequest::from_base(200);
  t.output_squared_cv = cv2;
  t.prefill = prefill * second;
  return t;
}
double p95(const EngineQueue& q, const EngineTraffic& t) {
  return ttft_quantile(q, t.arrivals, 0.95) / second;
}
}  // namespace

TEST_CASE("a birth-death queue of two places, by hand", "[engine]") {
  // lambda = 1, mu = (1, 3/2): pi = 1/4 (1, 1, 2/3, 4/9, ...).
  const auto law = stationary_law(
      2, 2.0 / 3, [](int n) { return n == 1 ? 0.0 : std::log(2.0 / 3); }, [](int) { return 1.0; });
  CHECK(law.empty == closed_form("s10.bd.tiny.pi0"));
  CHECK(law.full == closed_form("s10.bd.tiny.Pw"));
  CHECK(law.queue == closed_form("s10.bd.tiny.Lq"));
  CHECK(law.inside == closed_form("s10.bd.tiny.L"));
  CHECK(law.value == Approx(1));
}

TEST_CASE("rest of the step and the prompts before", "[engine]") {
  CHECK(residual_wait_tail(30 * millisecond, 0.2, 10 * millisecond, 20 * millisecond) ==
        closed_form("s10.ue.tail"));
  CHECK(residual_wait_tail(30 * millisecond, 0.2, 10 * millisecond, -1 * second) == 1);
  CHECK(residual_wait_tail(30 * millisecond, 0, {}, 40 * millisecond) == 0);
}

TEST_CASE("the engine of theory.md 10.3", "[engine]") {
  const auto steps = affine(64);
  CHECK(limit_rate(traffic(1), steps).base() == closed_form("s10.eng.lammax"));
  // K -> infinity: mu -> 1 / ((O - 1) slope + t_p).
  const auto endless = affine(1 << 20);
  CHECK(limit_rate(traffic(1), endless).base() ==
        Approx(oracle("s10.eng.lammax.Kinf")).epsilon(1e-4));
  CHECK(1 / (199 * 0.0002 + 0.03) == closed_form("s10.eng.lammax.Kinf"));

  const EngineTraffic five = traffic(5);
  const EngineQueue q5 = engine_queue(five, steps);
  CHECK(q5.running / request == closed_form("s10.eng.lam5.0.nrun"));
  CHECK(q5.ttft / second == closed_form("s10.eng.lam5.0.ttft"));
  CHECK(p95(q5, five) == iterative("s10.eng.lam5.0.p95"));

  const EngineTraffic seven = traffic(7);
  const EngineQueue q = engine_queue(seven, steps);
  CHECK(q.load == closed_form("s10.eng.lam7.0.rho"));
  CHECK(q.law.inside == closed_form("s10.eng.lam7.0.L"));
  CHECK(q.running / request == closed_form("s10.eng.lam7.0.nrun"));
  CHECK(q.waiting_probability == closed_form("s10.eng.lam7.0.Pw"));
  CHECK(q.variability == closed_form("s10.eng.lam7.0.kap"));
  CHECK(q.admission / second == closed_form("s10.eng.lam7.0.Wadm"));
  CHECK(q.drain == closed_form("s10.eng.lam7.0.theta"));
  CHECK(q.residual / second == closed_form("s10.eng.lam7.0.R"));
  CHECK(q.prefill_queue / second == closed_form("s10.eng.lam7.0.Wpf"));
  CHECK(q.ttft / second == closed_form("s10.eng.lam7.0.ttft"));
  CHECK(p95(q, seven) == iterative("s10.eng.lam7.0.p95"));
  CHECK(q.tpot.base() == closed_form("s10.eng.lam7.0.tpot"));

  CHECK(engine_queue(traffic(7.3), steps).ttft / second == closed_form("s10.eng.lam7.3.ttft"));
  const EngineTraffic fixed = traffic(7, 0);
  const EngineQueue det = engine_queue(fixed, steps);
  CHECK(det.ttft / second == closed_form("s10.eng.lam7.0.det.ttft"));
  CHECK(p95(det, fixed) == iterative("s10.eng.lam7.0.det.p95"));
}

TEST_CASE("chunked prefill of theory.md 10.5", "[engine]") {
  const auto steps = affine(256);
  const auto chunked = [&](double arrivals, double budget) {
    const EngineTraffic t = traffic(arrivals);
    return chunked_queue(engine_queue(t, steps), t, steps,
                         {TokensPerRequest::from_base(2048), budget * token,
                          SecondsPerToken::from_base(0.03 / 2048)});
  };
  const ChunkedQueue c = chunked(4, 1024);
  CHECK(engine_queue(traffic(4), steps).running / request ==
        closed_form("s10.chunk.lam4.C1024.nrun"));
  CHECK(c.service / second == closed_form("s10.chunk.lam4.C1024.s"));
  CHECK(c.prefill_queue / second == closed_form("s10.chunk.lam4.C1024.W"));
  CHECK(c.ttft / second == closed_form("s10.chunk.lam4.C1024.ttft"));
  CHECK(chunked(4, 512).ttft / second == closed_form("s10.chunk.lam4.C512.ttft"));
  CHECK(chunked(8, 2048).ttft / second == closed_form("s10.chunk.lam8.C2048.ttft"));
  CHECK(chunked(4, 512).longest_gap / second == closed_form("s10.chunk.lam4.C512.maxitl"));
  property("P10.9: TTFT falls and the longest gap grows with the budget", [&] {
    const double budget = of_any_size(400, 4000);
    const ChunkedQueue a = chunked(3, budget), b = chunked(3, 1.1 * budget);
    RC_ASSERT(a.stable && b.ttft < a.ttft && a.longest_gap < b.longest_gap);
  });
  CHECK_FALSE(chunked(8, 300).stable);  // the second stability condition
  CHECK(longest_gap(20 * millisecond, 30 * millisecond, 3) / millisecond == Approx(110));
}

TEST_CASE("edge cases of the engine", "[engine]") {
  const auto steps = affine(64);
  const EngineQueue idle = engine_queue(traffic(0), steps);
  CHECK(idle.stable);
  CHECK(idle.ttft / second == Approx(0.03));
  const EngineQueue over = engine_queue(traffic(8), steps);
  CHECK_FALSE(over.stable);
  CHECK(over.limit.base() == closed_form("s10.eng.lammax"));
  CHECK(over.ttft / second == 0);
  CHECK(ttft_tail(over, RequestsPerSecond::from_base(8), 1 * second) == 1);
  CHECK(engine_queue(traffic(6, 1, 0), steps).prefill_queue / second == 0);
  // K = 4096 neither overflows nor underflows.
  const auto many = affine(4096, 0.02, 1e-6);
  const EngineQueue large = engine_queue(traffic(30), many);
  CHECK(large.stable);
  CHECK(std::isfinite(large.ttft / second));
}

TEST_CASE("properties of the engine", "[engine]") {
  property("P10.1: constant steps and no prefill are M/M/K", [] {
    const int K = whole(1, 400);
    const double rho = between(0.05, 0.98), T = 0.01;
    const std::vector<Seconds> steps(static_cast<std::size_t>(K), T * second);
    EngineTraffic t = traffic(rho * K / (199 * T), 1, 0);
    const EngineQueue q = engine_queue(t, steps);
    RC_ASSERT(near(q.waiting_probability, erlang_c(K, rho * K), 1e-10));
  });
  property("P10.2: a constant rate is M/M/1", [] {
    const double rho = between(0.05, 0.95);
    const auto law = stationary_law(
        whole(1, 200), rho, [rho](int) { return std::log(rho); }, [](int) { return 1.0; });
    RC_ASSERT(near(law.empty, 1 - rho) && near(law.inside, rho / (1 - rho), 1e-10));
  });
  property("P10.3: waits grow with the rate and fall with K", [] {
    const int K = whole(2, 200);
    const auto steps = affine(K + 1);
    const double rate =
        between(0.1, 0.97) * limit_rate(traffic(1), StepTimes(steps).first(K)).base();
    const EngineTraffic t = traffic(rate);
    const EngineQueue q = engine_queue(t, StepTimes(steps).first(K));
    const EngineQueue busier = engine_queue(traffic(1.01 * rate), StepTimes(steps).first(K));
    const EngineQueue larger = engine_queue(t, steps);
    RC_ASSERT(at_most(q.admission.base(), busier.admission.base()));
    RC_ASSERT(at_most(q.ttft.base(), busier.ttft.base()));
    RC_ASSERT(at_most(q.law.inside, busier.law.inside));
    RC_ASSERT(at_most(larger.waiting_probability, q.waiting_probability));
    RC_ASSERT(at_most(larger.admission.base(), q.admission.base()));
  });
  property("P10.4, P10.5: Little's law and flow balance", [] {
    // Mean completion rate of the law is the arrival rate.
    const auto steps = affine(whole(1, 300));
    EngineTraffic t = traffic(1);
    t.arrivals = between(0.05, 0.98) * limit_rate(t, steps);
    const double lambda = t.arrivals.base();
    const int K = static_cast<int>(steps.size());
    const auto law = stationary_law(
        K, t.arrivals / limit_rate(t, steps),
        [&](int n) { return std::log(lambda / completion_rate(t, steps, n).base()); },
        [&](int n) { return completion_rate(t, steps, n).base(); });
    RC_ASSERT(near((1 - law.empty) * law.value, lambda, 1e-11));
    RC_ASSERT(near(law.inside, law.running + law.queue));
  });
}
