#include "tokenroof/physics/paging.hpp"

#include "oracle.hpp"
#include "properties.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {
double held(double mean, double block) {
  return mean_paged_tokens_geometric(mean * token, block * token) / token;
}
double waste(double mean, double block) {
  return wasted_share(mean * token, mean_paged_tokens_geometric(mean * token, block * token));
}
}  // namespace

TEST_CASE("blocks of the oracle", "[paging]") {
  CHECK(paged_tokens(1000 * token, 16 * token) / token == oracle("s3.paged.S1000.b16"));
  CHECK(held(500, 16) == closed_form("s3.paged.geo.mean500.b16.alloc"));
  CHECK(waste(500, 16) == closed_form("s3.paged.geo.mean500.b16.waste"));
  CHECK(held(500, 128) == closed_form("s3.paged.geo.mean500.b128.alloc"));
  CHECK(waste(500, 128) == closed_form("s3.paged.geo.mean500.b128.waste"));
  CHECK(waste(330, 16) == closed_form("s3.paged.geo.mean330.b16.waste"));
}

TEST_CASE("reservations against blocks", "[paging]") {
  // ShareGPT: prompt 161, output 338: on average 161 + 169 live of 2048 reserved.
  CHECK(reserved_share_used((161 + 169) * token, 2048 * token) ==
        closed_form("s3.contig.util.ShareGPT"));
  // vLLM's paper: 96.3 % used with blocks, 20.4 to 38.2 % in earlier systems.
  CHECK(paging_gain(1 - 0.963, 1 - 0.382) == closed_form("s3.vllm.gain.lo"));
  CHECK(paging_gain(1 - 0.963, 1 - 0.204) == closed_form("s3.vllm.gain.hi"));
  CHECK(paging_gain(0.04, 0.6) == closed_form("s3.article.gain.lo"));
  CHECK(paging_gain(0.04, 0.8) == closed_form("s3.article.gain.hi"));
  // OPT-13B: 819,200 B per token in 12 GB.
  const BytesPerToken kv = BytesPerToken::from_base(819200);
  const Tokens rounded = 330 * token + mean_rounding_waste(16 * token);
  CHECK(rounded == 337.5 * token);
  CHECK(whole_sequences(12 * gigabyte, kv, 2048 * token) == oracle("s3.opt13b.contig"));
  CHECK(whole_sequences(12 * gigabyte, kv, rounded) == oracle("s3.opt13b.paged"));
  CHECK(whole_sequences(-1 * gigabyte, kv, rounded) == 0);
}

TEST_CASE("paging at its edges", "[paging]") {
  CHECK(paged_tokens(Tokens{}, 16 * token) == Tokens{});
  CHECK(paged_tokens(16 * token, 16 * token) == 16 * token);
  CHECK(held(1, 16) == 16);
  CHECK(mean_rounding_waste(token) == Tokens{});
}

TEST_CASE("properties P3.2 and P3.3 of blocks", "[paging]") {
  property("P3.2 less than a block is wasted; a block of 1 wastes nothing", [] {
    const double live = whole(0, 100000), block = whole(1, 512);
    const double over = paged_tokens(live * token, block * token) / token - live;
    RC_ASSERT(over >= 0);
    RC_ASSERT(over <= block - 1);
    RC_ASSERT(paged_tokens(live * token, token) == live * token);
  });
  property("P3.3 grows with the block, mean at 1, about (b - 1) / 2 more for small blocks", [] {
    const double mean = of_any_size(2, 1e5);
    const double block = whole(1, 256);
    RC_ASSERT(near(held(mean, 1), mean, 1e-11));
    RC_ASSERT(held(mean, block) < held(mean, block + 1));
    RC_ASSERT(std::fabs(held(1e6, block) - 1e6 - (block - 1) / 2) < 0.02);
  });
  property("the geometric mean is the sum of the series", [] {
    const double mean = between(2, 60), block = whole(1, 20);
    const double q = 1 - 1 / mean;
    double sum = 0, chance = 1 / mean;
    for (int s = 1; s < 4000; ++s, chance *= q) sum += chance * block * std::ceil(s / block);
    RC_ASSERT(near(held(mean, block), sum, 1e-10));
  });
}
