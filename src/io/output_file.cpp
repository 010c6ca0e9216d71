#include "tokenroof/io/output_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

#include "tokenroof/core/error.hpp"

namespace tokenroof::io {
namespace {

[[noreturn]] void cannot_write(const std::filesystem::path& path) {
  throw SpecError(
      path.string(), "",
      std::string("cannot be written: ") + (errno != 0 ? std::strerror(errno) : "unknown reason"));
}

}  // namespace

OutputFile::OutputFile(const std::filesystem::path& path) : target_(path) {
  if (path == "-") {
    stream_ = &std::cout;
    return;
  }
  std::error_code error;
  // A link is written through, not replaced.
  if (std::filesystem::is_symlink(path, error))
    target_ = std::filesystem::weakly_canonical(path, error);
  const auto status = std::filesystem::status(target_, error);
  if (std::filesystem::is_directory(status))
    throw SpecError(path.string(), "", "is a directory, expected a file");
  const bool directly =
      std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
  if (!directly) {
    temporary_ = target_;
    temporary_ += ".tmp" + std::to_string(::getpid());
  }
  errno = 0;
  owned_ = std::make_unique<std::ofstream>(directly ? target_ : temporary_,
                                           std::ios::binary | std::ios::trunc);
  if (!*owned_) cannot_write(path);
  stream_ = owned_.get();
  if (!directly && std::filesystem::exists(status))
    std::filesystem::permissions(temporary_, status.permissions(), error);
}

OutputFile::~OutputFile() {
  owned_.reset();
  std::error_code ignored;
  if (!temporary_.empty()) std::filesystem::remove(temporary_, ignored);
}

void OutputFile::commit() {
  // A stream that has failed earlier fails again at the next byte, and says why.
  const bool failed = !*stream_;
  stream_->clear();
  errno = 0;
  if (failed) stream_->put(' ');
  stream_->flush();
  if (failed || !*stream_) cannot_write(target_);
  if (temporary_.empty()) return;
  owned_.reset();
  std::error_code error;
  std::filesystem::rename(temporary_, target_, error);
  if (error) throw SpecError(target_.string(), "", "cannot be written: " + error.message());
  temporary_.clear();
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  OutputFile file(path);
  file.stream() << text;
  file.commit();
}

}  // namespace tokenroof::io
