#include "io/plot/layout.hpp"

#include <algorithm>
#include <cmath>

namespace tokenroof::io::plot {
namespace {

constexpr double margin = 16, gap = 8;
constexpr double title_size = 16, label_size = 12.5, tick_size = 12, caption_size = 11;
constexpr double line_height = 1.3;  // of a text's size
constexpr double swatch_width = 20;

PlacedText text_at(std::string text, double x, double top, double size, TextStyle style,
                   PlacedText::Anchor anchor = PlacedText::Anchor::start) {
  const double width = text_width(text, size);
  double left = x;
  if (anchor == PlacedText::Anchor::middle) left -= 0.5 * width;
  if (anchor == PlacedText::Anchor::end) left -= width;
  return {std::move(text), {left, top, width, size * line_height}, size, style, anchor};
}

/// Adds `text`, broken at spaces to `width`; gives the top of what follows.
double add_paragraph(Layout& layout, const std::string& text, double top, double size,
                     TextStyle style) {
  const double width = layout.width - 2 * margin;
  std::string line;
  const auto flush = [&] {
    if (line.empty()) return;
    layout.texts.push_back(text_at(line, margin, top, size, style));
    top += size * line_height;
    line.clear();
  };
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (!line.empty() && text_width(line + " " + word, size) > width) flush();
    line += (line.empty() ? "" : " ") + word;
    begin = end + 1;
  }
  flush();
  return top;
}

/// Legend rows of a panel; gives the top of what follows.
double add_legend(Layout& layout, const ChartPanel& panel, std::size_t index, double left,
                  double top) {
  double x = left;
  bool any = false;
  for (std::size_t s = 0; s < panel.series.size(); ++s) {
    const std::string& name = panel.series[s].name;
    if (name.empty()) continue;
    const double width = swatch_width + 5 + text_width(name, tick_size);
    if (any && x + width > layout.width - margin) {
      x = left;
      top += tick_size * line_height + 2;
    }
    any = true;
    layout.swatches.push_back({{x, top, swatch_width, tick_size * line_height}, index, s});
    layout.texts.push_back(text_at(name, x + swatch_width + 5, top, tick_size, TextStyle::plain));
    x += width + 2 * gap;
  }
  return any ? top + tick_size * line_height : top;
}

/// Drops every second tick until their texts do not touch.
void thin_out(std::vector<Tick>& ticks, const PanelLayout& place) {
  const auto touch = [&] {
    for (std::size_t i = 1; i < ticks.size(); ++i) {
      const double apart =
          place.at(ticks[i].value, place.y.low).x - place.at(ticks[i - 1].value, place.y.low).x;
      const double need =
          0.5 * (text_width(ticks[i].text, tick_size) + text_width(ticks[i - 1].text, tick_size)) +
          gap;
      if (apart < need) return true;
    }
    return false;
  };
  while (ticks.size() > 2 && touch())
    for (std::size_t i = 1; i < ticks.size(); ++i)
      ticks.erase(ticks.begin() + static_cast<std::ptrdiff_t>(i));
}

double plot_height(const Chart& chart, const ChartPanel& panel, const Scale& y) {
  if (!panel.y.categories.empty())
    return (panel.y.categories.size() == 1 ? 80 : 40) * (y.high - y.low);
  return chart.panels.size() == 1 ? 340 : 220;
}

}  // namespace

double text_width(std::string_view text, double size) {
  double ems = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0u) == 0x80u) continue;  // inside a code point
    if (std::string_view("ijl.,:;|'! ").find(c) != std::string_view::npos)
      ems += 0.34;
    else if (std::string_view("frtI()[]-/").find(c) != std::string_view::npos)
      ems += 0.42;
    else if (std::string_view("mwMW@%").find(c) != std::string_view::npos)
      ems += 1.0;
    else
      ems += c >= 'A' && c <= 'Z' ? 0.74 : 0.64;
  }
  return ems * size;
}

Layout lay_out(const Chart& chart, double width) {
  Layout layout;
  layout.width = width;
  double top = add_paragraph(layout, chart.title, margin, title_size, TextStyle::title) + gap;

  // All panels share the left edge, so that their x axes line up.
  std::vector<PanelLayout> scales;
  double left = 0;
  for (const ChartPanel& panel : chart.panels) {
    const PanelExtent extent = extent_of(panel);
    PanelLayout place;
    place.x = scale_of(panel.x, extent.x, 10);
    place.y = scale_of(panel.y, extent.y, chart.panels.size() == 1 ? 10 : 6);
    for (const Tick& tick : place.y.ticks) left = std::max(left, text_width(tick.text, tick_size));
    scales.push_back(std::move(place));
  }
  left = std::min(left, 0.45 * width) + margin + gap;

  for (std::size_t p = 0; p < chart.panels.size(); ++p) {
    const ChartPanel& panel = chart.panels[p];
    PanelLayout& place = scales[p];
    if (!place.y.title.empty()) {
      layout.texts.push_back(text_at(place.y.title, margin, top, label_size, TextStyle::muted));
      top += label_size * line_height + 0.5 * gap;
    }
    top = add_legend(layout, panel, p, margin, top) + 1.25 * gap;  // half a tick's text
    double right = 2 * margin;                                     // half a tick's text hangs over
    if (!place.x.ticks.empty())
      right = std::max(right, margin + 0.5 * text_width(place.x.ticks.back().text, tick_size));
    place.plot = {left, top, width - left - right, plot_height(chart, panel, place.y)};
    thin_out(place.x.ticks, place);
    for (const Tick& tick : place.y.ticks)
      layout.texts.push_back(
          text_at(tick.text, left - gap,
                  place.at(place.x.low, tick.value).y - 0.5 * tick_size * line_height, tick_size,
                  TextStyle::muted, PlacedText::Anchor::end));
    top = place.plot.bottom() + 0.75 * gap;
    for (const Tick& tick : place.x.ticks)
      layout.texts.push_back(text_at(tick.text, place.at(tick.value, place.y.low).x, top, tick_size,
                                     TextStyle::muted, PlacedText::Anchor::middle));
    top += tick_size * line_height + 2;
    layout.texts.push_back(text_at(place.x.title, left + 0.5 * place.plot.width, top, label_size,
                                   TextStyle::muted, PlacedText::Anchor::middle));
    top += label_size * line_height + 1.5 * gap;
    place_labels(panel, place, layout);
    layout.panels.push_back(place);
  }
  layout.height = std::ceil(
      add_paragraph(layout, chart.caption, top, caption_size, TextStyle::muted) + 0.5 * margin);
  return layout;
}

}  // namespace tokenroof::io::plot
