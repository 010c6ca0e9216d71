// What the pictures of a scenario share: the evaluated scenario, the caption, sample points.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tokenroof/decide/estimate.hpp"
#include "tokenroof/io/pictures.hpp"

namespace tokenroof::io::plot {

/// A scenario evaluated for drawing. With a refusal nothing else is of use, but for `memory` of
/// the answer when only the room is missing.
struct Subject {
  Replica replica;
  Answer answer;
  std::string refusal;  ///< why there is nothing to draw; empty: there is
  [[nodiscard]] double batch() const { return answer.decode->batch; }
  /// The refusal, or why its very batch cannot run though smaller ones can.
  [[nodiscard]] std::string refusal_of_batch() const;
};
[[nodiscard]] Subject subject_of(const Scenario& scenario, const PictureSettings& settings);

/// No picture, and why.
[[nodiscard]] inline Picture refused(std::string reason) {
  return {std::nullopt, std::move(reason)};
}

/// "TP 8, replicas 2"; empty for one device.
[[nodiscard]] std::string layout_text(const Scenario& scenario);
/// All devices, those of separate pools included.
[[nodiscard]] int devices_of(const Scenario& scenario);
/// "1024 tokens in, 512 out, 4 req/s".
[[nodiscard]] std::string workload_text(const Workload& workload);
/// "tokenroof 0.1.0 · llama-3.1-70b on 8 x H100 (TP 8) · vllm · ...": version and inputs.
[[nodiscard]] std::string scenario_caption(const Scenario& scenario,
                                           const PictureSettings& settings);
[[nodiscard]] std::string version_text(std::string_view version);

/// `count` numbers from `low` to `high` > `low`, both included, at equal steps.
[[nodiscard]] std::vector<double> spread(double low, double high, int count);
/// About `count` numbers from `low` > 0 to `high`, both included, at equal ratios.
[[nodiscard]] std::vector<double> log_spread(double low, double high, int count);
/// The same in whole numbers, each once.
[[nodiscard]] std::vector<double> whole_spread(double low, double high, int count);

[[nodiscard]] inline ReferenceLine at_x(double at, std::string label) {
  return {ReferenceLine::Across::x, at, std::move(label)};
}
[[nodiscard]] inline ReferenceLine at_y(double at, std::string label) {
  return {ReferenceLine::Across::y, at, std::move(label)};
}

}  // namespace tokenroof::io::plot
