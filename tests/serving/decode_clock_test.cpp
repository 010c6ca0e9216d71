#include "tokenroof/serving/decode_clock.hpp"

#include <vector>

#include "properties.hpp"
#include "tokenroof/serving/random.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

TEST_CASE("batches of one and constant steps are M/M/K", "[engine]") {
  property("the law", [] {
    const int K = whole(1, 300);
    const double rho = between(0.05, 0.98), T = 0.01, decodes = 100;
    const std::vector<Seconds> steps(static_cast<std::size_t>(K), T * second);
    const DecodeLaw law = decode_law(steps, K, rho * K / (decodes * T), decodes, {});
    RC_ASSERT(near(law.waiting, erlang_c(K, rho * K), 1e-10));
    RC_ASSERT(near(law.running, rho * K, 1e-10));
    RC_ASSERT(near(law.step, T) && near(law.step_square, T * T));
  });
}

TEST_CASE("batches of two in a queue with endless places", "[engine]") {
  // M^X/M/infinity: the mean is the rate times the service, whatever the batches.
  property("mean", [] {
    const std::vector<Seconds> steps(600, 0.01 * second);
    const double offered = between(0.5, 60);
    const JoiningBatches batch = joining_batches(between(0, 0.6), between(0, 2), between(0, 1), 1);
    const DecodeLaw law = decode_law(steps, 600, offered, 100, batch);
    RC_ASSERT(near(law.running, offered, 1e-9));
    RC_ASSERT(law.empty >= std::exp(-offered) * (1 - 1e-9));  // clumped: more often empty
  });
}

TEST_CASE("half a place is between none and one", "[engine]") {
  property("waiting falls as places grow", [] {
    std::vector<Seconds> steps;
    for (int n = 1; n <= 40; ++n) steps.push_back((0.02 + 0.001 * n) * second);
    const double places = between(2, 39);
    const JoiningBatches batch = joining_batches(between(0, 0.5), between(0, 2), between(0, 1), 1);
    const double joining = between(0.1, 0.9) * places / (100 * step_seconds(steps, places));
    const auto waiting = [&](double k) {
      return decode_law(steps, k, joining, 100, batch).waiting;
    };
    RC_ASSERT(at_most(waiting(places + 0.01), waiting(places)));
  });
}

TEST_CASE("step times between whole numbers", "[engine]") {
  const std::vector<Seconds> steps{1 * second, 3 * second};
  CHECK(step_seconds(steps, 1) == 1);
  CHECK(step_seconds(steps, 1.25) == 1.5);
  CHECK(step_seconds(steps, 9) == 3);
  CHECK(step_seconds(steps, 0) == 1);
}

TEST_CASE("size of the joining batches", "[engine]") {
  CHECK(joining_batches(0, 0, 0.3, 1).spread == 1);  // no prefill: one by one, whatever the outputs
  CHECK(joining_batches(0, 0, 0.3, 1).more == 0);
  // Geometric outputs (c^2 = 1), half the engine in equal prompts: (1 + 4) / 2.
  CHECK(joining_batches(0.5, 0, 1, 1).spread == 2.5);
  CHECK(joining_batches(0.5, 0, 1, 1).mean == 2);
  CHECK(joining_batches(0.1, 0, 1, 0).spread == 1);  // even arrivals: never below one
  property("the law has the moments", [] {
    const double rho = between(0.01, 0.8), cp2 = between(0, 3), c2 = of_any_size(0.01, 20);
    const JoiningBatches b = joining_batches(rho, cp2, c2, 1, between(0.01, 1));
    double mean = 1, square = 1, beyond = b.more;  // sums of P(B >= j) and (2 j - 1) P(B >= j)
    for (int j = 2; j < 20000; ++j) {
      mean += beyond;
      square += (2 * j - 1) * beyond;
      beyond *= b.stay;
    }
    RC_ASSERT(b.more >= 0 && b.more <= 1 + 1e-12 && b.stay >= 0 && b.stay < 1);
    RC_ASSERT(near(mean, b.mean, 1e-6));
    RC_ASSERT(near(square / mean, 2 * b.spread - 1, 1e-6));
  });
  // Company that does not last counts for nothing.
  CHECK(joining_batches(0.5, 0, 1, 1, 1e-9).spread == Approx(1));
}

TEST_CASE("requests leave a batch larger than the mean", "[engine]") {
  // Endless places, equal steps, one by one: Poisson with mean a; E[n | one leaves] = a + 1.
  const std::vector<Seconds> steps(600, 0.01 * second);
  CHECK(decode_law(steps, 600, 20, 100, {}).left == Approx(21));
}

TEST_CASE("who has joined before a prompt's turn", "[decode_clock]") {
  // rho = 1/2: E[B^2]/E[B] = 4, so 1.5 before it; 1/6 of the same generation.
  CHECK(break_before(0.5, 0) == Approx(1.5));
  CHECK(generation_before(0.5, 0) == Approx(1.5 - 4.0 / 3));
  CHECK(break_before(0, 3) == 0);
  CHECK(generation_before(0, 3) == 0);
  // Busy periods of single arrivals, drawn: pairs of different order, and of different generations.
  Random random(9);
  const double rho = 0.6;
  double served = 0, pairs = 0, apart = 0;
  for (int period = 0; period < 60000; ++period) {
    double before = 0, all = 0;
    for (int generation = 1; generation > 0;) {
      int next = 0;
      for (int member = 0; member < generation; ++member) {
        pairs += all + member;
        // Poisson with mean rho times an exponential service is geometric.
        const double length = sample_exponential(random);
        for (double t = sample_exponential(random); t < rho * length;
             t += sample_exponential(random))
          ++next;
      }
      apart += before * generation;
      all += generation;
      before = all;
      served += generation;
      generation = next;
    }
  }
  CHECK(break_before(rho, 1) == Approx(pairs / served).epsilon(0.1));
  CHECK(break_before(rho, 1) - generation_before(rho, 1) == Approx(apart / served).epsilon(0.1));
}
