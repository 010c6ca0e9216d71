#include "support.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tokenroof/core/error.hpp"
#include "tokenroof/io/csv.hpp"
#include "tokenroof/io/table.hpp"
#include "tokenroof/physics/experts.hpp"
#include "tokenroof/physics/kv_cache.hpp"
#include "tokenroof/physics/parameters.hpp"

using namespace tokenroof;

namespace example {
namespace {

using Json = nlohmann::ordered_json;
constexpr const char* section = "question";

std::string as_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

double twelve_digits(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.11e", number);
  return std::strtod(text, nullptr);
}

}  // namespace

Spec::Spec(const std::filesystem::path& file)
    : file_(file.string()), document_(io::ScenarioDocument::load(file)) {
  Json json = Json::parse(document_.text());
  if (json.contains(section)) {
    for (const auto& [key, value] : json[section].items()) {
      std::vector<std::string>& texts = question_[key];
      if (value.is_array())
        for (const Json& entry : value) texts.push_back(as_text(entry));
      else
        texts.push_back(as_text(value));
    }
    json.erase(section);
  }
  document_ = io::ScenarioDocument::parse(json.dump(), file_, file.parent_path());
}

Scenario Spec::scenario(const std::vector<std::string>& overrides) const {
  io::ScenarioDocument document = document_;
  for (const std::string& assignment : overrides) document.set(assignment, catalog_);
  return document.read(catalog_).scenario;
}

const std::vector<std::string>& Spec::texts(const std::string& key) const {
  asked_.insert(key);
  const auto found = question_.find(key);
  if (found == question_.end() || found->second.empty()) fail(key, "is needed and missing");
  return found->second;
}

void Spec::refuse_unasked() const {
  for (const auto& [key, values] : question_)
    if (!asked_.contains(key)) fail(key, "is no key of this question");
}

void Spec::fail(const std::string& key, const std::string& reason) const {
  throw SpecError(file_, std::string("/") + section + "/" + key, reason);
}

Report::Report(const std::string& csv) : text_(csv == "-" ? std::cerr : std::cout) {
  if (!csv.empty()) csv_.emplace(csv);
}

void Report::paragraph(std::string_view pattern, std::initializer_list<std::string> values) {
  constexpr std::size_t width = 96;
  std::string filled;
  auto value = values.begin();
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern.substr(i, 2) != "{}" || value == values.end()) {
      filled += pattern[i];
      continue;
    }
    filled += *value++;
    ++i;
  }
  for (std::size_t begin = 0; begin < filled.size();) {
    std::size_t end = filled.size();
    if (end - begin > width) end = filled.rfind(' ', begin + width);
    text_ << filled.substr(begin, end - begin) << '\n';
    begin = end + 1;
  }
  text_ << '\n';
}

void Report::text_table(const Columns& columns, const Rows& rows) {
  io::TextTable table(columns);
  for (const std::vector<Cell>& row : rows) {
    std::vector<std::string> texts;
    for (const Cell& cell : row)
      texts.push_back(cell.number ? io::to_text(*cell.number) : cell.text);
    table.row(std::move(texts));
  }
  text_ << table.plain() << '\n';
}

void Report::table(const Columns& columns, const Rows& rows) {
  text_table(columns, rows);
  if (!csv_) return;
  io::CsvWriter csv(csv_->stream());
  csv.header(columns);
  for (const std::vector<Cell>& row : rows) {
    for (const Cell& cell : row)
      cell.number ? csv.cell(twelve_digits(*cell.number)) : csv.cell(cell.text);
    csv.end_row();
  }
}

void Report::commit() {
  if (csv_) csv_->commit();
}

int run(int argc, char** argv, void (*answer)(const Spec&, Report&)) try {
  if (argc < 2 || argc > 3) {
    std::cerr << "usage: " << argv[0] << " SPEC.json [OUT.csv | -]\n";
    return 2;
  }
  const Spec spec(argv[1]);
  Report report(argc == 3 ? argv[2] : "");
  answer(spec, report);
  spec.refuse_unasked();
  report.commit();
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 3;
}

Bytes bytes_per_weight(const Scenario& scenario) {
  return scenario.precision.of(Part::attention).bytes_per_element * byte;
}

FlopsPerToken linear_flops(const Model& model) {
  return static_cast<double>(parameter_count(model).matmul) * flops_per_weight;
}

Roof<> roof_of(const Scenario& scenario) {
  const Format& format = scenario.precision.of(Part::attention);
  // "compute" speaks of quantised weights; 16-bit ones multiply in their own type.
  const DataType wish = format.bytes_per_element < 2
                            ? scenario.precision.compute.value_or(format.multiply)
                            : format.multiply;
  const Accelerator& device = scenario.accelerator;
  return {device.peak(multiply_type(device, wish)), device.memory_bandwidth};
}

Bytes resident_weights(const Scenario& scenario) {
  return static_cast<double>(parameter_count(scenario.model).total) * bytes_per_weight(scenario);
}

Bytes cache_pool(const Scenario& scenario) {
  const int devices = scenario.deployment.devices_per_replica();
  return scenario.engine.memory_fraction * devices * scenario.accelerator.memory_nominal -
         resident_weights(scenario);
}

Bytes weights_read(const Scenario& scenario, Tokens tokens) {
  const Model& model = scenario.model;
  double weights = static_cast<double>(parameter_count(model).matmul);
  for (const LayerGroup& group : model.groups) {
    const FeedForward& experts = group.feed_forward;
    if (experts.kind != FeedForwardKind::mixture) continue;
    const double distinct = distinct_experts<double>(experts.experts, experts.top_k, tokens);
    weights += (distinct - experts.top_k) * group.count *
               static_cast<double>(expert_weights(experts, model.hidden));
  }
  return weights * bytes_per_weight(scenario);
}

TextbookModel<> textbook_model(const Scenario& scenario, Tokens tokens) {
  const Model& model = scenario.model;
  const double element = scenario.precision.activations.bytes_per_element;
  return {weights_read(scenario, tokens),
          linear_flops(model),
          attention_flops_per_context_token(model),
          kv_geometry(model, scenario.precision.kv_cache).growth(),
          2.0 * model.layers(),
          static_cast<double>(model.hidden) * element * byte / token};
}

TextbookMachine<> textbook_machine(const Scenario& scenario, Seconds latency) {
  const Roof<> roof = roof_of(scenario);
  auto machine =
      TextbookMachine<>::of(scenario.deployment.devices_per_replica(), roof.math, roof.memory,
                            latency, scenario.accelerator.scale_up.bandwidth);
  // Attention multiplies in 16 bits whatever the weights are stored in.
  machine.attention_peak =
      scenario.accelerator.peak(multiply_type(scenario.accelerator, DataType::bf16));
  return machine;
}

}  // namespace example
