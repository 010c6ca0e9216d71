#include "cli/calibrate_log.hpp"

#include <iostream>

#include "cli/output.hpp"
#include "io/json_reader.hpp"
#include "tokenroof/io/log_calibration.hpp"

namespace tokenroof::cli {
namespace {

io::EngineLog read_log(const std::string& path) {
  if (path == "-") return io::read_engine_log(std::cin, "standard input");
  std::ifstream in = io::open_file(path);
  return io::read_engine_log(in, path);
}

}  // namespace

int calibrate_log(const Options& options, const std::string& log, const std::string& spec) {
  const io::Catalog data = catalog(options);
  const io::ScenarioEntry entry = io::read_scenario(spec, data);
  const io::EngineLog read = read_log(log);
  const io::LogComparison comparison = io::compare_log(io::last_start(read, log), entry.scenario);
  if (!options.quiet) {
    if (read.starts.size() > 1)
      std::cerr << "note: " << read.starts.size() << " starts in the log, the last is compared\n";
    for (const Fault& fault : read.faults)
      std::cerr << "skipped: " << fault.json_pointer << ": " << fault.reason << '\n';
  }
  deliver(options,
          {.text = [&](io::Markup markup) { return io::log_comparison_text(comparison, markup); },
           .json = [&] { return io::log_comparison_json(comparison, TOKENROOF_VERSION); },
           .csv =
               [&](std::ostream& out, io::CsvDialect dialect) {
                 io::write_log_comparison_csv(comparison, out, dialect);
               }});
  return answered;
}

}  // namespace tokenroof::cli
