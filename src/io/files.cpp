#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

#include "json_reader.hpp"

namespace tokenroof::io {
namespace {

[[noreturn]] void cannot_read(const std::string& name) {
  throw SpecError(
      name, "",
      std::string("cannot be read: ") + (errno != 0 ? std::strerror(errno) : "unknown reason"));
}

}  // namespace

std::ifstream open_file(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) throw SpecError(path.string(), "", "no such file");
  if (std::filesystem::is_directory(status))
    throw SpecError(path.string(), "", "is a directory, expected a file");
  if (!std::filesystem::is_regular_file(status) && !std::filesystem::is_fifo(status))
    throw SpecError(path.string(), "", "is neither a file nor a pipe");
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) cannot_read(path.string());
  return stream;
}

std::string read_stream(std::istream& stream, const std::string& name) {
  std::string text;
  std::array<char, 1 << 16> chunk;
  errno = 0;
  while (stream.read(chunk.data(), chunk.size()) || stream.gcount() > 0) {
    text.append(chunk.data(), static_cast<std::size_t>(stream.gcount()));
    if (text.size() > most_file_bytes)
      throw SpecError(name, "",
                      "holds more than " + std::to_string(most_file_bytes >> 20) + " MiB");
  }
  if (stream.bad()) cannot_read(name);
  return text;
}

std::string read_file(const std::filesystem::path& path) {
  if (path == "-") return read_stream(std::cin, "standard input");
  std::ifstream stream = open_file(path);
  return read_stream(stream, path.string());
}

}  // namespace tokenroof::io
