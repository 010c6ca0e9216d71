// Block accounting of a paged KV cache in the simulator. Sequences that decode together cross a
// block boundary when their length is a multiple of the block; counting them by length modulo the
// block makes a step cost O(1) instead of a visit to each sequence.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tokenroof::detail {

class BlockLedger {
 public:
  BlockLedger(std::int64_t pool, int block_tokens)
      : pool_(pool), block_(std::max(1, block_tokens)), phase_(static_cast<std::size_t>(block_)) {}

  [[nodiscard]] bool limited() const { return pool_ > 0; }
  [[nodiscard]] std::int64_t pool() const { return pool_; }
  [[nodiscard]] std::int64_t used() const { return used_; }
  [[nodiscard]] std::int64_t free() const { return pool_ - used_; }
  [[nodiscard]] std::int64_t blocks(std::int64_t tokens) const {
    return (tokens + block_ - 1) / block_;
  }
  void take(std::int64_t count) { used_ += count; }
  void give(std::int64_t count) { used_ -= count; }

  /// A sequence that holds `tokens` when the decode counter is `decodes` starts to decode.
  void join(std::int64_t tokens, std::int64_t decodes) { ++phase_[slot(tokens, decodes)]; }
  void leave(std::int64_t tokens, std::int64_t decodes) { --phase_[slot(tokens, decodes)]; }
  /// Blocks that the decode step after `decodes` steps needs for its new tokens.
  [[nodiscard]] std::int64_t needed(std::int64_t decodes) const { return phase_[slot(0, decodes)]; }

  /// Blocks of a shared prefix that `tokens` tokens fill; the rest of a block is each one's own.
  [[nodiscard]] std::int64_t shared_blocks(std::int64_t tokens) const { return tokens / block_; }

 private:
  // tokens - decodes is constant while a sequence decodes, so it names the phase.
  [[nodiscard]] std::size_t slot(std::int64_t tokens, std::int64_t decodes) const {
    const std::int64_t phase = (tokens - decodes) % block_;
    return static_cast<std::size_t>(phase < 0 ? phase + block_ : phase);
  }
  std::int64_t pool_, used_ = 0;
  std::int64_t block_;
  std::vector<std::int64_t> phase_;
};

}  // namespace tokenroof::detail
