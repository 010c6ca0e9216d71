// The pictures of this product: from a scenario, a plan, a sweep, measurements or a simulated run
// to a chart. Every number in them is one of the library's own functions; nothing is computed here.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenroof/decide/api_price.hpp"
#include "tokenroof/decide/fleet.hpp"
#include "tokenroof/decide/simulated.hpp"
#include "tokenroof/io/chart.hpp"
#include "tokenroof/io/prices.hpp"
#include "tokenroof/io/sweep_io.hpp"
#include "tokenroof/io/validate.hpp"

namespace tokenroof::io {

/// A chart, or the reason why there is none: an empty picture says nothing.
struct Picture {
  std::optional<Chart> chart;
  std::string reason;
  [[nodiscard]] explicit operator bool() const { return chart.has_value(); }
};

/// How a scenario is evaluated, and which version says so in the caption.
struct PictureSettings {
  Fidelity fidelity = Fidelity::calibrated;
  KernelConstants kernels{};
  std::string version;
};

/// Arithmetic rate against intensity of one device: the roofs of the number formats in use, and
/// the operators that take a hundredth or more of the decode step or of prefill, with their share.
/// `ideal` knows no operators: they are shown in `roofline`.
[[nodiscard]] Picture roofline_picture(const Scenario& scenario, const PictureSettings& settings);
/// Throughput and time per token against the batch of a replica, with capacity, critical batch and
/// objective; beyond the capacity dashed.
[[nodiscard]] Picture batch_picture(const Scenario& scenario, const PictureSettings& settings);
/// Where the memory of a device goes, a bar for each pipeline stage. Drawn also when it does not
/// fit: then the bar is longer than the memory.
[[nodiscard]] Picture memory_picture(const Scenario& scenario, const PictureSettings& settings);
/// KV cache of a device against context, of one sequence and of the batch, with the pool, the
/// weights and the crossovers.
[[nodiscard]] Picture kv_picture(const Scenario& scenario, const PictureSettings& settings);
/// Cost of an output token against the speed of a user, by batch.
[[nodiscard]] Picture speed_cost_picture(const Scenario& scenario, const PictureSettings& settings);
/// Cost of a million tokens against utilisation of paid time; with `api` (may be null) the price of
/// the same requests there, and where hosting breaks even.
[[nodiscard]] Picture cost_picture(const Scenario& scenario, const PictureSettings& settings,
                                   const ApiPrice* api);
/// First token and time per token against the arrival rate (of a closed loop: concurrency), with
/// limit, objective, and the largest rate within it.
[[nodiscard]] Picture load_picture(const Scenario& scenario, const PictureSettings& settings);

/// A picture of a scenario by name.
struct ScenarioPicture {
  std::string_view name;  ///< "roofline"
  std::string_view meaning;
  Picture (*draw)(const Scenario& scenario, const PictureSettings& settings, const ApiPrice* api);
};
/// All of the above: roofline, batch, memory, kv, speed-cost, cost, load.
[[nodiscard]] std::span<const ScenarioPicture> scenario_pictures();
/// The price of `model` in `prices`, null when it is not listed. Valid as long as the list.
[[nodiscard]] const ApiPrice* find_price(const PriceList& prices, std::string_view model);

/// KV cache of one sequence of `model` against context, by format of the cache.
[[nodiscard]] Picture model_picture(const Model& model, std::string_view version);
/// Deployments of a plan: dollars per million tokens against tokens/s of a user, the frontier
/// joined and labelled.
[[nodiscard]] Picture plan_picture(const FleetRequest& wanted, const FleetPlan& plan,
                                   std::string_view version);
/// Predicted against measured, with the diagonal and a band of 20 % on both sides, coloured by the
/// first dimension that has several groups. `metric` empty: the one with most rows.
[[nodiscard]] Picture validation_picture(const ValidationReport& report, std::string_view metric,
                                         std::string_view version);
/// Distribution over requests of first token and time per token of a run whose records were kept,
/// and the queue over time where it was sampled.
[[nodiscard]] Picture simulation_picture(const ScenarioRunResult& result, const Scenario& scenario,
                                         const PictureSettings& settings);
/// The first metric of `rows` (of `sweep`) against the first axis, a line for each value of a
/// second. A first axis of names gives bars. `spec` names the scenario in the caption.
[[nodiscard]] Picture sweep_picture(const Grid& grid, const Metric& metric,
                                    std::span<const SweepRow> rows, std::string_view spec,
                                    std::string_view version);

}  // namespace tokenroof::io
