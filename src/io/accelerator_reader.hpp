#pragma once

#include "json_reader.hpp"
#include "tokenroof/io/accelerator_io.hpp"

namespace tokenroof::io {

/// Reads a device from an open object, adding to its faults.
[[nodiscard]] AcceleratorEntry read_accelerator(ObjectReader reader, Sources sources);

}  // namespace tokenroof::io
