#include "tokenroof/serving/trace_summary.hpp"

#include "properties.hpp"
#include "tokenroof/serving/concurrency.hpp"
#include "tokenroof/serving/prefix_cache.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

TEST_CASE("a trace by hand", "[trace]") {
  TraceSummary s;
  // Three in the first minute, one in the third.
  for (const double t : {0.0, 10.0, 30.0, 130.0})
    s.add({.arrival = t * second, .input = 100, .output = 10 + static_cast<int>(t)});
  CHECK(s.requests() == 4);
  CHECK(s.duration() / second == 130);
  CHECK(s.rate().base() == Approx(3 / 130.0));
  REQUIRE(s.minutes().size() == 3);
  CHECK(s.minutes()[0] == 3);
  CHECK(s.minutes()[1] == 0);
  CHECK(s.burst_factor() == Approx(3 / 60.0 / (3 / 130.0)));
  CHECK(s.output().mean() == Approx(52.5));
  CHECK(s.output().quantile(0.5) == 20);
  CHECK(s.output().quantile(1) == 140);
  CHECK(s.input().squared_cv() == Approx(0).margin(1e-12));
  const std::vector<double> in(4, 100.0), out{10, 20, 40, 140};
  CHECK(s.live_context().base() == Approx(live_context(in, out).base()));
}

TEST_CASE("an empty trace", "[trace]") {
  const TraceSummary s;
  CHECK(s.rate().base() == 0);
  CHECK(s.burst_factor() == 1);
  CHECK(s.arrival_squared_cv() == 1);
  CHECK(s.input().quantile(0.5) == 0);
  CHECK(s.live_context().base() == 0);
}

TEST_CASE("Poisson arrivals look like Poisson", "[trace]") {
  StreamLaw law;
  law.requests = 100000;
  law.arrival_rate = RequestsPerSecond::from_base(3);
  TraceSummary s;
  for (const SimulatedRequest& r : draw_requests(law)) s.add(r);
  CHECK(s.rate().base() == Approx(3).epsilon(0.02));
  CHECK(s.arrival_squared_cv() == Approx(1).epsilon(0.03));
}

TEST_CASE("prefix cache", "[trace]") {
  const std::vector<std::int64_t> a{1, 2, 3}, b{1, 2, 4}, c{7};
  PrefixCache endless(-1);
  CHECK(endless.access(a) == 0);
  CHECK(endless.access(b) == 2);
  CHECK(endless.access(a) == 3);
  CHECK(endless.size() == 4);
  PrefixCache none(0);
  CHECK(none.access(a) == 0);
  CHECK(none.access(a) == 0);
  PrefixCache small(3);
  CHECK(small.access(a) == 0);
  CHECK(small.access(c) == 0);  // drops 3, the tail, not 1, the head
  CHECK(small.access(a) == 2);
  CHECK(small.size() == 3);
}
