// A prefix cache of token blocks, for traces that name the blocks of each prompt.
// Source: Mooncake (FAST 2025) traces: one id per 512 tokens, equal ids are equal prefixes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>

namespace tokenroof {

/// Least-recently-used cache of block ids.
class PrefixCache {
 public:
  /// Room for `blocks`; below 0: unlimited, 0: nothing is ever found.
  explicit PrefixCache(std::int64_t blocks) : capacity_(blocks) {}

  /// Leading blocks of a prompt that are held; then all its blocks are held, as the latest used.
  std::size_t access(std::span<const std::int64_t> ids) {
    if (capacity_ == 0) return 0;
    std::size_t hits = 0;
    while (hits < ids.size() && where_.count(ids[hits]) != 0) ++hits;
    // The first block of a prompt is used by all its followers: it must outlive them, so the blocks
    // are touched from the last to the first.
    for (std::size_t i = ids.size(); i-- > 0;) touch(ids[i]);
    return hits;
  }
  [[nodiscard]] std::size_t size() const { return where_.size(); }

 private:
  void touch(std::int64_t id) {
    const auto found = where_.find(id);
    if (capacity_ < 0) {  // order does not matter
      if (found == where_.end()) where_.emplace(id, order_.end());
      return;
    }
    if (found != where_.end()) {
      order_.splice(order_.begin(), order_, found->second);
      return;
    }
    if (static_cast<std::int64_t>(order_.size()) == capacity_) {
      where_.erase(order_.back());
      order_.pop_back();
    }
    order_.push_front(id);
    where_.emplace(id, order_.begin());
  }
  std::int64_t capacity_;
  std::list<std::int64_t> order_;
  std::unordered_map<std::int64_t, std::list<std::int64_t>::iterator> where_;
};

}  // namespace tokenroof
