// Accelerator files: data/accelerators/ID.json, or an object of the same form inside a scenario.
//
//   id, name, vendor, architecture   text; aliases: other names it is found by
//   dense_peak        {"bf16": "989.4 TFLOP/s", ...}, types of precision.hpp, without sparsity
//   memory_bandwidth  "3.35 TB/s"
//   memory_nominal    "80 GB", as sold; memory_visible "79.15 GiB", as the driver shows (default:
//                     nominal, which is the cautious reading of "80 GB")
//   l2_cache "50 MB", multiprocessors 132, power "700 W", launch_year 2022       optional
//   scale_up, scale_out  {"link", "bandwidth_per_direction", "latency", "domain_size", "switched"}
//   price {"hour": "2.50 USD", "as_of": "2026-08-22"}, capex {"amount", "as_of"}  optional
//   sources           {key: where the number is from}; unverified: keys nobody could check
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tokenroof/describe/accelerator.hpp"

namespace tokenroof::io {

/// A device, and what its file says about the numbers.
struct AcceleratorEntry {
  Accelerator accelerator;
  std::vector<std::string> aliases;
  int launch_year = 0;                         ///< 0: not stated
  std::map<std::string, std::string> sources;  ///< key -> where its number is from
  std::vector<std::string> unverified;         ///< keys without a source that could be checked
};

/// Whether every number must name its source: in data/ yes, in a user's own file not.
enum class Sources { required, optional };

/// Reads one device. Throws SpecError with all faults; `file` is for messages.
[[nodiscard]] AcceleratorEntry read_accelerator(std::string_view json_text, const std::string& file,
                                                Sources sources = Sources::optional);

}  // namespace tokenroof::io
