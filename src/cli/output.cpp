#include "cli/output.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <ostream>
#include <string_view>

#include "tokenroof/io/output_file.hpp"

namespace tokenroof::cli {
namespace {

constexpr int fatal_signals[] = {SIGINT, SIGTERM, SIGHUP};

// A handler sees only what is static, and may only call what POSIX lists: unlink and raise are.
std::array<char, 4096> half_written{};
std::atomic<bool> is_half_written = false;
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void remove_half_written(int number) {
  if (is_half_written) ::unlink(half_written.data());
  std::signal(number, SIG_DFL);
  ::raise(number);
}

/// While it lives, an interrupt takes the unfinished file with it.
class RemovedOnInterrupt {
 public:
  explicit RemovedOnInterrupt(const std::string& path) {
    if (path.empty() || path.size() >= half_written.size()) return;
    std::memcpy(half_written.data(), path.c_str(), path.size() + 1);
    is_half_written = true;
    for (const int number : fatal_signals)  // one that is ignored, as under nohup, stays ignored
      if (std::signal(number, remove_half_written) == SIG_IGN) std::signal(number, SIG_IGN);
  }
  RemovedOnInterrupt(const RemovedOnInterrupt&) = delete;
  RemovedOnInterrupt& operator=(const RemovedOnInterrupt&) = delete;
  ~RemovedOnInterrupt() { is_half_written = false; }
};

}  // namespace

bool progress_welcome(const Options& options) {
  const char* terminal = std::getenv("TERM");
  return !options.quiet && ::isatty(STDERR_FILENO) == 1 && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

OutputFormat output_format(const Options& options) {
  const auto asks_for = [&](std::string_view name, std::string_view ending) {
    return options.format.empty() ? options.output.ends_with(ending) : options.format == name;
  };
  if (asks_for("json", ".json")) return OutputFormat::json;
  if (asks_for("csv", ".csv")) return OutputFormat::csv;
  if (asks_for("markdown", ".md")) return OutputFormat::markdown;
  return OutputFormat::table;
}

bool same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  if (a == "-" || b == "-" || a.empty() || b.empty()) return false;
  std::error_code none;
  if (std::filesystem::equivalent(a, b, none)) return true;
  return std::filesystem::weakly_canonical(a, none) == std::filesystem::weakly_canonical(b, none);
}

void deliver(const Options& options, const Renderings& renderings) {
  if (same_file(options.output, options.spec))
    throw UsageError("-o would replace the file that is read");
  io::OutputFile file(options.output);
  const RemovedOnInterrupt guard(file.temporary().string());
  switch (output_format(options)) {
    case OutputFormat::table:
      file.stream() << renderings.text(io::Markup::plain);
      break;
    case OutputFormat::markdown:
      file.stream() << renderings.text(io::Markup::markdown);
      break;
    case OutputFormat::json:
      file.stream() << renderings.json();
      break;
    case OutputFormat::csv:
      renderings.csv(file.stream(), options.csv_dialect == "semicolon" ? io::CsvDialect::semicolon()
                                                                       : io::CsvDialect::rfc4180());
      break;
  }
  file.commit();
}

}  // namespace tokenroof::cli
