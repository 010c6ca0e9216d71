#include "tokenroof/physics/collective.hpp"

#include "oracle.hpp"
#include "properties.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

namespace {
const Channel<> nvlink{1 * microsecond, 450.0 * gigabyte / second};
double seconds(AllReduce algorithm, Bytes message) {
  return all_reduce_time(algorithm, message, 8, nvlink) / second;
}
}  // namespace

TEST_CASE("all-reduces of the oracle", "[collective]") {
  CHECK(seconds(AllReduce::ring, mebibyte) == closed_form("s8.ar.ring.n8.1MiB"));
  CHECK(seconds(AllReduce::tree, mebibyte) == closed_form("s8.ar.tree.n8.1MiB"));
  CHECK(seconds(AllReduce::one_shot, mebibyte) == closed_form("s8.ar.oneshot.n8.1MiB"));
  CHECK(seconds(AllReduce::two_shot, mebibyte) == closed_form("s8.ar.twoshot.n8.1MiB"));
  CHECK(seconds(AllReduce::nvls, mebibyte) == closed_form("s8.ar.nvls.n8.1MiB"));
  CHECK(seconds(AllReduce::ring, 16 * kibibyte) == closed_form("s8.ar.ring.n8.16KiB"));
  CHECK(seconds(AllReduce::one_shot, 16 * kibibyte) == closed_form("s8.ar.oneshot.n8.16KiB"));
  CHECK(seconds(AllReduce::two_shot, 16 * kibibyte) == closed_form("s8.ar.twoshot.n8.16KiB"));
}

TEST_CASE("where one algorithm overtakes another", "[collective]") {
  CHECK(*one_shot_limit(8, nvlink) / byte == closed_form("s8.cross.one_two.n8"));
  CHECK(tree_limit(8, nvlink) / byte == closed_form("s8.cross.ring_tree.n8"));
  CHECK(all_reduce_volume(AllReduce::ring, 8) / all_reduce_volume(AllReduce::nvls, 8) ==
        closed_form("s8.nvls_gain.n8"));
  CHECK_FALSE(one_shot_limit(2, nvlink).has_value());
  CHECK(tree_limit(3, nvlink) == Bytes{});
  CHECK(fastest_all_reduce(16 * kibibyte, 8, nvlink).algorithm == AllReduce::one_shot);
  CHECK(fastest_all_reduce(mebibyte, 8, nvlink).algorithm == AllReduce::nvls);
  CHECK(fastest_all_reduce(mebibyte, 8, nvlink, all_reduce_without_switch).algorithm ==
        AllReduce::two_shot);
}

TEST_CASE("bytes that a GPU sends for Llama 70B at batch 64", "[collective]") {
  // 160 all-reduces of 64 * 8192 * 2 bytes, 14/8 of each
  CHECK(160 * 64 * 8192 * 2 * all_reduce_volume(AllReduce::ring, 8) ==
        closed_form("s8.ar_bytes.L70.B64.n8"));
}

TEST_CASE("the other collectives", "[collective]") {
  // 7 us + 7/8 MB / 450 GB/s
  CHECK(all_gather_time(megabyte, 8, nvlink) / microsecond == Approx(7 + 0.875e6 / 450e3));
  CHECK(reduce_scatter_time(megabyte, 8, nvlink) + all_gather_time(megabyte, 8, nvlink) ==
        all_reduce_time(AllReduce::ring, megabyte, 8, nvlink));
  CHECK(all_to_all_time(megabyte, 8, nvlink) / microsecond == Approx(1 + 0.875e6 / 450e3));
  CHECK(all_to_all_time(megabyte, 8, nvlink, Peers::in_turn) / microsecond ==
        Approx(7 + 0.875e6 / 450e3));
  CHECK(send_time(megabyte, nvlink) / microsecond == Approx(1 + 1e6 / 450e3));
  // Two nodes: 7 us and 7/8 MB inside, twice; 1/8 MB ring across: 2 * 5 us and 1/8 MB at 50 GB/s.
  const Channel<> network{5 * microsecond, 50.0 * gigabyte / second};
  CHECK(hierarchical_all_reduce_time(megabyte, 8, 2, nvlink, network) / microsecond ==
        Approx(14 + 1.75e6 / 450e3 + 10 + 0.125e6 / 50e3));
  CHECK(hierarchical_all_reduce_time(megabyte, 8, 1, nvlink, network) ==
        all_reduce_time(AllReduce::ring, megabyte, 8, nvlink));
}

TEST_CASE("one rank has nobody to talk to", "[collective]") {
  for (const AllReduce algorithm : all_reduce_algorithms) {
    CHECK(all_reduce_time(algorithm, gigabyte, 1, nvlink) == Seconds{});
    CHECK(all_reduce_volume(algorithm, 1) == 0);
  }
  CHECK(all_gather_time(gigabyte, 1, nvlink) == Seconds{});
  CHECK(all_to_all_time(gigabyte, 1, nvlink) == Seconds{});
  CHECK(hierarchical_all_reduce_time(gigabyte, 1, 1, nvlink, nvlink) == Seconds{});
  CHECK(tree_levels(1) == 0);
  CHECK(tree_levels(5) == 3);
  CHECK(least_all_reduce_volume(2) == 1);  // two ranks: the ring's m, not the switch's 1.5 m
  CHECK(least_all_reduce_volume(8) == 9.0 / 8);
}

TEST_CASE("properties P8 of collectives", "[collective]") {
  property("P8.1 the ring's volume rises to 2; P8.7 a switch gains less than 2", [] {
    const int n = whole(1, 1000);
    const double ring = all_reduce_volume(AllReduce::ring, n);
    RC_ASSERT(ring < 2);
    RC_ASSERT(ring < all_reduce_volume(AllReduce::ring, n + 1));
    RC_ASSERT(n == 1 || ring / all_reduce_volume(AllReduce::nvls, n) < 2);
  });
  property("P8.2 one-shot wins below its limit, two-shot above; likewise tree and ring", [] {
    const int n = whole(4, 128);
    const Channel<> channel{of_any_size(1e-7, 1e-4) * second,
                            of_any_size(1e9, 1e12) * byte / second};
    const double part = between(0, 2);
    const auto gap = [&](AllReduce a, AllReduce b, Bytes m) {
      return (all_reduce_time(a, m, n, channel) - all_reduce_time(b, m, n, channel)) /
             all_reduce_time(b, m, n, channel);
    };
    const Bytes one = *one_shot_limit(n, channel);
    RC_ASSERT(std::fabs(gap(AllReduce::one_shot, AllReduce::two_shot, one)) < 1e-12);
    RC_ASSERT((gap(AllReduce::one_shot, AllReduce::two_shot, one * part) <= 1e-12) == (part <= 1));
    const Bytes tree = tree_limit(n, channel);
    RC_ASSERT(std::fabs(gap(AllReduce::tree, AllReduce::ring, tree)) < 1e-12);
    RC_ASSERT(n == 4 ||
              (gap(AllReduce::tree, AllReduce::ring, tree * part) <= 1e-12) == (part <= 1));
  });
  property("the fastest is as fast as the least of all", [] {
    const Bytes m = of_any_size(1, 1e9) * byte;
    const int n = whole(1, 64);
    const auto best = fastest_all_reduce(m, n, nvlink);
    for (const AllReduce algorithm : all_reduce_algorithms)
      RC_ASSERT(best.time <= all_reduce_time(algorithm, m, n, nvlink));
    RC_ASSERT(
        at_most(least_all_reduce_volume(n) * m / nvlink.bandwidth / second, best.time / second));
  });
  property("differentiates", [] {
    RC_ASSERT(differentiates(
        [](auto bandwidth) {
          using S = decltype(bandwidth);
          const Channel<S> channel{microsecond, With<BytesPerSecond, S>::from_base(bandwidth)};
          return fastest_all_reduce(With<Bytes, S>(megabyte), 8, channel).time.base();
        },
        of_any_size(1e9, 1e12)));
  });
}
