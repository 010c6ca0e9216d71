#include "tokenroof/io/accelerator_io.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "accelerator_reader.hpp"

namespace tokenroof::io {
namespace {

// "2026-08-22". Prices move: one without a date says nothing.
bool is_date(std::string_view text) {
  constexpr std::string_view form = "dddd-dd-dd";
  if (text.size() != form.size()) return false;
  for (std::size_t i = 0; i < form.size(); ++i)
    if (form[i] == 'd' ? !std::isdigit(static_cast<unsigned char>(text[i])) : text[i] != '-')
      return false;
  const int month = std::stoi(std::string(text.substr(5, 2)));
  const int day_of_month = std::stoi(std::string(text.substr(8, 2)));
  return month >= 1 && month <= 12 && day_of_month >= 1 && day_of_month <= 31;
}

std::string read_date(ObjectReader& reader, Sources sources) {
  std::string date = sources == Sources::required ? reader.required_text("as_of")
                                                  : reader.text("as_of").value_or("");
  if (!date.empty() && !is_date(date))
    reader.fault("as_of", "expected a date such as \"2026-08-22\", found \"" + date + "\"");
  return date;
}

void read_peaks(ObjectReader& reader, Accelerator& device) {
  if (reader.required("dense_peak") == nullptr) return;
  ObjectReader peaks = *reader.object("dense_peak");
  bool any = false;
  for (std::size_t i = 0; i < data_type_count; ++i) {
    if (const auto peak = peaks.quantity<FlopsPerSecond>(data_type_names[i])) {
      device.dense_peak[i] = *peak;
      any = true;
    }
  }
  peaks.finish();
  if (!any)
    reader.fault("dense_peak", "needs at least one peak, such as {\"bf16\": \"989.4 TFLOP/s\"}");
}

Link read_link(ObjectReader reader) {
  Link link;
  link.kind = reader.text("link").value_or("");
  link.bandwidth = reader.required_quantity<BytesPerSecond>("bandwidth_per_direction");
  link.latency = reader.quantity<Seconds>("latency", Sign::non_negative);
  link.domain_size = static_cast<int>(
      reader.integer("domain_size", Range::between(1, 1e6)).value_or(link.domain_size));
  link.switched = reader.boolean("switched").value_or(false);
  reader.finish();
  return link;
}

void read_money(ObjectReader& reader, Sources sources, Accelerator& device) {
  if (auto price = reader.object("price")) {
    device.price = price->required_quantity<Dollars>("hour") / hour;
    device.price_as_of = read_date(*price, sources);
    price->finish();
  }
  if (auto capex = reader.object("capex")) {
    device.capex = capex->required_quantity<Dollars>("amount");
    read_date(*capex, sources);
    capex->finish();
  }
}

constexpr std::array<std::string_view, 12> numeric_keys = {
    "dense_peak",      "memory_bandwidth", "memory_nominal", "memory_visible", "l2_cache",
    "multiprocessors", "scale_up",         "scale_out",      "power",          "price",
    "capex",           "launch_year"};

// "dense_peak.fp8" speaks of a part of "dense_peak".
std::string_view first_part(std::string_view key) { return key.substr(0, key.find('.')); }

void check_named(const ObjectReader& reader, std::string_view list, const std::string& key) {
  const std::string_view part = first_part(key);
  const bool known =
      std::find(numeric_keys.begin(), numeric_keys.end(), part) != numeric_keys.end();
  if (!known)
    reader.fault(
        list, "names \"" + key + "\", which is no numeric key" + did_you_mean(part, numeric_keys));
  else if (!reader.has(part))
    reader.fault(list, "names \"" + key + "\", which the file does not have");
}

void read_sources(ObjectReader& reader, Sources rule, AcceleratorEntry& entry) {
  if (auto sources = reader.object("sources"))
    for (const std::string& key : sources->keys()) entry.sources[key] = sources->required_text(key);
  entry.unverified = reader.texts("unverified").value_or(std::vector<std::string>{});
  if (rule == Sources::optional) return;
  for (const auto& [key, source] : entry.sources) check_named(reader, "sources", key);
  for (const std::string& key : entry.unverified) check_named(reader, "unverified", key);
  for (const std::string_view key : numeric_keys) {
    const auto source = entry.sources.find(std::string(key));
    if (reader.has(key) && (source == entry.sources.end() || source->second.empty()))
      reader.fault(key, "has no entry in \"sources\"");
  }
}

}  // namespace

AcceleratorEntry read_accelerator(ObjectReader reader, Sources sources) {
  AcceleratorEntry entry;
  Accelerator& device = entry.accelerator;
  reader.ignore("$schema");
  device.id = sources == Sources::required ? reader.required_text("id")
                                           : reader.text("id").value_or("custom");
  device.name = reader.text("name").value_or(device.id);
  device.vendor = reader.text("vendor").value_or("");
  device.architecture = reader.text("architecture").value_or("");
  entry.aliases = reader.texts("aliases").value_or(std::vector<std::string>{});
  read_peaks(reader, device);
  device.memory_bandwidth = reader.required_quantity<BytesPerSecond>("memory_bandwidth");
  device.memory_nominal = reader.required_quantity<Bytes>("memory_nominal");
  device.memory_visible = reader.quantity<Bytes>("memory_visible").value_or(device.memory_nominal);
  // "80 GB" on the box may be 80 GiB in the chip, 7.4 % more. Anything beyond is a slip.
  if (device.memory_visible > device.memory_nominal * 1.08)
    reader.fault("memory_visible", "exceeds memory_nominal by more than GiB over GB");
  device.l2_cache = reader.quantity<Bytes>("l2_cache", Sign::non_negative).value_or(Bytes{});
  device.multiprocessors =
      static_cast<int>(reader.integer("multiprocessors", Range::between(0, 1e6)).value_or(0));
  if (auto link = reader.object("scale_up")) device.scale_up = read_link(*link);
  if (auto link = reader.object("scale_out")) device.scale_out = read_link(*link);
  device.power = reader.quantity<Watts>("power");
  read_money(reader, sources, device);
  entry.launch_year =
      static_cast<int>(reader.integer("launch_year", Range::between(2000, 2100)).value_or(0));
  read_sources(reader, sources, entry);
  reader.finish();
  return entry;
}

AcceleratorEntry read_accelerator(std::string_view json_text, const std::string& file,
                                  Sources sources) {
  const Json json = parse_json(json_text, file);
  Faults faults(file);
  AcceleratorEntry entry = read_accelerator(ObjectReader(json, "", faults), sources);
  faults.throw_if_any();
  return entry;
}

}  // namespace tokenroof::io
