// One row at hand: its cells, checked, and what was predicted for it.
#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "tokenroof/core/error.hpp"
#include "tokenroof/io/csv.hpp"
#include "tokenroof/io/validate.hpp"

namespace tokenroof::io {

/// The predictions of one row or object while it is being evaluated.
class RowResult {
 public:
  RowResult(std::string id, std::size_t line) : id_(std::move(id)), line_(line) {}

  /// Says what the row belongs to, for all its figures. Empty values are left out.
  void group(std::string_view dimension, std::string_view value);
  /// One figure. A measurement that is not above 0, or a prediction that is not, is omitted.
  void predict(std::string_view metric, double measured, double predicted);
  /// A figure that the row states and nobody can predict.
  void omit(std::string_view metric, std::string_view reason);
  /// Nothing can be predicted: `error` says why.
  void skip(const SpecError& error, const std::string& file);
  /// Puts everything into the report.
  void finish(ValidationReport& report) &&;

 private:
  [[nodiscard]] std::string located(std::string_view reason) const;

  std::string id_;
  std::size_t line_;
  std::vector<std::pair<std::string, std::string>> groups_;
  std::vector<Prediction> predictions_;
  std::vector<Skipped> omitted_;
};

/// One CSV row. Columns are asked for by name; those that the kind lists are there, others may be.
/// All errors are SpecErrors with line and column, which skip the row.
class Row : public RowResult {
 public:
  explicit Row(const CsvReader& reader);

  /// Without blanks around; empty where there is no such column.
  [[nodiscard]] std::string_view text(std::string_view column) const;
  [[nodiscard]] std::string_view required_text(std::string_view column) const;
  [[nodiscard]] std::optional<double> number(std::string_view column) const;
  /// A number > 0.
  [[nodiscard]] double positive(std::string_view column) const;
  /// A whole number >= `least`, at most 2^53.
  [[nodiscard]] double count(std::string_view column, double least = 1) const;
  /// The same, `otherwise` where the cell is empty or missing.
  [[nodiscard]] double count_or(std::string_view column, double otherwise, double least = 1) const;
  [[noreturn]] void fail(std::string_view column, const std::string& reason) const;

 private:
  const CsvReader& reader_;
};

/// The row's `id`, else "row N".
[[nodiscard]] std::string row_id(const CsvReader& reader);

}  // namespace tokenroof::io
