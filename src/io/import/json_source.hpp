// Benchmarks that are written as JSON: what tells them, and how one object is read.
//
// To add one: a file src/io/import/NAME.cpp that defines `const JsonSource NAME_source`, and its
// name in file_kind.cpp. `read` fills the columns of run_rows.hpp; a SpecError skips the run.
#pragma once

#include <functional>
#include <istream>
#include <string>
#include <string_view>

#include "io/json_reader.hpp"
#include "tokenroof/io/import.hpp"

namespace tokenroof::io {

struct JsonSource {
  std::string_view name;
  bool (*recognises)(const Json& object);
  void (*read)(const Json& object, ImportCells& cells);
};

/// Calls take(object, place) for each object of a text of objects: one, several, one a line, or an
/// array of them; and broken(place, reason) for what is none. Places are "line 3" or "/2". A '{' in
/// the first column begins an object even within one that has not ended: that one was torn.
void for_each_object(std::istream& in, const std::string& file,
                     const std::function<void(const Json&, const std::string&)>& take,
                     const std::function<void(const std::string&, const std::string&)>& broken);

/// The number at `key`, also if it is written as a text; nullopt for null and where there is none.
/// Throws a SpecError at /key for anything else.
[[nodiscard]] std::optional<double> number_in(const Json& object, std::string_view key);
/// The same, and a SpecError below 0 or above 1e15: no figure of a run is.
[[nodiscard]] std::optional<double> figure_in(const Json& object, std::string_view key);
/// The number at `key`, and a SpecError where there is none or it is not above 0.
[[nodiscard]] double positive_in(const Json& object, std::string_view key);
/// A text as it is, a number or truth value as text; "" for everything else.
[[nodiscard]] std::string text_in(const Json& object, std::string_view key);
/// true, "true", "True", 1.
[[nodiscard]] bool truth_in(const Json& object, std::string_view key);
/// A plain finite number and nothing else.
[[nodiscard]] std::optional<double> plain_number(std::string_view text);

/// "ttft_p99_ms" of statistic "p99" (mean, median, std, pNN) and latency "ttft" (ttft, tpot, itl,
/// e2el); "" when it is none.
[[nodiscard]] std::string latency_column(std::string_view statistic, std::string_view latency);

}  // namespace tokenroof::io
