// The model that free text means.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/validate/lookups.hpp"

namespace tokenroof::io {

/// Names under which `text` may be on the shelf, the longest first: whole, without its owner,
/// without remarks after a blank, and without what says how it was tuned, dated or quantised.
[[nodiscard]] std::vector<std::string> model_names(std::string_view text);

/// The model of a row: by `config` where one is given, else by the names of `name`. Throws the
/// SpecError about the name that the row gives when none of them is known.
[[nodiscard]] const Model& named_model(Lookups& lookups, std::string_view config,
                                       std::string_view name);

}  // namespace tokenroof::io
