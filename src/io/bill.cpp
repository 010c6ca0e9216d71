#include "tokenroof/io/bill.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/json_out.hpp"
#include "io/page.hpp"
#include "tokenroof/decide/estimate.hpp"
#include "tokenroof/io/table.hpp"
#include "tokenroof/io/units_text.hpp"

namespace tokenroof::io {
namespace {

std::optional<double> per_million(const std::optional<DollarsPerToken>& price) {
  if (!price) return std::nullopt;
  return *price / dollar_per_million_tokens;
}

std::string cell(std::optional<double> value, const char* format = "{:.4g}") {
  return value ? fmt::format(fmt::runtime(format), *value) : "";
}

ApiComparison compare_with(const ApiPrice& price, const BillReport& report,
                           const Scenario& scenario) {
  if (!report.devices.price)
    throw SpecError("bill", "/price/accelerator_hour",
                    "is needed to compare with an API: this accelerator's price is unknown");
  ApiComparison result;
  result.price = price;
  for (const TrafficClass& c : report.classes) {
    const Tokens prompt = (c.input + c.cached) * request;
    // A list without a price for cached tokens charges them like any other.
    const bool discount = price.rates_at(prompt).cache_read.has_value();
    const ApiUse use{.prompt = prompt,
                     .cached = discount ? c.cached * request : Tokens{},
                     .output = c.output * request,
                     .written = {}};
    const auto cost = api_cost(price, use);
    if (!cost)
      throw SpecError("bill", "/" + price.model,
                      "the list has no price for a kind of token that \"" + c.name + "\" uses");
    result.requests.push_back(*cost);
    result.spend += c.rate * *cost / request;
  }
  RequestsPerSecond rate;
  for (const TrafficClass& c : report.classes) rate += c.rate;
  const double unit = std::max<double>(scenario.deployment.devices_per_node,
                                       scenario.deployment.devices_per_replica());
  result.choice = {*report.devices.price * unit,
                   report.most / report.bill.paid_devices * unit * scenario.price.utilization, 1,
                   result.spend / rate * request};
  result.even = break_even(result.choice);
  return result;
}

void api_text(const BillReport& report, Page& page) {
  const ApiComparison& api = *report.api;
  page.section("Against an API");
  page.line(fmt::format("{} at {} ({}{}): {} for this traffic; the devices cost {}.",
                        api.price.model, api.price.provider, api.price.as_of,
                        api.price.unverified ? "; unverified" : "", to_text(api.spend),
                        to_text(*report.bill.spend)));
  if (!api.even) {
    page.line("A full node costs more than the API for all it serves: hosting pays at no volume.");
    return;
  }
  page.line(fmt::format(
      "Hosting breaks even at {} ({} of what its whole nodes serve). {}", to_text(api.even->first),
      percent_text(api.even->utilization),
      api.even->always ? fmt::format("From {} on it is never dearer.", to_text(*api.even->always))
                       : std::string("Only full nodes pay.")));
  TextTable table({"requests/s", "nodes", "own USD/h", "API USD/h", "cheaper"});
  for (const double times : {0.25, 0.5, 1.0, 2.0, 4.0, 8.0}) {
    const RequestsPerSecond rate = times * api.even->first;
    const DollarsPerSecond own = hosting_cost(api.choice, rate),
                           bought = api_spend(api.choice, rate);
    table.row({cell(rate.base()), cell(nodes_for(api.choice, rate)), cell(own / dollar_per_hour),
               cell(bought / dollar_per_hour), own <= bought ? "own" : "API"});
  }
  page.table(table);
}

}  // namespace

BillReport bill_report(const ScenarioEntry& entry, Fidelity fidelity,
                       const KernelConstants& kernels, const ApiPrice* api) {
  const Scenario& scenario = entry.scenario;
  if (std::holds_alternative<SingleStep>(scenario.workload.traffic))
    throw SpecError("bill", "/workload", "expected an arrival_rate or a concurrency");
  const Answer answer = estimate(scenario, fidelity, kernels);
  if (!answer.serving.request_rate || !answer.decode)
    throw SpecError("bill", "/workload", "nothing to pay for: " + answer.verdict.reason);
  BillReport report;
  // The stated traffic holds while paid time is in use; a bill is of all paid time.
  const double used = scenario.price.utilization;
  report.classes = traffic_classes(reduce(scenario, fidelity, kernels), scenario.workload,
                                   *answer.decode, used * *answer.serving.request_rate);
  const auto& most =
      answer.serving.objective_rate ? answer.serving.objective_rate : answer.serving.limit_rate;
  report.most = most.value_or(*answer.serving.request_rate);
  double busy = 0;
  for (const TrafficClass& c : report.classes) busy += c.rate.base() * c.replica.total().base();
  const double each = scenario.deployment.devices_per_replica();
  double replicas = scenario.deployment.replicas;
  if (scenario.disaggregation)
    replicas = scenario.disaggregation->prefill_replicas + scenario.disaggregation->decode_replicas;
  // Idle replicas are paid for too, by all in proportion to their busy time.
  for (TrafficClass& c : report.classes)
    for (Seconds* time : {&c.replica.input, &c.replica.cached, &c.replica.output})
      *time = used * replicas / busy * *time;
  report.devices = {.per_replica = each, .utilization = used, .price = scenario.price.accelerator};
  if (scenario.accelerator.power) report.devices.power = used * *scenario.accelerator.power;
  report.bill = bill_of(report.classes, report.devices);
  if (api) report.api = compare_with(*api, report, scenario);
  return report;
}

std::string bill_text(const BillReport& report, const Scenario& scenario, Markup markup) {
  Page page(markup, colour_welcome(1));
  page.title(fmt::format("{} on {}", scenario.model.id, scenario.accelerator.id));
  TextTable figures({"figure", "value", "unit", "definition"});
  for (const BillFigure& f : bill_figures(report.bill, report.devices))
    figures.row({words(f.name),
                 f.value                ? cell(f.value)
                 : report.devices.price ? "-"
                                        : "unknown",
                 std::string(f.unit), std::string(f.definition)});
  page.table(figures);
  if (!report.devices.price)
    page.line("No price is known for this accelerator: give price.accelerator_hour.");
  page.section("By kind of request");
  TextTable table({"class", "requests/s", "share", "USD/request", "input USD/Mtok",
                   "output USD/Mtok", "total USD/Mtok", "J/token"});
  for (std::size_t i = 0; i < report.bill.lines.size(); ++i) {
    const BillLine& line = report.bill.lines[i];
    table.row({line.name, cell(report.classes[i].rate.base()), percent_text(line.share),
               line.request ? cell(line.request->total().base()) : "",
               cell(per_million(line.prices.input)), cell(per_million(line.prices.output)),
               cell(per_million(line.prices.total)), line.energy ? cell(line.energy->base()) : ""});
  }
  page.table(table);
  if (report.api) api_text(report, page);
  return page.text();
}

std::string bill_json(const BillReport& report, std::string_view version) {
  Json json = document("bill", version);
  for (const BillFigure& f : bill_figures(report.bill, report.devices))
    json["figures"][std::string(f.name)] = {
        {"value", number(f.value)}, {"unit", f.unit}, {"definition", f.definition}};
  if (!report.devices.price)
    json["reason"] = "no price for this accelerator: give price.accelerator_hour";
  const auto prices = [](const TokenPrices& p) {
    return Json{{"input", number(per_million(p.input))},
                {"cached", number(per_million(p.cached))},
                {"output", number(per_million(p.output))},
                {"total", number(per_million(p.total))}};
  };
  json["usd_per_mtok"] = prices(report.bill.prices);
  json["classes"] = Json::array();
  for (std::size_t i = 0; i < report.bill.lines.size(); ++i) {
    const BillLine& line = report.bill.lines[i];
    const auto usd = [&](const Dollars ByClass<Dollars>::*part) {
      return number(line.request ? std::optional<double>((*line.request.*part).base())
                                 : std::nullopt);
    };
    json["classes"].push_back(
        {{"name", line.name},
         {"request_rate_per_s", report.classes[i].rate.base()},
         {"share", line.share},
         {"usd_per_request",
          {{"input", usd(&ByClass<Dollars>::input)},
           {"cached", usd(&ByClass<Dollars>::cached)},
           {"output", usd(&ByClass<Dollars>::output)}}},
         {"usd_per_mtok", prices(line.prices)},
         {"joule_per_output_token",
          number(line.energy ? std::optional<double>(line.energy->base()) : std::nullopt)}});
  }
  if (report.api) {
    const ApiComparison& api = *report.api;
    const auto rate = [](const std::optional<RequestsPerSecond>& r) {
      return number(r ? std::optional<double>(r->base()) : std::nullopt);
    };
    json["api"] = {{"model", api.price.model},
                   {"provider", api.price.provider},
                   {"as_of", api.price.as_of},
                   {"usd_per_hour", api.spend / dollar_per_hour},
                   {"node_usd_per_hour", api.choice.node / dollar_per_hour},
                   {"node_request_rate_per_s", api.choice.node_rate.base()},
                   {"break_even_request_rate_per_s",
                    rate(api.even ? std::optional(api.even->first) : std::nullopt)},
                   {"always_cheaper_from_request_rate_per_s",
                    rate(api.even ? api.even->always : std::nullopt)}};
    if (!api.even) json["api"]["reason"] = "a full node costs more than the API for all it serves";
  }
  return dump(json);
}

void write_bill_csv(const BillReport& report, std::ostream& out, CsvDialect dialect) {
  CsvWriter csv(out, dialect);
  csv.header({"schema_version", "class", "request_rate_per_s", "share", "usd_per_hour",
              "usd_per_mtok_input", "usd_per_mtok_cached", "usd_per_mtok_output",
              "usd_per_mtok_total", "joule_per_output_token", "api_usd_per_hour", "scope"});
  const auto row = [&](const char* scope, const std::string& name, double rate, double share,
                       const std::optional<DollarsPerSecond>& spend, const TokenPrices& prices,
                       std::optional<double> energy, std::optional<double> api) {
    csv.cell(1).cell(name).cell(rate).cell(share);
    csv.cell(spend ? std::optional<double>(*spend / dollar_per_hour) : std::nullopt);
    csv.cell(per_million(prices.input)).cell(per_million(prices.cached));
    csv.cell(per_million(prices.output)).cell(per_million(prices.total));
    csv.cell(energy).cell(api).cell(std::string_view(scope));
    csv.end_row();
  };
  double all = 0;
  for (std::size_t i = 0; i < report.bill.lines.size(); ++i) {
    const BillLine& line = report.bill.lines[i];
    const RequestsPerSecond rate = report.classes[i].rate;
    std::optional<double> api;
    if (report.api) api = rate * report.api->requests[i] / request / dollar_per_hour;
    row("class", line.name, rate.base(), line.share, line.spend, line.prices,
        line.energy ? std::optional<double>(line.energy->base()) : std::nullopt, api);
    all += rate.base();
  }
  row("total", "all", all, 1, report.bill.spend, report.bill.prices, std::nullopt,
      report.api ? std::optional<double>(report.api->spend / dollar_per_hour) : std::nullopt);
}

}  // namespace tokenroof::io
