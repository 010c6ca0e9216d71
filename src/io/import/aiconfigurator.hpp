// CSV of aiconfigurator.
#pragma once

#include <functional>
#include <istream>
#include <string>
#include <string_view>

#include "tokenroof/io/import.hpp"

namespace tokenroof::io {

[[nodiscard]] bool is_aiconfigurator_header(std::string_view header);

/// Calls take(cells, place) for each row in the columns of run_rows.hpp, skip(place, reason) for
/// one that cannot be read.
void read_aiconfigurator(std::istream& in, const std::string& file,
                         const std::function<void(ImportCells, const std::string&)>& take,
                         const std::function<void(const std::string&, const std::string&)>& skip);

}  // namespace tokenroof::io
