// calibrate --log LOG SPEC: a start-up log against a scenario.
#pragma once

#include <string>

#include "cli/verb.hpp"

namespace tokenroof::cli {

[[nodiscard]] int calibrate_log(const Options& options, const std::string& log,
                                const std::string& spec);

}  // namespace tokenroof::cli
