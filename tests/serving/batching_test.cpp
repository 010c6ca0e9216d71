#include "tokenroof/serving/batching.hpp"

#include "oracle.hpp"
#include "properties.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

TEST_CASE("static batches wait to fill and run as long as their longest", "[batching]") {
  const auto arrivals = RequestsPerSecond::from_base(10);
  CHECK(batch_fill_wait(32, arrivals) / second == closed_form("s10.fill.B32.lam10"));
  CHECK(batch_fill_wait(32, arrivals, 1 * second) / second == Approx(0.5));
  CHECK(batch_fill_wait(1, arrivals) / second == 0);
  CHECK(padding_loss_exponential(8) == closed_form("s10.static.H8"));
  CHECK(padding_loss_exponential(64) == closed_form("s10.static.H64"));
  CHECK(padding_loss_geometric(8, 200) == closed_form("s10.static.geo.m200.B8"));
  CHECK(padding_loss_exponential(1) == 1);  // P10.8
  CHECK(padding_loss_geometric(8, 1) == 1);
  CHECK(padding_loss_lognormal(8, 0) == 1);
  CHECK(padding_loss_lognormal(1, 2) == 1);
  // Two lognormals: E[max] / mean = 2 Phi(s / sqrt 2).
  const double s = std::sqrt(std::log(2.0));
  CHECK(padding_loss_lognormal(2, 1) == Approx(std::erfc(-s / 2)).epsilon(1e-8));
  CHECK(static_batch_rate(4, 1 * second, 0.1 * second, 60).base() == Approx(0.4));
}

TEST_CASE("properties of padding", "[batching]") {
  property("grows with the batch, geometric below exponential", [] {
    const int b = whole(1, 200);
    const double mean = of_any_size(1.5, 2000);
    const double loss = padding_loss_geometric(b, mean);
    RC_ASSERT(at_most(1, loss) && at_most(loss, padding_loss_exponential(b) + 1));
    RC_ASSERT(at_most(loss, padding_loss_geometric(b + 1, mean)));
    RC_ASSERT(near(padding_loss_geometric(1, mean), 1, 1e-9));
  });
}
