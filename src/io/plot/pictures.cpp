#include "tokenroof/io/pictures.hpp"

#include <algorithm>

namespace tokenroof::io {

std::span<const ScenarioPicture> scenario_pictures() {
  using S = const Scenario&;
  using P = const PictureSettings&;
  static constexpr ScenarioPicture all[] = {
      {"roofline", "operators of decode and prefill under the roofs of the device",
       [](S s, P p, const ApiPrice*) { return roofline_picture(s, p); }},
      {"batch", "throughput and time per token against the batch",
       [](S s, P p, const ApiPrice*) { return batch_picture(s, p); }},
      {"memory", "where the memory of a device goes",
       [](S s, P p, const ApiPrice*) { return memory_picture(s, p); }},
      {"kv", "KV cache against context",
       [](S s, P p, const ApiPrice*) { return kv_picture(s, p); }},
      {"speed-cost", "cost of output against the speed of a user",
       [](S s, P p, const ApiPrice*) { return speed_cost_picture(s, p); }},
      {"cost", "cost of a million tokens against utilisation, and an API's price",
       [](S s, P p, const ApiPrice* a) { return cost_picture(s, p, a); }},
      {"load", "latencies against the arrival rate or concurrency",
       [](S s, P p, const ApiPrice*) { return load_picture(s, p); }},
  };
  return all;
}

const ApiPrice* find_price(const PriceList& prices, std::string_view model) {
  const auto found = std::find_if(prices.models.begin(), prices.models.end(),
                                  [&](const ApiPrice& price) { return price.model == model; });
  return found == prices.models.end() ? nullptr : &*found;
}

}  // namespace tokenroof::io
