#include "tokenroof/analyze/sweep.hpp"

#include <numeric>
#include <stdexcept>

#include "catch2/catch.hpp"

namespace tokenroof {
namespace {

TEST_CASE("the last axis is the fastest") {
  const Grid grid{{{"a", {"1", "2"}}, {"b.c", {"x", "y", "z"}}}};
  CHECK(grid.size() == 6);
  CHECK(grid.at(0) == std::vector<std::size_t>{0, 0});
  CHECK(grid.at(2) == std::vector<std::size_t>{0, 2});
  CHECK(grid.at(3) == std::vector<std::size_t>{1, 0});
  CHECK(grid.axes[1].column() == "b_c");
  const Axis rate{"workload.arrival_rate", {"1 req/s", "20 req/s"}, "req/s"};
  CHECK(rate.column() == "workload_arrival_rate_req_per_s");
  CHECK(rate.number_text(rate.values[1]) == "20 ");
  CHECK(Grid{}.size() == 1);
  CHECK(Grid{}.at(0).empty());
  const Axis wide{"a", std::vector<std::string>(100000, "1")};
  CHECK(Grid{{wide, wide, wide, wide}}.size() == std::uint64_t{1} << 63);  // no overflow
}

TEST_CASE("shards follow one another without gaps, also when there are more of them than points") {
  for (const std::uint64_t size : {0u, 1u, 7u, 100u, 1000003u}) {
    for (const std::uint64_t count : {1u, 2u, 3u, 7u, 250u}) {
      std::uint64_t end = 0;
      for (std::uint64_t number = 1; number <= count; ++number) {
        const Shard shard{number, count};
        REQUIRE(shard.first(size) == end);
        end = shard.last(size);
        REQUIRE(end - shard.first(size) <= size / count + 1);
      }
      CHECK(end == size);
    }
  }
  CHECK(Shard{1000000, 1000000}.last(std::uint64_t{1} << 63) == std::uint64_t{1} << 63);
}

TEST_CASE("threads work at once, results come in order") {
  for (const unsigned threads : {1u, 2u, 7u}) {
    std::vector<std::uint64_t> taken;
    in_order(
        1000, threads, [](unsigned, std::uint64_t item) { return item * item; },
        [&](std::uint64_t square) { taken.push_back(square); });
    REQUIRE(taken.size() == 1000);
    for (std::uint64_t i = 0; i < 1000; ++i) CHECK(taken[i] == i * i);
  }
}

TEST_CASE("a failure anywhere ends the run and is reported") {
  const auto fails_at = [](std::uint64_t bad) {
    return [bad](unsigned, std::uint64_t item) {
      if (item == bad) throw std::runtime_error("bad point");
      return item;
    };
  };
  for (const unsigned threads : {1u, 4u}) {
    std::uint64_t taken = 0;
    CHECK_THROWS_WITH(in_order(1000, threads, fails_at(17), [&](std::uint64_t) { ++taken; }),
                      "bad point");
    CHECK(taken <= 17);
    const auto disk_full = [](std::uint64_t) { throw std::runtime_error("disk full"); };
    CHECK_THROWS_WITH(in_order(1000, threads, fails_at(2000), disk_full), "disk full");
  }
}

}  // namespace
}  // namespace tokenroof
