// 25  From which volume on is it cheaper to host a model than to buy its tokens?
#include "support.hpp"
#include "tokenroof/decide/billing.hpp"
#include "tokenroof/decide/break_even.hpp"
#include "tokenroof/decide/replica.hpp"
#include "tokenroof/io/prices.hpp"
#include "tokenroof/physics/optimal_batch.hpp"

using namespace tokenroof;
using namespace example;

int main(int argc, char** argv) {
  return run(argc, argv, [](const Spec& spec, Report& report) {
    const Scenario scenario = spec.scenario();
    const Replica replica = reduce(scenario, Fidelity::calibrated);
    const Seconds limit = scenario.objective.tpot_mean.value();
    const auto batch = static_cast<double>(largest_where(
        static_cast<std::int64_t>(replica.admission),
        [&](std::int64_t n) { return replica.token_time(static_cast<double>(n)) <= limit; }));
    const Seconds step = replica.token_time(batch);
    const io::PriceList list = io::shipped_prices(io::Catalog::open());
    const ApiPrice& api = list.at(spec.text("api_model"));

    std::vector<TrafficClass> classes;
    double rate = 0, spend = 0;  // requests/s and API dollars/s of the mix
    for (std::size_t i = 0; i < spec.texts("classes").size(); ++i) {
      const auto input = spec.list<Tokens>("inputs").at(i);
      const auto output = spec.list<Tokens>("outputs").at(i);
      const double share = spec.list<double>("shares").at(i);
      const Seconds prefill = replica.prompt_time(input / token, 0, batch);
      classes.push_back({spec.texts("classes")[i],
                         share * request / second,
                         input / request,
                         {},
                         output / request,
                         request_time(prefill, Seconds{}, output, step, batch * token)});
      const auto cost = api_cost(api, {input, {}, output, {}});
      if (!cost) return report.say("The list has no price for these tokens of {}.", api.model);
      rate += share;
      spend += share * cost->base();
    }
    const double each = scenario.deployment.devices_per_replica();
    const PaidDevices devices{.per_replica = each,
                              .utilization = scenario.price.utilization,
                              .price = scenario.price.accelerator};
    const Bill bill = bill_of(classes, devices);
    report.say("{} with {} users at once, a step of {}; the bill of the mix, by definition:",
               scenario.model.id, batch, step);
    Rows figures, lines;
    for (const BillFigure& f : bill_figures(bill, devices))
      if (f.value) figures.push_back({f.name, f.unit, *f.value, f.definition});
    report.text_table({"figure", "unit", "value", "definition"}, figures);
    for (const BillLine& line : bill.lines)
      lines.push_back({line.name, line.share, *line.prices.input / dollar_per_million_tokens,
                       *line.prices.output / dollar_per_million_tokens});
    report.text_table({"class", "share_of_bill", "input_usd_per_mtok", "output_usd_per_mtok"},
                      lines);

    const double node = scenario.deployment.devices_per_node;
    const SelfHosting choice{
        *devices.price * node,
        node / each * devices.utilization * rate / bill.busy_replicas * request / second,
        static_cast<int>(spec.one("least_nodes")), spend / rate * dollar};
    Rows rows;
    for (const auto volume : spec.list<RequestsPerSecond>("volumes"))
      rows.push_back({volume, nodes_for(choice, volume),
                      hosting_cost(choice, volume) * day / dollar,
                      api_spend(choice, volume) * day / dollar,
                      hosting_cost(choice, volume) <= api_spend(choice, volume) ? "own" : "API"});
    report.say("Whole nodes of {} for {} each, against {} at {} ({}; {}{}):", node,
               choice.node_rate, api.model, api.provider, api.as_of, api.source,
               api.unverified ? "; unverified" : "");
    report.table({"req_per_s", "nodes", "own_usd_per_day", "api_usd_per_day", "cheaper"}, rows);
    const auto even = break_even(choice);
    if (!even) return report.say("A full node costs more than the API for all it serves.");
    report.say("Break even at {}, {} of what those nodes serve; at no volume below.", even->first,
               percent(even->utilization));
    if (even->always) report.say("From {} on no step of the staircase is dearer.", *even->always);
  });
}
