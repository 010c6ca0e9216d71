#include "tokenroof/io/trace.hpp"

#include <filesystem>
#include <sstream>

#include "catch2/catch.hpp"

using namespace tokenroof;
using namespace tokenroof::io;

namespace {
struct Read {
  TraceReport report;
  std::vector<SimulatedRequest> requests;
};
Read read(const std::string& text, TraceOptions options = {}) {
  std::istringstream in(text);
  Read r;
  r.report = read_trace(in, "t", options,
                        [&r](const SimulatedRequest& one) { r.requests.push_back(one); });
  return r;
}
TraceOptions lenient() {
  TraceOptions options;
  options.strict = false;
  return options;
}
}  // namespace

TEST_CASE("Azure traces, with and without zone", "[trace]") {
  const Read r = read(
      "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
      "2023-12-31 23:59:59.9799600,4808,10\r\n"
      "2024-01-01 00:00:00.0319600+00:00,3180,8\r\n"
      "\r\n"
      "2024-03-01 00:00:00Z,12,0\r\n"
      "2024-03-01 01:00:00+01:00,7,1");
  CHECK(r.report.format == TraceFormat::azure);
  REQUIRE(r.requests.size() == 3);
  CHECK(r.requests[0].arrival / second == 0);
  CHECK(r.requests[1].arrival / second == Approx(0.052).epsilon(1e-12));
  CHECK(r.requests[2].arrival / second == Approx(60 * 86400.0 + 0.02004).epsilon(1e-14));
  CHECK(r.requests[1].input == 3180);
  CHECK(r.requests[1].output == 8);
  CHECK(r.report.failures == 1);
}

TEST_CASE("Mooncake traces: blocks become prefix hits", "[trace]") {
  const std::string text =
      R"({"timestamp": 0, "input_length": 1600, "output_length": 5, "hash_ids": [1, 2, 3, 4]}
{"timestamp": 1500, "input_length": 1100, "output_length": 7, "hash_ids": [1,2,9], "x": {"a": ["]"]}}
{"timestamp": 3000.5, "input_length": 1024, "output_length": 1, "hash_ids": [1, 2]}
{"timestamp": 4000, "input_length": 9, "output_length": 1, "hash_ids": []}
)";
  const Read r = read(text);
  CHECK(r.report.format == TraceFormat::mooncake);
  REQUIRE(r.requests.size() == 4);
  CHECK(r.requests[0].cached == 0);
  CHECK(r.requests[1].cached == 1024);
  CHECK(r.requests[2].cached == 1023);  // the last token is always computed
  CHECK(r.requests[2].arrival / second == Approx(3.0005));
  TraceOptions options;
  options.prefix_blocks = 0;
  CHECK(read(text, options).requests[1].cached == 0);
  options.prefix_blocks = 3;
  CHECK(read(text, options).requests[1].cached == 1024);
}

TEST_CASE("BurstGPT traces by header names, old and new", "[trace]") {
  const Read old = read(
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "5,ChatGPT,472,18,490,Conversation log\n"
      "45,GPT-4,1087,0,1087,API log\n"
      "118,ChatGPT,417.0,276,693,\"Conversation log\"\n");
  CHECK(old.report.format == TraceFormat::burstgpt);
  CHECK(old.requests.size() == 2);
  CHECK(old.report.failures == 1);
  CHECK(old.requests[1].arrival / second == 113);
  CHECK(old.requests[1].input == 417);
  const Read with_sessions = read(
      "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log "
      "Type\n5.5,a,0.1,GPT-4,10,20,30,API log\n");
  CHECK(with_sessions.requests[0].output == 20);
}

TEST_CASE("broken rows are reported by line", "[trace]") {
  const std::string text =
      "TIMESTAMP,ContextTokens,GeneratedTokens\n"
      "2023-11-16 18:17:03.97,48,10\n"
      "2023-11-16 18:17,48,10\n"
      "2023-13-16 18:17:03,48,10\n"
      "2023-11-16 18:17:04,many,10\n"
      "2023-11-16 18:17:04,48\n"
      "2023-11-16 18:17:04,-3,10\n"
      "2023-11-16 18:17:04,4.5,10\n"
      "2023-11-16 18:17:05,49,11\n";
  const Read r = read(text, lenient());
  CHECK(r.requests.size() == 2);
  CHECK(r.report.broken == 6);
  REQUIRE(r.report.faults.size() == 6);
  CHECK(r.report.faults[0].json_pointer == "line 3");
  CHECK(r.report.faults[5].json_pointer == "line 8");
  CHECK(r.report.faults[2].reason.find("\"many\"") != std::string::npos);
  try {
    read(text);
    FAIL("a strict reader accepts no broken row");
  } catch (const SpecError& error) {
    CHECK(error.faults().size() == 6);
  }
  CHECK(read("{\"timestamp\": 1, \"input_length\": 3}\n", lenient()).report.broken == 1);
  CHECK(read("{\"timestamp\": 1, \"input_length\"\n", lenient()).report.broken == 1);
}

TEST_CASE("what is no trace is refused", "[trace]") {
  CHECK_THROWS_AS(read("a,b,c\n1,2,3\n"), SpecError);
  CHECK_THROWS_AS(read(""), SpecError);
  CHECK_THROWS_AS(read("TIMESTAMP,ContextTokens\n"), SpecError);
  CHECK_THROWS_AS(load_trace("/nowhere/trace.csv"), SpecError);
}
