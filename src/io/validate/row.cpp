#include "io/validate/row.hpp"

#include <fmt/format.h>

namespace tokenroof::io {
namespace {

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

void RowResult::group(std::string_view dimension, std::string_view value) {
  if (!value.empty()) groups_.emplace_back(dimension, value);
}

void RowResult::predict(std::string_view metric, double measured, double predicted) {
  if (!(measured > 0) || !std::isfinite(measured))
    return omit(metric, fmt::format("the measured value {} is not above 0", measured));
  if (!(predicted > 0) || !std::isfinite(predicted))
    return omit(metric, fmt::format("the prediction is {}", predicted));
  predictions_.push_back({id_, line_, std::string(metric), measured, predicted, {}});
}

void RowResult::omit(std::string_view metric, std::string_view reason) {
  omitted_.push_back({id_, std::string(reason), std::string(metric)});
}

void RowResult::skip(const SpecError& error, const std::string& file) {
  predictions_.clear();
  omitted_.clear();
  std::string reason;
  for (const Fault& fault : error.faults()) {
    if (!reason.empty()) reason += "; ";
    if (fault.file != file && !fault.file.empty()) reason += fault.file + ": ";
    if (!fault.json_pointer.empty()) reason += fault.json_pointer + ": ";
    reason += fault.reason;
  }
  omit("", reason);
}

std::string RowResult::located(std::string_view reason) const {
  const bool has_line = line_ == 0 || reason.starts_with("line ");
  return has_line ? std::string(reason) : fmt::format("line {}: {}", line_, reason);
}

void RowResult::finish(ValidationReport& report) && {
  ++report.rows;
  if (predictions_.empty()) {
    // The row as a whole: the reasons of its figures together.
    std::string reason;
    for (const Skipped& figure : omitted_) {
      if (reason.find(figure.reason) != std::string::npos) continue;
      reason += (reason.empty() ? "" : "; ") + figure.reason;
    }
    if (reason.empty()) reason = "states no figure that can be predicted";
    report.skipped.push_back({std::move(id_), located(reason), {}});
    return;
  }
  ++report.evaluated;
  for (Prediction& prediction : predictions_) {
    prediction.groups = groups_;
    report.predictions.push_back(std::move(prediction));
  }
  for (Skipped& figure : omitted_)
    report.omitted.push_back({std::move(figure.id), located(figure.reason), figure.metric});
}

std::string row_id(const CsvReader& reader) {
  if (const auto column = reader.column("id"))
    if (const std::string_view id = without_blanks(reader.text(*column)); !id.empty())
      return std::string(id);
  return fmt::format("row {}", reader.line());
}

Row::Row(const CsvReader& reader) : RowResult(row_id(reader), reader.line()), reader_(reader) {}

std::string_view Row::text(std::string_view column) const {
  const auto index = reader_.column(column);
  return index ? without_blanks(reader_.text(*index)) : std::string_view{};
}

std::string_view Row::required_text(std::string_view column) const {
  const std::string_view value = text(column);
  if (value.empty()) fail(column, "is empty");
  return value;
}

std::optional<double> Row::number(std::string_view column) const {
  const auto index = reader_.column(column);
  return index ? reader_.number(*index) : std::nullopt;
}

double Row::positive(std::string_view column) const {
  const auto value = number(column);
  if (!value) fail(column, "is empty");
  if (!(*value > 0)) fail(column, fmt::format("must be above 0, found {}", *value));
  return *value;
}

double Row::count_or(std::string_view column, double otherwise, double least) const {
  const auto index = reader_.column(column);
  const auto value = index ? reader_.integer(*index) : std::nullopt;
  if (!value) return otherwise;
  const double result = static_cast<double>(*value);
  if (result < least) fail(column, fmt::format("must be at least {}, found {}", least, result));
  return result;
}

double Row::count(std::string_view column, double least) const {
  if (text(column).empty()) fail(column, "is empty");
  return count_or(column, least, least);
}

void Row::fail(std::string_view column, const std::string& reason) const {
  reader_.fail(reader_.required_column(column), reason);
}

}  // namespace tokenroof::io
