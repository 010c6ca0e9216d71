// A fleet plan for people and for programs.
#pragma once

#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenroof/decide/fleet.hpp"
#include "tokenroof/io/catalog.hpp"
#include "tokenroof/io/csv.hpp"
#include "tokenroof/io/scenario_io.hpp"
#include "tokenroof/io/validate.hpp"

namespace tokenroof::io {

/// What a plan searches beyond the scenario.
struct FleetSearch {
  std::vector<std::string> accelerators;  ///< names; empty: every one with a price
  std::vector<std::string> precisions;    ///< weight formats; empty: the scenario's own
};

/// The request: candidates from the catalogue, the scenario's own device first; accelerators
/// without a price are left out and named. Throws SpecError for a workload without an arrival rate,
/// an unknown accelerator, none of those asked for with a price, or a precision that is none.
[[nodiscard]] FleetRequest fleet_request(const ScenarioEntry& entry, const Catalog& catalog,
                                         const FleetSearch& search);

/// Why the cheapest is the cheapest, in a sentence.
[[nodiscard]] std::string fleet_reason(const FleetRequest& wanted, const FleetPlan& plan);

/// Replicas that do everything against as many in separate pools, on one deployment of a plan.
struct EqualDevices {
  std::size_t deployment = 0;  ///< index into the plan's
  int replicas = 0;            ///< of either way
  Seconds hand_over;           ///< of a mean prompt's KV cache
  int prefill_replicas = 0;    ///< of the split that takes the largest rate; 0: none meets it
  struct Way {
    RequestsPerSecond rate;                 ///< largest that meets the objective
    std::optional<Seconds> ttft_p95, tpot;  ///< at the scenario's rate; none: more than it takes
  };
  Way mixed, separate;

  /// Whether separate pools take more.
  [[nodiscard]] bool pays() const { return separate.rate > mixed.rate; }
};

/// Both ways on the first `most` deployments of `plan` that have two replicas or more.
[[nodiscard]] std::vector<EqualDevices> compare_at_equal_devices(const FleetRequest& wanted,
                                                                 const FleetPlan& plan,
                                                                 std::size_t most,
                                                                 const KernelConstants& kernels);

/// JSON text, schema tokenroof/plan/1; `pools` are shown where separate pools were asked for.
[[nodiscard]] std::string fleet_json(const FleetRequest& wanted, const FleetPlan& plan,
                                     std::size_t most, std::string_view version,
                                     std::span<const EqualDevices> pools = {});
/// Tables: the cheapest, the frontier, the pools, what fell out and why.
[[nodiscard]] std::string fleet_text(const FleetRequest& wanted, const FleetPlan& plan,
                                     std::size_t most, Markup markup,
                                     std::span<const EqualDevices> pools = {});
/// One row a deployment, cheapest first.
void write_fleet_csv(const FleetRequest& wanted, const FleetPlan& plan, std::ostream& out,
                     CsvDialect dialect = {});

}  // namespace tokenroof::io
