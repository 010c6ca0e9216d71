// Where the numbers of a report are from: device, model, engine, kernels.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "io/page.hpp"
#include "io/report/parts.hpp"
#include "io/scenario_parts.hpp"
#include "tokenroof/io/units_text.hpp"

namespace tokenroof::io::report {
namespace {

std::string link_text(const Link& link) {
  std::string text = link.kind.empty() ? "" : link.kind + ", ";
  text += to_text(link.bandwidth) + " in one direction";
  if (link.domain_size > 1) text += fmt::format(", {} devices", link.domain_size);
  return text;
}

/// The figure that a key of an accelerator file stands for; empty for those no answer rests on.
std::string figure_text(const Accelerator& device, std::string_view key) {
  if (key == "dense_peak") {
    std::string text;
    for (std::size_t i = 0; i < data_type_count; ++i)
      if (const auto type = static_cast<DataType>(i); device.peak(type) > FlopsPerSecond{})
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", to_string(type),
                            to_text(device.peak(type), 5));
    return text;
  }
  if (key == "memory_bandwidth") return to_text(device.memory_bandwidth);
  if (key == "memory_nominal") return to_text_decimal(device.memory_nominal);
  if (key == "memory_visible") return to_text(device.memory_visible);
  if (key == "l2_cache") return to_text_decimal(device.l2_cache);
  if (key == "multiprocessors") return std::to_string(device.multiprocessors);
  if (key == "scale_up") return link_text(device.scale_up);
  if (key == "scale_out" && device.scale_out) return link_text(*device.scale_out);
  if (key == "power" && device.power) return to_text(*device.power);
  if (key == "price" && device.price)
    return to_text(*device.price) +
           (device.price_as_of.empty() ? "" : " as of " + device.price_as_of);
  return {};
}

bool uses_list_price(const ScenarioEntry& entry) {
  return std::any_of(
      entry.defaults_used.begin(), entry.defaults_used.end(),
      [](const DefaultUsed& used) { return used.pointer == "/price/accelerator_hour"; });
}

/// The figure of `key` if the answer rests on it, else empty.
std::string used_figure(const ScenarioEntry& entry, std::string_view key) {
  if (key == "price" && !uses_list_price(entry)) return {};
  return figure_text(entry.scenario.accelerator, key);
}

/// "memory_nominal" -> "Memory nominal" and the like, in words where the key has none.
std::string key_words(std::string_view key) {
  constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"dense_peak", "Arithmetic peak, dense"},
      {"memory_nominal", "Memory as sold"},
      {"memory_visible", "Memory the driver shows"},
      {"l2_cache", "L2 cache"},
      {"scale_up", "Link inside a node"},
      {"scale_out", "Link between nodes"}};
  for (const auto& [known, text] : names)
    if (known == key) return std::string(text);
  return capitalised(words(key));
}

ReportTable device_table(const Subject& subject) {
  const ScenarioEntry& entry = subject.entry;
  const auto& unverified = entry.accelerator_unverified;
  ReportTable table{"Figures of " + entry.scenario.accelerator.name,
                    {{"Figure"}, {"Value"}, {"Source"}}};
  const auto add = [&](const std::string& key, const std::string& source) {
    const std::string value = used_figure(entry, key);
    if (value.empty()) return;
    const bool checked = std::find(unverified.begin(), unverified.end(), key) == unverified.end();
    table.rows.push_back(
        {{key_words(key)}, {value}, {checked ? source : "Not verified: " + source}});
  };
  for (const auto& [key, source] : entry.accelerator_sources) add(key, source);
  for (const char* key : {"dense_peak", "memory_bandwidth", "memory_nominal", "memory_visible"})
    if (!entry.accelerator_sources.contains(key)) add(key, "stated without a source");
  return table;
}

/// The name on `shelf` that the scenario gives for `part`; empty: a path, an object or nothing.
std::string catalogue_id(const Subject& subject, const char* part, Shelf shelf) {
  const auto found = subject.json.find(part);
  if (found == subject.json.end() || !found->is_string()) return {};
  const std::string name = found->get<std::string>();
  return looks_like_path(name) ? std::string()
                               : subject.catalog.find(shelf, name).value_or(std::string());
}

std::string model_text(const Subject& subject) {
  const std::string id = catalogue_id(subject, "model", Shelf::models);
  if (id.empty()) {
    const auto found = subject.json.find("model");
    return fmt::format("Model {}: {}.", subject.scenario().model.id,
                       found->is_string() ? "read from " + found->get<std::string>()
                                          : "described in the scenario itself");
  }
  const std::string path = Catalog::path(Shelf::models, id);
  std::string text = fmt::format("Model {}: {}", id, subject.catalog.shown(path));
  const Json json = parse_json(subject.catalog.text(path).value_or("{}"), path);
  const auto source = json.find("_source");
  if (source == json.end() || !source->is_object()) return text + ".";
  const auto said = [&](const char* key) { return source->value(key, std::string()); };
  if (const std::string hub = said("hf_id"); !hub.empty()) text += ", of " + hub;
  if (const std::string config = said("config"); !config.empty()) text += ", " + config;
  if (const std::string date = said("date"); !date.empty()) text += " (" + date + ")";
  return text + ".";
}

/// Constants with the same source and date, together.
ReportTable constants_table(const Subject& subject) {
  ReportTable table{
      "Where the constants of the engine are from",
      {{"Constants"}, {"Learned from"}, {"Date"}, {"Rows", true}, {"Median error", true}}};
  for (const ConstantNote& note : subject.entry.engine_constants) {
    const std::string source = note.source.empty() ? "scenario" : note.source;
    const std::string rows =
        note.rows ? count_text(static_cast<double>(*note.rows)) : std::string();
    const std::string error = note.fit_error ? percent_text(*note.fit_error) : std::string();
    const auto same = [&](const std::vector<ReportCell>& row) {
      return row[1].text == source && row[2].text == note.date && row[3].text == rows &&
             row[4].text == error;
    };
    const auto known = std::find_if(table.rows.begin(), table.rows.end(), same);
    if (known == table.rows.end())
      table.rows.push_back({{note.name}, {source}, {note.date}, {rows}, {error}});
    else
      known->front().text += ", " + note.name;
  }
  return table;
}

std::string kernels_text(const KernelEntry& kernels) {
  std::string last;
  double low = 1, high = 0;
  for (const ConstantNote& note : kernels.notes) {
    last = std::max(last, note.date);
    if (!note.fit_error) continue;
    low = std::min(low, *note.fit_error);
    high = std::max(high, *note.fit_error);
  }
  if (kernels.notes.empty()) return "Kernels and links: the constants that are built in.";
  std::string text = fmt::format(
      "Kernels and links: {} constants in data/kernels.json, learned from kernel timings, last on "
      "{}",
      kernels.notes.size(), last);
  if (high > 0)
    text += fmt::format("; median errors over those timings from {} to {}", percent_text(low),
                        percent_text(high));
  return text + ".";
}

}  // namespace

std::vector<std::string> unverified_figures(const Subject& subject) {
  std::vector<std::string> all;
  for (const std::string& key : subject.entry.accelerator_unverified)
    if (!used_figure(subject.entry, key).empty()) all.push_back(key_words(key));
  return all;
}

ReportSection sources_section(const Subject& subject) {
  ReportSection section{"sources", "Sources", {}};
  const auto add = [&](ReportTable table) {
    if (!table.rows.empty()) section.blocks.emplace_back(std::move(table));
  };
  add(device_table(subject));
  section.blocks.emplace_back(model_text(subject));
  if (subject.answer.fidelity == Fidelity::calibrated) {
    add(constants_table(subject));
    section.blocks.emplace_back(kernels_text(subject.kernels));
  }
  return section;
}

}  // namespace tokenroof::io::report
