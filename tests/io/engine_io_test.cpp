#include "tokenroof/io/engine_io.hpp"

#include "catch2/catch.hpp"
#include "tokenroof/core/error.hpp"

using namespace tokenroof;
using namespace tokenroof::io;
using Catch::Matchers::Contains;

namespace {
const char* profile = R"({"name": "vllm", "versions": ["0.15"],
  "defaults": {"schedule_interval": 10, "async_scheduling": true, "aligned_prompts": true, "memory_fraction": 0.92, "max_sequences": 1024, "kv_policy": "uniform_pages"},
  "constants": {
    "step": {"value": "0.5 ms", "meaning": "host time per step", "source": "fit", "date": "2026-01-01", "rows": 900, "fit_error": 0.09},
    "prompt_efficiency": {"value": 0.9, "meaning": "m", "source": "s", "date": "2026-01-01"}},
  "local_runtime": {"stream_ceiling": {"value": "1.1 TB/s", "meaning": "m", "source": "s", "date": "2026-02-01"}},
  "earlier": [
    {"before": "0.8", "note": "n", "defaults": {"max_sequences": 256, "async_scheduling": false}, "constants": {"step": {"value": "2 ms", "meaning": "m", "source": "s", "date": "2026-02-01"}}},
    {"before": "0.18", "note": "n", "constants": {"step": {"value": "0.3 ms", "meaning": "m", "source": "s", "date": "2026-02-01"}}}],
  "reserves": [{"since": "0.10", "runtime": "0.5 GiB", "graphs": "1 GiB", "activation_per_token": 8, "kv_policy": "full_length", "reports_capacity": true, "source": "logs"}]})";
}  // namespace

TEST_CASE("an engine profile is read, and written so that it reads the same") {
  const EngineEntry first = read_engine(profile, "f.json");
  for (const EngineEntry& entry : {first, read_engine(write_engine(first), "g.json")}) {
    const Engine& engine = entry.engine;
    CHECK(engine.name == "vllm");
    CHECK(engine.memory_fraction == 0.92);
    CHECK(engine.max_sequences == 1024);
    CHECK(engine.kv_policy == KvPolicy::uniform_pages);
    CHECK(engine.constants.step / millisecond == Approx(0.5));
    CHECK(engine.constants.prompt_efficiency == 0.9);
    REQUIRE(engine.reserves.size() == 1);
    CHECK(engine.reserves[0].runtime == 0.5 * gibibyte);
    CHECK(engine.reserves[0].graphs == 1 * gibibyte);
    CHECK(engine.reserves[0].activation_per_token == 8);
    CHECK(engine.reserves[0].kv_policy == KvPolicy::full_length);
    CHECK(engine.reserves[0].reports_capacity);
    CHECK(entry.reserve_sources == std::vector<std::string>{"logs"});
    REQUIRE(!entry.constants.empty());
    CHECK(entry.constants[0].rows == 900);
    CHECK(entry.constants[0].fit_error == 0.09);
  }
}

TEST_CASE("the constants are those of the version's era") {
  const EngineEntry first = read_engine(profile, "f.json");
  for (const EngineEntry& entry : {first, read_engine(write_engine(first), "g.json")}) {
    const auto step = [&](const std::string& version) {
      const EngineConstants constants = for_version(entry, version).engine.constants;
      CHECK(constants.step == constants_for(entry, version).step);
      return constants.step / microsecond;
    };
    CHECK(step("0.7.9") == Approx(2000));
    CHECK(step("0.8") == Approx(300));
    CHECK(step("0.9.1") == Approx(300));  // 0.18 is after 0.9
    CHECK(step("0.18") == Approx(500));
    CHECK(step("1.0") == Approx(500));
    CHECK(step("") == Approx(500));
    const EngineEntry old = for_version(entry, "0.6.3");
    CHECK(old.engine.version == "0.6.3");
    CHECK(old.engine.constants.prompt_efficiency == 1);  // not stated by the era: neutral
    CHECK(old.engine.max_sequences == 256);
    CHECK(for_version(entry, "0.9").engine.max_sequences == 1024);
    CHECK(entry.engine.schedule_interval == 10);
    CHECK(entry.engine.async_scheduling);
    CHECK_FALSE(old.engine.async_scheduling);
    CHECK(entry.engine.aligned_prompts);
    CHECK(old.engine.reserves.size() == 1);
    CHECK(old.constants[0].date == "2026-02-01");
    REQUIRE(entry.engine.local_runtime);
    CHECK(entry.engine.local_runtime->stream_ceiling == Approx(1.1e12));
  }
}

TEST_CASE("profiles that are refused") {
  const auto refusal = [](const std::string& constants) {
    try {
      static_cast<void>(
          read_engine(R"({"name": "x", "constants": {)" + constants + "}}", "f.json"));
      return std::string("accepted");
    } catch (const SpecError& error) {
      return std::string(error.what());
    }
  };
  const std::string notes = R"(, "meaning": "m", "source": "s", "date": "2026-01-01"})";
  CHECK_THAT(refusal(R"("step": {"value": "0.5 ms"})"),
             Contains("/constants/step/meaning: is required") && Contains("/source: is required"));
  CHECK_THAT(refusal(R"("step": {"value": "0.5 GB")" + notes), Contains("expected a time"));
  CHECK_THAT(refusal(R"("step": {"value": 0.5)" + notes), Contains("expected a time"));
  CHECK_THAT(refusal(R"("step": {"value": "-1 ms")" + notes), Contains("must be at least 0"));
  CHECK_THAT(refusal(R"("prompt_efficiency": {"value": 0)" + notes), Contains("greater than 0"));
  CHECK_THAT(refusal(R"("stepp": {"value": 1)" + notes), Contains("did you mean \"step\""));
}
