// A chart in characters: braille cells of 2 x 4 dots for lines, letters for points, blocks for
// bars. Names do not fit beside what they name, so letters and digits stand there, with a key
// below.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "io/plot/scale.hpp"
#include "tokenroof/io/table.hpp"

namespace tokenroof::io {
namespace {

using namespace plot;

constexpr std::string_view series_letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view point_letters = "abcdefghijklmnopqrstuvwxyz";
constexpr const char* fills[] = {"█", "▓", "▒", "░", "▞", "▖", "▪", "▫"};

std::string braille(unsigned dots) {
  const unsigned code = 0x2800u + dots;
  return {static_cast<char>(0xE0u | (code >> 12)), static_cast<char>(0x80u | ((code >> 6) & 0x3Fu)),
          static_cast<char>(0x80u | (code & 0x3Fu))};
}

/// Cells of dots, any of which may hold a character instead.
class Canvas {
 public:
  Canvas(int columns, int rows)
      : columns_(columns),
        rows_(rows),
        dots_(static_cast<std::size_t>(columns * rows), 0),
        signs_(dots_.size()) {}

  [[nodiscard]] int columns() const { return columns_; }
  [[nodiscard]] int rows() const { return rows_; }

  /// A dot at shares of width and height, from the lower left.
  void dot(double x, double y) {
    const int dx = static_cast<int>(std::lround(x * (2 * columns_ - 1)));
    const int dy = static_cast<int>(std::lround((1 - y) * (4 * rows_ - 1)));
    if (dx < 0 || dy < 0 || dx >= 2 * columns_ || dy >= 4 * rows_) return;
    static constexpr unsigned bits[4][2] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
    dots_[index(dx / 2, dy / 4)] |= bits[dy % 4][dx % 2];
  }
  void line(double x0, double y0, double x1, double y1, bool dashed) {
    const double length = std::max(std::abs(x1 - x0) * 2 * columns_, std::abs(y1 - y0) * 4 * rows_);
    const int steps = std::max(1, static_cast<int>(std::ceil(std::min(length, 1e5))));
    for (int i = 0; i <= steps; ++i)
      if (!dashed || i % 6 < 3) dot(x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps);
  }
  /// A character at shares of width and height, or beside it where one is there already.
  void sign(double x, double y, const std::string& text) {
    int column = std::min(static_cast<int>(x * columns_), columns_ - 1);
    const int row = std::clamp(static_cast<int>((1 - y) * rows_), 0, rows_ - 1);
    for (int tries = 0; tries < 3 && column + 1 < columns_; ++tries)
      if (!signs_[index(column, row)].empty()) ++column;
    put(column, row, text);
  }
  /// A character, unless one is there; with `over` also over dots.
  void put(int column, int row, const std::string& text, bool over = true) {
    column = std::clamp(column, 0, columns_ - 1);
    row = std::clamp(row, 0, rows_ - 1);
    std::string& cell = signs_[index(column, row)];
    if (cell.empty() && (over || dots_[index(column, row)] == 0)) cell = text;
  }
  [[nodiscard]] std::string row(int r) const {
    std::string text;
    for (int c = 0; c < columns_; ++c) {
      const std::size_t i = index(c, r);
      text += !signs_[i].empty() ? signs_[i] : dots_[i] != 0 ? braille(dots_[i]) : " ";
    }
    return text;
  }

 private:
  [[nodiscard]] std::size_t index(int column, int row) const {
    return static_cast<std::size_t>(row * columns_ + column);
  }
  int columns_, rows_;
  std::vector<unsigned> dots_;
  std::vector<std::string> signs_;
};

/// `text` without its last code point.
std::string shortened(std::string text) {
  while ((static_cast<unsigned char>(text.back()) & 0xC0u) == 0x80u) text.pop_back();
  text.pop_back();
  return text;
}

std::string spaces(std::size_t count) { return std::string(count, ' '); }

class PanelDrawing {
 public:
  PanelDrawing(const ChartPanel& panel, std::size_t columns, std::size_t gutter, bool alone)
      : panel_(panel),
        gutter_(gutter),
        bars_(!panel.y.categories.empty()),
        canvas_(static_cast<int>(columns - gutter - 3),
                bars_   ? 2 * static_cast<int>(panel.y.categories.size())
                : alone ? 18
                        : 11) {
    const PanelExtent extent = extent_of(panel);
    x_ = scale_of(panel.x, extent.x, std::max(2, canvas_.columns() / 8));
    y_ = scale_of(panel.y, extent.y, std::max(2, canvas_.rows() / 3));
  }

  std::string text() {
    for (std::size_t s = 0; s < panel_.series.size(); ++s)
      if (panel_.series[s].mark == Mark::points) points(s);
    for (std::size_t s = 0; s < panel_.series.size(); ++s)
      if (panel_.series[s].mark != Mark::points) draw(s);
    for (std::size_t r = 0; r < panel_.references.size(); ++r) reference(r);
    std::string out = y_.title.empty() ? "" : y_.title + "\n";
    for (int row = 0; row < canvas_.rows(); ++row) {
      std::string tick;
      if (bars_) {
        if (row % 2 == 0) tick = panel_.y.categories[static_cast<std::size_t>(row / 2)];
      } else {
        for (const Tick& t : y_.ticks)
          if (std::lround((1 - y_.share(t.value)) * (canvas_.rows() - 1)) == row) tick = t.text;
      }
      while (display_width(tick) > gutter_) tick = shortened(tick);
      const std::size_t width = display_width(tick);
      std::string line = spaces(gutter_ > width ? gutter_ - width : 0) + tick +
                         (tick.empty() ? " │" : " ┤") + canvas_.row(row);
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
    return out + x_axis() + key_;
  }

 private:
  void draw(std::size_t s) {
    const ChartSeries& series = panel_.series[s];
    const auto& p = series.points;
    if (series.mark == Mark::bars) return bars(s);
    for (std::size_t i = 1; i < p.size(); ++i) {
      const double x0 = x_.share(p[i - 1].x), x1 = x_.share(p[i].x);
      const double y0 = y_.share(p[i - 1].y), y1 = y_.share(p[i].y);
      const bool dashed = series.mark == Mark::dashed || series.mark == Mark::band;
      if (series.mark == Mark::step) {
        canvas_.line(x0, y0, x1, y0, false);
        canvas_.line(x1, y0, x1, y1, false);
      } else {
        canvas_.line(x0, y0, x1, y1, dashed);
        if (series.mark == Mark::band)
          canvas_.line(x0, y_.share(p[i - 1].low), x1, y_.share(p[i].low), true);
      }
    }
    if (series.name.empty()) return;
    const std::string letter(1, series_letters[s % series_letters.size()]);
    // At the end of the line, and along it at another place for each series.
    std::vector<const ChartPoint*> inside;
    for (const ChartPoint& point : p)
      if (x_.holds(point.x) && y_.holds(point.y)) inside.push_back(&point);
    if (!inside.empty()) {
      const std::size_t n = inside.size();
      for (const std::size_t i : {n - 1, (n * (s + 1)) / (panel_.series.size() + 2)})
        canvas_.sign(x_.share(inside[i]->x), y_.share(inside[i]->y), letter);
    }
    add_key(letter, series.name + (p.back().label.empty() ? "" : ": " + p.back().label));
  }

  void points(std::size_t s) {
    const ChartSeries& series = panel_.series[s];
    const bool labelled = !series.points.front().label.empty();
    const std::string letter(1, series_letters[s % series_letters.size()]);
    if (!series.name.empty()) add_key(labelled ? "" : letter, series.name);
    for (const ChartPoint& p : series.points) {
      if (!x_.holds(p.x) || !y_.holds(p.y)) continue;
      std::string own = letter;
      if (!p.label.empty() && next_point_ < point_letters.size()) {
        own = std::string(1, point_letters[next_point_++]);
        add_key(own, p.label);
      }
      canvas_.sign(x_.share(p.x), y_.share(p.y), own);
    }
  }

  void bars(std::size_t s) {
    const ChartSeries& series = panel_.series[s];
    const std::string fill = fills[s % std::size(fills)];
    for (std::size_t i = 0; i < series.points.size(); ++i) {
      const ChartPoint& p = series.points[i];
      const double start = bar_start(panel_, s, i);
      const int row = 2 * static_cast<int>(p.y);
      const auto column = [&](double v) {
        return static_cast<int>(std::lround(x_.share(v) * canvas_.columns()));
      };
      for (int c = column(start); c < std::min(column(start + p.x), canvas_.columns()); ++c)
        canvas_.put(c, row, fill);
      if (!p.label.empty())
        add_key(" ", panel_.y.categories[static_cast<std::size_t>(p.y)] + ": " + p.label);
    }
    if (!series.name.empty()) add_key(fill, series.name);
  }

  void reference(std::size_t r) {
    const ReferenceLine& line = panel_.references[r];
    const bool vertical = line.across == ReferenceLine::Across::x;
    if (!(vertical ? x_ : y_).holds(line.at)) return;
    const std::string digit = fmt::format("{}", r + 1);
    const double at = (vertical ? x_ : y_).share(line.at);
    if (vertical) {
      if (!line.label.empty()) canvas_.sign(at, 1, digit.substr(0, 1));
      for (int row = 0; row < canvas_.rows(); ++row)
        canvas_.put(static_cast<int>(at * canvas_.columns()), row, "┊", false);
    } else {
      canvas_.sign(1, at, digit.substr(0, 1));
      for (int column = 0; column < canvas_.columns(); ++column)
        canvas_.put(column, static_cast<int>((1 - at) * canvas_.rows()), "┄", false);
    }
    if (!line.label.empty()) add_key(digit + (vertical ? " ┊" : " ┄"), line.label);
  }

  void add_key(const std::string& sign, const std::string& text) {
    key_ += spaces(gutter_ + 2) + sign + (sign.empty() ? "" : "  ") + text + "\n";
  }

  [[nodiscard]] std::string x_axis() const {
    std::string axis = spaces(gutter_ + 1) + "└",
                numbers(gutter_ + 2 + static_cast<std::size_t>(canvas_.columns()) + 8, ' ');
    std::vector<bool> ticked(static_cast<std::size_t>(canvas_.columns()), false);
    std::size_t free = 0;  // where the next number may begin
    for (const Tick& tick : x_.ticks) {
      const auto column = static_cast<std::size_t>(std::clamp<long>(
          std::lround(x_.share(tick.value) * (canvas_.columns() - 1)), 0, canvas_.columns() - 1));
      const std::size_t middle = gutter_ + 2 + column;
      const std::size_t begin = middle - std::min(middle, tick.text.size() / 2);
      ticked[column] = true;
      if (begin < free) continue;
      numbers.replace(begin, tick.text.size(), tick.text);
      free = begin + tick.text.size() + 1;
    }
    for (const bool t : ticked) axis += t ? "┴" : "─";
    numbers.erase(numbers.find_last_not_of(' ') + 1);
    const std::size_t middle = gutter_ + 2 + static_cast<std::size_t>(canvas_.columns()) / 2;
    const std::size_t half = display_width(x_.title) / 2;
    return axis + "\n" + numbers + "\n" + spaces(middle > half ? middle - half : 0) + x_.title +
           "\n";
  }

  const ChartPanel& panel_;
  std::size_t gutter_;
  bool bars_;
  Canvas canvas_;
  Scale x_, y_;
  std::size_t next_point_ = 0;
  std::string key_;
};

}  // namespace

std::string drawing(const Chart& chart, std::size_t columns) {
  check(chart);
  columns = std::max<std::size_t>(40, columns);
  std::size_t gutter = 4;
  for (const ChartPanel& panel : chart.panels)
    for (const Tick& tick : scale_of(panel.y, extent_of(panel).y, 8).ticks)
      gutter = std::max(gutter, display_width(tick.text));
  gutter = std::min(gutter, columns / 2);
  std::string out = chart.title + "\n";
  for (const ChartPanel& panel : chart.panels)
    out += "\n" + PanelDrawing(panel, columns, gutter, chart.panels.size() == 1).text();
  out += "\n";
  std::size_t used = 0;  // columns of the caption's line
  for (std::size_t begin = 0; begin < chart.caption.size();) {
    const std::size_t end = std::min(chart.caption.find(' ', begin), chart.caption.size());
    const std::string word = chart.caption.substr(begin, end - begin);
    if (used > 0) out += used + 1 + display_width(word) > columns ? "\n" : " ";
    used = out.back() == '\n' ? display_width(word) : used + 1 + display_width(word);
    out += word;
    begin = end + 1;
  }
  return out + "\n";
}

}  // namespace tokenroof::io
