#include "io/plot/scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "tokenroof/io/units_text.hpp"

namespace tokenroof::io::plot {
namespace {

constexpr double nice_factors[] = {1, 2, 5};

struct Prefix {
  double factor;
  const char* name;
};
constexpr Prefix prefixes[] = {{1e-9, "n"}, {1e-6, "u"}, {1e-3, "m"}, {1, ""},
                               {1e3, "k"},  {1e6, "M"},  {1e9, "G"},  {1e12, "T"}};

/// The prefix that puts `value` at or above 1.
Prefix prefix_for(double value) {
  Prefix chosen = prefixes[0];
  for (const Prefix& prefix : prefixes)
    if (std::abs(value) >= prefix.factor * (1 - 1e-9)) chosen = prefix;
  return value == 0 ? Prefix{1, ""} : chosen;
}

/// The nice number at or next to `value` > 0, downwards or upwards.
double nice(double value, bool up) {
  double power = std::pow(10.0, std::floor(std::log10(value)));
  double below = power;
  for (double scale : {power, 10 * power})
    for (const double factor : nice_factors) {
      const double candidate = factor * scale;
      if (candidate >= value * (1 - 1e-9))
        return up || candidate <= value * (1 + 1e-9) ? candidate : below;
      below = candidate;
    }
  return below;
}

std::vector<double> linear_ticks(double low, double high, int most) {
  double step = nice((high - low) / most, true);
  std::vector<double> ticks;
  for (double n = std::ceil(low / step - 1e-9); n * step <= high + 1e-9 * step; ++n)
    ticks.push_back(n * step);
  return ticks;
}

std::vector<double> log_ticks(double low, double high, int most) {
  const int first = static_cast<int>(std::floor(std::log10(low) - 1e-9));
  const int last = static_cast<int>(std::ceil(std::log10(high) + 1e-9));
  const auto within = [&](double v) { return v >= low * (1 - 1e-9) && v <= high * (1 + 1e-9); };
  std::vector<double> ticks;
  for (int decade = first; decade <= last; ++decade)
    for (const double factor : nice_factors)
      if (const double v = factor * std::pow(10.0, decade); within(v)) ticks.push_back(v);
  if (ticks.size() < 4) return linear_ticks(low, high, most);
  const auto limit = static_cast<std::size_t>(most);
  for (int stride = 1; ticks.size() > limit; ++stride) {
    ticks.clear();
    for (int decade = first; decade <= last; ++decade)
      if (const double v = std::pow(10.0, decade); decade % stride == 0 && within(v))
        ticks.push_back(v);
  }
  return ticks;
}

/// Texts of ticks: thousands as k and millions as M where the numbers are long.
std::string tick_text(double value, double largest, bool logarithmic) {
  const double size = std::abs(value);
  if (largest >= 9999.5) {
    const Prefix unit = logarithmic ? prefix_for(std::max(1.0, size)) : prefix_for(largest);
    if (size >= 1000 || (!logarithmic && size > 0))
      return to_text(value / unit.factor, 6) + unit.name;
  }
  return to_text(value, 6);
}

void require(bool good, const Chart& chart, const std::string& series, const std::string& why) {
  if (!good)
    throw std::invalid_argument("chart \"" + chart.name + "\"" +
                                (series.empty() ? "" : ", series \"" + series + "\"") + ": " + why);
}

}  // namespace

double Scale::share(double value) const {
  if (!logarithmic) return (value - low) / (high - low);
  return std::log(value / low) / std::log(high / low);
}

bool Scale::holds(double value) const {
  const double at = share(value);
  return at >= -1e-9 && at <= 1 + 1e-9;
}

void Extent::take(double value) {
  if (low > high) low = high = value;
  low = std::min(low, value);
  high = std::max(high, value);
}

Scale scale_of(const ChartAxis& axis, const Extent& extent, int most) {
  Scale scale;
  scale.logarithmic = axis.logarithmic;
  if (!axis.categories.empty()) {
    const double rows = static_cast<double>(axis.categories.size());
    scale.low = -(rows - 0.5);  // rows count downwards: row r is at -r, with half a row around
    scale.high = axis.high.value_or(0.5);
    for (std::size_t row = axis.categories.size(); row-- > 0;)
      scale.ticks.push_back({-static_cast<double>(row), axis.categories[row]});
    scale.title = axis.label;
    return scale;
  }
  double low = axis.low.value_or(extent.low), high = axis.high.value_or(extent.high);
  if (axis.logarithmic) {
    if (!axis.low) low = nice(low, false);
    if (!axis.high) high = nice(high, true);
    if (!(low < high)) low = nice(low * 0.6, false), high = nice(high * 1.4, true);
  } else {
    if (!axis.low && low > 0) low = 0;
    if (!(low < high)) high = low + (low == 0 ? 1 : std::abs(low));
    const double step = nice((high - low) / most, true);
    if (!axis.low) low = std::floor(low / step + 1e-9) * step;
    if (!axis.high) high = std::ceil(high / step - 1e-9) * step;
  }
  scale.low = low;
  scale.high = high;
  Prefix prefix{1, ""};
  if (axis.prefixes)
    prefix = prefix_for(axis.logarithmic ? std::sqrt(low) * std::sqrt(high)
                                         : std::max(std::abs(low), std::abs(high)));
  for (const double value :
       axis.logarithmic ? log_ticks(low, high, most) : linear_ticks(low, high, most)) {
    const double largest = std::max(std::abs(low), std::abs(high)) / prefix.factor;
    scale.ticks.push_back({value, tick_text(value / prefix.factor, largest, axis.logarithmic)});
  }
  const std::string unit = prefix.name + axis.unit;
  scale.title = axis.label + (unit.empty() ? "" : fmt::format(" ({})", unit));
  return scale;
}

PanelExtent extent_of(const ChartPanel& panel) {
  PanelExtent extent;
  for (std::size_t s = 0; s < panel.series.size(); ++s)
    for (std::size_t i = 0; i < panel.series[s].points.size(); ++i) {
      const ChartPoint& point = panel.series[s].points[i];
      if (panel.series[s].mark == Mark::bars) {
        extent.x.take(0);
        extent.x.take(bar_start(panel, s, i) + point.x);
        continue;
      }
      extent.x.take(point.x);
      extent.y.take(point.y);
      if (panel.series[s].mark == Mark::band) extent.y.take(point.low);
    }
  return extent;
}

double bar_start(const ChartPanel& panel, std::size_t series, std::size_t index) {
  const double row = panel.series[series].points[index].y;
  double start = 0;
  for (std::size_t s = 0; s < series; ++s)
    if (panel.series[s].mark == Mark::bars)
      for (const ChartPoint& point : panel.series[s].points)
        if (point.y == row) start += point.x;
  return start;
}

void check(const Chart& chart) {
  require(!chart.panels.empty(), chart, "", "has no panel");
  for (const ChartPanel& panel : chart.panels) {
    require(!panel.series.empty(), chart, "", "a panel has no series");
    const auto good = [](const ChartAxis& axis, double value) {
      return std::isfinite(value) && (!axis.logarithmic || value > 0);
    };
    for (const ChartAxis* axis : {&panel.x, &panel.y})
      for (const auto& end : {axis->low, axis->high})
        require(!end || good(*axis, *end), chart, axis->label,
                "an end of the axis is no number for it");
    for (const ChartSeries& series : panel.series) {
      require(!series.points.empty(), chart, series.name, "has no points");
      for (const ChartPoint& point : series.points) {
        const bool bar = series.mark == Mark::bars;
        require(good(panel.x, point.x) && (bar || good(panel.y, point.y)), chart, series.name,
                "a value is not finite, or not above 0 on a logarithmic axis");
        require(series.mark != Mark::band || good(panel.y, point.low), chart, series.name,
                "the lower edge of the band is no number for the axis");
        require(!bar || (point.x >= 0 && point.y >= 0 && point.y == std::floor(point.y) &&
                         point.y < static_cast<double>(panel.y.categories.size())),
                chart, series.name, "a bar is negative or in no row");
      }
    }
    for (const ReferenceLine& line : panel.references)
      require(std::isfinite(line.at), chart, line.label, "a reference is not finite");
  }
}

std::size_t colour_of(const ChartPanel& panel, std::size_t series) {
  return panel.series[series].colour.value_or(series);
}

}  // namespace tokenroof::io::plot
