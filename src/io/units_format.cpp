// Quantities for people.
#include <fmt/format.h>

#include <cmath>
#include <span>

#include "tokenroof/io/units_text.hpp"

namespace tokenroof::io {
namespace {

struct Step {
  double factor;
  std::string_view name;
};

// Steps ascend; the first is also used for what is smaller.
std::string scaled(double value, std::span<const Step> steps, int digits) {
  if (!std::isfinite(value)) return "-";
  const Step* chosen = &steps.front();
  // 999.96 at four digits prints as 1000: the next unit reads better, hence the rounding margin.
  const double margin = 1 - 0.5 * std::pow(10.0, -digits);
  for (const Step& step : steps)
    if (std::abs(value) >= step.factor * margin) chosen = &step;
  if (value == 0) return fmt::format("0 {}", steps.front().name);
  return fmt::format("{} {}", to_text(value / chosen->factor, digits), chosen->name);
}

}  // namespace

std::string to_text(double number, int digits) {
  if (!std::isfinite(number)) return "-";
  if (number == 0) return "0";
  // Whole part in full, then as many decimals as the digits leave; never an exponent between
  // 1e-5 and 1e15, where people expect plain numbers.
  const double size = std::abs(number);
  if (size < 1e-5 || size >= 1e15) return fmt::format("{:.{}g}", number, digits);
  const int whole = static_cast<int>(std::floor(std::log10(size))) + 1;
  const int decimals = digits > whole ? digits - whole : 0;
  std::string text = fmt::format("{:.{}f}", number, decimals);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

std::string to_text(Seconds time, int digits) {
  static constexpr Step steps[] = {{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1, "s"},
                                   {60, "min"},  {3600, "h"},  {86400, "d"}};
  // Below two minutes (hours, days) the smaller unit is what people say.
  std::span<const Step> usable(steps);
  const double size = std::abs(time.base());
  usable = usable.first(size < 120 ? 4 : size < 7200 ? 5 : size < 172800 ? 6 : 7);
  return scaled(time.base(), usable, digits);
}

std::string to_text(Bytes size, int digits) {
  static constexpr Step steps[] = {{1, "B"},        {0x1p10, "KiB"}, {0x1p20, "MiB"},
                                   {0x1p30, "GiB"}, {0x1p40, "TiB"}, {0x1p50, "PiB"}};
  return scaled(size.base(), steps, digits);
}
std::string to_text_decimal(Bytes size, int digits) {
  static constexpr Step steps[] = {{1, "B"},    {1e3, "kB"},  {1e6, "MB"},
                                   {1e9, "GB"}, {1e12, "TB"}, {1e15, "PB"}};
  return scaled(size.base(), steps, digits);
}
std::string to_text(BytesPerSecond rate, int digits) {
  return to_text_decimal(Bytes::from_base(rate.base()), digits) + "/s";
}
std::string to_text(BytesPerToken size, int digits) {
  return to_text(Bytes::from_base(size.base()), digits) + "/token";
}
std::string to_text(Flops work, int digits) {
  static constexpr Step steps[] = {{1, "FLOP"},     {1e3, "kFLOP"},  {1e6, "MFLOP"}, {1e9, "GFLOP"},
                                   {1e12, "TFLOP"}, {1e15, "PFLOP"}, {1e18, "EFLOP"}};
  return scaled(work.base(), steps, digits);
}
std::string to_text(FlopsPerSecond rate, int digits) {
  // Datasheets write 1979 TFLOP/s, not 1.979 PFLOP/s.
  static constexpr Step steps[] = {{1, "FLOP/s"}, {1e9, "GFLOP/s"}, {1e12, "TFLOP/s"}};
  return scaled(rate.base(), steps, digits);
}
std::string to_text(FlopsPerToken work, int digits) {
  return to_text(Flops::from_base(work.base()), digits) + "/token";
}
std::string to_text(TokensPerSecond rate, int digits) {
  return to_text(rate.base(), digits) + " tok/s";
}
std::string to_text(RequestsPerSecond rate, int digits) {
  return to_text(rate.base(), digits) + " req/s";
}
std::string to_text(Watts power, int digits) {
  static constexpr Step steps[] = {{1, "W"}, {1e3, "kW"}, {1e6, "MW"}};
  return scaled(power.base(), steps, digits);
}
std::string to_text(Dollars amount, int digits) { return to_text(amount.base(), digits) + " USD"; }
std::string to_text(DollarsPerSecond rate, int digits) {
  return to_text(rate * hour, digits) + "/h";
}

}  // namespace tokenroof::io
