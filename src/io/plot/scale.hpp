// The axes of a chart made concrete: ends, ticks and their texts. Ticks are 1, 2 or 5 times a power
// of ten; a logarithmic axis of many decades has the powers alone.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tokenroof/io/chart.hpp"

namespace tokenroof::io::plot {

struct Tick {
  double value = 0;
  std::string text;
};

struct Scale {
  double low = 0, high = 1;  ///< low < high; > 0 when logarithmic
  bool logarithmic = false;
  std::vector<Tick> ticks;  ///< by rising value, within the ends
  std::string title;        ///< label and unit: "Time per token (ms)"

  /// Where `value` lies between the ends: 0 at `low`, 1 at `high`, beyond for what is outside.
  [[nodiscard]] double share(double value) const;
  [[nodiscard]] bool holds(double value) const;
};

/// Least and largest of some values; empty when low > high.
struct Extent {
  double low = 1, high = 0;
  void take(double value);
};

/// The scale of `axis` for data of `extent`, with about `most` ticks, never more. A linear axis of
/// values >= 0 begins at 0. Rows of categories count downwards: share 0 is the lower end of the
/// axis, below the last row.
[[nodiscard]] Scale scale_of(const ChartAxis& axis, const Extent& extent, int most);

/// Extents of a panel's series; bars stack.
struct PanelExtent {
  Extent x, y;
};
[[nodiscard]] PanelExtent extent_of(const ChartPanel& panel);

/// Left end of point `index` of bar series `series`: the sum of the series before it in that row.
[[nodiscard]] double bar_start(const ChartPanel& panel, std::size_t series, std::size_t index);

/// Throws std::invalid_argument for a chart that cannot be drawn; see svg().
void check(const Chart& chart);

/// The palette position of a series.
[[nodiscard]] std::size_t colour_of(const ChartPanel& panel, std::size_t series);

}  // namespace tokenroof::io::plot
