// An objective beside what is known of a deployment: which limit is missed, and which no closed
// form decides.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "tokenroof/decide/answer.hpp"
#include "tokenroof/describe/scenario.hpp"

namespace tokenroof {

namespace detail {

/// `time` >= 0 with four significant digits in the unit that people say, as tables write it.
[[nodiscard]] inline std::string time_text(Seconds time) {
  struct Unit {
    double below, size;  ///< s
    const char* name;
  };
  // Below two minutes (hours, days) the smaller unit is what people say.
  constexpr Unit units[] = {{1e-6, 1e-9, " ns"}, {1e-3, 1e-6, " us"}, {1, 1e-3, " ms"},
                            {120, 1, " s"},      {7200, 60, " min"},  {172800, 3600, " h"}};
  Unit unit{0, 86400, " d"};
  for (const Unit& one : units)
    if (time.base() < one.below * (1 - 0.5e-4)) {
      unit = one;
      break;
    }
  std::string text = number_text(time.base() / unit.size);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text + unit.name;
}

}  // namespace detail

/// One limit of an objective and the latency it is about. Unset: not asked for, or not known.
struct ObjectiveLine {
  const char* name;
  std::optional<Seconds> limit;
  std::optional<Seconds> value;

  [[nodiscard]] bool missed() const { return limit && value && *value > *limit; }
  [[nodiscard]] bool undecided() const { return limit && !value; }
};

/// All limits of `objective` against the latencies of `serving`. The rate that a user sees is there
/// as the time per token it asks for.
[[nodiscard]] inline std::array<ObjectiveLine, 7> objective_lines(const Objective& objective,
                                                                  const ServingAnswer& serving) {
  std::optional<Seconds> per_token;
  if (objective.tokens_per_second_per_user)
    per_token = 1 * token / *objective.tokens_per_second_per_user;
  return {{{"ttft_p50", objective.ttft_p50, serving.ttft.p50},
           {"ttft_p95", objective.ttft_p95, serving.ttft.p95},
           {"ttft_p99", objective.ttft_p99, serving.ttft.p99},
           {"tpot_mean", objective.tpot_mean, serving.tpot.mean},
           {"tpot_p95", objective.tpot_p95, serving.tpot.p95},
           {"e2e_p95", objective.e2e_p95, serving.e2e.p95},
           {"tokens_per_s_per_user", per_token, serving.tpot.mean}}};
}

/// Whether `objective` sets any limit.
[[nodiscard]] inline bool asks(const Objective& objective) {
  for (const ObjectiveLine& line : objective_lines(objective, {}))
    if (line.limit) return true;
  return false;
}

/// Whether no limit is missed and every one is decided.
[[nodiscard]] inline bool keeps(const Objective& objective, const ServingAnswer& serving) {
  for (const ObjectiveLine& line : objective_lines(objective, serving))
    if (line.missed() || line.undecided()) return false;
  return true;
}

/// The first limit that is missed, in words; empty: none.
[[nodiscard]] inline std::string missed_objective(const Objective& objective,
                                                  const ServingAnswer& serving) {
  for (const ObjectiveLine& line : objective_lines(objective, serving)) {
    if (!line.missed()) continue;
    if (std::string(line.name) == "tokens_per_s_per_user")
      return "a user sees " + detail::number_text(1 / line.value->base()) +
             " tokens/s, asked are " +
             detail::number_text(objective.tokens_per_second_per_user->base());
    return std::string(line.name) + " is " + detail::time_text(*line.value) + ", the limit " +
           detail::time_text(*line.limit);
  }
  return {};
}

/// The limits about which `serving` says nothing, by name and comma; empty: none.
[[nodiscard]] inline std::string undecided_objectives(const Objective& objective,
                                                      const ServingAnswer& serving) {
  std::string names;
  for (const ObjectiveLine& line : objective_lines(objective, serving))
    if (line.undecided()) names += (names.empty() ? "" : ", ") + std::string(line.name);
  return names;
}

}  // namespace tokenroof
