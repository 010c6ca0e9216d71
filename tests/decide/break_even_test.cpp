#include "tokenroof/decide/break_even.hpp"

#include "properties.hpp"
#include "tokenroof/decide/economics.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {
constexpr RequestsPerSecond per_second = 1 * request / second;

// A node at $16/h serves 4 requests/s; the API takes $0.002 a request, so a node pays for itself
// at 16/3600/0.002 = 2.22 requests/s, 55.6 % of what it can do.
SelfHosting node(double rate = 4, double api = 0.002) {
  return {16 * dollar_per_hour, rate * per_second, 1, api * dollar};
}
}  // namespace

TEST_CASE("whole nodes make a staircase", "[break_even]") {
  CHECK(nodes_for(node(), RequestsPerSecond{}) == 1);
  CHECK(nodes_for(node(), 4.0 * per_second) == 1);
  CHECK(nodes_for(node(), 4.001 * per_second) == 2);
  SelfHosting spare = node();
  spare.least_nodes = 2;
  CHECK(nodes_for(spare, 0.1 * per_second) == 2);
  CHECK(hosting_cost(node(), 9 * per_second) / dollar_per_hour == Approx(48));
  CHECK(api_spend(node(), 9 * per_second).base() == Approx(0.018));
}

TEST_CASE("the volume from which hosting pays", "[break_even]") {
  const auto found = break_even(node());
  REQUIRE(found.has_value());
  const double pays = 16.0 / 3600 / 0.002;
  CHECK(found->first.base() == Approx(pays));
  CHECK(found->utilization == Approx(pays / 4));
  // The second node costs what the API takes for 4.44/s: between 4/s and that the API is cheaper
  // again; a third is full enough at once (8/s > 6.67/s).
  REQUIRE(found->always.has_value());
  CHECK(found->always->base() == Approx(2 * pays));
  // A full node that costs more than the API for all it serves never pays.
  CHECK_FALSE(break_even(node(2)).has_value());
  // Exactly as much: only full nodes pay.
  const auto edge = break_even({4 * dollar / second, 2 * per_second, 1, 2 * dollar});
  REQUIRE(edge.has_value());
  CHECK_FALSE(edge->always.has_value());
}

TEST_CASE("properties of the break-even", "[break_even]") {
  property("below the first rate the API is cheaper; from the last on the nodes are", [] {
    SelfHosting choice = node(of_any_size(0.5, 50), of_any_size(1e-4, 1e-1));
    choice.least_nodes = whole(1, 3);
    const auto found = break_even(choice);
    const auto hosting_pays = [&](double rate) {
      return hosting_cost(choice, rate * per_second) <= api_spend(choice, rate * per_second);
    };
    if (!found) {
      RC_ASSERT(!hosting_pays(choice.node_rate.base() * of_any_size(1, 1000)));
      return;
    }
    const double first = found->first.base();
    RC_ASSERT(!hosting_pays(first * between(0.01, 0.999)));
    RC_ASSERT(hosting_pays(first * (1 + 1e-9)));
    RC_PRE(found->always.has_value());
    const double always = found->always->base();
    RC_ASSERT(hosting_pays(always * (1 + 1e-9) * of_any_size(1, 1000)));
    if (always > first * 1.001) {
      // Just after the last but one step the API is cheaper.
      const double node_rate = choice.node_rate.base();
      RC_ASSERT(
          !hosting_pays(node_rate * std::floor(always * (1 - 1e-9) / node_rate) * (1 + 1e-6)));
    }
  });
}
