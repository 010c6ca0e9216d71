// Labels inside a plot. Each takes the cheapest of many places: near what it names, off lines and
// points; a place that touches another text is no place.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "io/plot/layout.hpp"

namespace tokenroof::io::plot {
namespace {

constexpr double label_text = 11.5, label_height = label_text * 1.3;
constexpr double pad = 3;
constexpr double leader_from = 10;  // px between a label and its point from which a line joins them

class Labels {
 public:
  Labels(const ChartPanel& panel, const PanelLayout& place, Layout& layout)
      : place_(place), layout_(layout) {
    for (std::size_t s = 0; s < panel.series.size(); ++s) add_ink(panel, s);
  }

  /// A line that labels should not lie on.
  void add_line(Position from, Position to) {
    const double length = std::hypot(to.x - from.x, to.y - from.y);
    const int steps = std::max(1, static_cast<int>(length / 5));
    for (int i = 0; i <= steps; ++i) {
      const double share = static_cast<double>(i) / steps;
      add_dot({from.x + share * (to.x - from.x), from.y + share * (to.y - from.y)});
    }
  }

  void reference(const ReferenceLine& line) {
    const bool vertical = line.across == ReferenceLine::Across::x;
    const double width = text_width(line.label, label_text);
    Candidate best;
    for (int row = 0; row < 60; ++row)
      for (const bool second : {false, true}) {
        Box box{0, 0, width, label_height};
        if (vertical) {
          const double x = place_.at(line.at, place_.y.low).x;
          box.x = second ? x - pad - width : x + pad;
          box.y = place_.plot.y + pad + row * 0.4 * label_height;
        } else {
          const double y = place_.at(place_.x.low, line.at).y;
          box.x = place_.plot.right() - pad - width - row * 12;
          box.y = second ? y + 1 : y - label_height - 1;
        }
        consider(box, (vertical ? 1.5 : 0.5) * row + (second ? 3 : 0), nullptr, best);
      }
    const double at = vertical ? place_.at(line.at, place_.y.low).x : place_.plot.right();
    put(line.label, best, at, nullptr);
  }

  void point(const std::string& label, Position at) {
    const double width = text_width(label, label_text);
    Candidate best;
    for (const double away : {8.0, 11.0, 16.0, 24.0, 34.0, 46.0, 60.0, 78.0, 100.0, 130.0, 170.0})
      for (int turn = 0; turn < 24; ++turn) {
        const double angle = turn * (2 * 3.14159265358979 / 24);
        const double cx = at.x + std::cos(angle) * (0.5 * width + away);
        const double cy = at.y - std::sin(angle) * (0.5 * label_height + away);
        const Box box{cx - 0.5 * width, cy - 0.5 * label_height, width, label_height};
        consider(box, away + (turn == 0 ? 0 : 2), &at, best);
      }
    put(label, best, at.x, &at);
  }

 private:
  struct Candidate {
    Box box;
    double cost = std::numeric_limits<double>::infinity();
  };

  void add_dot(Position p) {
    if (p.x < place_.plot.x || p.x > place_.plot.right() || p.y < place_.plot.y ||
        p.y > place_.plot.bottom())
      return;
    dots_.push_back(p);
  }

  /// What a series draws, as dots a few pixels apart.
  void add_ink(const ChartPanel& panel, std::size_t s) {
    const ChartSeries& series = panel.series[s];
    const auto at = [&](std::size_t i) {
      return place_.at(series.points[i].x, series.points[i].y);
    };
    if (series.mark == Mark::bars) {
      for (std::size_t i = 0; i < series.points.size(); ++i) {
        const double start = bar_start(panel, s, i), row = -series.points[i].y;
        for (const double edge : {row - bar_share, row, row + bar_share})
          add_line(place_.at(start, edge), place_.at(start + series.points[i].x, edge));
      }
      return;
    }
    for (std::size_t i = 0; i < series.points.size(); ++i) {
      if (series.mark == Mark::points) {
        const Position p = at(i);
        if (series.points.size() <= 200) markers_.push_back(p);
        for (const double dx : {-marker_radius, 0.0, marker_radius})
          for (const double dy : {-marker_radius, 0.0, marker_radius})
            add_dot({p.x + dx, p.y + dy});
      } else if (i > 0 && series.mark != Mark::band) {
        const Position corner{at(i).x, at(i - 1).y};
        if (series.mark == Mark::step) {
          add_line(at(i - 1), corner);
          add_line(corner, at(i));
        } else {
          add_line(at(i - 1), at(i));
        }
      }
    }
  }

  /// The point of `box` that is nearest to `p`.
  [[nodiscard]] static Position nearest(const Box& box, Position p) {
    return {std::clamp(p.x, box.x, box.right()), std::clamp(p.y, box.y, box.bottom())};
  }

  void consider(const Box& box, double cost, const Position* point, Candidate& best) const {
    if (cost >= best.cost || !place_.plot.holds(box)) return;
    const Box wide{box.x - pad, box.y - 1, box.width + 2 * pad, box.height + 2};
    for (const PlacedText& text : layout_.texts)
      if (wide.overlaps(text.box)) return;
    for (const Position& dot : dots_)
      if (dot.x > box.x - 1 && dot.x < box.right() + 1 && dot.y > box.y && dot.y < box.bottom())
        cost += 3;
    if (point != nullptr) {
      const Position end = nearest(box, *point);
      // Nearer to another point than to its own, a label would be read as the other's.
      const double own = std::hypot(end.x - point->x, end.y - point->y);
      for (const Position& other : markers_) {
        const Position edge = nearest(box, other);
        const double apart = std::hypot(edge.x - other.x, edge.y - other.y);
        const bool same = std::hypot(other.x - point->x, other.y - point->y) < 1;
        if (!same && apart < std::min(own + 3, 25.0)) cost += 8;
      }
      if (std::hypot(end.x - point->x, end.y - point->y) > leader_from)
        for (double share = 0.05; share < 1; share += 0.1)
          for (const PlacedText& text : layout_.texts) {
            const Position p{point->x + share * (end.x - point->x),
                             point->y + share * (end.y - point->y)};
            if (text.in_plot && p.x > text.box.x && p.x < text.box.right() && p.y > text.box.y &&
                p.y < text.box.bottom())
              cost += 25;
          }
    }
    if (cost < best.cost) best = {box, cost};
  }

  /// Places the text so that it touches the side of its box that is nearer to `x`: fonts narrower
  /// than the box would leave a gap there.
  void put(const std::string& text, const Candidate& best, double x, const Position* point) {
    if (!std::isfinite(best.cost)) return;
    auto anchor = PlacedText::Anchor::middle;
    if (x >= best.box.right()) anchor = PlacedText::Anchor::end;
    if (x <= best.box.x) anchor = PlacedText::Anchor::start;
    layout_.texts.push_back({text, best.box, label_text, TextStyle::plain, anchor, true});
    if (point == nullptr) return;
    const Position end = nearest(best.box, *point);
    if (std::hypot(end.x - point->x, end.y - point->y) <= leader_from) return;
    layout_.leaders.push_back({end, *point});
    add_line(end, *point);
  }

  const PanelLayout& place_;
  Layout& layout_;
  std::vector<Position> dots_;     // of lines and points
  std::vector<Position> markers_;  // of points that are few enough to be told apart
};

}  // namespace

void place_labels(const ChartPanel& panel, const PanelLayout& place, Layout& layout) {
  Labels labels(panel, place, layout);
  std::vector<const ReferenceLine*> shown;
  for (const ReferenceLine& line : panel.references) {
    const bool vertical = line.across == ReferenceLine::Across::x;
    if (!(vertical ? place.x : place.y).holds(line.at)) continue;
    shown.push_back(&line);
    if (vertical)
      labels.add_line(place.at(line.at, place.y.low), place.at(line.at, place.y.high));
    else
      labels.add_line(place.at(place.x.low, line.at), place.at(place.x.high, line.at));
  }
  for (const ReferenceLine* line : shown)
    if (!line->label.empty()) labels.reference(*line);
  for (std::size_t s = 0; s < panel.series.size(); ++s)
    for (std::size_t i = 0; i < panel.series[s].points.size(); ++i) {
      const ChartPoint& p = panel.series[s].points[i];
      if (p.label.empty()) continue;
      if (panel.series[s].mark == Mark::bars)
        labels.point(p.label, place.at(bar_start(panel, s, i) + p.x, -p.y));
      else if (place.x.holds(p.x) && place.y.holds(p.y))
        labels.point(p.label, place.at(p.x, p.y));
    }
}

}  // namespace tokenroof::io::plot
