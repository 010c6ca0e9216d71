#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "io/validate/kind.hpp"

namespace tokenroof::io {

extern const Kind gemm_kind, attention_decode_kind, attention_prefill_kind, moe_kind,
    allreduce_kind, nccl_kind, models_kind, capacity_kind, closed_loop_kind, measurements_kind,
    open_loop_kind, open_loop_rows_kind;

std::span<const Kind* const> kinds() {
  static constexpr std::array all = {
      &gemm_kind,         &attention_decode_kind, &attention_prefill_kind,
      &moe_kind,          &allreduce_kind,        &nccl_kind,
      &models_kind,       &capacity_kind,         &closed_loop_kind,
      &measurements_kind, &open_loop_kind,        &open_loop_rows_kind};
  return all;
}

std::vector<std::string_view> measurement_kinds() {
  std::vector<std::string_view> names;
  for (const Kind* kind : kinds())  // some have a form in CSV and one in JSON
    if (names.empty() || names.back() != kind->name) names.push_back(kind->name);
  return names;
}

const Kind& recognise(std::span<const std::string> names, bool json, const std::string& file) {
  const auto missing = [&](const Kind& kind) {
    std::vector<std::string_view> absent;
    for (const std::string_view column : kind.columns)
      if (std::find(names.begin(), names.end(), column) == names.end()) absent.push_back(column);
    return absent;
  };
  const Kind* best = nullptr;
  std::vector<std::string_view> absent;
  for (const Kind* kind : kinds()) {
    if ((kind->predict_object != nullptr) != json) continue;
    std::vector<std::string_view> lacks = missing(*kind);
    if (2 * lacks.size() > kind->columns.size()) continue;
    // On a tie the kind that explains more of the file.
    const auto rank = [](const Kind& k, std::size_t lacking) {
      return std::pair(lacking, -static_cast<std::ptrdiff_t>(k.columns.size()));
    };
    if (best != nullptr && rank(*best, absent.size()) <= rank(*kind, lacks.size())) continue;
    best = kind;
    absent = std::move(lacks);
  }
  if (best == nullptr)
    throw SpecError(file, json ? "" : "line 1",
                    fmt::format("no known kind of measurements; the kinds are {}",
                                fmt::join(measurement_kinds(), ", ")));
  if (absent.empty()) return *best;
  Faults faults(file);
  for (const std::string_view column : absent)
    faults.add(json ? "/0" : "line 1",
               fmt::format("no {} \"{}\", which {} rows need{}", json ? "key" : "column", column,
                           best->name, did_you_mean(column, names)));
  faults.throw_if_any();
  return *best;
}

}  // namespace tokenroof::io
