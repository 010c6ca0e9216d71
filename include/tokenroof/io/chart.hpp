// Charts as plain values, and two ways to draw them: SVG for reports and files, characters for a
// terminal. What the charts of this product show is in pictures.hpp.
//
// The SVG needs nothing from outside: no script, no fonts, no prolog, so that it is a file as well
// as a part of an HTML page. Every rule and reference in it carries the drawing's id; several
// drawings in one page need different ids. Colours are those of Okabe and Ito (2008), which people
// with colour vision deficiencies tell apart; series of points differ in shape as well.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tokenroof::io {

struct ChartAxis {
  std::string label;                    ///< "Batch"
  std::string unit{};                   ///< of the values: "s", "FLOP/s", "GiB"; empty: a count
  bool prefixes = false;                ///< the unit takes an SI prefix that suits the values: "ms"
  bool logarithmic = false;             ///< values must be > 0
  std::optional<double> low{}, high{};  ///< ends; unset: round numbers around the data
  std::vector<std::string>
      categories{};  ///< of a y axis: names of rows 0, 1, ...; row r lies at -r
};

struct ChartPoint {
  double x = 0;
  double y = 0;
  std::string label{};  ///< written beside the point; empty: nothing
  double low = 0;       ///< lower edge of a band, whose upper edge is y
};

enum class Mark {
  line,
  dashed,  ///< a line that is hypothetical, or a comparison
  step,    ///< holds each value until the next
  points,
  band,
  bars,  ///< horizontal: x is the length, y the row; series stack in their order
};

struct ChartSeries {
  std::string name;  ///< in the legend; empty: not there
  Mark mark = Mark::line;
  std::vector<ChartPoint> points;
  std::optional<std::size_t> colour{};  ///< of the palette; unset: by position in the panel
};

/// A line across the panel with a text at it.
struct ReferenceLine {
  enum class Across { x, y };  ///< x: vertical, at a value of x
  Across across = Across::x;
  double at = 0;
  std::string label;
};

struct ChartPanel {
  ChartAxis x, y;
  std::vector<ChartSeries> series;
  std::vector<ReferenceLine> references{};  ///< those outside the axes are left out
};

/// A drawing: panels one below the other.
struct Chart {
  std::string name;         ///< a word: "roofline"
  std::string title;        ///< what is shown
  std::string description;  ///< a sentence for those who cannot see it
  std::string caption;      ///< version and inputs
  std::vector<ChartPanel> panels;
};

enum class Scheme {
  automatic,  ///< as the viewer prefers (CSS prefers-color-scheme), light where that is unknown
  light,
  dark,
};

struct SvgOptions {
  Scheme scheme = Scheme::automatic;
  /// Of the root element: a letter, then letters, digits and -. Empty: "tokenroof-" and the name.
  std::string id{};
  int width = 760;  ///< pixels, 400 or more; the height follows
};

/// The chart as an SVG element: well-formed XML, the same text for the same chart. Throws
/// std::invalid_argument, naming chart and series, for what cannot be drawn: no panel, a series
/// without points, a value that is not finite, one that is not above 0 on a logarithmic axis.
[[nodiscard]] std::string svg(const Chart& chart, const SvgOptions& options = {});

/// The chart in characters, braille dots for lines, `columns` wide (40 at least), with a key below.
/// Throws as svg() does.
[[nodiscard]] std::string drawing(const Chart& chart, std::size_t columns = 80);

}  // namespace tokenroof::io
