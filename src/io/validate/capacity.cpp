// What engines logged about their memory against the memory plan.
#include <algorithm>
#include <array>

#include "io/validate/kind.hpp"
#include "io/validate/model_names.hpp"
#include "tokenroof/io/validate_capacity.hpp"

namespace tokenroof::io {
namespace {

constexpr std::array<std::string_view, 16> columns = {"engine_version",
                                                      "model",
                                                      "model_config",
                                                      "dtype",
                                                      "kv_dtype",
                                                      "quant",
                                                      "tp",
                                                      "pp",
                                                      "gpu",
                                                      "gpu_memory_utilization",
                                                      "max_model_len",
                                                      "weights_gib_per_gpu",
                                                      "kv_cache_tokens",
                                                      "kv_gib_available_per_gpu",
                                                      "max_concurrency_x",
                                                      "notes"};

CapacityRow read(const Row& row) {
  const auto text = [&](const char* column) { return std::string(row.text(column)); };
  const auto degree = [&](const char* column) {
    const double value = row.count_or(column, 1);
    if (value > 100000) row.fail(column, "is no parallel degree");
    return static_cast<int>(value);
  };
  CapacityRow read;
  read.id = text("id");
  read.engine = text("engine_version");
  read.model = text("model");
  read.model_config = text("model_config");
  read.dtype = text("dtype");
  read.kv_dtype = text("kv_dtype");
  read.quantization = text("quant");
  read.gpu = text("gpu");
  read.accelerator = text("accelerator");
  read.notes = text("notes");
  read.memory_fraction = text("gpu_memory_utilization");  // a number or words
  std::replace(read.memory_fraction.begin(), read.memory_fraction.end(), ',', '.');
  read.tensor_parallel = degree("tp");
  read.pipeline_parallel = degree("pp");
  read.max_length = row.number("max_model_len");
  read.weights_gib = row.number("weights_gib_per_gpu");
  read.kv_tokens = row.number("kv_cache_tokens");
  read.kv_pool_gib = row.number("kv_gib_available_per_gpu");
  read.max_concurrency = row.number("max_concurrency_x");
  return read;
}

void predict(Row& row, Lookups& lookups) {
  const CapacityRow stated = read(row);
  const Model& model = named_model(lookups, stated.model_config, row.required_text("model"));
  const CapacityQuestion question = interpret(stated, model);
  std::optional<Accelerator> device;
  if (!question.accelerator.empty()) device = lookups.device(question.accelerator).accelerator;
  const Engine& profile = lookups.engine(question.engine, question.version).engine;
  row.group("family", model.family);
  row.group("gpu", question.accelerator);
  row.group("engine", question.engine);
  row.group("dtype", stated.quantization);
  for (const CapacityFigure& figure : predict_capacity(stated, model, profile, device)) {
    if (figure.predicted)
      row.predict(figure.metric, figure.measured, *figure.predicted);
    else
      row.omit(figure.metric, figure.reason);
  }
}

}  // namespace

extern const Kind capacity_kind{"capacity", columns, predict};

}  // namespace tokenroof::io
