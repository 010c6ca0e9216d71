// CSV of aiconfigurator.
#pragma once

#include <functional>
#include <istream>
#include <span>
#include <string>

#include "tokenroof/io/import.hpp"

namespace tokenroof::io {

/// Whether a CSV with these columns is one of its tables, of whole deployments or of separate
/// pools.
[[nodiscard]] bool is_aiconfigurator_table(std::span<const std::string> columns);

/// Calls take(cells, place) for each row in the columns of run_rows.hpp, skip(place, reason) for
/// one that cannot be read. A row of separate pools gives two: what a prefill worker and what a
/// decode worker does, as measurements at a known batch.
void read_aiconfigurator(std::istream& in, const std::string& file,
                         const std::function<void(ImportCells, const std::string&)>& take,
                         const std::function<void(const std::string&, const std::string&)>& skip);

}  // namespace tokenroof::io
