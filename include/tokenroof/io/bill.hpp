// The bill of a scenario: what each class of tokens and each kind of requests pays, and what the
// same traffic costs at an API.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenroof/decide/api_price.hpp"
#include "tokenroof/decide/billing.hpp"
#include "tokenroof/decide/break_even.hpp"
#include "tokenroof/io/csv.hpp"
#include "tokenroof/io/scenario_io.hpp"
#include "tokenroof/io/validate.hpp"

namespace tokenroof::io {

/// The same traffic bought from an API.
struct ApiComparison {
  ApiPrice price;
  std::vector<Dollars> requests;  ///< one request of each class, in the order of the bill
  DollarsPerSecond spend;
  SelfHosting choice;             ///< in nodes, or in replicas where those are larger
  std::optional<BreakEven> even;  ///< none: a full node costs more than the API at any volume
};

struct BillReport {
  std::vector<TrafficClass> classes;
  PaidDevices devices;
  Bill bill;
  RequestsPerSecond most;  ///< that the deployment serves within its objective
  std::optional<ApiComparison> api;
};

/// The bill of `entry`: of all its devices and all paid time, of which the stated traffic takes the
/// share price.utilization. Energy is that of the time in use. The traffic must be stable and fit:
/// throws SpecError for one step without traffic and for a verdict. `api`: a price to compare with;
/// without a cache price there, cached tokens pay that of input; a kind of token that occurs and
/// has no price there throws SpecError, as does a device without a price when there is one to
/// compare with.
[[nodiscard]] BillReport bill_report(const ScenarioEntry& entry, Fidelity fidelity,
                                     const KernelConstants& kernels, const ApiPrice* api = nullptr);

[[nodiscard]] std::string bill_text(const BillReport& report, const Scenario& scenario,
                                    Markup markup = Markup::plain);
[[nodiscard]] std::string bill_json(const BillReport& report, std::string_view version);
/// One line per class, `scope` = "class", and one for the mix: `class` = "all", `scope` = "total".
void write_bill_csv(const BillReport& report, std::ostream& out, CsvDialect dialect = {});

}  // namespace tokenroof::io
