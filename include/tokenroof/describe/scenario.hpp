// The whole question: a model on devices under an engine, at a precision and layout, with a
// workload, an objective and a price.
#pragma once

#include <optional>

#include "tokenroof/core/units.hpp"
#include "tokenroof/describe/accelerator.hpp"
#include "tokenroof/describe/deployment.hpp"
#include "tokenroof/describe/engine.hpp"
#include "tokenroof/describe/model.hpp"
#include "tokenroof/describe/precision.hpp"
#include "tokenroof/describe/workload.hpp"

namespace tokenroof {

/// Latency limits that must hold; unset: not asked for.
struct Objective {
  std::optional<Seconds> ttft_p50, ttft_p95, ttft_p99;
  std::optional<Seconds> tpot_mean, tpot_p95;
  std::optional<Seconds> e2e_p95;
  std::optional<TokensPerSecond> tokens_per_second_per_user;
};

/// Price of one device while it is paid for, and the share of paid time that is busy.
struct Price {
  std::optional<DollarsPerSecond> accelerator;  ///< unset: unknown, never 0
  double utilization = 1;                       ///< (0, 1]; not MFU, not MBU
};

/// Draft-and-verify decoding.
struct Speculation {
  int draft_tokens = 0;   ///< tokens proposed per step
  double acceptance = 0;  ///< probability that a proposed token is accepted, [0, 1]
  double draft_cost = 0;  ///< time of one draft step over one target step
  Bytes draft_memory;     ///< weights of the draft, whole replica
};

/// Separate pools for prefill and decode.
struct Disaggregation {
  int prefill_replicas = 1;
  int decode_replicas = 1;
  std::optional<BytesPerSecond> transfer_bandwidth;  ///< unset: the scale-out link
};

enum class Fidelity { ideal, roofline, calibrated };
[[nodiscard]] constexpr const char* to_string(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::ideal:
      return "ideal";
    case Fidelity::roofline:
      return "roofline";
    case Fidelity::calibrated:
      return "calibrated";
  }
  return "unknown";
}

struct Scenario {
  Model model;
  Accelerator accelerator;
  Engine engine;
  Precision precision;
  Deployment deployment;
  Workload workload;
  Objective objective;
  Price price;
  std::optional<Speculation> speculation;
  std::optional<Disaggregation> disaggregation;
};

}  // namespace tokenroof
