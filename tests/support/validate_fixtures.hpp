// Rows validated from text, with the files of this repository.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "tokenroof/core/error.hpp"
#include "tokenroof/io/validate.hpp"

namespace tokenroof::test {

using namespace tokenroof::io;

inline const Catalog& files() {
  static const Catalog catalog(TOKENROOF_SOURCE_DIR "/data");
  return catalog;
}

/// A folder that is gone after the test.
struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() /
      ("tokenroof_validate_" + std::to_string(reinterpret_cast<std::uintptr_t>(this)));
  Folder() { std::filesystem::create_directories(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path / name).parent_path());
    std::ofstream(path / name, std::ios::binary) << text;
    return path / name;
  }
};

inline ValidationReport validated(const std::string& text, const Catalog& catalog = files(),
                                  const ValidateOptions& options = {}) {
  const Folder folder;
  return validate_file(folder.write("rows.csv", text), catalog, options);
}
inline std::string refusal(const std::string& text) {
  try {
    static_cast<void>(validated(text));
    return "accepted";
  } catch (const SpecError& error) {
    return error.what();
  }
}

}  // namespace tokenroof::test
