// Sheet calc: what tokens cost.
#include <fmt/format.h>

#include "xlsx/sheets.hpp"

namespace tokenroof::io::xlsx {
namespace {

using Number = std::optional<double>;

Number million(const std::optional<DollarsPerToken>& price) {
  return price ? Number(price->base() * 1e6) : std::nullopt;
}

/// `value`, or nothing where it has no meaning.
template <class Value>
Number when(bool condition, const Value& value) {
  return condition ? Number(value()) : std::nullopt;
}

std::string if_number(const std::string& condition, const std::string& then) {
  return "IF(ISNUMBER(" + condition + ")," + then + ",\"\")";
}

constexpr const char* why_no_cost =
    "IF(fits<>1,\"does not fit: nobody pays for what cannot run\","
    "IF(ISNUMBER(price_usd_per_hour),\"\",\"no price: enter price_usd_per_hour\"))";

}  // namespace

void calc_money(Calc& calc, const Subject& subject) {
  const bool priced = subject.priced();
  const std::string reason = !subject.fits() ? "does not fit: nobody pays for what cannot run"
                             : priced        ? ""
                                             : "no price: enter price_usd_per_hour";
  const double price = priced ? subject.scenario.price.accelerator->base() : 0;
  const double per_replica = subject.scenario.deployment.devices_per_replica();
  const auto cost = [&](const char* label, const char* name, const std::string& formula,
                        std::optional<DollarsPerToken> EconomicsAnswer::*part) {
    calc.both(label, "USD/Mtok", name, if_number("paid_usd_per_s", formula),
              priced ? million(subject.ideal.economics.*part) : std::nullopt,
              priced ? million(subject.shown.economics.*part) : std::nullopt);
    calc.reason(why_no_cost, reason);
  };
  calc.section("Cost");
  calc.one(
      "price of a replica's busy second", "USD", "paid_usd_per_s",
      {"IF(AND(fits=1,ISNUMBER(price_usd_per_hour)),price_usd_per_hour/3600*"
       "devices_per_replica/utilization,\"\")",
       when(priced, [&] { return price * per_replica / subject.scenario.price.utilization; })});
  calc.reason(why_no_cost, reason);
  calc.both("replica seconds of a request", "s", "request_seconds",
            "prompt_share@+output_mean*token_time@/MAX(1,batch)", subject.ideal.request_seconds,
            subject.shown.request_seconds, "its prefill and its share of the decode steps");
  const bool single = subject.traffic == Traffic::single;
  const std::string served = subject.traffic == Traffic::closed ? "request_rate@"
                             : subject.answer.serving.limit_rate
                                 ? "MIN(arrival_rate,replica_limit_rate*replicas)"
                                 : "arrival_rate";
  calc.both("replica time paid for over time kept busy", "1", "paid_over_busy",
            single ? "1"
                   : "IF(AND(ISNUMBER(paid_usd_per_s),ISNUMBER(" +
                         std::string(subject.traffic == Traffic::closed ? "request_rate@"
                                                                        : "arrival_rate") +
                         ")),devices/devices_per_replica/((" + served + ")*request_seconds@),1)",
            subject.ideal.economics.paid_over_busy, subject.shown.economics.paid_over_busy,
            single ? "one step pays for its own time" : "idle replicas are paid for too");
  cost("prompt tokens computed, per million", "usd_per_mtok_input",
       "prompt_share@*paid_usd_per_s*paid_over_busy@/computed_tokens*10^6",
       &EconomicsAnswer::input);
  cost("output tokens, per million", "usd_per_mtok_output",
       "token_time@/MAX(1,batch)*paid_usd_per_s*paid_over_busy@*10^6", &EconomicsAnswer::output);
  cost("all tokens, per million", "usd_per_mtok_total",
       "request_seconds@*paid_usd_per_s*paid_over_busy@/(prompt_tokens+output_mean)*10^6",
       &EconomicsAnswer::total);
  const bool split = subject.scenario.disaggregation && subject.traffic != Traffic::single;
  calc.one(
      "accelerators", "", "devices",
      {split ? "(prefill_replicas+replicas)*devices_per_replica" : "replicas*devices_per_replica",
       subject.devices});
  calc.one("all accelerators, per hour", "USD/h", "deployment_usd_per_hour",
           {if_number("paid_usd_per_s", "price_usd_per_hour*devices"),
            when(priced, [&] { return price * 3600 * subject.devices; })});
  calc.reason(why_no_cost, reason);
  calc.one("all accelerators, per month", "USD/month", "deployment_usd_per_month",
           {if_number("paid_usd_per_s", "deployment_usd_per_hour*hours_per_month"),
            when(priced, [&] { return price * 3600 * subject.devices * 730; })});
  calc.reason(why_no_cost, reason);
  const auto energy = [&](const Point& point) -> Number {
    if (!subject.fits() || !point.economics.output_energy) return std::nullopt;
    return point.economics.output_energy->base();
  };
  calc.both("energy per output token", "J/token", "joules_per_output_token",
            "IF(AND(fits=1,ISNUMBER(power_w)),power_w*devices/(" +
                (single ? "tokens_per_s_total@" : "(" + served + ")*output_mean") + "),\"\")",
            energy(subject.ideal), energy(subject.shown),
            subject.scenario.accelerator.power ? "" : "the accelerator's power is not known");
}

}  // namespace tokenroof::io::xlsx
