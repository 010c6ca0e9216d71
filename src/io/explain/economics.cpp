// What tokens cost.
#include <fmt/format.h>

#include "explainer.hpp"

namespace tokenroof::io {

bool explain_economics(Explainer& to, std::string_view metric) {
  if (!metric.starts_with("economics.")) return false;
  const EconomicsAnswer& cost = to.answer.economics;
  const DecodeAnswer& decode = *to.answer.decode;
  const WorkloadLengths& lengths = to.replica.lengths;
  const double price =
      to.scenario.price.accelerator ? *to.scenario.price.accelerator / (dollar / hour) : 0;
  const int devices = to.scenario.deployment.devices_per_replica();
  const auto million = [](const std::optional<DollarsPerToken>& c) { return c->base() * 1e6; };
  const auto paid = [&] {
    to.price();
    to.step(fmt::format("p n / u = {} x {} / {}: a replica's busy hour", amount(price, "USD/h"),
                        devices, amount(to.scenario.price.utilization, "1")),
            price * devices / to.scenario.price.utilization, "USD/h");
    if (cost.paid_over_busy != 1) {
      to.input("f", "replica time paid for over the time that requests keep busy",
               cost.paid_over_busy, "1", "replicas / (requests/s x replica time of a request)");
      to.step(fmt::format("f x that: idle replicas are paid for too, f = {}",
                          amount(cost.paid_over_busy, "1")),
              cost.paid_over_busy * price * devices / to.scenario.price.utilization, "USD/h");
    }
  };
  if (metric == "economics.usd_per_mtok_input") {
    const Seconds time = to.answer.prefill->time;
    to.input("T_p", "prefill time", time.base(), "s", "explain prefill.time_s");
    to.input("N", "prompt tokens computed", lengths.computed(), "token",
             to.stated("/workload/input_tokens"));
    paid();
    to.step(fmt::format("T_p / N = {} / {}: replica time of a token", amount(time.base(), "s"),
                        amount(lengths.computed(), "1")),
            time.base() / lengths.computed(), "s");
    to.step("replica time x price of the hour, per million", million(cost.input), "USD/Mtok");
  } else if (metric == "economics.usd_per_mtok_output") {
    const double tokens = to.replica.tokens_per_step;
    to.input("T", "decode step", decode.step.base(), "s", "explain decode.step_s");
    to.batch();
    paid();
    to.step(fmt::format("T / (g B) = {} / ({} x {}): replica time of a token",
                        amount(decode.step.base(), "s"), amount(tokens, "1"),
                        amount(decode.batch, "1")),
            decode.step.base() / (tokens * decode.batch), "s");
    to.step("replica time x price of the hour, per million", million(cost.output), "USD/Mtok");
  } else if (metric == "economics.usd_per_mtok_cached") {
    paid();
    to.step("a hit costs no replica time here", million(cost.cached), "USD/Mtok");
  } else if (metric == "economics.usd_per_mtok_total") {
    to.input("c_in", "cost of computed prompt tokens", million(cost.input), "USD/Mtok",
             "explain economics.usd_per_mtok_input");
    to.input("c_out", "cost of output tokens", million(cost.output), "USD/Mtok",
             "explain economics.usd_per_mtok_output");
    const double all = lengths.prompt + lengths.output;
    to.input("P", "prompt", lengths.prompt, "token", to.stated("/workload/input_tokens"));
    to.input("O", "output", lengths.output, "token", to.stated("/workload/output_tokens"));
    to.part("input: c_in x computed / (P + O)", million(cost.input) * lengths.computed() / all,
            "USD/Mtok");
    to.part("output: c_out x O / (P + O)", million(cost.output) * lengths.output / all, "USD/Mtok");
    to.step("sum", million(cost.total), "USD/Mtok");
  } else {
    const double hourly = price > 0 ? *cost.deployment_price / (dollar / hour) : 0;
    const double power = to.scenario.accelerator.power ? to.scenario.accelerator.power->base() : 0;
    if (metric == "economics.usd_per_hour") {
      to.input("p", "price of a device", price, "USD/h", to.stated("/price/accelerator_hour"));
      to.step(
          fmt::format("p x devices = {} x {}", amount(price, "USD/h"), amount(hourly / price, "1")),
          hourly, "USD/h");
    } else {
      to.input("E", "board power of a device", power, "W", to.device("power"));
      const auto& served = to.answer.serving.request_rate;
      const double rate = served ? served->base() * lengths.output : decode.total.base();
      to.input("X", "output tokens served", rate, "token/s",
               served ? "requests/s x output" : "explain decode.tokens_per_s_total");
      to.step("power of all devices", cost.output_energy->base() * rate, "W");
      to.step("power / X", cost.output_energy->base(), "J/token");
    }
  }
  return true;
}

}  // namespace tokenroof::io
