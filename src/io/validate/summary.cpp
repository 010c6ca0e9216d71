#include <algorithm>
#include <cmath>
#include <map>

#include "tokenroof/io/validate.hpp"

namespace tokenroof::io {
namespace {

/// Linear between the two nearest of sorted values.
double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

MetricSummary summarise(const std::string& metric, const std::vector<const Prediction*>& rows) {
  MetricSummary summary{metric, rows.size(), 0, 0, 0, 0};
  std::vector<double> errors, ratios;
  for (const Prediction* row : rows) {
    errors.push_back(row->ape());
    ratios.push_back(row->ratio());
    summary.mean_ape += row->ape() / static_cast<double>(rows.size());
  }
  std::sort(errors.begin(), errors.end());
  std::sort(ratios.begin(), ratios.end());
  summary.median_ape = quantile(errors, 0.5);
  summary.p90_ape = quantile(errors, 0.9);
  summary.median_ratio = quantile(ratios, 0.5);
  return summary;
}

std::vector<MetricSummary> by_metric(const std::vector<const Prediction*>& rows) {
  std::vector<std::pair<std::string, std::vector<const Prediction*>>> parts;
  for (const Prediction* row : rows) {
    auto part = std::find_if(parts.begin(), parts.end(),
                             [&](const auto& known) { return known.first == row->metric; });
    if (part == parts.end()) part = parts.insert(parts.end(), {row->metric, {}});
    part->second.push_back(row);
  }
  std::vector<MetricSummary> summaries;
  for (const auto& [metric, of] : parts) summaries.push_back(summarise(metric, of));
  return summaries;
}

std::vector<const Prediction*> pointers(const std::vector<Prediction>& predictions) {
  std::vector<const Prediction*> all;
  for (const Prediction& prediction : predictions) all.push_back(&prediction);
  return all;
}

/// Predictions of one row follow each other.
std::size_t distinct_rows(const std::vector<const Prediction*>& predictions) {
  std::size_t count = 0;
  const Prediction* last = nullptr;
  for (const Prediction* row : predictions) {
    if (last == nullptr || last->line != row->line || last->id != row->id) ++count;
    last = row;
  }
  return count;
}

}  // namespace

std::vector<MetricSummary> ValidationReport::metrics() const {
  return by_metric(pointers(predictions));
}

std::vector<GroupSummary> ValidationReport::groups() const {
  std::vector<std::string> dimensions;
  std::vector<std::map<std::string, std::vector<const Prediction*>>> parts;
  for (const Prediction& prediction : predictions)
    for (const auto& [dimension, value] : prediction.groups) {
      const auto found = std::find(dimensions.begin(), dimensions.end(), dimension);
      const auto index = static_cast<std::size_t>(found - dimensions.begin());
      if (found == dimensions.end()) {
        dimensions.push_back(dimension);
        parts.emplace_back();
      }
      parts[index][value].push_back(&prediction);
    }
  std::vector<GroupSummary> summaries;
  for (std::size_t i = 0; i < dimensions.size(); ++i)
    for (const auto& [value, part] : parts[i])
      summaries.push_back({dimensions[i] + "=" + value, distinct_rows(part), by_metric(part)});
  return summaries;
}

std::vector<const Prediction*> ValidationReport::worst(std::size_t most) const {
  std::vector<const Prediction*> all = pointers(predictions);
  std::erase_if(all, [](const Prediction* row) { return row->ape() == 0; });
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(most, all.size()));
  // How far off by factor: half and double are equally bad, unlike their absolute errors.
  const auto distance = [](const Prediction* row) { return std::abs(std::log(row->ratio())); };
  std::partial_sort(all.begin(), end, all.end(), [&](const Prediction* a, const Prediction* b) {
    return distance(a) != distance(b) ? distance(a) > distance(b) : a->line < b->line;
  });
  all.erase(end, all.end());
  return all;
}

}  // namespace tokenroof::io
