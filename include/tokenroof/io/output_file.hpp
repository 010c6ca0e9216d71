// A file that is either written whole or not at all.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <memory>
#include <string>

namespace tokenroof::io {

/// Writes beside `path` and renames on commit(), so that a reader never sees half a file and a
/// failure leaves the old one. "-" is standard output; pipes and devices are written directly.
class OutputFile {
 public:
  /// Throws SpecError when the place cannot be written.
  explicit OutputFile(const std::filesystem::path& path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  /// Without commit(), what was written is dropped (standard output excepted).
  ~OutputFile();

  [[nodiscard]] std::ostream& stream() { return *stream_; }
  /// What is there until commit(); empty when the place is written directly. A program that may be
  /// killed by a signal removes it then.
  [[nodiscard]] const std::filesystem::path& temporary() const { return temporary_; }
  /// Flushes and puts the file in place. Throws SpecError, for instance when the disk is full.
  void commit();

 private:
  std::filesystem::path target_, temporary_;  // temporary_ empty: written directly
  std::unique_ptr<std::ostream> owned_;
  std::ostream* stream_ = nullptr;
};

/// OutputFile with one text in it.
void write_file(const std::filesystem::path& path, const std::string& text);

}  // namespace tokenroof::io
