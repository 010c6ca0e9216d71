#include "tokenroof/physics/context_parallel.hpp"

#include "oracle.hpp"
#include "properties.hpp"
#include "theory_fixtures.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

TEST_CASE("combining partial attention of Llama 70B over eight devices", "[context_parallel]") {
  CHECK(context_combine_bytes(token, 80, 64, 128, 4 * byte, 8) / byte ==
        closed_form("s8.cp.combine.L70.B1.n8"));
  CHECK(context_combine_bytes(token, 80, 64, 128, 4 * byte, 1) == Bytes{});
}

TEST_CASE("the shortest chunk whose ring hops hide", "[context_parallel]") {
  const auto link = BytesPerSecond::from_base(h100.link);
  CHECK(ring_attention_chunk(llama_70b.kv(), llama_70b.attention_flops(), h100.bf16_roof().math,
                             link) /
            token ==
        closed_form("s8.cp.ring.minchunk.L70"));
}

TEST_CASE("properties of context parallelism", "[context_parallel]") {
  property("combined bytes grow with devices, up to one full pass", [] {
    const int devices = whole(1, 64);
    const auto bytes = [](int n) { return context_combine_bytes(token, 80, 64, 128, 4 * byte, n); };
    RC_ASSERT(bytes(devices) < bytes(devices + 1));
    RC_ASSERT(bytes(devices) < 80 * 64 * 130 * 4 * byte);
  });
  property("a faster link hides shorter chunks", [] {
    const double link = of_any_size(1e9, 1e12);
    const auto chunk = [](double bandwidth) {
      return ring_attention_chunk(llama_70b.kv(), llama_70b.attention_flops(),
                                  h100.bf16_roof().math, BytesPerSecond::from_base(bandwidth));
    };
    RC_ASSERT(near(chunk(2 * link) / token * 2, chunk(link) / token));
  });
}
