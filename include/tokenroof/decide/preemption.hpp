// The chance that running sequences outgrow the KV pool that admitted them.
#pragma once

#include <algorithm>
#include <cmath>

#include "tokenroof/decide/replica.hpp"
#include "tokenroof/serving/concurrency.hpp"

namespace tokenroof {

/// P(the live sequences of a rank outgrow its pool): `admitted` in the mean over the replica, all
/// places taken a share `full` of the time; otherwise their number has this `variance`. What they
/// share is held once.
[[nodiscard]] inline double pool_overflow(const Replica& replica, double admitted, double full,
                                          double variance) {
  const KvReservation& cache = replica.memory.cache;
  const double live = std::max(1.0, replica.lengths.live - replica.lengths.shared);
  const double each = cache.bytes_at(TokensPerRequest::from_base(live)).base();
  const double more =
      cache.bytes_at(TokensPerRequest::from_base(live + replica.lengths.live_deviation)).base() -
      each;
  const double ranks = replica.model.operators.attention_ranks;
  const double places = replica.admission / ranks;
  const Bytes pool = replica.own_pool(places);
  const auto outgrow = [&](double mean, double spread) {
    const double varied = mean > 0 ? spread * each * each / mean : 0;
    const double p = overflow_probability(Bytes::from_base(each),
                                          Bytes::from_base(std::sqrt(more * more + varied)), pool,
                                          mean * request);
    return p < 1e-9 ? 0 : p;  // the normal law says nothing about rarer events
  };
  if (!(full < 1)) return outgrow(places, 0);
  const double mean = std::min(places, admitted / ranks);
  const double fewer = std::max(0.0, (mean - full * places) / (1 - full));
  return full * outgrow(places, 0) + (1 - full) * outgrow(fewer, variance / ranks);
}

}  // namespace tokenroof
