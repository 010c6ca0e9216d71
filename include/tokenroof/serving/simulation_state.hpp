// What the simulator keeps of a request, of an ending to come, and of a shared prefix.
#pragma once

#include <cstdint>
#include <utility>

#include "tokenroof/serving/simulation_recorder.hpp"

namespace tokenroof::detail {

/// One request on its way.
struct RequestState {
  RequestTimes times;
  double last = 0;          // time of the latest token when it was preempted or began to decode
  std::int64_t joined = 0;  // decode counter when decoding began
  std::int64_t joined_length = 0;  // the count of grown tokens then
  int steps = 0;                   // decode steps that the rest of the output takes
  std::int64_t own_blocks = 0;     // blocks not shared with a group
  int done = 0;                    // tokens generated and kept
  int done_at_join = 0;
  int target = 0;  // tokens the current prefill must hold at its end
  int held = 0;    // of those, cached or computed so far
  int chunk = 0;   // computed in the running step
  int epoch = 0;   // counts preemptions: stale heap entries are ignored
  int cached = 0;
  enum class Phase { waiting, prefilling, decoding, over } phase = Phase::waiting;
};
/// When a sequence completes.
struct Ending {
  std::int64_t at;  // decode counter at which the sequence completes
  int id, epoch;
  friend bool operator>(const Ending& a, const Ending& b) {
    return std::pair(a.at, a.id) > std::pair(b.at, b.id);
  }
};

/// A prefix that several requests share.
struct PrefixGroup {
  int users = 0;            // admitted requests that share the blocks
  int computed = 0;         // leading tokens that the cache has
  std::int64_t blocks = 0;  // held: of the longest part that a user shares
};

}  // namespace tokenroof::detail
