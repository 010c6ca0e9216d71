// list accelerators|models|engines|prices|metrics: what ships, and what an answer holds.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "cli/output.hpp"
#include "cli/verb.hpp"
#include "io/json_out.hpp"
#include "io/page.hpp"
#include "tokenroof/analyze/metrics.hpp"
#include "tokenroof/decide/economics.hpp"
#include "tokenroof/io/prices.hpp"
#include "tokenroof/io/units_text.hpp"
#include "tokenroof/physics/kv_cache.hpp"
#include "tokenroof/physics/parameters.hpp"

namespace tokenroof::cli {
namespace {

using io::Json;

/// Columns and rows of a listing: numbers as numbers, null where unknown; texts show them to
/// people.
struct Listing {
  std::vector<std::string> columns;
  std::vector<Json> rows;
};

Json positive(double value) { return value > 0 ? io::number(value) : Json(nullptr); }

Listing accelerators(const io::Catalog& data) {
  Listing list{
      {"id", "name", "memory_visible_bytes", "memory_bandwidth_bytes_per_s", "bf16_flop_per_s",
       "fp8_flop_per_s", "scale_up_bytes_per_s", "domain_size", "power_w", "usd_per_hour"},
      {}};
  for (const std::string& id : data.names(io::Shelf::accelerators)) {
    const Accelerator a = data.accelerator(id).accelerator;
    list.rows.push_back(
        {{"id", id},
         {"name", a.name},
         {"memory_visible_bytes", positive(a.memory_visible.base())},
         {"memory_bandwidth_bytes_per_s", positive(a.memory_bandwidth.base())},
         {"bf16_flop_per_s", positive(a.peak(DataType::bf16).base())},
         {"fp8_flop_per_s", positive(a.peak(DataType::fp8).base())},
         {"scale_up_bytes_per_s", positive(a.scale_up.bandwidth.base())},
         {"domain_size", a.scale_up.domain_size},
         {"power_w", a.power ? io::number(a.power->base()) : Json(nullptr)},
         {"usd_per_hour", a.price ? io::number(*a.price / (dollar / hour)) : Json(nullptr)}});
  }
  return list;
}

Listing models(const io::Catalog& data) {
  Listing list{{"id", "architecture", "total_parameters", "active_parameters", "layers",
                "kv_bytes_per_token", "max_context", "quantization"},
               {}};
  for (const std::string& id : data.names(io::Shelf::models)) {
    const Model model = data.model(id);
    const ParameterCount count = parameter_count(model);
    list.rows.push_back(
        {{"id", id},
         {"architecture", model.architecture},
         {"total_parameters", count.total},
         {"active_parameters", count.active},
         {"layers", model.layers()},
         {"kv_bytes_per_token", io::number(kv_geometry(model, formats::bf16).growth().base())},
         {"max_context", positive(static_cast<double>(model.maximum_context))},
         {"quantization",
          model.checkpoint.method.empty() ? Json(nullptr) : Json(model.checkpoint.method)}});
  }
  return list;
}

Listing engines(const io::Catalog& data) {
  Listing list{{"name", "versions", "constants", "memory_fraction", "max_sequences",
                "max_batched_tokens", "chunked_prefill"},
               {}};
  for (const std::string& name : data.names(io::Shelf::engines)) {
    const io::EngineEntry entry = data.engine(name);
    std::string versions;
    for (const std::string& version : entry.versions)
      versions += (versions.empty() ? "" : " ") + version;
    list.rows.push_back({{"name", name},
                         {"versions", versions},
                         {"constants", entry.constants.size() + entry.local_runtime.size()},
                         {"memory_fraction", entry.engine.memory_fraction},
                         {"max_sequences", entry.engine.max_sequences},
                         {"max_batched_tokens", entry.engine.max_batched_tokens},
                         {"chunked_prefill", entry.engine.chunked_prefill}});
  }
  return list;
}

Listing prices(const io::Catalog& data) {
  Listing list{{"name", "provider", "input_usd_per_mtok", "cached_usd_per_mtok",
                "output_usd_per_mtok", "as_of", "unverified"},
               {}};
  const auto per_million = [](const std::optional<DollarsPerToken>& rate) {
    return rate ? io::number(*rate / dollar_per_million_tokens) : Json(nullptr);
  };
  for (const ApiPrice& price : io::shipped_prices(data).models)
    list.rows.push_back({{"name", price.model},
                         {"provider", price.provider},
                         {"input_usd_per_mtok", per_million(price.rates.input)},
                         {"cached_usd_per_mtok", per_million(price.rates.cache_read)},
                         {"output_usd_per_mtok", per_million(price.rates.output)},
                         {"as_of", price.as_of},
                         {"unverified", price.unverified}});
  return list;
}

Listing metric_list(const io::Catalog&) {
  Listing list{{"metric", "column", "unit", "meaning"}, {}};
  for (const Metric& metric : metrics())
    list.rows.push_back({{"metric", metric.key},
                         {"column", metric.column()},
                         {"unit", metric.unit},
                         {"meaning", metric.meaning}});
  return list;
}

/// A number in the unit that its column's name ends with, for people.
std::string shown(const std::string& column, const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  const double x = value.get<double>();
  if (column == "kv_bytes_per_token") return io::count_text(x);
  if (column.ends_with("_bytes")) return io::to_text(x * byte);
  if (column.ends_with("_bytes_per_s")) return io::to_text(x * byte / second);
  if (column.ends_with("_flop_per_s")) return io::to_text(x * flop / second);
  return x == static_cast<double>(static_cast<std::int64_t>(x)) ? io::count_text(x)
                                                                : io::to_text(x);
}

std::string text(const Listing& list, io::Markup markup) {
  std::vector<std::string> header;
  for (std::string column : list.columns) {
    for (const char* unit : {"_bytes_per_s", "_flop_per_s", "_bytes"}) {
      if (!column.ends_with(unit)) continue;
      column.resize(column.size() - std::string_view(unit).size());
      break;
    }
    header.push_back(io::words(column));
  }
  io::TextTable table(header);
  for (const Json& row : list.rows) {
    std::vector<std::string> cells;
    for (const std::string& column : list.columns) cells.push_back(shown(column, row.at(column)));
    table.row(cells);
  }
  return io::Page(markup).table(table).text();
}

void csv_rows(const Listing& list, std::ostream& out, io::CsvDialect dialect) {
  io::CsvWriter csv(out, dialect);
  csv.header(list.columns);
  for (const Json& row : list.rows) {
    for (const std::string& column : list.columns) {
      const Json& value = row.at(column);
      if (value.is_null())
        csv.missing();
      else if (value.is_string())
        csv.cell(value.get<std::string>());
      else if (value.is_boolean())
        csv.cell(value.get<bool>());
      else
        csv.cell(value.get<double>());
    }
    csv.end_row();
  }
}

int run(const Options& options, const std::string& what) {
  const io::Catalog data = catalog(options);
  const Listing list = what == "accelerators" ? accelerators(data)
                       : what == "models"     ? models(data)
                       : what == "engines"    ? engines(data)
                       : what == "prices"     ? prices(data)
                                              : metric_list(data);
  deliver(options, {.text = [&](io::Markup markup) { return text(list, markup); },
                    .json =
                        [&] {
                          Json json = io::document("list", TOKENROOF_VERSION);
                          json["kind"] = what;
                          json[what] = list.rows;
                          return io::dump(json);
                        },
                    .csv = [&](std::ostream& out,
                               io::CsvDialect dialect) { csv_rows(list, out, dialect); }});
  return answered;
}

Action declare(CLI::App& app, Options& options) {
  auto what = std::make_shared<std::string>();
  app.add_option("WHAT", *what, "accelerators, models, engines, prices or metrics")
      ->required()
      ->check(CLI::IsMember({"accelerators", "models", "engines", "prices", "metrics"}));
  return [&options, what] { return run(options, *what); };
}

}  // namespace

extern const Verb list_verb;
const Verb list_verb{
    "list", "What ships: accelerators, models, engines, prices of APIs; the metrics of an answer",
    "  tokenroof list accelerators\n"
    "  tokenroof list models --format csv -o models.csv\n"
    "  tokenroof list prices\n"
    "  tokenroof list metrics --format markdown",
    declare};

}  // namespace tokenroof::cli
