// What a kind of measurements is, and what it works with.
//
// To add one: a file src/io/validate/NAME.cpp that defines `const Kind NAME_kind`, and its name in
// the two lists of kinds.cpp. See gemm.cpp for the shape.
#pragma once

#include <span>
#include <string_view>

#include "io/json_reader.hpp"
#include "io/validate/lookups.hpp"
#include "io/validate/row.hpp"

namespace tokenroof::io {

/// One kind of measurement file.
struct Kind {
  std::string_view name;
  /// Columns that a CSV must have, or keys of each object of a JSON array; they also tell the kind.
  std::span<const std::string_view> columns;
  /// Predicts the figures of one CSV row into it. SpecErrors skip the row.
  void (*predict)(Row& row, Lookups& lookups) = nullptr;
  /// The same for one object of a JSON array; exactly one of the two is set.
  void (*predict_object)(const Json& object, RowResult& result, Lookups& lookups) = nullptr;
};

/// All kinds.
[[nodiscard]] std::span<const Kind* const> kinds();

/// The kind that lacks the fewest of its columns among `names`; throws a SpecError that lists the
/// missing ones, or the known kinds when nothing is near.
[[nodiscard]] const Kind& recognise(std::span<const std::string> names, bool json,
                                    const std::string& file);

}  // namespace tokenroof::io
