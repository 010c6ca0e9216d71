// Files of tests/io/import, and texts like them, as import reads them.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "catch2/catch.hpp"
#include "tokenroof/core/error.hpp"
#include "tokenroof/io/import.hpp"

namespace tokenroof::test {

using Stated = std::vector<std::pair<std::string, std::string>>;
inline const Stated on_h100 = {{"gpu", "h100-sxm-80gb"}};
inline const Stated on_two_h100 = {{"gpu", "h100-sxm-80gb"}, {"tp", "2"}};

inline io::ImportedRows import_text_of(const std::string& text, const Stated& stated,
                                       const std::string& as = {}, const std::string& from = {}) {
  std::istringstream in(text);
  io::ImportOptions options;
  options.stated = stated;
  options.as = as;
  options.from = from;
  return io::import_stream(in, "file", io::Catalog(), options);
}
inline std::string text_of(const std::string& name) {
  std::ifstream in(TOKENROOF_TEST_DIR "/io/import/" + name, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  REQUIRE(!text.str().empty());
  return text.str();
}
inline io::ImportedRows import_of(const std::string& name, const Stated& stated,
                                  const std::string& as = {}) {
  return import_text_of(text_of(name), stated, as);
}
inline std::string message(const std::string& text, const Stated& stated = on_two_h100) {
  try {
    (void)import_text_of(text, stated);
  } catch (const SpecError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace tokenroof::test
