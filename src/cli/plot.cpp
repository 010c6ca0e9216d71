#include "cli/plot.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <optional>

#include "tokenroof/io/output_file.hpp"

namespace tokenroof::cli {
namespace {

/// Columns of the terminal: $COLUMNS, else what the terminal says, else 80.
std::size_t terminal_columns() {
  if (const char* text = std::getenv("COLUMNS"))
    if (const long columns = std::strtol(text, nullptr, 10); columns > 0 && columns < 10000)
      return static_cast<std::size_t>(columns);
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

io::Scheme scheme_of(const PlotOptions& plot) {
  if (plot.scheme == "light") return io::Scheme::light;
  return plot.scheme == "dark" ? io::Scheme::dark : io::Scheme::automatic;
}

}  // namespace

void add_plot_options(CLI::App& app, PlotOptions& plot) {
  app.add_option("--plot", plot.file,
                 "Also draw the answer: an .svg file, or - for the terminal (below the table)")
      ->type_name("FILE")
      ->check([](const std::string& file) {
        return file == "-" || file.ends_with(".svg")
                   ? std::string()
                   : "expected a file that ends with .svg, or -, found \"" + file + "\"";
      });
  app.add_option("--scheme", plot.scheme,
                 "Colours of the SVG; automatic: as the viewer prefers, light or dark")
      ->check(CLI::IsMember({"automatic", "light", "dark"}))
      ->capture_default_str();
}

int deliver_with_plot(const Options& options, const PlotOptions& plot, const Renderings& renderings,
                      const std::function<io::Picture()>& picture, int exit) {
  if (plot.file.empty()) {
    deliver(options, renderings);
    return exit;
  }
  if (same_file(plot.file, options.output)) throw UsageError("--plot and -o name the same file");
  if (plot.file == "-" && options.output == "-" && output_format(options) != OutputFormat::table)
    throw UsageError(
        "--plot - draws below a table; send the answer to a file with -o, or the picture to an "
        ".svg file");
  const io::Picture drawn = picture();
  std::optional<io::OutputFile> file;  // opened first: an answer is not written for nothing
  if (drawn && plot.file != "-") {
    file.emplace(plot.file);
    file->stream() << io::svg(*drawn.chart, {.scheme = scheme_of(plot)});
  }
  deliver(options, renderings);
  if (file) file->commit();
  if (drawn && plot.file == "-") std::cout << '\n' << io::drawing(*drawn.chart, terminal_columns());
  if (drawn) return exit;
  std::cerr << "tokenroof: no picture: " << drawn.reason << '\n';
  return infeasible;
}

}  // namespace tokenroof::cli
