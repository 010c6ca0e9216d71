#include "tokenroof/physics/pipeline_parallel.hpp"

#include "oracle.hpp"
#include "properties.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

TEST_CASE("bubbles of the oracle", "[pipeline_parallel]") {
  CHECK(pipeline_bubble(4, 8) == closed_form("s8.pp.bubble.p4.m8"));
  CHECK(pipeline_bubble(4, 16) == closed_form("s8.pp.bubble.p4.m16"));
  CHECK(pipeline_bubble(1, 1) == 0);
}

TEST_CASE("a pipeline never makes a token faster", "[pipeline_parallel]") {
  const Channel<> network{5 * microsecond, 50.0 * gigabyte / second};
  const Bytes message = 8 * 16384 * byte;
  CHECK(pipeline_token_time(20 * millisecond, 1, message, network) == 20 * millisecond);
  // 3 hand-overs of 5 us + 131072 / 50e9 s
  const Seconds time = pipeline_token_time(20 * millisecond, 4, message, network);
  CHECK(time / microsecond == Approx(20000 + 3 * (5 + 2.62144)));
  // but four micro-batches of 8 leave in that time
  CHECK(pipeline_rate(8 * token, 4, time).base() == Approx(32 / (time / second)));
  // and the cache of a stage does not shrink
  CHECK(pipeline_kv_per_stage(BytesPerToken::from_base(327680), TokensPerRequest::from_base(1000),
                              8 * request) == 8 * 327680e3 * byte);
}

TEST_CASE("properties of pipelines", "[pipeline_parallel]") {
  property("the bubble is in [0, 1), grows with stages, falls with micro-batches", [] {
    const int p = whole(1, 64), m = whole(1, 64);
    RC_ASSERT(pipeline_bubble(p, m) >= 0);
    RC_ASSERT(pipeline_bubble(p, m) < 1);
    RC_ASSERT(pipeline_bubble(p, m) < pipeline_bubble(p + 1, m));
    RC_ASSERT(pipeline_bubble(p, m + 1) <= pipeline_bubble(p, m));
  });
}
