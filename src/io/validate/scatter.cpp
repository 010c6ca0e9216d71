#include "io/validate/scatter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace tokenroof::io {

std::string scatter(const ValidationReport& report, std::string_view metric) {
  constexpr int width = 56, height = 20;
  double low = HUGE_VAL, high = 0;
  std::size_t rows = 0;
  for (const Prediction& p : report.predictions) {
    if (p.metric != metric) continue;
    low = std::min({low, p.measured, p.predicted});
    high = std::max({high, p.measured, p.predicted});
    ++rows;
  }
  if (rows < 2 || !(high > low)) return {};
  std::array<std::array<std::size_t, width>, height> count{};
  const auto place = [&](double value, int cells) {
    const double share = std::log(value / low) / std::log(high / low);
    return std::clamp(static_cast<int>(share * cells), 0, cells - 1);
  };
  std::size_t most = 1;
  for (const Prediction& p : report.predictions) {
    if (p.metric != metric) continue;
    std::size_t& cell = count[place(p.predicted, height)][place(p.measured, width)];
    most = std::max(most, ++cell);
  }
  std::string text = fmt::format("{}: predicted (up) against measured (right), {:.3g} to {:.3g}\n",
                                 metric, low, high);
  for (int row = height - 1; row >= 0; --row) {
    text += "  |";
    for (int column = 0; column < width; ++column) {
      const std::size_t n = count[row][column];
      const bool exact = row == column * height / width;
      text += n == 0 ? (exact ? '/' : ' ') : 4 * n > most ? '#' : 16 * n > most ? 'o' : '.';
    }
    while (text.back() == ' ') text.pop_back();
    text += '\n';
  }
  return text + "  +" + std::string(width, '-') + "\n";
}

}  // namespace tokenroof::io
