#include "io/plot/picture_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/page.hpp"
#include "tokenroof/io/units_text.hpp"

namespace tokenroof::io::plot {

std::string layout_text(const Scenario& scenario) {
  const Deployment& d = scenario.deployment;
  std::string text;
  const auto degree = [&](const char* name, int n) {
    if (n > 1) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, n);
  };
  degree("TP", d.tensor_parallel);
  degree("PP", d.pipeline_parallel);
  degree("EP", d.expert_parallel);
  degree("attention DP", d.attention_data_parallel);
  degree("CP", d.context_parallel);
  if (scenario.disaggregation) {
    degree("prefill replicas", scenario.disaggregation->prefill_replicas);
    degree("decode replicas", scenario.disaggregation->decode_replicas);
  } else {
    degree("replicas", d.replicas);
  }
  return text;
}

int devices_of(const Scenario& scenario) {
  const Deployment& d = scenario.deployment;
  if (const auto& pools = scenario.disaggregation)
    return (pools->prefill_replicas + pools->decode_replicas) * d.devices_per_replica();
  return d.devices();
}

std::string workload_text(const Workload& workload) {
  if (const auto* single = std::get_if<SingleStep>(&workload.traffic))
    return fmt::format("batch {} at {} tokens", to_text(single->batch.base()),
                       count_text(single->context.base()));
  std::string text = fmt::format("{} tokens in, {} out", count_text(workload.input.base()),
                                 count_text(workload.output.base()));
  if (workload.prefix_hit_rate > 0)
    text += fmt::format(", {} prefix hits", percent_text(workload.prefix_hit_rate));
  if (const auto* closed = std::get_if<ClosedLoopTraffic>(&workload.traffic))
    return text + fmt::format(", concurrency {}", to_text(closed->concurrency.base()));
  return text + ", " + to_text(std::get<OpenLoop>(workload.traffic).arrival_rate);
}

Subject subject_of(const Scenario& scenario, const PictureSettings& settings) {
  Subject subject{reduce(scenario, settings.fidelity, settings.kernels),
                  estimate(scenario, settings.fidelity, settings.kernels),
                  {}};
  // A single step that is too large for the pool still has a replica that holds smaller ones.
  if (subject.replica.admission < 1) subject.refusal = verdict_text(subject.answer.verdict);
  return subject;
}

std::string Subject::refusal_of_batch() const {
  return answer.verdict.outcome == Outcome::context_does_not_fit ? verdict_text(answer.verdict)
                                                                 : refusal;
}

std::string version_text(std::string_view version) { return fmt::format("tokenroof {}", version); }

std::string scenario_caption(const Scenario& scenario, const PictureSettings& settings) {
  const Engine& engine = scenario.engine;
  const std::string layout = layout_text(scenario);
  const std::string separator = " \u00b7 ";
  return version_text(settings.version) + separator +
         fmt::format("{} on {} x {}{}", scenario.model.id, devices_of(scenario),
                     scenario.accelerator.name, layout.empty() ? "" : " (" + layout + ")") +
         separator + engine.name + (engine.version.empty() ? "" : " " + engine.version) +
         separator +
         fmt::format("weights {}, KV cache {}", scenario.precision.of(Part::attention).name,
                     scenario.precision.kv_cache.name) +
         separator + workload_text(scenario.workload) + separator + to_string(settings.fidelity);
}

std::vector<double> spread(double low, double high, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(low + (high - low) * i / (count - 1));
  return values;
}

std::vector<double> log_spread(double low, double high, int count) {
  std::vector<double> values;
  for (const double exponent : spread(std::log(low), std::log(high), count))
    values.push_back(std::exp(exponent));
  values.front() = low;
  values.back() = high;
  return values;
}

std::vector<double> whole_spread(double low, double high, int count) {
  std::vector<double> values = log_spread(low, high, count);
  for (double& value : values) value = std::round(value);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

}  // namespace tokenroof::io::plot
