// What a start-up log says about memory against what is predicted for a scenario, line by line, and
// the reserve that makes the two agree.
//
//   reserve = fraction x visible - weights - logged pool       (engines that take a fraction of
//   what reserve = visible - weights - logged pool / fraction        is free)
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenroof/describe/scenario.hpp"
#include "tokenroof/io/engine_log.hpp"
#include "tokenroof/io/validate.hpp"

namespace tokenroof::io {

/// One figure of the log. Bytes, tokens or sequences, as `unit` says ("B", "token", "1").
struct LogComparisonLine {
  std::string quantity;
  std::string unit;
  std::size_t line = 0;  ///< of the log
  double logged = 0;
  std::optional<double> predicted;
  std::string reason;   ///< why there is no prediction
  std::string wording;  ///< of the log

  /// predicted / logged - 1; none where either is missing or the log says 0.
  [[nodiscard]] std::optional<double> error() const;
};

/// A setting of the log that the scenario does not share.
struct LogDifference {
  std::string key;  ///< as for --set: "engine.memory_fraction"
  std::string logged, scenario;
};

struct LogComparison {
  std::vector<LogComparisonLine> lines;
  std::vector<LogDifference> differences;
  /// Stated as engine.reserve, it gives the pool that was logged. None where layout or weights are
  /// not those of the log.
  std::optional<Bytes> reserve;
  std::string reserve_reason;  ///< why there is none
  Bytes reserve_now;           ///< what the scenario sets aside today
};

/// Compares one start with `scenario`. Throws SpecError when the layout is impossible.
[[nodiscard]] LogComparison compare_log(const EngineStart& start, const Scenario& scenario);

/// The start of `log` to compare with: the last. Throws SpecError when there is none.
[[nodiscard]] const EngineStart& last_start(const EngineLog& log, const std::string& file);

[[nodiscard]] std::string log_comparison_text(const LogComparison& comparison,
                                              Markup markup = Markup::plain);
/// {lines[{quantity, unit, log_line, logged, predicted, error, reason, wording}], differences[{key,
/// logged, scenario}], reserve_bytes, reserve_now_bytes, overrides[], missing[]}
[[nodiscard]] std::string log_comparison_json(const LogComparison& comparison,
                                              std::string_view version);
/// quantity,unit,log_line,logged,predicted,error,reason,wording; the reserve is the last row.
void write_log_comparison_csv(const LogComparison& comparison, std::ostream& out,
                              CsvDialect dialect = {});

}  // namespace tokenroof::io
