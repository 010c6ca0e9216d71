// What a workbook is about: the scenario, its answer in two fidelities at one operating point, and
// the coefficients of a step.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "io/explain/explainer.hpp"
#include "tokenroof/decide/estimate.hpp"
#include "tokenroof/io/xlsx.hpp"
#include "xlsx/coefficients.hpp"

namespace tokenroof::io::xlsx {

/// The answer in one fidelity at the operating point of the exported answer.
struct Point {
  Replica replica;
  DecodeAnswer decode;
  PrefillAnswer prefill;
  EconomicsAnswer economics;
  LimitsAnswer limits;
  Seconds prompt_share;        ///< of prompts alone that fill all lanes
  Seconds prompt_beside;       ///< what a prompt adds to the decode step
  double request_seconds = 0;  ///< of a replica, that a request keeps busy
  std::optional<ClosedLoop> loop;
};

/// A step whose time the sheet recomputes: the values of its load, and formulas for them.
struct NamedLoad {
  std::string key;  ///< its ideal time is named step_KEY_ideal
  std::string label;
  std::string sequences, context, query, prompts, prompt_tokens, prefix;
  StepLoad<double> load;
};

enum class Traffic { single, closed, open };

struct Subject {
  Subject(const ScenarioEntry& entry, Fidelity fidelity, const KernelEntry& kernels,
          const WorkbookOptions& options);

  const ScenarioEntry& entry;
  const Scenario& scenario;
  const WorkbookOptions& options;
  Explainer explainer;  ///< origins of numbers, and the answer as exported
  const Answer& answer;
  Coefficients c;
  Traffic traffic;
  double batch = 0;     ///< sequences of a replica's decode step
  double replicas = 1;  ///< that decode
  double devices = 1;
  Point ideal, shown;
  std::vector<NamedLoad> loads;

  [[nodiscard]] bool drafts() const { return shown.replica.draft_tokens > 0; }
  [[nodiscard]] const WorkloadLengths& lengths() const { return shown.replica.lengths; }
  [[nodiscard]] const MemoryPlan& memory() const { return answer.memory; }
  [[nodiscard]] const LoadValues& values(const std::string& key) const;
  /// No price of what cannot run.
  [[nodiscard]] bool fits() const;
  /// Priced: it fits and a price is known.
  [[nodiscard]] bool priced() const { return fits() && scenario.price.accelerator.has_value(); }

 private:
  [[nodiscard]] Point at(Fidelity fidelity, const KernelConstants& kernels) const;
  void add_loads();
  std::vector<LoadValues> values_;
};

/// "" for the only one of its kind, else "_1", "_2", ...
[[nodiscard]] std::string numbered(std::size_t index, std::size_t count);

}  // namespace tokenroof::io::xlsx
