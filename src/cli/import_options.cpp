#include "cli/import_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/verb.hpp"
#include "tokenroof/io/import.hpp"

namespace tokenroof::cli {

void add_stated_options(CLI::App& app, std::vector<std::pair<std::string, std::string>>& stated,
                        std::initializer_list<std::string_view> not_these) {
  for (const io::StatedFact& fact : io::stated_facts()) {
    if (std::find(not_these.begin(), not_these.end(), fact.option) != not_these.end()) continue;
    const std::string column(fact.column);
    const char* type = column == "model"    ? "MODEL"
                       : column == "gpu"    ? "ACCELERATOR"
                       : column == "engine" ? "ENGINE"
                                            : "VALUE";
    app.add_option_function<std::string>(
           std::string(fact.option),
           [&stated, column](const std::string& value) { stated.emplace_back(column, value); },
           std::string(fact.help))
        ->type_name(type)
        ->group("What the file does not state");
  }
  app.add_option_function<std::vector<std::string>>(
         "--column",
         [&stated](const std::vector<std::string>& assignments) {
           for (const std::string& text : assignments) {
             const std::size_t at = text.find('=');
             if (at == std::string::npos || at == 0)
               throw CLI::ValidationError("--column",
                                          "expected NAME=VALUE, found \"" + text + "\"");
             stated.emplace_back(text.substr(0, at), text.substr(at + 1));
           }
         },
         "Any other column of the rows, as in --column max_num_seqs=256. Repeatable")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->group("What the file does not state");
}

}  // namespace tokenroof::cli
