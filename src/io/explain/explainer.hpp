// What the parts of an explanation share: the answer, how numbers read, and where they are from.
#pragma once

#include <string>
#include <string_view>

#include "tokenroof/decide/estimate.hpp"
#include "tokenroof/io/explain.hpp"

namespace tokenroof::io {

/// "3.35 TB/s": a value in base units of `unit` as the metric table spells it.
[[nodiscard]] std::string amount(double value, std::string_view unit);

class Explainer {
 public:
  Explainer(const ScenarioEntry& entry, Fidelity fidelity, const KernelEntry& kernels);

  const ScenarioEntry& entry;
  const Scenario& scenario;
  const KernelEntry& kernels;
  Replica replica;
  Answer answer;
  Explanation result;

  void input(std::string symbol, std::string meaning, double value, std::string unit,
             std::string origin);
  /// A line `text` = value.
  void step(std::string text, double value, std::string unit);
  /// A line that adds to the result.
  void part(std::string text, double value, std::string unit);

  // Origins.
  [[nodiscard]] std::string device(const std::string& key) const;
  [[nodiscard]] std::string model(std::string_view keys) const;
  /// A key of the scenario: stated there, or the default that stands in for it.
  [[nodiscard]] std::string stated(const std::string& pointer) const;

  // Inputs that several metrics have.
  void bandwidth();
  void peaks();
  void batch();
  void context();
  void price();
  void cache_growth();
  /// Links and processors of the device as far as a step's time depends on them.
  void links_and_processors();
  /// Constants of kernels and engine that a calibrated step of this model uses.
  void constants(bool with_prompts);

 private:
  [[nodiscard]] bool is_used(std::string_view constant, bool with_prompts) const;
};

/// The kernels of one kind in a calibrated step under `load`, term by term.
void explain_kernels(Explainer& to, const StepLoad<double>& load, OperatorKind kind);

// Each fills the steps of its metrics; false for a metric of another part.
bool explain_step(Explainer& to, std::string_view metric);
bool explain_memory(Explainer& to, std::string_view metric);
bool explain_serving(Explainer& to, std::string_view metric);
bool explain_limits(Explainer& to, std::string_view metric);
bool explain_economics(Explainer& to, std::string_view metric);

}  // namespace tokenroof::io
