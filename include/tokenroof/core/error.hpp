// Two ways to say no. A wrong file throws SpecError, with every fault of the file at once; a
// question that has no good answer returns a Verdict that says what binds and what would help.
#pragma once

#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tokenroof {

/// One fault of an input file: where, and what was expected and found.
struct Fault {
  std::string file;
  std::string json_pointer;
  std::string reason;
};

/// A file or an object that cannot be used. `what()` holds one line per fault.
class SpecError : public std::runtime_error {
 public:
  explicit SpecError(std::vector<Fault> faults)
      : std::runtime_error(text(faults)), faults_(std::move(faults)) {}
  SpecError(std::string file, std::string json_pointer, std::string reason)
      : SpecError(
            std::vector<Fault>{{std::move(file), std::move(json_pointer), std::move(reason)}}) {}

  [[nodiscard]] const std::vector<Fault>& faults() const { return faults_; }

 private:
  static std::string text(const std::vector<Fault>& faults) {
    std::string lines;
    for (const Fault& fault : faults) {
      if (!lines.empty()) lines += '\n';
      lines += fault.file;
      if (!fault.json_pointer.empty()) lines += ": " + fault.json_pointer;
      lines += ": " + fault.reason;
    }
    return lines;
  }
  std::vector<Fault> faults_;
};

/// Whether a question has an answer, and if not, which limit forbids it.
enum class Outcome {
  feasible,
  does_not_fit,          ///< weights and reserves exceed the memory of a device
  context_does_not_fit,  ///< not one sequence of the asked length fits
  unstable,              ///< arrivals exceed what the deployment can complete
  objective_missed,      ///< it runs, but a latency objective is not met
  below_latency_floor,   ///< no batch, however small, can meet the objective
  invalid_layout,        ///< a parallel degree does not divide what it shards
};

/// Machine-readable spelling of an outcome.
[[nodiscard]] constexpr const char* to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::feasible:
      return "feasible";
    case Outcome::does_not_fit:
      return "does_not_fit";
    case Outcome::context_does_not_fit:
      return "context_does_not_fit";
    case Outcome::unstable:
      return "unstable";
    case Outcome::objective_missed:
      return "objective_missed";
    case Outcome::below_latency_floor:
      return "below_latency_floor";
    case Outcome::invalid_layout:
      return "invalid_layout";
  }
  return "unknown";
}

/// The answer to "can it be done": outcome, the reason in words, and the smallest change that
/// helps.
struct Verdict {
  Outcome outcome = Outcome::feasible;
  std::string reason;
  std::string remedy;
  [[nodiscard]] bool ok() const { return outcome == Outcome::feasible; }
};

/// The resource that decides a time or a capacity.
enum class Bound { none, compute, memory_bandwidth, kv_cache, network, latency, capacity };

[[nodiscard]] constexpr const char* to_string(Bound bound) {
  switch (bound) {
    case Bound::none:
      return "none";
    case Bound::compute:
      return "compute";
    case Bound::memory_bandwidth:
      return "memory_bandwidth";
    case Bound::kv_cache:
      return "kv_cache";
    case Bound::network:
      return "network";
    case Bound::latency:
      return "latency";
    case Bound::capacity:
      return "capacity";
  }
  return "unknown";
}

namespace detail {

/// `value` >= 0 with `digits` decimals.
[[nodiscard]] inline std::string decimal_text(double value, int digits) {
  long long scale = 1;
  for (int i = 0; i < digits; ++i) scale *= 10;
  const long long rounded = std::llround(value * static_cast<double>(scale));
  std::string fraction = std::to_string(rounded % scale);
  while (fraction.size() < static_cast<std::size_t>(digits)) fraction.insert(0, 1, '0');
  return std::to_string(rounded / scale) + (digits > 0 ? "." + fraction : "");
}

/// `value` >= 0 with four significant digits, at most nine decimals.
[[nodiscard]] inline std::string number_text(double value) {
  int digits = 0;
  for (double x = value; x < 1000 && digits < 9; x *= 10) ++digits;
  return decimal_text(value, digits);
}

}  // namespace detail

}  // namespace tokenroof
