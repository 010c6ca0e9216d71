#include "tokenroof/io/answer_io.hpp"

#include <algorithm>
#include <sstream>

#include "catch2/catch.hpp"
#include "tokenroof/decide/estimate.hpp"

using namespace tokenroof;
using namespace tokenroof::io;

namespace {

ScenarioEntry entry_with(const std::string& more) {
  const std::string text =
      R"({"model": "llama-3.1-8b", "accelerator": "h100-sxm-80gb", "engine": "default", )" + more +
      "}";
  return ScenarioDocument::parse(text, "test").read(Catalog());
}
const std::string closed = R"("workload": {"input_tokens": 1000, "output_tokens": 100,
                                           "concurrency": 8})";

}  // namespace

TEST_CASE("every number is there or has its reason") {
  const std::string layout = R"(, "deployment": {"tensor_parallel": 3})";
  const std::string single = R"("workload": {"batch": 4, "context_tokens": 0})";
  for (const std::string& spec : {closed, closed + layout, single}) {
    const ScenarioEntry entry = entry_with(spec);
    const Answer answer = estimate(entry.scenario);
    const std::vector<Missing> missing = missing_numbers(answer, entry.scenario);
    for (const Metric& metric : metrics()) {
      const auto named = std::count_if(missing.begin(), missing.end(), [&](const Missing& m) {
        return m.metric == metric.key && !m.reason.empty();
      });
      INFO(metric.key);
      CHECK(named == (reported_number(answer, metric) ? 0 : 1));
    }
  }
}

TEST_CASE("numbers about what cannot be are not reported") {
  const Metric& weights = *find_metric("memory.weights_bytes_per_device");
  const Metric& price = *find_metric("economics.usd_per_mtok_output");
  Answer answer = estimate(entry_with(closed).scenario);
  CHECK(reported_number(answer, weights));
  CHECK(reported_number(answer, price));
  answer.verdict.outcome = Outcome::does_not_fit;
  CHECK(reported_number(answer, weights));
  CHECK(!reported_number(answer, price));
  answer.verdict.outcome = Outcome::invalid_layout;
  CHECK(!reported_number(answer, weights));
  answer.verdict.outcome = Outcome::feasible;
  answer.decode->step = Seconds::from_base(0) / 0.0;
  CHECK(!reported_number(answer, *find_metric("decode.step_s")));
}

TEST_CASE("the row of a spreadsheet has a cell for every column") {
  const ScenarioEntry entry = entry_with(closed);
  std::ostringstream out;
  write_answer_csv(estimate(entry.scenario), entry, out);
  std::istringstream in(out.str());
  CsvReader reader(in, "test");
  REQUIRE(reader.next());
  CHECK(reader.text(reader.required_column("model")) == "llama-3.1-8b");
  CHECK(reader.text(reader.required_column("status")) == "feasible");
  CHECK(reader.text(reader.required_column("serving_ttft_s_p95")).empty());
  CHECK(reader.number(reader.required_column("decode_batch")) == 8.0);
  CHECK(!reader.next());
}

TEST_CASE("the text begins with the verdict and names what binds") {
  const ScenarioEntry entry = entry_with(closed);
  const Answer answer = estimate(entry.scenario);
  const std::string text = answer_text(answer, entry);
  CHECK(text.find("It fits") < text.find("Memory"));
  CHECK(text.find("memory bandwidth binds the decode step") != std::string::npos);
  CHECK(text.find('\033') == std::string::npos);
  CHECK(answer_text(answer, entry, Markup::markdown).starts_with("# llama-3.1-8b on 1 x "));
  CHECK(answer_text(answer, entry, Markup::plain, true).starts_with("\033[1m"));
}
