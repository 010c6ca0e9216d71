// A bill by token class and by traffic class: what each of several kinds of requests pays, so that
// the parts add up to what is paid for the devices; energy likewise.
//
//   request     prefill + fetch + output x step / batch seconds of a replica (economics.hpp)
//   paid time   busy time / utilisation: idle time is paid by all in proportion to their busy time
//   class       requests/s x seconds x devices x price / utilisation
//
// Utilisation of paid time is not model FLOP utilisation and not bandwidth utilisation. A price
// that is not known leaves every dollar of the bill empty, never 0.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenroof/decide/answer.hpp"
#include "tokenroof/decide/economics.hpp"
#include "tokenroof/decide/ownership.hpp"
#include "tokenroof/decide/replica.hpp"

namespace tokenroof {

/// One kind of requests in the mix of a deployment.
struct TrafficClass {
  std::string name;
  RequestsPerSecond rate;    ///< >= 0
  TokensPerRequest input;    ///< computed in prefill, >= 0
  TokensPerRequest cached;   ///< found in the prefix cache, >= 0
  TokensPerRequest output;   ///< generated, >= 0; 0: prefill only
  ByClass<Seconds> replica;  ///< replica seconds of one request, see request_time
};

/// How devices come to be paid for.
enum class PaidAs { on_demand, reserved, owned };
[[nodiscard]] constexpr const char* to_string(PaidAs paid) {
  return paid == PaidAs::on_demand ? "on-demand" : paid == PaidAs::reserved ? "reserved" : "owned";
}

/// Prices of one device per paid second, as far as they are known.
struct DevicePrices {
  std::optional<DollarsPerSecond> on_demand;
  std::optional<DollarsPerSecond> reserved;  ///< per second of the term, used or not
  std::optional<Ownership> owned;

  [[nodiscard]] std::optional<DollarsPerSecond> of(PaidAs paid) const {
    if (paid == PaidAs::on_demand) return on_demand;
    if (paid == PaidAs::reserved) return reserved;
    if (owned) return ownership_price(*owned).total();
    return std::nullopt;
  }
};

/// What the devices of a deployment take.
struct PaidDevices {
  double per_replica = 1;                   ///< devices
  double utilization = 1;                   ///< busy share of paid time, in (0, 1]
  std::optional<DollarsPerSecond> price{};  ///< of one device
  std::optional<Watts> power{};             ///< of one device while paid for
  double facility_factor = 1;               ///< facility power over device power (PUE), >= 1
};

/// Dollars per token of a class; empty where there is no such token or no price.
struct TokenPrices {
  std::optional<DollarsPerToken> input;   ///< prefill cost over computed prompt tokens
  std::optional<DollarsPerToken> cached;  ///< fetch cost over cached prompt tokens
  std::optional<DollarsPerToken> output;  ///< decode cost over generated tokens
  std::optional<DollarsPerToken> total;   ///< all cost over all tokens, prompt and generated
  /// Price of an output token over that of an input token.
  [[nodiscard]] std::optional<double> output_over_input() const {
    if (!input || !output || !(*input > DollarsPerToken{})) return std::nullopt;
    return *output / *input;
  }
};

/// The line of one traffic class.
struct BillLine {
  std::string name;
  double share = 0;  ///< of the bill, and of the busy time
  std::optional<ByClass<Dollars>> request;
  std::optional<DollarsPerSecond> spend;
  std::optional<JoulesPerToken> energy;  ///< facility energy over generated tokens
  TokenPrices prices;
};

struct Bill {
  std::vector<BillLine> lines;  ///< in the order of the classes
  double busy_replicas = 0;     ///< busy replica seconds per second
  double paid_devices = 0;      ///< paid for: busy replicas x devices / utilisation
  std::optional<DollarsPerSecond> spend;
  std::optional<Watts> power;  ///< facility
  TokenPrices prices;          ///< of the mix
};

namespace detail {

/// Amounts per second of a class or of the mix.
struct TokenFlow {
  double input = 0, cached = 0, output = 0;
  ByClass<double> seconds;
  void add(const TrafficClass& c) {
    const double rate = c.rate.base();
    input += rate * c.input.base();
    cached += rate * c.cached.base();
    output += rate * c.output.base();
    seconds.input += rate * c.replica.input.base();
    seconds.cached += rate * c.replica.cached.base();
    seconds.output += rate * c.replica.output.base();
  }
  [[nodiscard]] TokenPrices prices(double paid) const {
    const auto each = [&](double busy, double tokens) -> std::optional<DollarsPerToken> {
      if (!(tokens > 0)) return std::nullopt;
      return DollarsPerToken::from_base(busy * paid / tokens);
    };
    return {each(seconds.input, input), each(seconds.cached, cached), each(seconds.output, output),
            each(seconds.total(), input + cached + output)};
  }
};

}  // namespace detail

/// The bill of `classes` on `devices`. Class costs times request rates add up to `spend`, which is
/// paid devices x price. Utilisation 0 has no finite bill: refuse it before. A class without
/// requests has no share; its prices are those of a request.
[[nodiscard]] inline Bill bill_of(std::span<const TrafficClass> classes,
                                  const PaidDevices& devices) {
  Bill bill;
  detail::TokenFlow mix;
  for (const TrafficClass& c : classes) mix.add(c);
  bill.busy_replicas = mix.seconds.total();
  bill.paid_devices = bill.busy_replicas * devices.per_replica / devices.utilization;
  if (devices.power) bill.power = *devices.power * (bill.paid_devices * devices.facility_factor);
  std::optional<DollarsPerSecond> busy_price;  // of a busy replica
  if (devices.price) {
    busy_price = *devices.price * (devices.per_replica / devices.utilization);
    bill.spend = *busy_price * bill.busy_replicas;
    bill.prices = mix.prices(busy_price->base());
  }
  for (const TrafficClass& c : classes) {
    BillLine line;
    line.name = c.name;
    const double busy = c.rate.base() * c.replica.total().base();
    line.share = bill.busy_replicas > 0 ? busy / bill.busy_replicas : 0;
    if (devices.power && c.output.base() > 0)
      line.energy = *devices.power *
                    (devices.per_replica * devices.facility_factor / devices.utilization) *
                    c.replica.total() / (c.output * request);
    if (busy_price) {
      line.request = {.input = c.replica.input * *busy_price,
                      .cached = c.replica.cached * *busy_price,
                      .output = c.replica.output * *busy_price};
      line.spend = *busy_price * busy;
      TrafficClass one = c;
      one.rate = 1 * request / second;
      detail::TokenFlow flow;
      flow.add(one);
      line.prices = flow.prices(busy_price->base());
    }
    bill.lines.push_back(std::move(line));
  }
  return bill;
}

/// Replica seconds of a request: a prompt of `computed` tokens after `cached` ones owns its share
/// of prefill, `output` tokens theirs of the decode step at its batch.
[[nodiscard]] inline ByClass<Seconds> replica_seconds(const Replica& replica, double computed,
                                                      double cached, double output,
                                                      const DecodeAnswer& decode) {
  return request_time(replica.prefill_share(computed, cached), Seconds{}, output * token,
                      Seconds(decode.step / replica.tokens_per_step),
                      std::max(1.0, decode.batch) * token);
}

/// The kinds of requests of `workload` on a replica whose decode step is `decode`, `rate` in all:
/// prompts take the time of their own length, output tokens their share of the step. A workload
/// without classes gives one, called "all".
[[nodiscard]] inline std::vector<TrafficClass> traffic_classes(const Replica& replica,
                                                               const Workload& workload,
                                                               const DecodeAnswer& decode,
                                                               RequestsPerSecond rate) {
  std::vector<WorkloadClass> kinds = workload.classes;
  const WorkloadLengths& mean = replica.lengths;
  if (kinds.empty())
    kinds.push_back({"all", 1, TokensPerRequest::from_base(mean.prompt),
                     TokensPerRequest::from_base(mean.output), mean.hit_share});
  std::vector<TrafficClass> classes;
  for (const WorkloadClass& kind : kinds) {
    const double prompt = kind.input.base();
    const double computed = std::max(1.0, prompt * (1 - kind.prefix_hit_rate));
    const double cached = std::max(0.0, prompt - computed);
    classes.push_back(
        {.name = kind.name,
         .rate = kind.share * rate,
         .input = TokensPerRequest::from_base(computed),
         .cached = TokensPerRequest::from_base(cached),
         .output = kind.output,
         .replica = replica_seconds(replica, computed, cached, kind.output.base(), decode)});
  }
  return classes;
}

/// A number of a bill with what it means, for tables and reports.
struct BillFigure {
  std::string_view name;
  std::string_view unit;
  std::string_view definition;
  std::optional<double> value;
};

/// The figures of a bill, each by its definition.
[[nodiscard]] inline std::array<BillFigure, 9> bill_figures(const Bill& bill,
                                                            const PaidDevices& devices) {
  const auto per_million = [](const std::optional<DollarsPerToken>& price) {
    return price ? std::optional<double>(*price / dollar_per_million_tokens) : std::nullopt;
  };
  std::optional<double> spend, power;
  if (bill.spend) spend = *bill.spend / dollar_per_hour;
  if (bill.power) power = bill.power->base();
  return {{
      {"input", "USD/Mtok", "prefill time x paid price, over prompt tokens that were computed",
       per_million(bill.prices.input)},
      {"cached", "USD/Mtok", "fetch time x paid price, over prompt tokens found in the cache",
       per_million(bill.prices.cached)},
      {"output", "USD/Mtok", "share of decode steps x paid price, over generated tokens",
       per_million(bill.prices.output)},
      {"total", "USD/Mtok", "the whole bill over all tokens, prompt and generated",
       per_million(bill.prices.total)},
      {"output_over_input", "", "price of a generated token over that of a computed prompt token",
       bill.prices.output_over_input()},
      {"utilization", "", "busy share of paid time; neither MFU nor MBU", devices.utilization},
      {"paid_devices", "", "busy devices over utilisation", bill.paid_devices},
      {"spend", "USD/h", "paid devices x price", spend},
      {"power", "W", "paid devices x power x facility factor", power},
  }};
}

/// Keeping a prefix in a store against computing it again, per token of the prefix.
struct StoreOrRecompute {
  DollarsPerToken recompute;
  DollarsPerToken store;  ///< for the time it is held
  Seconds break_even;     ///< longest hold that is no dearer than computing again
  [[nodiscard]] bool store_pays() const { return store < recompute; }
};

/// `prefill` = cost of a computed input token as billed; `kv` bytes of cache per token; `held`
/// between two uses; `storage` > 0 price of a byte for a second.
[[nodiscard]] inline StoreOrRecompute store_or_recompute(DollarsPerToken prefill, BytesPerToken kv,
                                                         Seconds held,
                                                         DollarsPerByteSecond storage) {
  return {prefill, storage_cost(kv, held, storage), break_even_hold(prefill, kv, storage)};
}

}  // namespace tokenroof
