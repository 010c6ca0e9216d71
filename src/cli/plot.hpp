// --plot: the answer as a picture, an SVG file or characters on the terminal, beside the answer in
// the format that was asked for.
#pragma once

#include <functional>
#include <string>

#include "cli/output.hpp"
#include "tokenroof/io/pictures.hpp"

namespace tokenroof::cli {

struct PlotOptions {
  std::string file;  ///< "-" draws on the terminal; empty: no picture
  std::string scheme = "automatic";
};

/// Declares --plot and --scheme.
void add_plot_options(CLI::App& app, PlotOptions& plot);

/// deliver(), and the picture if --plot asks for one. Gives `exit`, or `infeasible` when there is
/// nothing to draw: the answer stands, and a message says why. Throws UsageError where the two
/// would get into each other's way.
int deliver_with_plot(const Options& options, const PlotOptions& plot, const Renderings& renderings,
                      const std::function<io::Picture()>& picture, int exit);

}  // namespace tokenroof::cli
