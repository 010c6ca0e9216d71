// Options that state what imported files do not: shared by import, validate and calibrate.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace tokenroof::cli {

/// Declares an option for each of io::stated_facts() but those called `not_these`, which the verb
/// has for itself, and --column for any other. They fill `stated`.
void add_stated_options(CLI::App& app, std::vector<std::pair<std::string, std::string>>& stated,
                        std::initializer_list<std::string_view> not_these = {});

}  // namespace tokenroof::cli
