// A laid-out chart as SVG.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

#include "io/plot/layout.hpp"
#include "io/xml_text.hpp"

namespace tokenroof::io {
namespace {

using namespace plot;

// Okabe and Ito 2008, in an order that keeps the darker ones, which lines need, first; a violet
// for a ninth.
constexpr const char* palette[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00",
                                   "#56B4E9", "#8C8C8C", "#F0E442", "#7A5195"};
constexpr std::size_t palette_size = std::size(palette);

struct SchemeColours {
  const char *paper, *ink, *muted, *grid;
};
constexpr SchemeColours light{"#ffffff", "#1b1f24", "#57606a", "#e3e6ea"};
constexpr SchemeColours dark{"#15191e", "#e8eaed", "#a4adb8", "#30363d"};

/// A coordinate: a hundredth of a pixel, no trailing zeros.
std::string px(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string scheme_rules(const std::string& id, const SchemeColours& c) {
  return fmt::format(
      "#{0} .paper{{fill:{1}}}#{0} .halo{{stroke:{1}}}#{0} .cut{{stroke:{1}}}#{0} .ink{{fill:{2}}}"
      "#{0} .rule{{stroke:{2}}}#{0} .muted{{fill:{3}}}#{0} .axis{{stroke:{3}}}"
      "#{0} .grid{{stroke:{4}}}",
      id, c.paper, c.ink, c.muted, c.grid);
}

std::string style(const std::string& id, Scheme scheme) {
  std::string css = fmt::format(
      "#{0} text{{font-family:Helvetica,Arial,'Liberation Sans',sans-serif}}"
      "#{0} .halo{{stroke-width:3;stroke-linejoin:round;paint-order:stroke}}"
      "#{0} .grid,#{0} .axis,#{0} .lead{{stroke-width:1;fill:none}}#{0} .lead{{stroke-opacity:.8}}"
      "#{0} .rule{{stroke-width:1;stroke-dasharray:4 3;stroke-opacity:.7}}"
      "#{0} .line{{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}}"
      "#{0} .dashed{{stroke-dasharray:6 4}}",
      id);
  for (std::size_t i = 0; i < palette_size; ++i)
    css += fmt::format("#{0} .s{1}{{stroke:{2}}}#{0} .f{1}{{fill:{2}}}", id, i, palette[i]);
  css += scheme_rules(id, scheme == Scheme::dark ? dark : light);
  if (scheme == Scheme::automatic)
    css += "@media (prefers-color-scheme:dark){" + scheme_rules(id, dark) + "}";
  return css;
}

class Writer {
 public:
  Writer(const Chart& chart, const Layout& layout, std::string id)
      : chart_(chart), layout_(layout), id_(std::move(id)) {}

  std::string text(Scheme scheme) {
    out_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"{0}\" width=\"{1}\" height=\"{2}\" "
        "viewBox=\"0 0 {1} {2}\" role=\"img\" aria-labelledby=\"{0}-title {0}-desc\">\n"
        "<title id=\"{0}-title\">{3}</title>\n<desc id=\"{0}-desc\">{4} {5}</desc>\n"
        "<style>{6}</style>\n<rect class=\"paper\" width=\"{1}\" height=\"{2}\"/>\n",
        id_, px(layout_.width), px(layout_.height), escaped(chart_.title),
        escaped(chart_.description), escaped(chart_.caption), style(id_, scheme));
    for (std::size_t p = 0; p < chart_.panels.size(); ++p) panel(p);
    for (const Leader& l : layout_.leaders) line("lead axis", l.from, l.to);
    for (const Swatch& swatch : layout_.swatches) sample(swatch);
    for (const PlacedText& placed : layout_.texts) put(placed);
    return out_ + "</svg>\n";
  }

 private:
  void line(std::string_view classes, Position a, Position b) {
    out_ += fmt::format("<line class=\"{}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n", classes,
                        px(a.x), px(a.y), px(b.x), px(b.y));
  }

  void rectangle(std::string_view classes, const Box& box, std::string_view more = {}) {
    out_ += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}/>\n",
                        classes, px(box.x), px(box.y), px(box.width), px(box.height), more);
  }

  /// The shape goes with the colour, so that points differ without it.
  void marker(std::size_t colour, Position at) {
    const double r = marker_radius;
    const std::string classes = fmt::format("f{} cut", colour);
    if (colour % 4 == 0) {
      out_ += fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"{}\"/>\n", classes,
                          px(at.x), px(at.y), px(r));
      return;
    }
    if (colour % 4 == 1)
      return rectangle(classes, {at.x - 0.9 * r, at.y - 0.9 * r, 1.8 * r, 1.8 * r});
    const double up = colour % 4 == 2 ? 1 : 1.25;
    out_ +=
        fmt::format("<path class=\"{}\" d=\"M{} {}L{} {}", classes, px(at.x), px(at.y - 1.25 * r),
                    px(at.x + 1.2 * r), px(colour % 4 == 2 ? at.y + up * r : at.y));
    if (colour % 4 == 3) out_ += fmt::format("L{} {}", px(at.x), px(at.y + up * r));
    out_ += fmt::format("L{} {}Z\"/>\n", px(at.x - 1.2 * r),
                        px(colour % 4 == 2 ? at.y + up * r : at.y));
  }

  void panel(std::size_t index) {
    const ChartPanel& panel = chart_.panels[index];
    const PanelLayout& place = layout_.panels[index];
    const Box& plot = place.plot;
    const std::string clip = fmt::format("{}-clip-{}", id_, index);
    out_ += fmt::format(
        "<clipPath id=\"{}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n",
        clip, px(plot.x - 1), px(plot.y - 1), px(plot.width + 2), px(plot.height + 2));
    for (const Tick& tick : place.x.ticks)
      line("grid", place.at(tick.value, place.y.low), place.at(tick.value, place.y.high));
    if (panel.y.categories.empty())
      for (const Tick& tick : place.y.ticks)
        line("grid", place.at(place.x.low, tick.value), place.at(place.x.high, tick.value));
    out_ += fmt::format("<g clip-path=\"url(#{})\">\n", clip);
    // Bands lie under lines, lines under points.
    for (const bool points : {false, true})
      for (std::size_t s = 0; s < panel.series.size(); ++s)
        if ((panel.series[s].mark == Mark::points) == points) draw(panel, place, s);
    for (const ReferenceLine& r : panel.references) {
      if (r.across == ReferenceLine::Across::x && place.x.holds(r.at))
        line("rule", place.at(r.at, place.y.low), place.at(r.at, place.y.high));
      if (r.across == ReferenceLine::Across::y && place.y.holds(r.at))
        line("rule", place.at(place.x.low, r.at), place.at(place.x.high, r.at));
    }
    out_ += "</g>\n";
    out_ += fmt::format("<path class=\"axis\" d=\"M{0} {1}V{2}H{3}\"/>\n", px(plot.x), px(plot.y),
                        px(plot.bottom()), px(plot.right()));
  }

  void draw(const ChartPanel& panel, const PanelLayout& place, std::size_t s) {
    const ChartSeries& series = panel.series[s];
    const std::size_t colour = colour_of(panel, s) % palette_size;
    const auto& points = series.points;
    const auto at = [&](const ChartPoint& p) { return place.at(p.x, p.y); };
    switch (series.mark) {
      case Mark::points:
        for (const ChartPoint& p : points)
          if (place.x.holds(p.x) && place.y.holds(p.y)) marker(colour, at(p));
        return;
      case Mark::bars:
        for (std::size_t i = 0; i < points.size(); ++i) {
          const double start = bar_start(panel, s, i);
          const Position a = place.at(start, -points[i].y + bar_share);
          const Position b = place.at(start + points[i].x, -points[i].y - bar_share);
          rectangle(fmt::format("f{} cut", colour), {a.x, a.y, b.x - a.x, b.y - a.y});
        }
        return;
      case Mark::band: {
        std::string path;
        for (const ChartPoint& p : points)
          path += fmt::format("{}{} {}", path.empty() ? "M" : "L", px(at(p).x), px(at(p).y));
        for (std::size_t i = points.size(); i-- > 0;) {
          const Position p = place.at(points[i].x, points[i].low);
          path += fmt::format("L{} {}", px(p.x), px(p.y));
        }
        out_ += fmt::format("<path class=\"f{}\" fill-opacity=\".18\" d=\"{}Z\"/>\n", colour, path);
        return;
      }
      case Mark::line:
      case Mark::dashed:
      case Mark::step: {
        std::string path;
        for (const ChartPoint& p : points) {
          if (series.mark == Mark::step && !path.empty()) path += "H" + px(at(p).x);
          path += fmt::format("{}{} {}", path.empty() ? "M" : "L", px(at(p).x), px(at(p).y));
        }
        out_ += fmt::format("<path class=\"line s{}{}\" d=\"{}\"/>\n", colour,
                            series.mark == Mark::dashed ? " dashed" : "", path);
        return;
      }
    }
  }

  void sample(const Swatch& swatch) {
    const ChartPanel& panel = chart_.panels[swatch.panel];
    const ChartSeries& series = panel.series[swatch.series];
    const std::size_t colour = colour_of(panel, swatch.series) % palette_size;
    const Box& box = swatch.box;
    const double middle = box.y + 0.5 * box.height;
    if (series.mark == Mark::points) return marker(colour, {box.x + 0.5 * box.width, middle});
    if (series.mark == Mark::bars || series.mark == Mark::band)
      return rectangle(fmt::format("f{}", colour), {box.x + 4, middle - 6, 12, 12},
                       series.mark == Mark::band ? " fill-opacity=\".18\"" : "");
    line(fmt::format("line s{}{}", colour, series.mark == Mark::dashed ? " dashed" : ""),
         {box.x, middle}, {box.right(), middle});
  }

  void put(const PlacedText& placed) {
    const Box& box = placed.box;
    const char* anchor = "";
    double x = box.x;
    if (placed.anchor == PlacedText::Anchor::middle) {
      anchor = " text-anchor=\"middle\"";
      x = box.x + 0.5 * box.width;
    } else if (placed.anchor == PlacedText::Anchor::end) {
      anchor = " text-anchor=\"end\"";
      x = box.right();
    }
    const bool title = placed.style == TextStyle::title;
    out_ += fmt::format("<text class=\"{}{}\" x=\"{}\" y=\"{}\" font-size=\"{}\"{}{}>{}</text>\n",
                        placed.style == TextStyle::muted ? "muted" : "ink",
                        placed.in_plot ? " halo" : "", px(x),
                        px(box.y + 0.5 * box.height + 0.36 * placed.size), px(placed.size),
                        title ? " font-weight=\"bold\"" : "", anchor, escaped(placed.text));
  }

  const Chart& chart_;
  const Layout& layout_;
  std::string id_, out_;
};

}  // namespace

std::string svg(const Chart& chart, const SvgOptions& options) {
  check(chart);
  const std::string id = options.id.empty() ? "tokenroof-" + chart.name : options.id;
  return Writer(chart, lay_out(chart, std::max(400, options.width)), id).text(options.scheme);
}

}  // namespace tokenroof::io
