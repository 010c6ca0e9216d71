#include "tokenroof/io/scenario_io.hpp"

#include <algorithm>
#include <fstream>

#include "catch2/catch.hpp"
#include "tokenroof/core/error.hpp"
#include "tokenroof/io/units_text.hpp"

using namespace tokenroof;
using namespace tokenroof::io;
using Catch::Matchers::Contains;
using Catch::Matchers::Equals;

namespace {

const std::string model = R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
  "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
  "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
  "torch_dtype": "bfloat16", "max_position_embeddings": 131072, "hidden_act": "silu"})";

std::string with(const std::string& rest, const std::string& accelerator = "\"h100\"") {
  return "{\"model\": " + model + ", \"accelerator\": " + accelerator + ", " + rest + "}";
}
const std::string step = R"("workload": {"batch": 8, "context_tokens": "8k"})";

ScenarioDocument document(const std::string& text) {
  return ScenarioDocument::parse(text, "s.json");
}
ScenarioEntry read(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const Catalog catalog;
  ScenarioDocument changed = document(text);
  for (const std::string& assignment : overrides) changed.set(assignment, catalog);
  return changed.read(catalog);
}
std::string refusal(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    read(text, overrides);
    return "accepted";
  } catch (const SpecError& error) {
    return error.what();
  }
}
const DefaultUsed* used(const ScenarioEntry& entry, const std::string& pointer) {
  const auto found = std::find_if(entry.defaults_used.begin(), entry.defaults_used.end(),
                                  [&](const DefaultUsed& note) { return note.pointer == pointer; });
  return found == entry.defaults_used.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("the example of the design is read") {
  const ScenarioEntry entry = read(with(R"(
    "engine": {"version": "0.19", "memory_fraction": 0.92, "reserve": "auto",
               "max_sequences": 128, "max_batched_tokens": 4096, "chunked_prefill": false},
    "precision": {"weights": "fp8", "expert_weights": "nvfp4", "compute": "fp8",
                  "activations": "fp16", "kv_cache": "fp8"},
    "deployment": {"tensor_parallel": 8, "pipeline_parallel": 1, "expert_parallel": 1,
                   "attention_data_parallel": 1, "context_parallel": 1, "replicas": 2},
    "workload": {"input_tokens": 1024, "output_tokens": 512, "lengths": "fixed",
                 "arrival_rate": "4 req/s", "prefix_hit_rate": 0.25},
    "objective": {"ttft_p95": "1 s", "tpot_p95": "50 ms", "tokens_per_s_per_user": 20},
    "price": {"accelerator_hour": "2.50 USD", "utilization": 0.6})"));
  const Scenario& scenario = entry.scenario;
  CHECK(scenario.model.layers() == 32);
  CHECK(scenario.accelerator.id == "h100-sxm-80gb");
  CHECK(scenario.engine.version == "0.19");
  CHECK(scenario.engine.memory_fraction == 0.92);
  CHECK(scenario.engine.max_sequences == 128);
  CHECK_FALSE(scenario.engine.chunked_prefill);
  CHECK(scenario.engine.reserve_auto);
  CHECK(scenario.precision.of(Part::attention) == formats::fp8);
  CHECK(scenario.precision.of(Part::routed_experts) == formats::nvfp4);
  CHECK(scenario.precision.of(Part::shared_experts) == formats::fp8);
  for (const Part part : {Part::embedding, Part::head, Part::router, Part::other})
    CHECK(scenario.precision.of(part) == formats::bf16);
  CHECK(scenario.precision.compute == DataType::fp8);
  CHECK(scenario.precision.activations == formats::fp16);
  CHECK(scenario.precision.kv_cache == formats::fp8);
  CHECK(scenario.deployment.tensor_parallel == 8);
  CHECK(scenario.deployment.devices() == 16);
  const auto& loop = std::get<OpenLoop>(scenario.workload.traffic);
  CHECK(loop.arrival_rate == 4 * request / second);
  CHECK(loop.arrival_squared_cv == 1);
  CHECK(scenario.workload.input == 1024 * token / request);
  CHECK(scenario.workload.prefix_hit_rate == 0.25);
  CHECK(*scenario.objective.ttft_p95 == 1 * second);
  CHECK(*scenario.objective.tokens_per_second_per_user == 20 * token / second);
  CHECK(*scenario.price.accelerator / (dollar / hour) == Approx(2.5));
  CHECK(scenario.price.utilization == 0.6);
}

TEST_CASE("what is not stated has a default, and the answer can say which") {
  const ScenarioEntry entry = read(with(step));
  CHECK(entry.scenario.deployment.devices() == 1);
  CHECK(entry.scenario.precision.of(Part::attention) == formats::bf16);
  CHECK(std::get<SingleStep>(entry.scenario.workload.traffic).context == 8000 * token / request);
  CHECK(entry.scenario.workload.input == 8000 * token / request);
  CHECK(entry.scenario.price.utilization == 1);
  CHECK(entry.scenario.price.accelerator == entry.scenario.accelerator.price);
  REQUIRE(used(entry, "/price/accelerator_hour") != nullptr);
  CHECK_THAT(used(entry, "/price/accelerator_hour")->origin,
             Contains("list price of h100-sxm-80gb as of 20"));
  REQUIRE(used(entry, "/precision/weights") != nullptr);
  CHECK(used(entry, "/precision/weights")->value == "bf16");
  CHECK(used(entry, "/precision/weights")->origin == "checkpoint");
  for (const char* pointer :
       {"/engine", "/engine/memory_fraction", "/deployment/tensor_parallel", "/workload/lengths",
        "/workload/prefix_hit_rate", "/precision/kv_cache"})
    CHECK(used(entry, pointer) != nullptr);
  const ScenarioEntry stated = read(with(step + R"(, "deployment": {"tensor_parallel": 2})"));
  CHECK(used(stated, "/deployment/tensor_parallel") == nullptr);
}

TEST_CASE("GGUF formats set every part") {
  const Precision precision =
      read(with(step + R"(, "precision": {"weights": "q4_k_m"})")).scenario.precision;
  for (const Format& format : precision.weights) CHECK(format == formats::q4_k_m);
  CHECK(precision.kv_cache == formats::bf16);
}

TEST_CASE("length laws") {
  const auto lengths = [](const std::string& law) {
    return read(
               with(
                   R"("workload": {"input_tokens": 100, "output_tokens": 10, "concurrency": 4, "lengths": )" +
                   law + "}"))
        .scenario.workload;
  };
  CHECK(lengths("\"geometric\"").lengths.kind == LengthLaw::Kind::geometric);
  CHECK(lengths("{\"uniform\": [0.8, 1.0]}").lengths.mean_factor() == Approx(0.9));
  CHECK(lengths("{\"lognormal\": 0.5}").lengths.cv == 0.5);
  CHECK(std::get<ClosedLoopTraffic>(lengths("\"fixed\"").traffic).concurrency == 4 * request);
  const Workload sampled =
      read(
          with(
              R"("workload": {"concurrency": 4, "lengths": {"empirical": {"input": [100, 300], "output": [10, 20]}}})"))
          .scenario.workload;
  CHECK(sampled.input == 200 * token / request);
  CHECK(sampled.output == 15 * token / request);
  const auto refused = [](const std::string& law) {
    return refusal(with(
        R"("workload": {"input_tokens": 100, "output_tokens": 10, "concurrency": 4, "lengths": )" +
        law + "}"));
  };
  CHECK_THAT(refused("\"fxed\""), Contains("/workload/lengths: expected \"fixed\""));
  CHECK_THAT(refused("{\"uniform\": [1.0, 0.8]}"), Contains("ascending"));
  CHECK_THAT(refused("{\"uniform\": [-1, 0.8]}"), Contains("/workload/lengths/uniform/0"));
  CHECK_THAT(refused("{\"lognromal\": 1}"), Contains("did you mean \"lognormal\""));
  CHECK_THAT(refused("{\"lognormal\": 0}"), Contains("above 0"));
  CHECK_THAT(refused(R"({"empirical": {"input": [1], "output": []}})"), Contains("same number"));
}

TEST_CASE("lengths from a trace") {
  const std::string path =
      (std::filesystem::temp_directory_path() / "tokenroof_trace_test.csv").string();
  std::ofstream(path) << "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                         "2023-11-16 18:15:46.6805900,100,10\n2023-11-16 18:15:47.0,300,30\n";
  const auto traced = [&](const std::string& name) {
    return with(R"("workload": {"concurrency": 4, "lengths": {"trace": ")" + name + "\"}}");
  };
  const Workload workload = read(traced(path)).scenario.workload;
  CHECK(workload.lengths.kind == LengthLaw::Kind::empirical);
  CHECK(workload.input == 200 * token / request);
  CHECK(workload.output == 20 * token / request);
  CHECK_THAT(refusal(traced("none.csv")), Contains("/workload/lengths/trace: no such file"));
  std::ofstream(path) << "a,b\n1,2\n";
  CHECK_THAT(refusal(traced(path)), Contains("tokenroof_trace_test.csv"));
  std::filesystem::remove(path);
}

TEST_CASE("bad scenarios are refused with every fault at once") {
  CHECK_THAT(refusal("{}"), Contains("/model: is required") &&
                                Contains("/accelerator: is required") &&
                                Contains("/workload: is required"));
  CHECK_THAT(refusal(with(R"("workload": {"batch": 0, "context_tokens": 100})")),
             Equals("s.json: /workload/batch: must be at least 1, found 0"));
  CHECK(refusal(with(R"("workload": {"batch": 1, "context_tokens": 0})")) == "accepted");
  CHECK_THAT(refusal(with(R"("workload": {"batch": 1.5, "context_tokens": 0})")),
             Contains("whole number"));
  CHECK_THAT(refusal(with(R"("workload": {"batch": 1})")),
             Contains("/workload/context_tokens: is required"));
  CHECK_THAT(refusal(with(R"("workload": {"input_tokens": 10, "output_tokens": 10})")),
             Contains("needs one of arrival_rate, concurrency"));
  CHECK_THAT(refusal(with(R"("workload": {"concurrency": 4, "arrival_rate": "1 req/s"})")),
             Contains("exclude each other"));
  CHECK_THAT(refusal(with(R"("workload": {"concurrency": 4})")),
             Contains("/workload/input_tokens: is required"));
  CHECK_THAT(
      refusal(with(R"("workload": {"arrival_rate": 4, "input_tokens": 1, "output_tokens": 1})")),
      Contains("expected a rate of requests such as \"4 req/s\", found 4"));
  CHECK_THAT(refusal(with(
                 step + R"(, "workloda": 1, "precision": {"weigths": "fp8", "kv_cache": "fp7"})")),
             Contains("/workloda: unknown key (did you mean \"workload\"?)") &&
                 Contains("/precision/weigths: unknown key (did you mean \"weights\"?)") &&
                 Contains("/precision/kv_cache: unknown number format"));
  CHECK_THAT(refusal(with(step + R"(, "engine": "vlmm")")),
             Contains("/engine: unknown engine \"vlmm\""));
  CHECK_THAT(refusal(with(step, "\"h100-sxm-80bg\"")),
             Contains("/accelerator: unknown accelerator"));
  CHECK_THAT(refusal(with(step, "\"./none.json\"")), Contains("/accelerator: no such file"));
  CHECK_THAT(refusal(with(step, "3")), Contains("expected a name, a path or an object, found 3"));
  CHECK_THAT(
      refusal(with(
          step,
          R"({"dense_peak": {"bf16": "1 TFLOP/s"}, "memory_bandwidth": "80GB", "memory_nominal": "80 GB"})")),
      Contains("s.json: /accelerator/memory_bandwidth: expected a rate"));
  CHECK_THAT(refusal(with(step + R"(, "price": {"utilization": 0})")),
             Contains("/price/utilization"));
  CHECK_THAT(
      refusal(with(
          R"("workload": {"concurrency": 1, "input_tokens": 1, "output_tokens": 1, "prefix_hit_rate": 0.5, "sessions": {"turns": 3}})")),
      Contains("excludes sessions"));
  CHECK_THAT(refusal("[]"), Contains("expected an object, found an array"));
}

TEST_CASE("optional parts") {
  const Scenario scenario =
      read(
          with(
              R"("workload": {"arrival_rate": "4 req/s", "input_tokens": "1k", "output_tokens": 100,
                    "sessions": {"system_prompt_tokens": 500, "distinct_system_prompts": 4, "users_per_system_prompt": 20, "turns": 5}},
        "speculation": {"draft_tokens": 3, "acceptance": 0.7, "draft_cost": 0.1, "draft_memory": "2 GB"},
        "disaggregation": {"prefill_replicas": 2, "decode_replicas": 3})"))
          .scenario;
  CHECK(scenario.workload.sessions->multi_turn);
  CHECK(scenario.workload.sessions->users_per_system_prompt == 20);
  CHECK(scenario.speculation->acceptance == 0.7);
  CHECK(scenario.speculation->draft_memory == 2 * gigabyte);
  CHECK(scenario.disaggregation->decode_replicas == 3);
  CHECK_FALSE(scenario.disaggregation->transfer_bandwidth);
}

TEST_CASE("overrides set, scale, take away and reach into named parts") {
  const std::string text = with(step);
  const auto batch = [&](const std::string& assignment) {
    return std::get<SingleStep>(read(text, {assignment}).scenario.workload.traffic).batch / request;
  };
  CHECK(batch("workload.batch=64") == 64);
  CHECK(batch("workload.batch=x2") == 16);
  CHECK(batch("workload.batch=*0.5") == 4);
  const auto device = [&](const std::vector<std::string>& overrides) {
    return read(text, overrides).scenario.accelerator;
  };
  const Accelerator plain = device({});
  const Accelerator fast =
      device({"accelerator.memory_bandwidth=x10", "accelerator.dense_peak.bf16=1 PFLOP/s"});
  CHECK(fast.memory_bandwidth / plain.memory_bandwidth == Approx(10));
  CHECK(fast.peak(DataType::bf16) == 1e15 * flop / second);
  CHECK(fast.id == plain.id);
  CHECK_FALSE(device({"accelerator.price=null"}).price);
  CHECK(device({"accelerator=a100-sxm-80gb"}).id == "a100-sxm-80gb");
  CHECK(read(text, {"model.num_hidden_layers=40"}).scenario.model.layers() == 40);
  CHECK(read(text, {"engine.max_sequences=7"}).scenario.engine.max_sequences == 7);
  CHECK(read(text, {"workload={\"concurrency\": 2, \"input_tokens\": 1, \"output_tokens\": 1}"})
            .scenario.workload.traffic.index() == 1);
  const Workload closed =
      read(text, {"workload.batch=null", "workload.context_tokens=null", "workload.concurrency=3",
                  "workload.input_tokens=1k", "workload.output_tokens=10"})
          .scenario.workload;
  CHECK(std::get<ClosedLoopTraffic>(closed.traffic).concurrency == 3 * request);
}

TEST_CASE("overrides that are refused leave the scenario as it was") {
  const std::string text = with(step);
  CHECK_THAT(refusal(text, {"workload.batch"}), Contains("expected key=value"));
  CHECK_THAT(refusal(text, {"workload.batch="}), Contains("the value is missing"));
  CHECK_THAT(
      refusal(text, {"workloda.batch=1"}),
      Contains("--set workloda.batch=1: unknown key \"workloda\" (did you mean \"workload\"?)"));
  CHECK_THAT(refusal(text, {"workload.bacth=1"}),
             Contains("/workload/bacth: unknown key (did you mean \"batch\"?)"));
  CHECK_THAT(refusal(text, {"workload.concurrency=x2"}), Contains("there is no value to scale"));
  CHECK_THAT(refusal(text, {"accelerator.dense_peak=x2"}), Contains("an object cannot be scaled"));
  CHECK_THAT(refusal(text, {"workload.batch.x=1"}), Contains("which has no keys"));
  CHECK_THAT(refusal(text, {"workload.batch=1e400"}), Contains("expected a whole number"));
  CHECK_THAT(refusal(text, {"workload.batch=NaN"}), Contains("expected a whole number"));
  const Catalog catalog;
  ScenarioDocument kept = document(text);
  const std::string before = kept.text();
  CHECK_THROWS_AS(kept.set("accelerator.power.x=1", catalog), SpecError);
  CHECK(kept.text() == before);
  ScenarioDocument copy = kept;
  copy.set("workload.batch=2", catalog);
  CHECK(kept.text() == before);
}
