#include "tokenroof/io/report.hpp"

#include <fmt/format.h>

#include <cmath>

#include "io/page.hpp"
#include "io/report/parts.hpp"
#include "tokenroof/io/units_text.hpp"

namespace tokenroof::io {
namespace report {

std::string bound_words(Bound bound) {
  switch (bound) {
    case Bound::compute:
      return "arithmetic";
    case Bound::memory_bandwidth:
      return "memory bandwidth";
    case Bound::kv_cache:
      return "reading the KV cache";
    case Bound::network:
      return "communication between devices";
    case Bound::latency:
      return "fixed times of kernels and engine";
    case Bound::capacity:
      return "memory capacity";
    case Bound::none:
      break;
  }
  return "nothing";
}

bool runs(const Verdict& verdict) {
  return verdict.outcome != Outcome::does_not_fit &&
         verdict.outcome != Outcome::context_does_not_fit &&
         verdict.outcome != Outcome::invalid_layout;
}

std::string devices_text(const Scenario& scenario) {
  return fmt::format("{} x {}", scenario.deployment.devices(), scenario.accelerator.name);
}

std::string million_text(DollarsPerToken price) {
  return fmt::format("{:.4g} USD", price.base() * 1e6);
}

std::string number_text(double value) {
  return std::abs(value) >= 1000 ? count_text(value) : to_text(value);
}

std::string counted(double count, std::string_view noun) {
  return fmt::format("{} {}{}", number_text(count), noun, count == 1 ? "" : "s");
}

std::string rate_text(TokensPerSecond rate) { return number_text(rate.base()) + " tokens/s"; }

std::string capitalised(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z')
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text;
}

std::string sentence(std::string text) {
  if (!text.ends_with('.')) text += '.';
  return text;
}

}  // namespace report

Report make_report(const ScenarioDocument& document, const Catalog& catalog,
                   const ReportSettings& settings) {
  ScenarioEntry entry = document.read(catalog);
  KernelEntry kernels = catalog.kernels();
  Answer answer = estimate(entry.scenario, settings.fidelity, kernels.constants);
  const report::Subject subject{document,         catalog,
                                settings,         parse_json(document.text(), "scenario"),
                                std::move(entry), std::move(kernels),
                                std::move(answer)};
  const Scenario& scenario = subject.scenario();
  Report result;
  result.title = fmt::format("{} on {}", scenario.model.id, report::devices_text(scenario));
  result.subtitle =
      fmt::format("tokenroof {}, fidelity {}", settings.version, to_string(settings.fidelity));
  result.verdict = subject.answer.verdict;
  result.sections = {report::question_section(subject),
                     report::answer_section(subject),
                     report::results_section(subject),
                     report::pictures_section(subject),
                     report::assumptions_section(subject),
                     report::sources_section(subject),
                     report::certainty_section(subject),
                     report::changes_section(subject),
                     report::words_section()};
  return result;
}

std::string picture_path(std::string_view stem, std::string_view name) {
  return fmt::format("{}-{}.svg", stem, name);
}

std::vector<const ReportFigure*> figures(const Report& report) {
  std::vector<const ReportFigure*> all;
  for (const ReportSection& section : report.sections)
    for (const ReportBlock& block : section.blocks)
      if (const auto* figure = std::get_if<ReportFigure>(&block)) all.push_back(figure);
  return all;
}

}  // namespace tokenroof::io
