#include "tokenroof/serving/closed_loop.hpp"

#include "properties.hpp"

namespace tokenroof {
namespace {

using namespace test;

ClosedLoopLoad load_of(double concurrency, double capacity, double output) {
  ClosedLoopLoad load;
  load.concurrency = concurrency;
  load.capacity = capacity;
  load.prompt = 1000;
  load.output = output;
  return load;
}
const ClosedLoopTimes times{20 * millisecond, 15 * millisecond, 30 * millisecond};

TEST_CASE("hand-worked: work is conserved") {
  // 8 running, 101 outputs: 101 x 20 ms + 8 x 30 ms = 2.26 s.
  const ClosedLoop loop = closed_loop(load_of(8, 100, 101), {}, times);
  CHECK(loop.residence / second == Approx(2.26));
  // 2.5 x 8 / 101 requests meet a step, twice over two steps: (1 + 0.396) x 30 ms + 2 x 20 ms.
  CHECK(loop.ttft / millisecond == Approx((1 + 5.0 * 8 / 101) * 30 + 40));
  CHECK(loop.tpot / millisecond == Approx((2260 - loop.ttft / millisecond) / 100));
}

TEST_CASE("where steps are scheduled ahead a newcomer misses one more, unless it is alone") {
  ClosedLoopLoad load = load_of(8, 100, 101);
  const ClosedLoop usual = closed_loop(load, {}, times);
  load.scheduled_ahead = true;
  const ClosedLoop ahead = closed_loop(load, {}, times);
  CHECK((ahead.ttft - usual.ttft) / times.step == Approx(1));
  CHECK(ahead.residence == usual.residence);
  load.concurrency = 1;
  CHECK(closed_loop(load, {}, times).ttft == closed_loop(load_of(1, 100, 101), {}, times).ttft);
}

TEST_CASE("residence, TTFT, TPOT and rate satisfy their definitions") {
  property("Little's law and the split, to 1e-9", [] {
    ClosedLoopLoad load = load_of(of_any_size(1, 2000), of_any_size(1, 500), of_any_size(2, 5000));
    load.prompts_first = whole(0, 1) == 1;
    load.lengths_vary = whole(0, 1) == 1;
    load.start_share = between(0, 1);
    load.prompts_per_step = of_any_size(1, 30);
    EngineConstants engine;
    engine.request_overhead = between(0, 0.1) * second;
    engine.prompts_ahead = between(0, 3);
    const ClosedLoop loop = closed_loop(load, engine, times);
    RC_ASSERT(near(loop.rate.base() * loop.residence.base(), load.concurrency, 1e-9));
    RC_ASSERT(
        near((loop.ttft + (load.output - 1) * loop.tpot).base(), loop.residence.base(), 1e-9));
    RC_ASSERT(loop.ttft > Seconds{} && loop.tpot > Seconds{});
    RC_ASSERT(loop.running <= load.capacity + 1e-9);
  });
}

TEST_CASE("beyond capacity the rest waits for a place") {
  const ClosedLoop full = closed_loop(load_of(10, 10, 101), {}, times);
  const ClosedLoop twice = closed_loop(load_of(20, 10, 101), {}, times);
  CHECK(twice.rate / full.rate == Approx(1).epsilon(1e-9));
  CHECK((twice.ttft - full.ttft) / full.residence == Approx(1).epsilon(1e-9));
}

TEST_CASE("one output token is all prefill") {
  const ClosedLoop loop = closed_loop(load_of(4, 10, 1), {}, times);
  CHECK(loop.tpot == Seconds{});
  CHECK(loop.ttft == loop.residence);
}

}  // namespace
}  // namespace tokenroof
