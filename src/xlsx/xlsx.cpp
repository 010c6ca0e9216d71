#include "tokenroof/io/xlsx.hpp"

#include <unistd.h>

#include <fstream>
#include <sstream>

#include "xlsx/sheets.hpp"

namespace tokenroof::io {
namespace {

/// A file of our own in the temporary folder: the writer of workbooks wants a path.
class TemporaryFile {
 public:
  TemporaryFile() {
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
    std::string name = (folder / "tokenroof-XXXXXX").string();
    const int file = error ? -1 : ::mkstemp(name.data());
    if (file < 0)
      throw SpecError(folder.empty() ? "TMPDIR" : folder.string(), "",
                      "no temporary file can be made here");
    ::close(file);
    path = name;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }

  std::filesystem::path path;
};

}  // namespace

std::string workbook_xlsx(const ScenarioEntry& entry, Fidelity fidelity, const KernelEntry& kernels,
                          const WorkbookOptions& options) {
  const xlsx::Subject subject(entry, fidelity, kernels, options);
  const TemporaryFile file;
  {
    xlsx::Book book(file.path);
    book.properties(
        "tokenroof: " + entry.scenario.model.id + " on " + entry.scenario.accelerator.id,
        "cost and performance of LLM inference",
        "tokenroof " + options.version + ", fidelity " + to_string(fidelity));
    xlsx::write_inputs(book, subject);
    xlsx::write_assumptions(book, subject);
    xlsx::write_calc(book, subject);
    xlsx::write_results(book, subject);
    xlsx::write_sources(book, subject);
    xlsx::write_charts(book, subject);
    book.close();
  }
  std::ostringstream bytes;
  bytes << std::ifstream(file.path, std::ios::binary).rdbuf();
  return bytes.str();
}

}  // namespace tokenroof::io
