#include "tokenroof/io/output_file.hpp"

#include <unistd.h>

#include <fstream>
#include <iterator>

#include "catch2/catch.hpp"
#include "tokenroof/core/error.hpp"

using namespace tokenroof;
using namespace tokenroof::io;
namespace fs = std::filesystem;

namespace {
std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
}  // namespace

TEST_CASE("a file is replaced whole or left alone") {
  const fs::path folder =
      fs::temp_directory_path() / ("tokenroof_out_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const fs::path path = folder / "x.csv";
  write_file(path, "old");
  {
    OutputFile file(path);
    file.stream() << "half";
  }
  CHECK(content(path) == "old");
  {
    OutputFile file(path);
    file.stream() << "new";
    CHECK(content(path) == "old");
    file.commit();
  }
  CHECK(content(path) == "new");
  const auto files = std::distance(fs::directory_iterator(folder), fs::directory_iterator{});
  CHECK(files == 1);
  fs::create_symlink(path, folder / "link");
  write_file(folder / "link", "through");
  CHECK(content(path) == "through");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK_THROWS_AS(OutputFile(folder), SpecError);
  CHECK_THROWS_AS(OutputFile(folder / "no" / "x"), SpecError);
  write_file("/dev/null", "x");
  fs::remove_all(folder);
}
