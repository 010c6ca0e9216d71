#include "tokenroof/io/prices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "io/json_reader.hpp"

namespace tokenroof::io {
namespace {

constexpr const char* sample_entry = "sample_spec";  // its values are explanations, not prices

/// The four prices of an entry, or of a tier of it.
struct PriceKey {
  std::string_view name;
  std::optional<DollarsPerToken> ApiRates::*rate;
};
constexpr PriceKey price_keys[] = {
    {"input_cost_per_token", &ApiRates::input},
    {"output_cost_per_token", &ApiRates::output},
    {"cache_read_input_token_cost", &ApiRates::cache_read},
    {"cache_creation_input_token_cost", &ApiRates::cache_write},
};

/// N thousand tokens of a key's ending "_above_Nk_tokens"; none for other endings.
std::optional<double> tier_of(std::string_view ending) {
  constexpr std::string_view before = "_above_", after = "k_tokens";
  if (!ending.starts_with(before) || !ending.ends_with(after)) return std::nullopt;
  if (ending.size() <= before.size() + after.size()) return std::nullopt;
  const std::string_view digits =
      ending.substr(before.size(), ending.size() - before.size() - after.size());
  if (digits.size() > 6 || digits.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  return 1000.0 * std::stoi(std::string(digits));
}

std::optional<DollarsPerToken> read_rate(ObjectReader& entry, const std::string& key) {
  if (const auto number = entry.number(key, Range::non_negative()))
    return DollarsPerToken::from_base(*number);
  return std::nullopt;
}

/// Takes back what cannot be right.
void doubt(ApiRates& rates, const std::string& pointer, const std::string& tier,
           std::vector<std::string>& warnings) {
  const DollarsPerToken nothing{};
  if (rates.input && rates.output && *rates.input == nothing && *rates.output == nothing) {
    warnings.push_back(pointer + tier +
                       ": input and output cost 0: taken as not priced by the token, not as free");
    rates = {};
  }
  if (rates.cache_read && rates.input && *rates.cache_read > *rates.input) {
    warnings.push_back(fmt::format(
        "{}/cache_read_input_token_cost{}: {} is more than the input it saves, {}: unknown",
        pointer, tier, rates.cache_read->base(), rates.input->base()));
    rates.cache_read.reset();
  }
}

ApiPrice read_entry(const std::string& name, ObjectReader entry,
                    std::vector<std::string>& warnings) {
  ApiPrice price;
  price.model = name;
  price.provider = entry.text("litellm_provider").value_or("");
  price.mode = entry.text("mode").value_or("");
  price.source = entry.text("source").value_or("");
  price.as_of = entry.text("as_of").value_or("");
  price.unverified = entry.boolean("unverified").value_or(false);
  std::map<double, ApiRates> tiers;
  for (const std::string& key : entry.keys()) {
    for (const PriceKey& known : price_keys) {
      if (!key.starts_with(known.name)) continue;
      if (key.size() == known.name.size()) price.rates.*known.rate = read_rate(entry, key);
      if (const auto above = tier_of(std::string_view(key).substr(known.name.size())))
        tiers[*above].*known.rate = read_rate(entry, key);
    }
  }
  doubt(price.rates, entry.pointer(), "", warnings);
  for (auto& [above, rates] : tiers) {
    doubt(rates, entry.pointer(), fmt::format("_above_{:.0f}k_tokens", above / 1000), warnings);
    price.tiers.push_back({above * token, rates});
  }
  return price;
}

}  // namespace

const ApiPrice& PriceList::at(std::string_view model) const {
  const auto found = std::find_if(models.begin(), models.end(),
                                  [&](const ApiPrice& price) { return price.model == model; });
  if (found != models.end()) return *found;
  std::vector<std::string> names;
  for (const ApiPrice& price : models) names.push_back(price.model);
  std::string meant = did_you_mean(model, names);
  // "gpt-5" is near no listed name; what begins like it is still the place to look.
  constexpr std::size_t beginning = 3;
  if (meant.empty() && model.size() > beginning)
    meant = did_you_mean(model.substr(0, beginning), names);
  if (meant.empty()) meant = "; `tokenroof list prices` shows those that ship";
  throw SpecError(file, "/models", fmt::format("no price of \"{}\"{}", model, meant));
}

PriceList read_prices(std::string_view json_text, const std::string& file) {
  const Json json = parse_json(json_text, file);
  Faults faults(file);
  ObjectReader top(json, "", faults);
  PriceList list;
  list.file = file;
  std::string as_of, source;
  std::optional<ObjectReader> models;
  if (top.has("models") && top.has("currency")) {
    if (const std::string currency = top.required_text("currency"); currency != "USD")
      top.fault("currency", fmt::format("expected \"USD\", found \"{}\"", currency));
    as_of = top.required_text("as_of");
    source = top.required_text("source");
    top.ignore("$schema");
    top.ignore("comment");
    models = top.object("models");
    top.finish();
  } else {
    models = top;
  }
  for (const std::string& name : models ? models->keys() : std::vector<std::string>{}) {
    if (name == sample_entry) continue;
    const auto entry = models->object(name);
    if (!entry) continue;
    ApiPrice price = read_entry(name, *entry, list.warnings);
    if (price.as_of.empty()) price.as_of = as_of;
    if (price.source.empty()) price.source = source;
    list.models.push_back(std::move(price));
  }
  faults.throw_if_any();
  return list;
}

PriceList read_prices_file(const std::filesystem::path& path) {
  return read_prices(read_file(path), path.string());
}

PriceList shipped_prices(const Catalog& catalog) {
  const std::string path = "prices/api.json";
  const auto text = catalog.text(path);
  if (!text) throw SpecError(catalog.shown(path), "", "no such file");
  return read_prices(*text, catalog.shown(path));
}

}  // namespace tokenroof::io
