#include <fmt/format.h>

#include "scenario_parts.hpp"

namespace tokenroof::io {

struct ScenarioDocument::State {
  Json json;
  std::string file;
  std::filesystem::path folder;
  std::map<std::string, Inlined> inlined;
};

ScenarioDocument::ScenarioDocument(std::unique_ptr<State> state) : state_(std::move(state)) {}
ScenarioDocument::ScenarioDocument(const ScenarioDocument& other)
    : state_(std::make_unique<State>(*other.state_)) {}
ScenarioDocument& ScenarioDocument::operator=(const ScenarioDocument& other) {
  return *this = ScenarioDocument(other);
}
ScenarioDocument::ScenarioDocument(ScenarioDocument&&) noexcept = default;
ScenarioDocument& ScenarioDocument::operator=(ScenarioDocument&&) noexcept = default;
ScenarioDocument::~ScenarioDocument() = default;

ScenarioDocument ScenarioDocument::parse(std::string_view json_text, const std::string& file,
                                         const std::filesystem::path& folder) {
  auto state = std::make_unique<State>();
  state->json = parse_json(json_text, file);
  state->file = file;
  state->folder = folder;
  if (!state->json.is_object())
    throw SpecError(file, "", "expected an object, found " + describe(state->json));
  return ScenarioDocument(std::move(state));
}

ScenarioDocument ScenarioDocument::load(const std::filesystem::path& path) {
  const std::string file = path == "-" ? "standard input" : path.string();
  return parse(read_file(path), file, path.parent_path());
}

void ScenarioDocument::set(std::string_view assignment, const Catalog& catalog,
                           std::string_view option) {
  apply_override(state_->json, assignment, catalog, state_->folder, state_->inlined, option);
}

std::string ScenarioDocument::text() const {
  return state_->json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

ScenarioEntry ScenarioDocument::read(const Catalog& catalog) const {
  ScenarioEntry entry;
  Faults faults(state_->file);
  ObjectReader reader(state_->json, "", faults);
  const ScenarioContext context{catalog, state_->folder, state_->inlined, entry.defaults_used};
  for (const std::string_view key : {"$schema", "comment", "question"}) reader.ignore(key);

  Scenario& scenario = entry.scenario;
  scenario.model = read_model_part(reader, context);
  AcceleratorEntry device = read_accelerator_part(reader, context);
  scenario.accelerator = std::move(device.accelerator);
  entry.accelerator_sources = std::move(device.sources);
  entry.accelerator_unverified = std::move(device.unverified);
  EngineEntry engine = read_engine_part(reader, context);
  scenario.engine = std::move(engine.engine);
  entry.engine_constants = std::move(engine.constants);
  scenario.precision = read_precision_part(reader, scenario.model, context);
  scenario.deployment = read_deployment_part(reader, context);
  scenario.workload = read_workload_part(reader, context);
  scenario.objective = read_objective_part(reader);
  scenario.price = read_price_part(reader, scenario.accelerator, context);
  scenario.speculation = read_speculation_part(reader);
  scenario.disaggregation = read_disaggregation_part(reader);
  if (scenario.disaggregation) {
    const int pools =
        scenario.disaggregation->prefill_replicas + scenario.disaggregation->decode_replicas;
    int& replicas = scenario.deployment.replicas;
    if (replicas != 1 && replicas != pools)
      faults.add("/deployment/replicas",
                 fmt::format("expected {}, the replicas of both pools, or nothing; got {}", pools,
                             replicas));
    replicas = pools;
  }
  reader.finish();
  faults.throw_if_any();
  return entry;
}

ScenarioEntry read_scenario(const std::filesystem::path& path, const Catalog& catalog,
                            const std::vector<std::string>& overrides) {
  ScenarioDocument document = ScenarioDocument::load(path);
  for (const std::string& assignment : overrides) document.set(assignment, catalog);
  return document.read(catalog);
}

}  // namespace tokenroof::io
