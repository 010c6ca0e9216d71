#include "cli/verb.hpp"

namespace tokenroof::cli {

extern const Verb model_verb, estimate_verb, simulate_verb, validate_verb, validate_spec_verb,
    calibrate_verb, list_verb, sweep_verb, explain_verb, compare_verb, what_if_verb, plan_verb,
    bill_verb, report_verb, export_verb, import_verb, completion_verb, man_verb;

std::span<const Verb* const> verbs() {
  static constexpr const Verb* all[] = {
      &model_verb,         &estimate_verb,   &simulate_verb, &validate_verb, &calibrate_verb,
      &validate_spec_verb, &list_verb,       &sweep_verb,    &explain_verb,  &compare_verb,
      &what_if_verb,       &plan_verb,       &bill_verb,     &report_verb,   &export_verb,
      &import_verb,        &completion_verb, &man_verb};
  return all;
}

}  // namespace tokenroof::cli
