// What all files of kernel timings have in common.
#pragma once

#include <fmt/format.h>

#include <span>

#include "io/validate/kind.hpp"
#include "tokenroof/physics/kernels.hpp"

namespace tokenroof::io {

/// One timed kernel on one device, without an engine's own habits.
struct KernelRow {
  Row& row;
  const Device& device;
  KernelContext<double> context;

  KernelRow(Row& timed, Lookups& lookups)
      : row(timed),
        device(lookups.device(timed.required_text("gpu"))),
        context{lookups.kernels(), bare_kernels, device.machine} {
    row.group("gpu", device.accelerator.id);
    row.group("engine", row.text("engine"));
  }

  /// The type that a multiply of `type` runs in here.
  [[nodiscard]] DataType multiply(DataType type) const {
    return multiply_type(device.accelerator, type);
  }
  [[nodiscard]] DataType multiply(const Format& format) const {
    return multiply_type(device.accelerator, format);
  }
  void predict(double seconds) const {
    row.predict("latency_ms", row.positive("latency_ms"), seconds * 1e3);
  }
  void predict(const KernelTime<double>& time) const { predict(time.busy + time.fixed); }

 private:
  inline static const EngineConstants bare_kernels{};
};

/// The entry of `table` that `column` names; fails with suggestions. Entries have a `name`.
template <class Table>
[[nodiscard]] const auto& named(const Row& row, std::string_view column, const Table& table) {
  const std::string_view wanted = row.required_text(column);
  std::vector<std::string_view> names;
  for (const auto& entry : table) {
    if (entry.name == wanted) return entry;
    names.push_back(entry.name);
  }
  row.fail(column, fmt::format("unknown {} \"{}\"{}; known are {}", column, wanted,
                               did_you_mean(wanted, names), fmt::join(names, ", ")));
}

}  // namespace tokenroof::io
