#include "tokenroof/serving/disaggregation.hpp"

#include <vector>

#include "oracle.hpp"
#include "properties.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {
struct Pools {
  std::vector<Seconds> steps;
  PrefillLaw law;
  DisaggregatedLoad d;
  Pools(double prefill, double slope, int places = 128) {
    for (int n = 1; n <= places; ++n) steps.push_back((0.02 + slope * n) * second);
    law.add(prefill * second, 1);
    d.load.output = TokensPerRequest::from_base(200);
    d.load.prefill = law.shares();
    d.load.mode = PrefillMode::one_by_one;
    d.load.prompt = TokensPerRequest::from_base(1024);
    d.transfer = 5 * millisecond;
    d.decode_steps = steps;
  }
};
}  // namespace

TEST_CASE("handing a cache over", "[disaggregation]") {
  // 8192 tokens of Llama-3.1-70B over 8 x 50 GB/s.
  const auto kv = BytesPerToken::from_base(327680);
  const auto links = BytesPerSecond::from_base(400e9);
  const auto prompt = TokensPerRequest::from_base(8192);
  CHECK(kv_transfer_time(prompt, kv, links) / second == closed_form("s5.kvxfer.L70.N8192.400GBs"));
  CHECK(kv_transfer_time(prompt, kv, links, 80) / second ==
        Approx(oracle("s5.kvxfer.L70.N8192.400GBs") / 80));
}

TEST_CASE("pools under load", "[disaggregation]") {
  Pools p(0.1, 0.0002);
  p.d.prefill_workers = 2;
  p.d.load.arrivals = RequestsPerSecond::from_base(12);
  const DisaggregatedEstimate e = disaggregated_estimate(p.d);
  REQUIRE(e.stable);
  CHECK(e.prefill_load == Approx(0.6));
  const ServerQueue queue{p.d.load.arrivals, 0.1 * second, 2, 0};
  CHECK(e.ttft / second == Approx(*kimura_wait(queue) / second + 0.105));
  CHECK(e.ttft_p95 > e.ttft);
  // The decode pool never sees a prompt: its batch is the plain law at t_p = 0.
  EngineTraffic decode;
  decode.arrivals = p.d.load.arrivals;
  decode.output = p.d.load.output;
  CHECK(e.tpot.base() == Approx(engine_queue(decode, p.steps).tpot.base()).epsilon(1e-9));

  p.d.decode_workers = 2;
  p.d.load.arrivals = RequestsPerSecond::from_base(21);
  const DisaggregatedEstimate over = disaggregated_estimate(p.d);
  CHECK_FALSE(over.stable);
  CHECK(over.prefill_bound);
  CHECK(over.limit.base() == Approx(20));
  p.d.load.arrivals = {};
  CHECK(disaggregated_estimate(p.d).ttft / second == Approx(0.105));
}

TEST_CASE("the best split balances the pools", "[disaggregation]") {
  Pools p(0.1, 0.0002);
  const auto any = [](const DisaggregatedEstimate& e) { return e.stable; };
  const PoolSplit best = best_split(p.d, 8, any);
  CHECK(best.prefill_workers + best.decode_workers == 8);
  for (int x = 1; x < 8; ++x) {
    p.d.prefill_workers = x;
    p.d.decode_workers = 8 - x;
    CHECK(at_most(disaggregated_estimate(p.d).limit.base(), best.rate.base() * 1.000001));
  }
  CHECK(best_split(p.d, 1, any).rate.base() == 0);
  CHECK(best_split(p.d, 4, [](const DisaggregatedEstimate&) { return false; }).rate.base() == 0);
}

TEST_CASE("disaggregation pays under a strict TPOT, not without one", "[disaggregation]") {
  const Pools p(0.15, 0.0001, 256);
  const auto strict = [](Seconds ttft, SecondsPerToken tpot) {
    return ttft < 2 * second && tpot.base() < 0.032;
  };
  const auto loose = [](Seconds ttft, SecondsPerToken) { return ttft < 1000 * second; };
  CHECK(compare_pools(p.d, p.steps, 8, strict).gain() > 1);
  CHECK(compare_pools(p.d, p.steps, 8, loose).gain() < 1);  // nothing is shared: some idles
}
