// What the sections of a report share: the evaluated scenario, and words for its parts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/json_reader.hpp"
#include "tokenroof/decide/estimate.hpp"
#include "tokenroof/io/kernels_io.hpp"
#include "tokenroof/io/report.hpp"

namespace tokenroof::io::report {

struct Subject {
  const ScenarioDocument& document;
  const Catalog& catalog;
  const ReportSettings& settings;
  Json json;  ///< of the document
  ScenarioEntry entry;
  KernelEntry kernels;
  Answer answer;

  [[nodiscard]] const Scenario& scenario() const { return entry.scenario; }
};

// Sections, each in a file of its own or with its neighbour.
[[nodiscard]] ReportSection question_section(const Subject& subject);
[[nodiscard]] ReportSection answer_section(const Subject& subject);
[[nodiscard]] ReportSection results_section(const Subject& subject);
[[nodiscard]] ReportSection pictures_section(const Subject& subject);
[[nodiscard]] ReportSection assumptions_section(const Subject& subject);
[[nodiscard]] ReportSection sources_section(const Subject& subject);
/// Figures of the device that answers rest on and nobody could check, by their keys.
[[nodiscard]] std::vector<std::string> unverified_figures(const Subject& subject);
[[nodiscard]] ReportSection certainty_section(const Subject& subject);
[[nodiscard]] ReportSection changes_section(const Subject& subject);
[[nodiscard]] ReportSection words_section();

/// How far results follow what they depend on, widest first. Only where there is a decode step.
[[nodiscard]] ReportTable driver_table(const Subject& subject);
/// Distances to the limits, in sentences. Only where there is a decode step.
[[nodiscard]] ReportList headroom(const Subject& subject);

/// "memory bandwidth", "arithmetic", ...: what binds, without jargon.
[[nodiscard]] std::string bound_words(Bound bound);
/// Whether the deployment can run at all, well or badly.
[[nodiscard]] bool runs(const Verdict& verdict);
/// "8 x NVIDIA H100 SXM5 80GB"
[[nodiscard]] std::string devices_text(const Scenario& scenario);
/// "9.27 USD"
[[nodiscard]] std::string million_text(DollarsPerToken price);
/// Four digits, or whole with its thousands marked: "12.35", "15,681".
[[nodiscard]] std::string number_text(double value);
/// "1 request", "4 requests"
[[nodiscard]] std::string counted(double count, std::string_view noun);
/// "2,657 tokens/s"
[[nodiscard]] std::string rate_text(TokensPerSecond rate);
/// The text with a capital letter in front.
[[nodiscard]] std::string capitalised(std::string text);
/// The text with a full stop, unless it has one.
[[nodiscard]] std::string sentence(std::string text);

/// An objective of the scenario and what was predicted for it.
struct ObjectiveLine {
  std::string name;                    ///< "first token, 95 % of requests within"
  std::optional<Seconds> limit, time;  ///< or, for the speed of a user:
  std::optional<TokensPerSecond> least, rate;
  bool first_token = false;

  [[nodiscard]] std::string limit_text() const;
  [[nodiscard]] std::string predicted_text() const;
  [[nodiscard]] bool known() const { return time || rate; }
  /// Whether it holds when all times are `factor` times as long as predicted. Only when known.
  [[nodiscard]] bool met(double factor = 1) const;
};
[[nodiscard]] std::vector<ObjectiveLine> objective_lines(const Subject& subject);

}  // namespace tokenroof::io::report
