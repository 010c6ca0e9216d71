// Serving runs under Poisson arrivals, an object or a row a run: latencies in ms, means and
// percentiles over all stages of a run, each stage weighted by its requests. The law of
// a whole answer is taken through its mean and 95th percentile, which gives the tail alone.
//
// Clients time chunks of text, not tokens. A detokeniser holds back what is no whole character yet,
// so an answer may have fewer chunks than tokens, and its mean gap is longer than its time per
// token in proportion. A run may state its mean number of chunks (prompt.streamed_chunks); where it
// does not, and its own means say so, the row is put into a group that names it. tpot_mean_ms, from
// end to end and first token, is per token whatever the client counted.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/validate/kind.hpp"
#include "tokenroof/core/normal.hpp"
#include "tokenroof/decide/traffic.hpp"

namespace tokenroof::io {
namespace {

constexpr std::string_view keys[] = {"id", "engine", "model_config", "weight_dtype", "gpu",
                                     "tp", "stages", "prompt",       "measured_ms"};
/// Figures of a run: `measured_ms.NAME`, or the column NAME_ms.
constexpr const char* mean_names[] = {"e2e_mean", "itl_mean", "ttft_mean", "tpot_mean"};
struct Percentile {
  const char* name;
  double share;
};
constexpr Percentile e2e_percentiles[] = {{"e2e_p90", 0.90}, {"e2e_p95", 0.95}, {"e2e_p99", 0.99}};
constexpr Percentile ttft_percentiles[] = {
    {"ttft_p50", 0.50}, {"ttft_p90", 0.90}, {"ttft_p95", 0.95}, {"ttft_p99", 0.99}};

constexpr const char* in_prompt = "/prompt";
constexpr const char* in_measured = "/measured_ms";

constexpr std::string_view columns[] = {
    "engine",       "model_config", "weight_dtype",  "gpu",
    "tp",           "input_tokens", "output_tokens", "request_rate_per_s",
    "ttft_mean_ms", "itl_mean_ms",  "e2e_mean_ms"};

[[noreturn]] void refuse(const std::string& pointer, const std::string& reason) {
  throw SpecError("", pointer, reason);
}

[[noreturn]] void refuse(const std::string& pointer, const char* expected, const Json* found) {
  refuse(pointer, fmt::format("expected {}, {}", expected,
                              found == nullptr ? "found none" : "found " + describe(*found)));
}

/// What `object` states at `key`; null states nothing.
const Json* stated(const Json& object, const std::string& key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}
/// `within` is the pointer of `object`.
double positive(const Json& object, const std::string& key, const std::string& within = "") {
  const Json* found = stated(object, key);
  if (found == nullptr || !found->is_number() || !(found->get<double>() > 0))
    refuse(within + "/" + key, "a number above 0", found);
  return found->get<double>();
}
double number_or(const Json& object, const std::string& key, double otherwise,
                 const std::string& within) {
  const Json* found = stated(object, key);
  if (found == nullptr) return otherwise;
  if (!found->is_number() || found->get<double>() < 0)
    refuse(within + "/" + key, "a number from 0", found);
  return found->get<double>();
}
std::string text(const Json& object, const std::string& key) {
  const Json* found = stated(object, key);
  if (found == nullptr || !found->is_string()) refuse("/" + key, "a text", found);
  return found->get<std::string>();
}
const Json& object_in(const Json& run, const std::string& key) {
  const Json* found = stated(run, key);
  if (found == nullptr || !found->is_object()) refuse("/" + key, "an object", found);
  return *found;
}

Scenario scenario_of(const Json& run, Lookups& lookups) {
  Scenario scenario;
  scenario.model = lookups.model(text(run, "model_config"));
  scenario.accelerator = lookups.device(text(run, "gpu")).accelerator;
  const std::string engine = text(run, "engine");  // "vllm 0.15.1"
  const std::size_t blank = engine.find(' ');
  scenario.engine = lookups
                        .engine(engine.substr(0, blank),
                                blank == std::string::npos ? "" : engine.substr(blank + 1))
                        .engine;
  if (run.contains("max_num_seqs"))
    scenario.engine.max_sequences = static_cast<int>(positive(run, "max_num_seqs"));
  if (run.contains("max_num_batched_tokens"))
    scenario.engine.max_batched_tokens = static_cast<int>(positive(run, "max_num_batched_tokens"));
  const auto weights = format(text(run, "weight_dtype"));
  if (!weights) refuse("/weight_dtype", "unknown data type");
  for (const Part part :
       {Part::attention, Part::dense_feed_forward, Part::routed_experts, Part::shared_experts})
    scenario.precision.set(part, *weights);
  scenario.deployment.tensor_parallel = static_cast<int>(positive(run, "tp"));

  const Json& prompt = object_in(run, "prompt");
  scenario.workload.input = positive(prompt, "question_tokens", in_prompt) * token / request;
  scenario.workload.output = positive(prompt, "output_tokens", in_prompt) * token / request;
  Sessions sessions;
  sessions.system_prompt_tokens = number_or(prompt, "shared_system_prompt_tokens", 0, in_prompt);
  sessions.distinct_system_prompts = number_or(prompt, "distinct_system_prompts", 1, in_prompt);
  sessions.users_per_system_prompt = number_or(prompt, "users_per_system_prompt", 1, in_prompt);
  // The generator draws a question for each user once; its "chats" send it again.
  if (const Json* chat = stated(prompt, "multi_turn_chat")) {
    if (!chat->is_boolean()) refuse("/prompt/multi_turn_chat", "true or false", chat);
    sessions.same_question = chat->get<bool>();
  }
  scenario.workload.sessions = sessions;
  return scenario;
}

/// A latency of one stage as a lognormal law through its median and 95th percentile.
struct StageLatency {
  double weight, median, p95;

  [[nodiscard]] double below(double t) const {
    const double spread = std::log(p95 / median) / normal_quantile(0.95);
    if (!(spread > 0)) return t >= median ? 1 : 0;
    return t > 0 ? normal_probability(std::log(t / median) / spread) : 0;
  }
};

/// Quantile of the mixture of stages, by bisection.
double mixed_quantile(const std::vector<StageLatency>& stages, double p) {
  double total = 0, low = 0, high = 0;
  for (const StageLatency& stage : stages) {
    total += stage.weight;
    high = std::max(high, 20 * stage.p95);
  }
  for (int i = 0; i < 100; ++i) {
    const double middle = 0.5 * (low + high);
    double below = 0;
    for (const StageLatency& stage : stages) below += stage.weight * stage.below(middle);
    (below < p * total ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

/// Gaps between chunks of a mean answer: as stated, else one less than its tokens.
double streamed_gaps(const Json& prompt) {
  const double tokens = positive(prompt, "output_tokens", in_prompt);
  if (stated(prompt, "streamed_chunks") == nullptr) return tokens - 1;
  const double chunks = positive(prompt, "streamed_chunks", in_prompt);
  if (!(chunks > 1 && chunks <= tokens))
    refuse("/prompt/streamed_chunks", "expected more than 1 and at most output_tokens, " +
                                          fmt::format("got {} of {}", chunks, tokens));
  return chunks - 1;
}

/// Compares the time per token, as stated or else of the other means, and says where a run's own
/// means show that its gaps are not of tokens: by more than a tenth, since means of ratios differ
/// from ratios of means.
void compare_tokens(const Json& run, double tpot_ms, double gaps, RowResult& result) {
  const Json &measured = run.at("measured_ms"), &prompt = run.at("prompt");
  const double tokens = positive(prompt, "output_tokens", in_prompt) - 1;
  const auto mean = [&](const char* name) { return positive(measured, name, in_measured); };
  const bool direct = stated(measured, "tpot_mean") != nullptr;
  if (direct) result.predict("tpot_mean_ms", mean("tpot_mean"), tpot_ms);
  if (!(tokens > 0 && stated(measured, "e2e_mean") && stated(measured, "ttft_mean"))) return;
  const double decode = mean("e2e_mean") - mean("ttft_mean");
  if (!direct) result.predict("tpot_mean_ms", decode / tokens, tpot_ms);
  if (!(decode > 0) || !stated(measured, "itl_mean")) return;
  const double own = tokens / (decode / mean("itl_mean"));  // tokens a gap
  if (gaps < tokens)
    result.group("gaps", fmt::format("of chunks of {:.1f} tokens, as stated", tokens / gaps));
  else if (own > 1.1)
    result.group("gaps", fmt::format("of chunks of {:.1f} tokens, by their means", own));
  else if (own < 0.9)
    result.group("gaps", "shorter than the time per token");
}

void predict(const Json& run, RowResult& result, Lookups& lookups) {
  Scenario scenario = scenario_of(run, lookups);
  result.group("model", text(run, "model_config"));
  result.group("gpu", scenario.accelerator.id);
  result.group("engine", text(run, "engine"));
  double requests = 0, ttft = 0, tpot = 0, e2e = 0;
  std::vector<StageLatency> first, whole;
  const Json* stages = stated(run, "stages");
  if (stages == nullptr || !stages->is_array()) refuse("/stages", "a list", stages);
  for (const Json& stage : *stages) {
    const std::string place = fmt::format("/stages/{}", first.size());
    if (!stage.is_object()) refuse(place, "an object", &stage);
    const double rate = positive(stage, "rate", place);
    scenario.workload.traffic = OpenLoop{rate * request / second};
    const Replica replica = reduce(scenario, Fidelity::calibrated, lookups.kernels());
    if (!replica.memory.verdict.ok()) throw SpecError("", "", replica.memory.verdict.reason);
    const TrafficAnswer answer =
        open_traffic(replica, scenario, std::get<OpenLoop>(scenario.workload.traffic));
    if (!answer.verdict.ok()) throw SpecError("", "", answer.verdict.reason);
    const ServingAnswer& s = answer.serving;
    const double weight = rate * positive(stage, "duration", place);
    requests += weight;
    ttft += weight * s.ttft.mean->base();
    tpot += weight * s.tpot.mean->base();
    e2e += weight * s.e2e.mean->base();
    first.push_back({weight, s.ttft.p50->base(), s.ttft.p95->base()});
    whole.push_back({weight, s.e2e.mean->base(), s.e2e.p95->base()});
  }
  if (!(requests > 0)) refuse("/stages", "expected at least one stage");
  const Json& measured = object_in(run, "measured_ms");
  const double gaps = streamed_gaps(run.at("prompt"));
  const double tokens = scenario.workload.output.base() - 1;
  const auto add = [&](const std::string& name, double seconds) {
    if (stated(measured, name) != nullptr)
      result.predict(name + "_ms", positive(measured, name, in_measured), 1e3 * seconds);
  };
  add("e2e_mean", e2e / requests);
  add("itl_mean", tpot / requests * (gaps > 0 ? tokens / gaps : 1));
  add("ttft_mean", ttft / requests);
  for (const auto& [name, share] : e2e_percentiles) add(name, mixed_quantile(whole, share));
  for (const auto& [name, share] : ttft_percentiles) add(name, mixed_quantile(first, share));
  compare_tokens(run, 1e3 * tpot / requests, gaps, result);
}

/// A CSV row is a run of one stage, without sessions.
void predict_row(Row& row, Lookups& lookups) {
  std::string engine(row.required_text("engine"));
  if (const std::string_view version = row.text("engine_version"); !version.empty())
    engine += ' ' + std::string(version);
  Json run{{"engine", engine}, {"tp", row.count("tp")}};
  for (const char* column : {"model_config", "weight_dtype", "gpu"})
    run[column] = std::string(row.required_text(column));
  for (const char* column : {"max_num_seqs", "max_num_batched_tokens"})
    if (const auto limit = row.number(column)) run[column] = *limit;
  run["prompt"] = {{"question_tokens", row.positive("input_tokens")},
                   {"output_tokens", row.positive("output_tokens")}};
  if (const auto chunks = row.number("streamed_chunks")) run["prompt"]["streamed_chunks"] = *chunks;
  run["stages"] = Json::array({{{"rate", row.positive("request_rate_per_s")},
                                {"duration", row.number("duration_s").value_or(1)}}});
  Json measured = Json::object();
  const auto measure = [&](const char* name) {
    if (const auto value = row.number(std::string(name) + "_ms")) measured[name] = *value;
  };
  for (const char* name : mean_names) measure(name);
  for (const Percentile& one : e2e_percentiles) measure(one.name);
  for (const Percentile& one : ttft_percentiles) measure(one.name);
  run["measured_ms"] = std::move(measured);
  predict(run, row, lookups);
}

}  // namespace

extern const Kind open_loop_rows_kind;
const Kind open_loop_rows_kind{"open_loop", columns, predict_row, nullptr};

extern const Kind open_loop_kind;
const Kind open_loop_kind{"open_loop", keys, nullptr, predict};

}  // namespace tokenroof::io
