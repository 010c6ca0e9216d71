#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "json_reader.hpp"

namespace tokenroof::io {

std::string read_file(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) throw SpecError(path.string(), "", "no such file");
  if (std::filesystem::is_directory(status))
    throw SpecError(path.string(), "", "is a directory, expected a file");
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  if (stream) text << stream.rdbuf();
  if (!stream || stream.bad())
    throw SpecError(
        path.string(), "",
        std::string("cannot be read: ") + (errno != 0 ? std::strerror(errno) : "unknown reason"));
  return std::move(text).str();
}

}  // namespace tokenroof::io
