#include "tokenroof/io/calibrate.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <sstream>

#include "engine_reader.hpp"
#include "io/validate/engine_rows.hpp"
#include "tokenroof/analyze/calibration_fit.hpp"
#include "tokenroof/io/import.hpp"

namespace tokenroof::io {
namespace {

/// What can be learned at all, and within which bounds (base units). Settings and habits that are
/// read off an engine (row tiles, graph limits, bus paths) are not among them.
struct Bounds {
  std::string_view name;
  double low, high;
};
constexpr Bounds bounds[] = {
    {"step", 0, 20e-3},
    {"per_sequence", 0, 100e-6},
    {"per_prompt_step", 0, 20e-3},
    {"per_pipeline_hop", 0, 5e-3},
    {"per_layer", 0, 200e-6},
    {"layer_passes", 0, 200},
    {"per_mixture_layer", 0, 200e-6},
    {"per_latent_layer", 0, 200e-6},
    {"per_recurrent_layer", 0, 300e-6},
    {"per_weight_only_layer", 0, 200e-6},
    {"per_prompt_layer", 0, 500e-6},
    {"per_all_reduce", 0, 200e-6},
    {"per_bus_all_reduce", 0, 300e-6},
    {"per_eager_layer", 0, 1.5e-3},
    {"weight_stream", 0.3, 1.25},
    {"prompt_efficiency", 0.3, 1},
    {"prompt_attention", 0.2, 1},
    {"separate_quantization", 0, 1},
    {"expert_stream", 0.3, 0.97},
    {"expert_overhead", 0, 5},
    {"expert_rate", 0.3, 2.5},
    {"vector_attention", 1e-4, 0.2},
    {"mixture_slowdown", 1, 2},
    {"communication_overlap", 0, 0.9},
    {"request_overhead", 0, 0.5},
    {"per_prompt_token", 0, 50e-6},
    {"prompts_ahead", 0, 10},
};
constexpr Bounds local_bounds[] = {
    {"weight_stream", 0.5, 1},      {"stream_ceiling", 0.8e12, 5e12},
    {"tensor_compute", 0.2, 1},     {"vector_compute", 0.3, 1},
    {"unpack_flops", 5, 80},        {"step", 0, 3e-3},
    {"per_layer", 0, 300e-6},       {"per_quantized_layer", 0, 100e-6},
    {"per_split_layer", 0, 100e-6}, {"per_prompt_layer", 0, 1e-3},
    {"per_device_hop", 0, 1e-3},    {"cache_passes", 1, 5},
    {"score_bytes", 10, 60},        {"elementwise_passes", 0.3, 3},
    {"launches_per_layer", 25, 70}, {"launches_per_quantized_layer", 0, 40},
};

/// The constants of one struct by name: reading, writing and their notes.
template <class Struct>
struct Learned {
  std::vector<CalibrationParameter> parameters;
  std::vector<const ConstantField<Struct>*> fields;

  Learned(std::span<const ConstantField<Struct>> all, std::span<const Bounds> limits,
          const Struct& values, const std::vector<ConstantNote>& stated,
          const CalibrateOptions& options) {
    for (const Bounds& limit : limits) {
      const auto called = [&](const auto& named) { return named.name == limit.name; };
      const auto& wanted = options.constants;
      if (wanted.empty() ? std::none_of(stated.begin(), stated.end(), called)
                         : std::find(wanted.begin(), wanted.end(), limit.name) == wanted.end())
        continue;
      const auto field = std::find_if(all.begin(), all.end(), called);
      fields.push_back(&*field);
      parameters.push_back(
          {std::string(limit.name), field->get(values), limit.low, limit.high, options.pull});
    }
  }
  void put(std::span<const double> values, Struct& into) const {
    for (std::size_t i = 0; i < fields.size(); ++i) fields[i]->set(into, values[i]);
  }
};

std::string today() {
  const auto now = std::chrono::system_clock::now();
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::chrono::system_clock::to_time_t(now)));
}

/// Notes of what was fitted, with errors; meanings are kept.
void replace_notes(std::vector<ConstantNote>& notes, const Calibration& fit,
                   const CalibrateOptions& options) {
  for (const FittedParameter& parameter : fit.parameters) {
    if (!parameter.fitted) continue;
    ConstantNote note{parameter.name, {}, parameter.name, options.source, options.date, {}, {}};
    for (const ConstantNote& known : notes)
      if (known.name == note.name) note.meaning = known.meaning;
    note.rows = static_cast<std::int64_t>(fit.rows);
    note.fit_error = std::round(fit.in_sample.median_ape * 1e4) / 1e4;
    replace_note(notes, note);
  }
}

void set_spread(EngineConstants& constants, std::vector<ConstantNote>& notes,
                const Calibration& fit, const CalibrateOptions& options) {
  constants.spread_low = std::round(fit.spread_low * 1e3) / 1e3;
  constants.spread_high = std::round(fit.spread_high * 1e3) / 1e3;
  for (const auto& [name, meaning] :
       {std::pair("spread_low", "10th percentile of measured over predicted"),
        std::pair("spread_high", "90th percentile of measured over predicted")})
    replace_note(
        notes,
        {name, {}, meaning, options.source, options.date, static_cast<std::int64_t>(fit.rows), {}});
}

/// A fitted constant to six digits: more says nothing.
double rounded(double value) { return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr); }

struct Rows {
  std::vector<CalibrationRow> measured;
  std::vector<EngineFigure> figures;
};

/// `text`, or the rows that it is imported to.
std::string measured_rows(std::string text, const std::string& file, const Catalog& catalog,
                          const CalibrateOptions& options, EngineCalibration& result) {
  if (!importable(text)) return text;
  ImportOptions import;
  import.stated = options.stated;
  import.models_dir = options.models_dir;
  std::istringstream in(text);
  const ImportedRows rows = import_stream(in, file, catalog, import);
  result.skipped = rows.skipped;
  std::ostringstream csv;
  write_import_csv(rows, csv);
  return csv.str();
}

Rows read_rows(const std::filesystem::path& path, const Catalog& catalog, Lookups& lookups,
               const EngineEntry& profile, const CalibrateOptions& options,
               EngineCalibration& result) {
  const std::string file = path.string();
  std::istringstream stream(measured_rows(read_file(path), file, catalog, options, result));
  CsvReader reader(stream, file);
  const Kind& kind = recognise(reader.header(), false, file);
  const ReadEngineRow read = engine_row_reader(kind.name);
  if (read == nullptr)
    throw SpecError(file, "",
                    fmt::format("{} rows do not depend on an engine's constants", kind.name));
  const EngineEra* era = era_of(profile, options.version);
  Rows rows;
  while (reader.next()) {
    const Row row(reader);
    const auto skip = [&](const std::string& reason) {
      result.skipped.push_back({row_id(reader), reason, {}});
    };
    try {
      const EngineRow one = read(row, lookups);
      const bool same =
          one.engine == options.engine || (options.engine == "default" && !one.has_profile);
      if (!same) {
        skip("engine " + one.engine);
        continue;
      }
      if (era_of(profile, one.version) != era) {
        skip("version " + one.version + " is of another era");
        continue;
      }
      for (const EngineFigure& figure : one.figures) {
        rows.measured.push_back({figure.measured, one.group, figure.weight});
        rows.figures.push_back(figure);
        result.rows.push_back(row_id(reader));
      }
    } catch (const SpecError& error) {
      skip(error.what());
    }
  }
  return rows;
}

void check_names(const CalibrateOptions& options, bool local) {
  std::vector<std::string_view> known;
  for (const Bounds& limit : bounds)
    if (!local) known.push_back(limit.name);
  for (const Bounds& limit : local_bounds)
    if (local) known.push_back(limit.name);
  for (const std::string& name : options.constants)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw SpecError(
          "", "",
          fmt::format("no constant \"{}\" can be learned{}", name, did_you_mean(name, known)));
}

/// Fits the constants of one struct; `constants` picks it from an engine, `notes` from an entry.
template <class Struct, class Pick>
void learn(const Learned<Struct>& learned, const Rows& rows, Engine& engine, Pick constants,
           std::vector<ConstantNote>& notes, const CalibrateOptions& options,
           EngineCalibration& result) {
  Engine trial = engine;
  result.fit = fit(
      learned.parameters, rows.measured,
      [&](std::size_t row, std::span<const double> values) {
        learned.put(values, constants(trial));
        return rows.figures[row].predict(trial);
      },
      options.fit);
  if (!result.fit.ok()) return;
  std::vector<double> values;
  for (FittedParameter& parameter : result.fit.parameters)
    values.push_back(parameter.fitted ? rounded(parameter.value) : parameter.value);
  learned.put(values, constants(engine));
  replace_notes(notes, result.fit, options);
}

}  // namespace

EngineCalibration calibrate_file(const std::filesystem::path& path, const Catalog& catalog,
                                 const CalibrateOptions& asked) {
  CalibrateOptions options = asked;
  if (options.source.empty()) options.source = "fit of " + path.filename().string();
  if (options.date.empty()) options.date = today();
  EngineCalibration result;
  result.profile = catalog.engine_or_default(options.engine);
  result.profile.engine.name = options.engine;
  EngineEntry& profile = result.profile;
  const std::filesystem::path folder = path.parent_path();
  ValidateOptions lookup;
  lookup.models_dir = options.models_dir;
  Lookups lookups(catalog, lookup, folder.empty() ? "." : folder);
  const Rows rows = read_rows(path, catalog, lookups, profile, options, result);

  EngineEra* era = nullptr;
  for (EngineEra& each : profile.earlier)
    if (&each == era_of(profile, options.version)) era = &each;
  if (profile.engine.local_runtime) era = nullptr;  // every version shares one set of those
  Engine& engine = era != nullptr ? era->engine : profile.engine;
  std::vector<ConstantNote>& notes = era != nullptr ? era->notes : profile.constants;
  check_names(options, engine.local_runtime.has_value());
  if (engine.local_runtime) {
    learn(
        Learned<LocalRuntimeConstants>(local_runtime_fields(), local_bounds, *engine.local_runtime,
                                       profile.local_runtime, options),
        rows, engine, [](Engine& e) -> LocalRuntimeConstants& { return *e.local_runtime; },
        profile.local_runtime, options, result);
  } else {
    learn(
        Learned<EngineConstants>(engine_constant_fields(), bounds, engine.constants, notes,
                                 options),
        rows, engine, [](Engine& e) -> EngineConstants& { return e.constants; }, notes, options,
        result);
  }
  if (result.fit.ok()) set_spread(engine.constants, notes, result.fit, options);
  return result;
}

}  // namespace tokenroof::io
