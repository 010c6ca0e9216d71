// The three kinds of files that AIPerf and GenAI-Perf write: JSON, table, requests.
#include "import_fixtures.hpp"

using namespace tokenroof;
using namespace tokenroof::io;
using namespace tokenroof::test;

TEST_CASE("AIPerf: units are those of the file", "[import]") {
  const ImportedRows rows = import_of("aiperf.json", on_two_h100);
  CHECK(rows.kind == "closed_loop");
  const ImportCells& row = rows.rows.at(0);
  CHECK(row.text("model_config") == "Qwen/Qwen3-32B");
  CHECK(*row.number("concurrency") == 32);
  CHECK(*row.number("requests") == 320);
  CHECK(*row.number("ttft_ms") == 410.2);
  CHECK(*row.number("tpot_ms") == Approx(31.8));  // 31,800 us
  CHECK(*row.number("tpot_p99_ms") == Approx(38.9));
  CHECK(*row.number("e2e_mean_ms") == 4450.5);
  CHECK(*row.number("duration_s") == Approx(44.4));
  const std::string wrong = R"({"time_to_first_token": {"unit": "tokens", "avg": 3}})";
  CHECK(message(wrong).find("/time_to_first_token/unit: expected a unit of time") !=
        std::string::npos);
  const std::string negative = R"({"time_to_first_token": {"unit": "ms", "p99": -205.5}})";
  CHECK(
      message(negative).find("/time_to_first_token/p99: expected a number from 0, found -205.5") !=
      std::string::npos);
  const std::string percent = R"({"time_to_first_token": {"unit": "ms", "avg": "3%"}})";
  CHECK(message(percent).find("/time_to_first_token/avg: expected a number, found the text") !=
        std::string::npos);
}

TEST_CASE("AIPerf: the table and the requests of a run give the row of its JSON", "[import]") {
  const ImportCells json = import_of("aiperf_run.json", on_two_h100).rows.at(0);
  CHECK(*json.number("ttft_p25_ms") == 130.25);
  CHECK(*json.number("tpot_ms") == 11.5);
  // What neither of them says.
  Stated stated = on_two_h100;
  stated.emplace_back("model", "Qwen/Qwen3-32B");
  stated.emplace_back("concurrency", "4");
  for (const char* name : {"aiperf_run.csv", "aiperf_requests.jsonl"}) {
    INFO(name);
    const ImportedRows rows = import_of(name, stated);
    CHECK(rows.kind == "closed_loop");
    REQUIRE(rows.rows.size() == 1);
    CHECK(rows.skipped.empty());
    const ImportCells& row = rows.rows[0];
    CHECK(row.all().size() == json.all().size());
    for (const auto& [column, cell] : json.all()) {
      INFO(column);
      if (std::holds_alternative<double>(cell))
        CHECK(row.number(column).value() == Approx(std::get<double>(cell)).margin(0.005));
      else
        CHECK(row.text(column) == std::get<std::string>(cell));
    }
  }
  // A failed request counts, one of the warm-up does not: its 5 s to the first token are not in.
  const ImportCells row = import_of("aiperf_requests.jsonl", stated).rows.at(0);
  CHECK(*row.number("requests") == 5);
  CHECK(*row.number("failed_requests") == 1);
  CHECK(*row.number("ttft_ms") == Approx(205.25));
  CHECK(import_of("aiperf_run.csv", stated).rows[0].number("e2e_mean_ms") ==
        1666.75);  // "1,666.75"
}

TEST_CASE("AIPerf: the load is stated, not guessed", "[import]") {
  Stated stated = on_two_h100;
  stated.emplace_back("model", "qwen3-32b");
  const std::string ask =
      "file: line 1: neither concurrency nor request rate is stated; give it with --concurrency or "
      "--column request_rate_per_s=RATE";
  for (const char* name : {"aiperf_run.csv", "aiperf_requests.jsonl"})
    CHECK(message(text_of(name), stated) == ask);
  CHECK(message(R"({"time_to_first_token": {"unit": "ms", "avg": 3},
      "input_sequence_length": {"unit": "tokens", "avg": 10},
      "output_sequence_length": {"unit": "tokens", "avg": 10}})",
                stated) == ask);
  stated.emplace_back("request_rate_per_s", "2");
  CHECK(import_of("aiperf_requests.jsonl", stated).kind == "open_loop");
}

TEST_CASE("AIPerf: broken tables and requests are refused with the line", "[import]") {
  const auto table = [](const std::string& rows) { return message("Metric,avg,min,max\n" + rows); };
  const std::string good = "Time to First Token (ms),5,1,9\n";
  CHECK(table(good + "Inter Token Latency (ms),7%,1,9\nRequest Latency (ms),8\n") ==
        "file: line 3, avg: expected a number, found \"7%\"\n"
        "file: line 4: has 2 cells, the header has 4");
  CHECK(table(good + "\nMetric,Value\nRequest Count (requests),\"1,23\"\n") ==
        "file: line 5, Value: expected a number, found \"1,23\"");
  CHECK(table(good + good) == "file: line 3, Metric: line 2 states it as well");
  CHECK(table("Time to First Token (tokens),5,1,9\n") ==
        "file: line 2: /time_to_first_token/unit: expected a unit of time (ns, us, ms, s), found "
        "\"tokens\"");
  CHECK(table("Time to First Token (ms),-205.5,1,9\n") ==
        "file: line 2: /time_to_first_token/avg: expected a number from 0, found -205.5");
  CHECK(table("Time to First Token (ms),1e300,1,9\n") ==
        "file: line 2: /time_to_first_token/avg: is out of range: 1e+300");
  CHECK(table("Lag (ms),5,1,9\n").find("states no figure of a run") != std::string::npos);

  const std::string all = text_of("aiperf_requests.jsonl");
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = all;
    text.replace(text.find(from), from.size(), to);
    return message(text);
  };
  CHECK(message(all.substr(0, all.size() - 40)) ==
        "file: line 7: the object that begins here does not end");
  CHECK(changed("\"value\":230.25,\"unit\":\"ms\"", "\"value\":230.25,\"unit\":\"us\"") ==
        "file: line 3: /metrics/time_to_first_token/unit: expected \"us\" as on line 2, found "
        "\"ms\"\n"
        "file: line 5: /metrics/time_to_first_token/unit: expected \"us\" as on line 2, found "
        "\"ms\"\n"
        "file: line 6: /metrics/time_to_first_token/unit: expected \"us\" as on line 2, found "
        "\"ms\"\n"
        "file: line 7: /metrics/time_to_first_token/unit: expected \"us\" as on line 2, found "
        "\"ms\"");
  CHECK(changed("\"value\":230.25", "\"value\":\"fast\"") ==
        "file: line 2: /metrics/time_to_first_token/value: expected a number, found the text "
        "\"fast\"");
  CHECK(changed("\"value\":230.25", "\"value\":-205") ==
        "file: line 2: /metrics/time_to_first_token/value: expected a number from 0, found -205");
  const std::string request = R"({"metadata": {"request_start_ns": 5)";
  CHECK(message(request + R"(, "request_end_ns": 4}, "metrics": {}})") ==
        "file: line 1: /metadata/request_end_ns: is before the start");
  CHECK(message(request + R"(}, "metrics": {}})") ==
        "file: line 1: /metadata/request_end_ns: is missing");
  CHECK(message(request + R"(}, "metrics": {}, "error": {"code": 503}})") ==
        "file: no request was completed");
}
