#include "tokenroof/serving/queueing.hpp"

#include "oracle.hpp"
#include "properties.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {
ServerQueue queue(double arrivals, double service, int servers, double cv2 = 1) {
  return {RequestsPerSecond::from_base(arrivals), service * second, servers, cv2};
}
}  // namespace

TEST_CASE("Erlang C", "[queueing]") {
  CHECK(erlang_c(1, 0.8) == closed_form("s10.erlC.c1.a0.8"));
  CHECK(erlang_c(2, 1.5) == closed_form("s10.erlC.c2.a1.5"));
  CHECK(erlang_c(10, 8) == closed_form("s10.erlC.c10.a8.0"));
  CHECK(erlang_c(20, 19) == closed_form("s10.erlC.c20.a19.0"));
  CHECK(erlang_c(100, 90) == closed_form("s10.erlC.c100.a90.0"));
  CHECK(erlang_c(4, 4) == 1);
  CHECK(erlang_b(0, 3) == 1);
}

TEST_CASE("M/M/c", "[queueing]") {
  const ServerQueue q = queue(8, 1, 10);
  CHECK(*mmc_wait(q) / second == closed_form("s10.mmc.Wq.c10.a8.mu1"));
  CHECK(*mmc_wait_quantile(q, 0.95) / second == closed_form("s10.mmc.p95.c10.a8.mu1"));
  CHECK(mmc_wait_tail(q, *mmc_wait_quantile(q, 0.95)) == Approx(0.05).epsilon(1e-12));
  CHECK(*mmc_wait_quantile(q, 0.5) / second == 0);  // more than half do not wait
}

TEST_CASE("M/G/1", "[queueing]") {
  CHECK(*mg1_wait(queue(0.8, 1, 1, 0)) / second == closed_form("s10.mg1.md1.rho0.8.s1"));
  CHECK(*mg1_wait(queue(0.8, 1, 1, 1)) / second == closed_form("s10.mg1.mm1.rho0.8.s1"));
  CHECK(*mg1_wait(queue(0.8, 1, 1, 4)) / second == closed_form("s10.mg1.cs2_4.rho0.8"));
  // M/M/1: E[W^2] = 2 rho s^2 / (1 - rho)^2, E[s^3] = 6 s^3.
  CHECK(*mg1_wait_second_moment(queue(0.8, 1, 1), 6) == Approx(2 * 0.8 / 0.04));
  const ServerQueue mm1 = queue(0.8, 1, 1);
  CHECK(mg1_wait_tail(mm1, 3 * second) == Approx(mmc_wait_tail(mm1, 3 * second)));
  CHECK(mg1_wait_tail(mm1, *mg1_wait_quantile(mm1, 0.99)) == Approx(0.01));
}

TEST_CASE("M/G/c approximations", "[queueing]") {
  CHECK(*allen_cunneen_wait(queue(8, 1, 10, 0.5)) / second ==
        closed_form("s10.allen_cunneen.c10.a8.cs2_0.5"));
  CHECK(*cosmetatos_wait(queue(8, 1, 10)) / second == closed_form("s10.cosmetatos.c10.a8"));
  CHECK(*kimura_wait(queue(8, 1, 10, 0.5)) / second == closed_form("s10.kimura.c10.a8.cs2_0.5"));
  CHECK(*kimura_wait(queue(8, 1, 10, 2)) / second == closed_form("s10.kimura.c10.a8.cs2_2"));
}

TEST_CASE("ten servers in one pool wait a twentieth", "[queueing]") {
  const double separate = *mmc_wait(queue(0.8, 1, 1)) / second + 1;
  const double pooled = *mmc_wait(queue(8, 1, 10)) / second + 1;
  CHECK(separate == closed_form("s10.pool.sep"));
  CHECK(pooled == closed_form("s10.pool.pooled.c10"));
  CHECK(pooling_ratio(10, 0.8) == Approx((pooled - 1) / (separate - 1)).epsilon(1e-12));
}

TEST_CASE("an unstable queue has no wait, not a negative one", "[queueing]") {
  const ServerQueue q = queue(11, 1, 10);
  CHECK_FALSE(mmc_wait(q));
  CHECK_FALSE(kimura_wait(q));
  CHECK_FALSE(allen_cunneen_wait(q));
  CHECK_FALSE(mg1_wait(q));
  CHECK(mmc_wait_tail(q, 5 * second) == 1);
  CHECK(q.limit_rate().base() == Approx(10));
}

TEST_CASE("properties of the queues", "[queueing]") {
  property("P10.6: 0 < C <= rho, C falls with the servers at equal rho", [] {
    const int c = whole(1, 300);
    const double rho = between(0.01, 0.99);
    const double waits = erlang_c(c, c * rho);
    RC_ASSERT(waits >= 0 && at_most(waits, rho));
    RC_ASSERT(at_most(erlang_c(c + 1, (c + 1) * rho), waits));
    RC_ASSERT(near(erlang_c(1, rho), rho));
  });
  property("P10.7: Kimura between its ends, Allen-Cunneen is P-K for one server", [] {
    const int c = whole(1, 100);
    const double rho = between(0.05, 0.98), cv2 = between(0, 4);
    RC_ASSERT(near(*kimura_wait(queue(c * rho, 1, c, 1)) / second,
                   *mmc_wait(queue(c * rho, 1, c)) / second));
    RC_ASSERT(near(*kimura_wait(queue(c * rho, 1, c, 0)) / second,
                   *cosmetatos_wait(queue(c * rho, 1, c)) / second));
    RC_ASSERT(near(*allen_cunneen_wait(queue(rho, 1, 1, cv2)) / second,
                   *mg1_wait(queue(rho, 1, 1, cv2)) / second));
    RC_ASSERT(at_most(cosmetatos_ratio(c, rho), 1));
    RC_ASSERT(kimura_ratio(between(0, 50), between(0.4, 1)) > 0);
  });
}
