#include "tokenroof/io/chart.hpp"

#include <cmath>
#include <limits>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "catch2/catch.hpp"
#include "io/plot/layout.hpp"
#include "tokenroof/io/table.hpp"

using namespace tokenroof::io;
using namespace tokenroof::io::plot;

namespace {

std::string texts(const Scale& scale) {
  std::string all;
  for (const Tick& tick : scale.ticks) all += (all.empty() ? "" : " ") + tick.text;
  return all;
}
Scale scale(const ChartAxis& axis, double low, double high, int most = 8) {
  return scale_of(axis, {low, high}, most);
}

Chart small_chart() {
  Chart chart{"small", "A title", "A sentence.", "tokenroof 1 \u00b7 inputs", {}};
  ChartPanel panel{{.label = "Time", .unit = "s"}, {.label = "Rate"}, {}};
  panel.series = {{"line", Mark::line, {{0, 1}, {10, 5}}},
                  {"dots", Mark::points, {{2, 2, "a point"}}},
                  {"band", Mark::band, {{0, 2, "", 1}, {10, 6, "", 4}}},
                  {"step", Mark::step, {{0, 3}, {5, 4}}}};
  panel.references = {{ReferenceLine::Across::x, 4, "a limit"},
                      {ReferenceLine::Across::y, 3, "an objective"}};
  chart.panels.push_back(panel);
  return chart;
}

std::vector<std::string> matches(const std::string& text, const char* pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator i(text.begin(), text.end(), regex), end; i != end; ++i)
    found.push_back((*i)[1]);
  return found;
}

}  // namespace

TEST_CASE("linear ticks are 1, 2 or 5 times a power of ten, and the axis ends on one") {
  CHECK(texts(scale({"x"}, 0, 97)) == "0 20 40 60 80 100");
  CHECK(texts(scale({"x"}, 3, 4.1)) == "0 1 2 3 4 5");  // values >= 0 begin at 0
  CHECK(texts(scale({"x"}, -1, 1, 4)) == "-1 -0.5 0 0.5 1");
  CHECK(texts(scale({"x"}, 7, 7)) == "0 1 2 3 4 5 6 7");  // one value
  CHECK(texts(scale({.label = "x", .low = 0.0, .high = 9.5}, 1, 2)) == "0 2 4 6 8");
  // Never more than asked for.
  for (const double high : {1.0, 1.3, 17.0, 299.0, 4e7})
    for (const int most : {3, 5, 8, 10})
      CHECK(scale({"x"}, 0, high, most).ticks.size() <= most + 1u);
}

TEST_CASE("logarithmic ticks: 1, 2, 5 where there is room, else decades") {
  const ChartAxis log{.label = "x", .logarithmic = true};
  CHECK(texts(scale(log, 1, 100)) == "1 2 5 10 20 50 100");
  CHECK(texts(scale(log, 1, 3e4)) == "1 10 100 1k 10k");
  CHECK(texts(scale(log, 30, 45)) == "20 25 30 35 40 45 50");  // less than a decade
  CHECK(scale(log, 7, 7).low < 7);
  CHECK(scale(log, 7, 7).high > 7);
  const Scale s = scale(log, 1, 100);
  CHECK(s.share(1) == Approx(0).margin(1e-12));
  CHECK(s.share(10) == Approx(0.5));
  CHECK(s.share(1000) == Approx(1.5));
  CHECK_FALSE(s.holds(101));
}

TEST_CASE("numbers take the prefix or the suffix that suits the axis") {
  const Scale ms = scale({.label = "Time", .unit = "s", .prefixes = true}, 0, 0.013);
  CHECK(ms.title == "Time (ms)");
  CHECK(texts(ms) == "0 2 4 6 8 10 12 14");
  CHECK(
      scale({.label = "Rate", .unit = "FLOP/s", .prefixes = true, .logarithmic = true}, 1e12, 1e15)
          .title == "Rate (TFLOP/s)");
  CHECK(texts(scale({"Tokens"}, 0, 45000, 5)) == "0 10k 20k 30k 40k 50k");
  CHECK(texts(scale({"Tokens"}, 0, 4500, 5)) == "0 1000 2000 3000 4000 5000");
  CHECK(scale({.label = "Cost", .unit = "USD"}, 0, 0.002).title == "Cost (USD)");
}

TEST_CASE("rows of categories count downwards") {
  const Scale rows = scale({.label = "", .categories = {"first", "second"}}, 0, 0);
  CHECK(texts(rows) == "second first");
  CHECK(rows.share(-1) == Approx(0.25));
  CHECK(rows.share(0) == Approx(0.75));
}

TEST_CASE("bars stack in the order of their series") {
  ChartPanel panel{{"x"}, {.label = "", .categories = {"a", "b"}}, {}};
  panel.series = {{"one", Mark::bars, {{1, 0}, {2, 1}}}, {"two", Mark::bars, {{4, 1}, {3, 0}}}};
  CHECK(bar_start(panel, 0, 1) == 0);
  CHECK(bar_start(panel, 1, 0) == 2);  // row b
  CHECK(bar_start(panel, 1, 1) == 1);  // row a
  CHECK(extent_of(panel).x.high == 6);
}

TEST_CASE("text is escaped, and stays what it was") {
  Chart chart = small_chart();
  chart.title = "a<b & \"c\" > d\x01";
  chart.panels[0].series[1].points[0].label = "<script>";
  const std::string text = svg(chart);
  CHECK(text.find("a&lt;b &amp; &quot;c&quot; &gt; d ") != std::string::npos);
  CHECK(text.find("<script") == std::string::npos);
  CHECK(text.find("&lt;script&gt;") != std::string::npos);
  CHECK(text.find('\x01') == std::string::npos);
}

TEST_CASE("a drawing keeps to itself: no prolog, nothing from outside, ids of its own") {
  const Chart chart = small_chart();
  const std::string text = svg(chart, {.id = "r1"});
  CHECK(text.starts_with("<svg "));
  CHECK(text == svg(chart, {.id = "r1"}));
  CHECK(matches(text, "(https?://[^\"' )]*)") ==
        std::vector<std::string>{"http://www.w3.org/2000/svg"});
  const auto ids = matches(text, "[ ]id=\"([^\"]*)\"");
  CHECK(ids.size() == 4);  // root, title, description, clip path
  for (const std::string& id : ids) CHECK(id.starts_with("r1"));
  for (const std::string& id : matches(text, "url\\(#([^)]*)\\)")) CHECK(id.starts_with("r1"));
  for (const std::string& rule : matches(text, "[}>,]([#.a-z][^{},<>]*)\\{"))
    CHECK(rule.starts_with("#r1 "));
  CHECK(matches(svg(chart), "<svg[^>]* id=\"([^\"]*)\"") ==
        std::vector<std::string>{"tokenroof-small"});
}

TEST_CASE("light and dark: as the viewer prefers, or as asked") {
  const Chart chart = small_chart();
  CHECK(svg(chart).find("prefers-color-scheme:dark") != std::string::npos);
  for (const Scheme scheme : {Scheme::light, Scheme::dark})
    CHECK(svg(chart, {.scheme = scheme}).find("prefers-color-scheme") == std::string::npos);
  CHECK(svg(chart, {.scheme = Scheme::light}) != svg(chart, {.scheme = Scheme::dark}));
}

TEST_CASE("what cannot be drawn is refused, by the name of its series") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  const auto refused = [](const Chart& chart, const std::string& word) {
    CHECK_THROWS_AS(svg(chart), std::invalid_argument);
    CHECK_THROWS_AS(drawing(chart), std::invalid_argument);
    CHECK_THROWS_WITH(svg(chart), Catch::Contains(word));
  };
  Chart chart = small_chart();
  chart.panels[0].series[0].points.clear();
  refused(chart, "series \"line\": has no points");
  for (const double bad : {nan, infinite, -infinite}) {
    chart = small_chart();
    chart.panels[0].series[0].points[0].y = bad;
    refused(chart, "not finite");
    chart = small_chart();
    chart.panels[0].references[0].at = bad;
    refused(chart, "a limit");
  }
  chart = small_chart();
  chart.panels[0].x.logarithmic = true;  // begins at 0
  refused(chart, "logarithmic");
  chart = small_chart();
  chart.panels[0].series = {{"bar", Mark::bars, {{1, 3}}}};
  refused(chart, "in no row");
  chart.panels.clear();
  refused(chart, "no panel");
}

TEST_CASE("labels of a crowd do not touch, and all that fit are there") {
  Chart chart = small_chart();
  ChartSeries crowd{"crowd", Mark::points, {}};
  for (int i = 0; i < 24; ++i)
    crowd.points.push_back({5 + 0.05 * (i % 5), 3 + 0.02 * i, "label number " + std::to_string(i)});
  chart.panels[0].series.push_back(crowd);
  const Layout layout = lay_out(chart, 760);
  std::size_t labels = 0;
  for (std::size_t i = 0; i < layout.texts.size(); ++i) {
    labels += layout.texts[i].text.starts_with("label number") ? 1 : 0;
    for (std::size_t j = 0; j < i; ++j) {
      INFO(layout.texts[i].text << " over " << layout.texts[j].text);
      CHECK_FALSE(layout.texts[i].box.overlaps(layout.texts[j].box));
    }
  }
  CHECK(labels == 24);
}

TEST_CASE("a drawing in characters is as wide as asked, and says what its signs mean") {
  for (const std::size_t columns : {40u, 80u, 120u}) {
    const std::string text = drawing(small_chart(), columns);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      INFO(line);
      CHECK(display_width(line) <= columns);
    }
    CHECK(text.find("A  line") != std::string::npos);
    CHECK(text.find("a  a point") != std::string::npos);
    CHECK(text.find("1 ┊  a limit") != std::string::npos);
    CHECK(text.find("2 ┄  an objective") != std::string::npos);
  }
}
