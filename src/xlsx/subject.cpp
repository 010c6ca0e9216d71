#include "xlsx/subject.hpp"

#include <algorithm>

#include "tokenroof/core/error.hpp"

namespace tokenroof::io::xlsx {
namespace {

Traffic traffic_of(const Scenario& scenario) {
  if (std::holds_alternative<SingleStep>(scenario.workload.traffic)) return Traffic::single;
  if (std::holds_alternative<ClosedLoopTraffic>(scenario.workload.traffic)) return Traffic::closed;
  return Traffic::open;
}

}  // namespace

std::string numbered(std::size_t index, std::size_t count) {
  return count == 1 ? "" : "_" + std::to_string(index + 1);
}

Subject::Subject(const ScenarioEntry& from, Fidelity fidelity, const KernelEntry& kernels,
                 const WorkbookOptions& with)
    : entry(from),
      scenario(from.scenario),
      options(with),
      explainer(from, fidelity, kernels),
      answer(explainer.answer),
      traffic(traffic_of(from.scenario)) {
  if (!answer.decode)
    throw SpecError("scenario", "/deployment",
                    "no workbook: " + answer.verdict.reason + "; " + answer.verdict.remedy);
  c = coefficients(explainer.replica.model.operators);
  batch = answer.decode->batch;
  replicas = scenario.deployment.replicas;
  devices = scenario.deployment.devices();
  if (scenario.disaggregation && traffic != Traffic::single) {
    replicas = scenario.disaggregation->decode_replicas;
    devices = (scenario.disaggregation->prefill_replicas + replicas) *
              scenario.deployment.devices_per_replica();
  }
  ideal = at(Fidelity::ideal, kernels.constants);
  shown = at(fidelity, kernels.constants);
  add_loads();
  for (const NamedLoad& load : loads)
    values_.push_back(load_values(ideal.replica.model, c, load.load));
}

Point Subject::at(Fidelity fidelity, const KernelConstants& kernels) const {
  Point point;
  point.replica = reduce(scenario, fidelity, kernels);
  const WorkloadLengths& lengths = point.replica.lengths;
  point.decode = detail::decode_answer(point.replica, scenario, batch);
  point.prefill = detail::prefill_answer(point.replica);
  point.limits = limits_of(point.replica, scenario, batch);
  point.prompt_share = point.replica.prefill_share(lengths.computed(), lengths.cached());
  point.prompt_beside = point.replica.prefill_beside(lengths.computed(), lengths.cached(), batch);
  point.request_seconds = replica_seconds(point.replica, lengths.computed(), lengths.cached(),
                                          lengths.output, point.decode)
                              .total()
                              .base();
  if (const auto* closed = std::get_if<ClosedLoopTraffic>(&scenario.workload.traffic)) {
    if (point.replica.admission >= 1) {
      const ClosedLoopLoad load = closed_loop_load(
          point.replica, scenario, closed->concurrency.base() / scenario.deployment.replicas);
      point.loop =
          closed_loop(load, loop_constants(point.replica), closed_loop_times(point.replica, load));
    }
  }
  std::optional<RequestsPerSecond> served;
  if (point.loop) served = point.loop->rate * replicas;
  if (traffic == Traffic::open)
    served = answer.serving.request_rate ? answer.serving.request_rate : answer.serving.limit_rate;
  point.economics = detail::economics_of(point.replica, scenario, point.decode, devices, served);
  return point;
}

void Subject::add_loads() {
  const WorkloadLengths& lengths = explainer.replica.lengths;
  const double lanes = explainer.replica.lanes();
  const double verify = explainer.replica.draft_tokens + 1;
  const auto decode = [&](std::string key, std::string label, double sequences, double context,
                          double query, std::string n, std::string s, std::string q) {
    StepLoad<double> load = decode_load(sequences, context);
    load.query_tokens = query;
    loads.push_back({std::move(key), std::move(label), std::move(n), std::move(s), std::move(q),
                     "0", "0", "0", load});
  };
  const auto prompts = [&](std::string key, std::string label, double sequences, double count,
                           std::string n, std::string p) {
    StepLoad<double> load = prefill_load(count, lengths.computed(), lengths.cached());
    load.sequences = sequences;
    load.context = lengths.live;
    const bool verifies = drafts() && sequences > 0;
    load.query_tokens = verifies ? verify : 1;
    loads.push_back({std::move(key), std::move(label), std::move(n), "live_context",
                     verifies ? "draft_tokens+1" : "1", std::move(p), "computed_tokens",
                     "cached_tokens", load});
  };
  decode("plain", "decode, one token each", batch, lengths.live, 1, "batch", "live_context", "1");
  if (drafts())
    decode("verify", "decode, drafts verified", batch, lengths.live, verify, "batch",
           "live_context", "draft_tokens+1");
  prompts("prompt", "one prompt alone", 0, 1, "0", "1");
  prompts("prompts", "prompts on all ranks and stages", 0, lanes, "0", "lanes");
  prompts("mixed", "decode with prompts", batch, explainer.replica.least_prompts_beside(), "batch",
          "prompts_beside");
  decode("floor", "one sequence, no context", 1, 0, 1, "1", "0", "1");
  if (drafts())
    decode("floor_verify", "the same, drafts verified", 1, 0, verify, "1", "0", "draft_tokens+1");
}

const LoadValues& Subject::values(const std::string& key) const {
  std::size_t i = 0;
  while (i + 1 < loads.size() && loads[i].key != key) ++i;
  return values_[i];
}

bool Subject::fits() const {
  const MemoryPlan& plan = memory();
  if (plan.deficit > Bytes{} || (plan.concurrency < 1 && plan.context.base() > 0)) return false;
  return traffic != Traffic::single || batch <= plan.max_concurrency.base();
}

}  // namespace tokenroof::io::xlsx
