#include "tokenroof/serving/closed_loop_quantiles.hpp"

#include "properties.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {
struct Loop {
  ClosedLoopLoad load;
  ClosedLoopTimes times{20 * millisecond, 15 * millisecond, 30 * millisecond};
  ClosedLoopQuantiles at(const LengthLaw& law) {
    load.lengths_vary = law.kind != LengthLaw::Kind::fixed;
    return closed_loop_quantiles(mean(), load, {}, times, law);
  }
  ClosedLoop mean() const { return closed_loop(load, {}, times); }
};
}  // namespace

TEST_CASE("percentiles of a closed loop that can be said by hand", "[closed_loop]") {
  Loop loop;
  loop.load.concurrency = 8;
  loop.load.capacity = 16;
  loop.load.prompt = 1000;
  loop.load.output = 101;
  // Equal lengths: every life meets the same prompts, and first tokens depend on the start.
  const ClosedLoopQuantiles equal = loop.at({});
  CHECK(equal.tpot_p95 / loop.mean().tpot == Approx(1));
  CHECK_FALSE(equal.ttft_p95);
  CHECK(*equal.e2e_p95 / loop.mean().residence == Approx(1).epsilon(0.02));
  // Exponential outputs at a steady pace: the 95th percentile is three means.
  const ClosedLoopQuantiles varied = loop.at({.kind = LengthLaw::Kind::geometric});
  CHECK(*varied.e2e_p95 / loop.mean().residence == Approx(3).epsilon(0.03));
  CHECK(varied.tpot_p95 > loop.mean().tpot);
  // Sixteen wait for one of eight places: the 16 next ends, of variance 16 in their mean interval.
  loop.load.capacity = 8;
  loop.load.concurrency = 24;
  const ClosedLoopQuantiles queue = loop.at({.kind = LengthLaw::Kind::geometric});
  const double interval = 1 / loop.mean().rate.base();
  CHECK((*queue.ttft_p95 - loop.mean().ttft).base() == Approx(1.645 * 4 * interval).epsilon(0.05));
  CHECK_FALSE(loop.at({}).e2e_p95);
}

TEST_CASE("percentiles of a closed loop are in order", "[closed_loop]") {
  property("order and bounds", [] {
    Loop loop;
    loop.load.concurrency = of_any_size(1, 1000);
    loop.load.capacity = of_any_size(1, 500);
    loop.load.prompt = of_any_size(1, 1e4);
    loop.load.output = of_any_size(1, 3000);
    loop.load.prompts_first = whole(0, 1) == 1;
    loop.times.prefill = of_any_size(1e-4, 1) * second;
    const LengthLaw law{.kind = LengthLaw::Kind::lognormal, .cv = between(0.05, 1.5)};
    const ClosedLoopQuantiles q = loop.at(law);
    RC_ASSERT(*q.ttft_p50 > Seconds{});
    RC_ASSERT(*q.ttft_p50 <= *q.ttft_p95 && *q.ttft_p95 <= *q.ttft_p99);
    RC_ASSERT(*q.e2e_p95 >= *q.ttft_p50);
    if (loop.load.output > 1) RC_ASSERT(q.tpot_p95 >= loop.mean().tpot);
  });
}
