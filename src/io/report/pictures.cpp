// Which pictures a report shows, and how to read them.
#include <algorithm>

#include "io/page.hpp"
#include "io/report/parts.hpp"
#include "tokenroof/io/pictures.hpp"

namespace tokenroof::io::report {
namespace {

struct Shown {
  std::string_view name;  ///< of scenario_pictures()
  const char* reading;
  bool traffic = false;  ///< only for what has traffic
  bool no_room = false;  ///< also when it does not fit
};
constexpr Shown shown[] = {
    {"memory",
     "Where the memory of a device goes. What weights and reserves leave over is the pool for the "
     "KV cache, and the pool decides how many requests run at once.",
     false, true},
    {"load",
     "How long users wait as the load grows. Where the curves turn up the devices are nearly full; "
     "a plan stays to the left of that.",
     true},
    {"batch",
     "More requests in a batch give more tokens for the money, and each user gets them more "
     "slowly."},
    {"roofline",
     "Each mark is a kind of work. Under the slope, reading memory sets its speed; under the flat "
     "part, arithmetic does."},
    {"kv",
     "The KV cache grows with the context. Where it outweighs the weights, long contexts decide "
     "speed and cost."},
    {"cost", "What idle hours cost: the fewer of the paid hours are used, the dearer each token."},
};

}  // namespace

ReportSection pictures_section(const Subject& subject) {
  const Answer& answer = subject.answer;
  const Scenario& scenario = subject.scenario();
  const bool traffic = !std::holds_alternative<SingleStep>(scenario.workload.traffic);
  const PriceList prices = shipped_prices(subject.catalog);
  ReportSection section{"pictures", "Pictures", {}};
  for (const Shown& one : shown) {
    if ((one.traffic && !traffic) || (!runs(answer.verdict) && !one.no_room)) continue;
    for (const ScenarioPicture& picture : scenario_pictures()) {
      if (picture.name != one.name) continue;
      Picture drawn = picture.draw(
          scenario, {answer.fidelity, subject.kernels.constants, subject.settings.version},
          find_price(prices, scenario.model.id));
      if (drawn)
        section.blocks.emplace_back(
            ReportFigure{std::string(one.name), std::move(*drawn.chart), one.reading});
      else
        section.blocks.emplace_back(
            sentence("No picture of " + std::string(picture.meaning) + ": " + drawn.reason));
    }
  }
  if (section.blocks.empty())
    section.blocks.emplace_back("There is nothing to draw: " + sentence(answer.verdict.reason));
  return section;
}

}  // namespace tokenroof::io::report
