#include "tokenroof/physics/expert_parallel.hpp"

#include "oracle.hpp"
#include "properties.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {
/// Dispatch in one byte, combine in two.
BytesPerToken exchange(double destinations, double hidden) {
  return expert_exchange(destinations, hidden, byte, 2 * byte);
}
Seconds time(double destinations, double hidden, double bandwidth) {
  return expert_exchange_time(32 * token, exchange(destinations, hidden),
                              bandwidth * gigabyte / second);
}
}  // namespace

TEST_CASE("DeepSeek's all-to-all bound", "[expert_parallel]") {
  // 32 tokens to 8 routed and 1 shared expert, hidden "7K", 50 GB/s
  const Seconds layer = time(9, 7000, 50);
  CHECK(layer / second == closed_form("s8.ep.insights.us"));
  const Seconds token_time = exchange_bound_token_time(61, layer);
  CHECK(token_time / second == closed_form("s8.ep.insights.tpot"));
  CHECK(second / token_time == closed_form("s8.ep.insights.tps"));
  const Seconds nvl72 = exchange_bound_token_time(61, time(9, 7000, 900));
  CHECK(nvl72 / second == closed_form("s8.ep.insights.nvl72.tpot"));
  CHECK(second / nvl72 == closed_form("s8.ep.insights.nvl72.tps"));
  CHECK(exchange_bound_token_time(61, time(9, 7168, 50)) / second ==
        closed_form("s8.ep.exact7168.tpot"));
  CHECK(exchange_bound_token_time(58, time(8, 7168, 50)) / second ==
        closed_form("s8.ep.exact7168.58layers.8dest.tpot"));
}

TEST_CASE("where the experts of a token lie", "[expert_parallel]") {
  CHECK(distinct_nodes(256, 8, 8) == closed_form("s8.ep.nodes.DS.8nodes"));
  CHECK(distinct_nodes(256, 8, 8, 4) == 4);
  CHECK(exchange(8, 7168).base() == closed_form("s8.ep.bytes.unrestricted"));
  CHECK(exchange(4, 7168).base() == closed_form("s8.ep.bytes.nodelimited4"));
  CHECK(remote_share(1) == 0);
  CHECK(remote_share(32) == 31.0 / 32);
  CHECK(distinct_nodes(8, 8, 4) == 4);
  CHECK(distinct_nodes(8, 0, 4) == 0);
}

TEST_CASE("property P8.6 of distinct nodes", "[expert_parallel]") {
  property("at most min(k, nodes), at least 1, and 1 on one node", [] {
    const int nodes = whole(1, 16);
    const int experts = nodes * whole(1, 32);
    const int k = whole(1, experts);
    const double distinct = distinct_nodes(experts, k, nodes);
    RC_ASSERT(at_most(distinct, std::min(k, nodes)));
    RC_ASSERT(at_most(1, distinct));
    RC_ASSERT(distinct_nodes(experts, k, 1) == 1);
    RC_ASSERT(near(distinct_nodes(experts, 1, nodes), 1));
  });
}
