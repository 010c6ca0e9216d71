// 23  How many devices does a traffic forecast need, hour by hour?
#include "support.hpp"
#include "tokenroof/decide/fleet.hpp"

using namespace tokenroof;
using namespace example;

int main(int argc, char** argv) {
  return run(argc, argv, [](const Spec& spec, Report& report) {
    const auto rates = spec.list<RequestsPerSecond>("rate_by_hour");
    const RequestsPerSecond peak = *std::max_element(rates.begin(), rates.end());
    FleetRequest wanted;
    wanted.scenario = spec.scenario();
    std::get<OpenLoop>(wanted.scenario.workload.traffic).arrival_rate = peak;
    Accelerator device = wanted.scenario.accelerator;
    device.price = wanted.scenario.price.accelerator;
    wanted.candidates = {{device, wanted.scenario.precision, "as stated"}};
    wanted.most_devices = 8;
    wanted.headroom = spec.one("headroom");
    wanted.spare_replicas = static_cast<int>(spec.one("spare_replicas"));
    const FleetPlan plan = plan_fleet(wanted);
    if (!plan.verdict.ok()) return report.say("{}: {}", plan.verdict.reason, plan.verdict.remedy);
    const PlannedDeployment& best = plan.deployments.front();
    const int each = best.deployment.devices_per_replica();

    Rows rows;
    double device_hours = 0, requests = 0;
    int least = best.devices;
    for (std::size_t hour = 0; hour < rates.size(); ++hour) {
      std::get<OpenLoop>(wanted.scenario.workload.traffic).arrival_rate = rates[hour];
      const int replicas = replicas_for(wanted, best.replica_rate.base());
      const int devices = paid_devices(wanted, each, replicas);
      device_hours += devices;
      requests += rates[hour].base() * 3600;
      least = std::min(least, devices);
      rows.push_back({static_cast<int>(hour), rates[hour], replicas, devices,
                      rates[hour] / (best.replica_rate * replicas),
                      *device.price * devices / (dollar / tokenroof::hour)});
    }
    report.say(
        "{} on {}: the cheapest layout for the peak of {} is tensor parallel {}, whose replica "
        "takes {} within the objective. With headroom {} and {} spare:",
        wanted.scenario.model.id, device.name, peak, best.deployment.tensor_parallel,
        best.replica_rate, percent(wanted.headroom), wanted.spare_replicas);
    report.table({"hour", "rate_req_per_s", "replicas", "devices", "load", "usd_per_hour"}, rows);

    const double hours = static_cast<double>(rates.size()), mean = device_hours / hours;
    const double price = *device.price / (dollar / tokenroof::hour);
    const double discount = spec.one("reserved_price_share");
    const double fixed = best.devices * hours * price, scaled = device_hours * price;
    const double mixed = least * hours * price * discount + (device_hours - least * hours) * price;
    report.say(
        "Peak {} devices, mean {}, floor {}: below the floor no hour falls, so it is what to "
        "reserve. Of a fleet for the peak, {} is needed in the mean.",
        best.devices, mean, least, percent(mean / best.devices));
    report.text_table({"way to pay", "usd per day", "usd per 1000 requests"},
                      {{"peak, all day", fixed, fixed / requests * 1000},
                       {"autoscaled by the hour", scaled, scaled / requests * 1000},
                       {"floor reserved, rest by the hour", mixed, mixed / requests * 1000},
                       {"peak reserved", fixed * discount, fixed * discount / requests * 1000}});
    report.say("Reserved devices cost {} of the hourly price, used or not.", percent(discount));
  });
}
