// Sheet calc: how large a fleet is for a rate, and where hosting beats an API.
#include <fmt/format.h>

#include <cmath>

#include "tokenroof/decide/break_even.hpp"
#include "xlsx/sheets.hpp"

namespace tokenroof::io::xlsx {
namespace {

using Number = std::optional<double>;

/// `value`, or nothing where it has no meaning.
template <class Value>
Number when(bool condition, const Value& value) {
  return condition ? Number(value()) : std::nullopt;
}

std::string if_number(const std::string& condition, const std::string& then) {
  return "IF(ISNUMBER(" + condition + ")," + then + ",\"\")";
}

/// Requests per second that a replica can serve, and the whole fleet for a rate.
struct Fleet {
  Number replica_rate;
  Number replicas, nodes;
};

struct Sizes {
  double per_replica, per_node, replicas_per_node, nodes_per_replica;
};

Sizes sizes_of(const Deployment& d) {
  const double per_replica = d.devices_per_replica();
  const double per_node = d.devices_per_node;
  return {per_replica, per_node, std::max(1.0, std::floor(per_node / per_replica)),
          std::ceil(per_replica / per_node)};
}

Number target_rate(const Subject& subject) {
  if (const auto* open = std::get_if<OpenLoop>(&subject.scenario.workload.traffic))
    return open->arrival_rate.base();
  if (subject.traffic == Traffic::closed && subject.answer.serving.request_rate)
    return subject.answer.serving.request_rate->base();
  return std::nullopt;
}

Fleet fleet_of(const Subject& subject, const Point& point) {
  Fleet fleet;
  const ServingAnswer& serving = subject.answer.serving;
  if (subject.traffic == Traffic::single) fleet.replica_rate = 1 / point.request_seconds;
  if (point.loop) fleet.replica_rate = point.loop->rate.base();
  if (subject.traffic == Traffic::open) {
    const auto& most = serving.objective_rate ? serving.objective_rate : serving.limit_rate;
    if (most) fleet.replica_rate = most->base() / subject.replicas;
  }
  const Number rate = target_rate(subject);
  if (!rate || !subject.fits() || !fleet.replica_rate || *fleet.replica_rate <= 0) return fleet;
  const Sizes sizes = sizes_of(subject.scenario.deployment);
  fleet.replicas = std::ceil(std::max(0.0, *rate / *fleet.replica_rate - 1e-12));
  fleet.nodes = std::ceil(*fleet.replicas / sizes.replicas_per_node) * sizes.nodes_per_replica;
  return fleet;
}

/// Price of a request at the API.
Number api_request(const Subject& subject) {
  if (!subject.options.api) return std::nullopt;
  const WorkloadLengths& lengths = subject.lengths();
  const ApiUse use{lengths.prompt * token, lengths.cached() * token, lengths.output * token, {}};
  const std::optional<Dollars> cost = api_cost(*subject.options.api, use);
  return cost ? Number(cost->base()) : std::nullopt;
}

}  // namespace

void calc_fleet(Calc& calc, const Subject& subject) {
  const Fleet a = fleet_of(subject, subject.ideal);
  const Fleet b = fleet_of(subject, subject.shown);
  const Sizes sizes = sizes_of(subject.scenario.deployment);
  const double price = subject.priced() ? subject.scenario.price.accelerator->base() : 0;
  const double month = 3600.0 * 730;
  const Number rate = target_rate(subject);
  calc.section("Fleet for the requests to serve");
  const char* can_serve[] = {"1/request_seconds@",
                             "IF(ISNUMBER(request_rate@),request_rate@/replicas,\"\")",
                             ("IF(ISNUMBER(replica_objective_rate),replica_objective_rate,"
                              "IF(ISNUMBER(replica_limit_rate),replica_limit_rate,\"\"))")};
  const char* in_words[] = {"a full batch of such requests", "what the loop completes",
                            "within the objective, from the queue; in the exported fidelity"};
  const auto kind = static_cast<std::size_t>(subject.traffic);
  calc.both("requests/s that a replica serves", "request/s", "replica_rate", can_serve[kind],
            a.replica_rate, b.replica_rate, in_words[kind]);
  const char* why =
      "IF(fits<>1,\"does not fit\",IF(NOT(ISNUMBER(target_rate)),\"no rate: enter "
      "target_rate\",IF(N(replica_rate)>0,\"\",\"no rate meets the objective\")))";
  const std::string why_now = !subject.fits() ? "does not fit"
                              : !rate         ? "no rate: enter target_rate"
                              : b.replicas    ? ""
                                              : "no rate meets the objective";
  calc.both("whole replicas", "", "fleet_replicas",
            "IF(AND(fits=1,ISNUMBER(target_rate),N(replica_rate@)>0),ROUNDUP(MAX(0,target_rate/"
            "MAX(1E-300,N(replica_rate@))-1E-12),0),\"\")",
            a.replicas, b.replicas);
  calc.reason(why, why_now);
  calc.one("replicas on a node", "", "replicas_per_node",
           {"MAX(1,INT(devices_per_node/devices_per_replica))", sizes.replicas_per_node});
  calc.one("nodes of a replica", "", "nodes_per_replica",
           {"ROUNDUP(devices_per_replica/devices_per_node,0)", sizes.nodes_per_replica});
  calc.both("whole nodes", "", "fleet_nodes",
            if_number("fleet_replicas@",
                      "ROUNDUP(fleet_replicas@/replicas_per_node,0)*nodes_per_replica"),
            a.nodes, b.nodes);
  calc.reason(why, why_now);
  const auto monthly = [&](const Number& count, double devices) -> Number {
    return when(count && subject.priced(), [&] { return *count * devices * price * month; });
  };
  const char* fleet_why =
      "IF(fits<>1,\"does not fit\",IF(NOT(ISNUMBER(price_usd_per_hour)),\"no price: enter "
      "price_usd_per_hour\",IF(ISNUMBER(fleet_replicas),\"\",\"no fleet: see above\")))";
  const std::string fleet_now = !subject.fits()     ? "does not fit"
                                : !subject.priced() ? "no price: enter price_usd_per_hour"
                                : b.replicas        ? ""
                                                    : "no fleet: see above";
  calc.both("whole replicas, per month", "USD/month", "fleet_replicas_usd_per_month",
            "IF(AND(ISNUMBER(fleet_replicas@),ISNUMBER(price_usd_per_hour)),fleet_replicas@*"
            "devices_per_replica*price_usd_per_hour*hours_per_month,\"\")",
            monthly(a.replicas, sizes.per_replica), monthly(b.replicas, sizes.per_replica));
  calc.reason(fleet_why, fleet_now);
  calc.both("whole nodes, per month", "USD/month", "fleet_nodes_usd_per_month",
            "IF(AND(ISNUMBER(fleet_nodes@),ISNUMBER(price_usd_per_hour)),fleet_nodes@*"
            "devices_per_node*price_usd_per_hour*hours_per_month,\"\")",
            monthly(a.nodes, sizes.per_node), monthly(b.nodes, sizes.per_node));
  calc.reason(fleet_why, fleet_now);

  calc.section("Against an API");
  const Number api = api_request(subject);
  calc.one("price of a request at the API", "USD", "api_request_usd",
           {"IF(AND(ISNUMBER(api_input_usd_per_mtok),ISNUMBER(api_output_usd_per_mtok),"
            "OR(cached_tokens<=0,ISNUMBER(api_cached_usd_per_mtok))),(computed_tokens*"
            "api_input_usd_per_mtok+IF(cached_tokens>0,cached_tokens*api_cached_usd_per_mtok,0)+"
            "output_mean*api_output_usd_per_mtok)/10^6,\"\")",
            api});
  calc.reason("IF(ISNUMBER(api_request_usd),\"\",\"no API price: enter the api_... prices\")",
              api ? "" : "no API price: enter the api_... prices");
  calc.one("API, per month", "USD/month", "api_usd_per_month",
           {"IF(AND(ISNUMBER(api_request_usd),ISNUMBER(target_rate)),api_request_usd*target_rate*"
            "3600*hours_per_month,\"\")",
            when(api && rate, [&] { return *api * *rate * month; })});
  const auto first = [&](const Fleet& fleet) -> Number {
    if (!api || !subject.priced() || !fleet.replica_rate || *fleet.replica_rate <= 0)
      return std::nullopt;
    SelfHosting choice;
    choice.node = DollarsPerSecond::from_base(sizes.nodes_per_replica * sizes.per_node * price);
    choice.node_rate = *fleet.replica_rate * sizes.replicas_per_node * request / second;
    choice.api = Dollars::from_base(*api);
    const auto found = break_even(choice);
    return found ? Number(found->first.base()) : std::nullopt;
  };
  const std::string unit =
      "nodes_per_replica*devices_per_node*price_usd_per_hour/3600/"
      "api_request_usd";
  const Number from_ideal = first(a), from_shown = first(b);
  calc.both("smallest rate from which one node costs no more", "request/s", "break_even_rate",
            "IF(AND(ISNUMBER(api_request_usd),ISNUMBER(paid_usd_per_s)),IF(" + unit +
                "<=N(replica_rate@)*replicas_per_node," + unit + ",\"\"),\"\")",
            from_ideal, from_shown);
  const std::string never = "a full node costs more than the API for what it serves";
  calc.reason(
      "IF(ISNUMBER(break_even_rate),\"\",IF(ISNUMBER(api_request_usd),IF(ISNUMBER("
      "paid_usd_per_s),\"" +
          never + "\",\"no price or no fit\"),\"no API price\"))",
      from_shown         ? ""
      : !api             ? "no API price"
      : subject.priced() ? never
                         : "no price or no fit");
  const double tokens = subject.lengths().prompt + subject.lengths().output;
  const auto volume = [&](const Number& at) {
    return when(at.has_value(), [&] { return *at * month * tokens; });
  };
  calc.both("the same in tokens per month", "token/month", "break_even_tokens_per_month",
            if_number("break_even_rate@",
                      "break_even_rate@*3600*hours_per_month*(prompt_tokens+output_mean)"),
            volume(from_ideal), volume(from_shown));
}

}  // namespace tokenroof::io::xlsx
