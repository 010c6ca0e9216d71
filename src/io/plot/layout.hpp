// Where everything of a chart goes, in pixels: the SVG is written from this, and the tests look
// here for labels that overlap or leave the drawing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/plot/scale.hpp"

namespace tokenroof::io::plot {

/// A rectangle; y grows downwards.
struct Box {
  double x = 0, y = 0, width = 0, height = 0;

  [[nodiscard]] double right() const { return x + width; }
  [[nodiscard]] double bottom() const { return y + height; }
  [[nodiscard]] bool overlaps(const Box& other) const {
    return x < other.right() && other.x < right() && y < other.bottom() && other.y < bottom();
  }
  [[nodiscard]] bool holds(const Box& other) const {
    return other.x >= x && other.right() <= right() && other.y >= y && other.bottom() <= bottom();
  }
};

struct Position {
  double x = 0, y = 0;
};

enum class TextStyle { title, plain, muted };

/// A text in its box, which is as wide as the widest usual sans-serif would make it.
struct PlacedText {
  enum class Anchor { start, middle, end };
  std::string text;
  Box box;
  double size = 12;
  TextStyle style = TextStyle::plain;
  Anchor anchor = Anchor::start;
  bool in_plot = false;  ///< may lie over lines: drawn with a halo
};

/// A sample of a series in the legend.
struct Swatch {
  Box box;
  std::size_t panel = 0, series = 0;
};

/// From a label to its point, when they are apart.
struct Leader {
  Position from, to;
};

struct PanelLayout {
  Box plot;
  Scale x, y;
  [[nodiscard]] Position at(double vx, double vy) const {
    return {plot.x + plot.width * x.share(vx), plot.bottom() - plot.height * y.share(vy)};
  }
};

struct Layout {
  double width = 0, height = 0;
  std::vector<PanelLayout> panels;
  std::vector<PlacedText> texts;
  std::vector<Swatch> swatches;
  std::vector<Leader> leaders;
};

/// Half the height of a bar over the height of its row.
inline constexpr double bar_share = 0.32;
inline constexpr double marker_radius = 4;

/// Width of a UTF-8 text at `size` pixels, rounded up: that of DejaVu Sans, the widest in use.
[[nodiscard]] double text_width(std::string_view text, double size);

/// Lays out a chart that check() has passed.
[[nodiscard]] Layout lay_out(const Chart& chart, double width);

/// Places the labels of references and points of a panel beside what they name: inside the plot, on
/// no other text, off lines and points where there is room. What has no room at all is left out.
void place_labels(const ChartPanel& panel, const PanelLayout& place, Layout& layout);

}  // namespace tokenroof::io::plot
