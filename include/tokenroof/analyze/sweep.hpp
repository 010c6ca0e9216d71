// A grid over keys of a scenario, cut into shards and evaluated in order by several threads.
//
// Points are counted with the last axis fastest. Shard k of n is the contiguous range
// [floor((k-1) N/n), floor(k N/n)), so that the shards' outputs one after another are the whole.
#pragma once

#include <algorithm>
#include <atomic>
#include <cctype>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tokenroof {

/// Values that one key of a scenario takes, as they are assigned: "workload.batch", {"1", "2"}.
struct Axis {
  std::string key;
  std::vector<std::string> values;
  std::string unit{};  ///< behind every value, as in "1 req/s"; empty: none, or not the same

  /// Name of the CSV column: key and unit in snake case, "workload_arrival_rate_req_per_s".
  [[nodiscard]] std::string column() const {
    std::string name;
    for (const char c : key + (unit.empty() ? "" : "_" + unit)) {
      if (c == '/')
        name += "_per_";
      else if (std::isalnum(static_cast<unsigned char>(c)) != 0)
        name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      else if (c != ' ')
        name += '_';
    }
    return name;
  }
  /// The text of a value's number, without the unit.
  [[nodiscard]] std::string number_text(const std::string& value) const {
    return value.substr(0, value.size() - unit.size());
  }
};

/// All combinations of the values of some axes.
struct Grid {
  std::vector<Axis> axes;

  /// Points; 1 without axes. Saturates at 2^63.
  [[nodiscard]] std::uint64_t size() const {
    constexpr std::uint64_t most = std::uint64_t{1} << 63;
    std::uint64_t points = 1;
    for (const Axis& axis : axes) {
      if (axis.values.empty()) return 0;
      points = points > most / axis.values.size() ? most : points * axis.values.size();
    }
    return points;
  }
  /// Which value each axis has at `point` < size().
  [[nodiscard]] std::vector<std::size_t> at(std::uint64_t point) const {
    std::vector<std::size_t> index(axes.size());
    for (std::size_t i = axes.size(); i-- > 0;) {
      index[i] = static_cast<std::size_t>(point % axes[i].values.size());
      point /= axes[i].values.size();
    }
    return index;
  }
};

/// Part `number` of `count` of a grid; 1 <= number <= count.
struct Shard {
  std::uint64_t number = 1;
  std::uint64_t count = 1;

  /// Points of `size` before this shard starts: first() of the next one is its end.
  [[nodiscard]] std::uint64_t first(std::uint64_t size) const { return before(number - 1, size); }
  [[nodiscard]] std::uint64_t last(std::uint64_t size) const { return before(number, size); }

 private:
  [[nodiscard]] std::uint64_t before(std::uint64_t shards, std::uint64_t size) const {
    return size / count * shards + size % count * shards / count;  // without overflow
  }
};

/// Runs `make(worker, item)` for the items 0 .. `items` - 1 on `threads` threads and hands the
/// results to `take` in order, one at a time. At most one result per thread waits, so memory does
/// not grow with the number of items. The first exception stops the rest and is thrown again.
template <class Make, class Take>
void in_order(std::uint64_t items, unsigned threads, const Make& make, const Take& take) {
  std::atomic<std::uint64_t> next{0};
  std::uint64_t turn = 0;
  std::exception_ptr failure;
  std::mutex mutex;
  std::condition_variable changed;
  const auto work = [&](unsigned worker) {
    try {
      for (std::uint64_t item; (item = next++) < items;) {
        auto result = make(worker, item);
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return turn == item || failure; });
        if (failure) return;
        take(std::move(result));
        ++turn;
        changed.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      changed.notify_all();
    }
  };
  std::vector<std::thread> others;
  try {
    for (unsigned worker = 1; worker < threads; ++worker) others.emplace_back(work, worker);
  } catch (const std::exception&) {
    // No more threads to be had: those that run do the work.
  }
  work(0);
  for (std::thread& thread : others) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace tokenroof
