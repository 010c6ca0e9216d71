// Runs under arrivals: rows and objects of kind open_loop.
#include <map>

#include "catch2/catch.hpp"
#include "io/json_reader.hpp"
#include "validate_fixtures.hpp"

using namespace tokenroof;
using namespace tokenroof::io;
using namespace tokenroof::test;
using Catch::Matchers::Contains;

TEST_CASE("gaps of a stream are those of its chunks") {
  // 191 tokens, 20 ms each: 3.8 s after the first; 152 gaps of 25 ms.
  const std::string header =
      "engine,engine_version,model_config,weight_dtype,gpu,tp,input_tokens,output_tokens,"
      "request_rate_per_s,ttft_mean_ms,itl_mean_ms,e2e_mean_ms,streamed_chunks\n";
  const std::string run = "vllm,0.15.1,llama-2-7b,fp16,h100-sxm-80gb,1,500,191,5,50,";
  const auto figures = [&](const std::string& rest) {
    const ValidationReport report = validated(header + run + rest + "\n");
    std::map<std::string, Prediction> found;
    for (const Prediction& one : report.predictions) found[one.metric] = one;
    REQUIRE(found.size() == 4);
    CHECK(found["tpot_mean_ms"].measured == Approx(20));
    return found;
  };
  const auto gaps = [](const Prediction& one) {
    for (const auto& [dimension, value] : one.groups)
      if (dimension == "gaps") return value;
    return std::string("of tokens");
  };
  auto unstated = figures("25,3850,");
  CHECK(unstated["itl_mean_ms"].predicted == Approx(unstated["tpot_mean_ms"].predicted));
  CHECK(gaps(unstated["itl_mean_ms"]) == "of chunks of 1.2 tokens, by their means");
  auto stated = figures("25,3850,153");
  CHECK(stated["itl_mean_ms"].predicted == Approx(stated["tpot_mean_ms"].predicted * 190 / 152));
  CHECK(gaps(stated["itl_mean_ms"]) == "of chunks of 1.2 tokens, as stated");
  CHECK(gaps(figures("20,3850,")["itl_mean_ms"]) == "of tokens");
  CHECK(gaps(figures("15,3850,")["itl_mean_ms"]) == "shorter than the time per token");
  CHECK_THAT(validated(header + run + "25,3850,192\n").skipped.at(0).reason,
             Contains("/prompt/streamed_chunks") && Contains("192 of 191"));
}

TEST_CASE("every figure of a run under arrivals is compared, in rows and in objects") {
  const char* names[] = {"ttft_mean", "itl_mean", "e2e_mean", "tpot_mean", "ttft_p50", "ttft_p90",
                         "ttft_p95",  "ttft_p99", "e2e_p90",  "e2e_p95",   "e2e_p99"};
  std::string header =
      "engine,model_config,weight_dtype,gpu,tp,input_tokens,output_tokens,request_rate_per_s";
  std::string row = "vllm 0.15.1,llama-2-7b,fp16,h100-sxm-80gb,1,500,191,5";
  Json measured = Json::object();
  for (int i = 0; const char* name : names) {
    measured[name] = 50 + i;
    header += "," + std::string(name) + "_ms";
    row += "," + std::to_string(50 + i++);
  }
  const Json run = {{"id", "a"},
                    {"engine", "vllm 0.15.1"},
                    {"model_config", "llama-2-7b"},
                    {"weight_dtype", "fp16"},
                    {"gpu", "h100-sxm-80gb"},
                    {"tp", 1},
                    {"stages", Json::array({{{"rate", 5}, {"duration", 60}}})},
                    {"prompt", {{"question_tokens", 500}, {"output_tokens", 191}}},
                    {"measured_ms", measured}};
  for (const std::string& text : {header + "\n" + row + "\n", Json::array({run}).dump()}) {
    const ValidationReport report = validated(text);
    std::map<std::string, double> found, ours;
    for (const Prediction& one : report.predictions) {
      found[one.metric] = one.measured;
      ours[one.metric] = one.predicted;
    }
    CHECK(report.predictions.size() == std::size(names));
    for (int i = 0; const char* name : names) CHECK(found[std::string(name) + "_ms"] == 50 + i++);
    CHECK(ours["ttft_p50_ms"] < ours["ttft_p90_ms"]);
    CHECK(ours["ttft_p90_ms"] < ours["ttft_p95_ms"]);
    CHECK(ours["e2e_p90_ms"] < ours["e2e_p95_ms"]);
  }
  const auto reason = [&](const std::string& pointer, const Json& value) {
    Json changed = run;
    changed[Json::json_pointer(pointer)] = value;
    const ValidationReport report = validated(Json::array({changed}).dump());
    return report.skipped.empty() ? "accepted" : report.skipped[0].reason;
  };
  const std::string chunks = "/prompt/streamed_chunks";
  CHECK(reason(chunks, nullptr) == "accepted");
  CHECK(reason(chunks, 153) == "accepted");
  CHECK(reason(chunks, "x") == chunks + ": expected a number above 0, found the text \"x\"");
  CHECK(reason(chunks, true) == chunks + ": expected a number above 0, found true");
  CHECK(reason(chunks, 0) == chunks + ": expected a number above 0, found 0");
  CHECK_THAT(reason("/prompt/question_tokens", "x"), Contains("/prompt/question_tokens: expected"));
  CHECK_THAT(reason("/prompt/multi_turn_chat", 1), Contains("/prompt/multi_turn_chat: expected"));
  CHECK_THAT(reason("/prompt/distinct_system_prompts", "x"), Contains("found the text \"x\""));
  CHECK_THAT(reason("/measured_ms/ttft_p50", -1), Contains("/measured_ms/ttft_p50: expected"));
  CHECK_THAT(reason("/stages/0/rate", "x"), Contains("/stages/0/rate: expected"));
  CHECK_THAT(reason("/stages", 7), Contains("/stages: expected a list, found 7"));
  CHECK_THAT(reason("/prompt", 7), Contains("/prompt: expected an object, found 7"));
}
