#include "tokenroof/serving/engine_prompt_queue.hpp"

#include <vector>

#include "properties.hpp"
#include "tokenroof/serving/random.hpp"

using namespace tokenroof;
using namespace tokenroof::test;
using namespace tokenroof::detail;

namespace {
struct Engine {
  std::vector<Seconds> steps;
  PrefillLaw law;
  EngineLoad load;

  Engine(double slope, double prefill, double rate) {
    for (int n = 1; n <= 256; ++n) steps.push_back((0.02 + slope * n) * second);
    law.add(prefill * second, 1);
    load.prefill = law.shares();
    load.prompt = TokensPerRequest::from_base(1024);
    load.output = TokensPerRequest::from_base(200);
    load.arrivals = RequestsPerSecond::from_base(rate);
  }
};
}  // namespace

TEST_CASE("a batch that does not vary changes no wait", "[prompt_queue]") {
  const Engine engine(1e-4, 0.02, 5);
  const EngineWork w(engine.load, engine.steps);
  DecodeLaw law;
  law.running = 40;
  law.running_square = 40 * 40;
  law.step = w.step(40);
  const double c = w.room(40);
  const VariedWait same = varied_wait(w, law, c, w.service(c, law.step), 1);
  CHECK(same.mean == Approx(1).epsilon(1e-6));
  CHECK(same.square == Approx(1).epsilon(1e-6));
  law.running_square += 15 * 15;
  const VariedWait varied = varied_wait(w, law, c, w.service(c, law.step), 1);
  CHECK(varied.mean > 1);
  CHECK(varied.square > 1);
}

TEST_CASE("prompts computed together in the next step", "[prompt_queue]") {
  // The recursion S' = T + prompts that came during S, drawn; an arrival meets a step in
  // proportion to its length, waits for its rest and for all that came during it.
  const double T = 0.04, prefill = 0.03, rate = 18;
  const Engine engine(0, prefill, rate);
  const EngineWork w(engine.load, engine.steps);
  Random random(3);
  double step = T, length = 0, first = 0, square = 0;
  const auto arrivals_in = [&](double t) {
    int n = 0;
    for (double at = sample_exponential(random) / rate; at < t;
         at += sample_exponential(random) / rate)
      ++n;
    return n;
  };
  for (int i = 0; i < 1000000; ++i) {
    const int came = arrivals_in(step);
    const double rest = random.uniform() * step;
    const double wait = rest + prefill * arrivals_in(step);
    length += step;
    first += step * wait;
    square += step * wait * wait;
    step = T + prefill * came;
  }
  const double variance = square / length - first / length * (first / length);
  CHECK(gated_variance(w, T) == Approx(variance).epsilon(0.02));
}
