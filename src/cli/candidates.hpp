// What may stand at the cursor of a command line, read off the declaration of the verbs, the
// catalogue and the schema of scenarios.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tokenroof/io/catalog.hpp"

namespace CLI {
class App;
}

namespace tokenroof::cli {

/// Completions of a word. One that ends in '=', '.' or ',' is to be typed on.
struct Candidates {
  enum class Paths { none, files, folders };
  struct Word {
    std::string text;
    std::string meaning;  ///< one line, may be empty
  };
  Paths paths = Paths::none;  ///< may stand there as well
  std::vector<Word> words;
};

/// `line`: the words after the program's name, the last one as far as it is typed (often empty).
[[nodiscard]] Candidates candidates(const CLI::App& app, std::span<const std::string> line,
                                    const io::Catalog& data);

}  // namespace tokenroof::cli
