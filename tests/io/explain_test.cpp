#include "tokenroof/io/explain.hpp"

#include <fstream>
#include <sstream>

#include "catch2/catch.hpp"
#include "tokenroof/analyze/metrics.hpp"
#include "tokenroof/decide/estimate.hpp"
#include "tokenroof/io/answer_io.hpp"

using namespace tokenroof;
using namespace tokenroof::io;
using Catch::Matchers::Contains;

namespace {

ScenarioEntry entry(const std::string& rest, const std::string& model = "llama-3.1-8b") {
  return ScenarioDocument::parse(R"({"model": ")" + model + R"(", "accelerator": "h100-sxm-80gb",
      "price": {"accelerator_hour": "2.50 USD", "utilization": 0.6}, )" +
                                     rest + "}",
                                 "s.json")
      .read(Catalog());
}
const std::string step = R"("workload": {"batch": 64, "context_tokens": 4096})";
const std::string closed =
    R"("workload": {"input_tokens": 1024, "output_tokens": 256, "concurrency": 32})";
const std::string open =
    R"("workload": {"input_tokens": 1024, "output_tokens": 256, "arrival_rate": "4 req/s",
       "prefix_hit_rate": 0.5})";
const std::string drafting = step + R"(, "speculation": {"draft_tokens": 3, "acceptance": 0.7,
                                        "draft_cost": 0.1})";
const std::string wide =
    R"("deployment": {"tensor_parallel": 8}, "precision": {"weights": "fp8"}, )";

/// Formulas by heading of docs/formulas.md, as anchors.
std::string anchors() {
  std::ifstream file(TOKENROOF_SOURCE_DIR "/docs/formulas.md");
  std::string all = "\n", line;
  while (std::getline(file, line)) {
    if (!line.starts_with("## ")) continue;
    for (const char c : line.substr(3))
      if (std::isalnum(static_cast<unsigned char>(c)) != 0)
        all += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      else if (c == ' ' || c == '-')
        all += '-';
    all += '\n';
  }
  return all;
}

}  // namespace

TEST_CASE("every metric has a formula in every fidelity, and a section of docs/formulas.md") {
  const std::string sections = anchors();
  for (const Formula& formula : formulas()) {
    CAPTURE(formula.metric);
    CHECK_FALSE(formula.text.empty());
    CHECK_FALSE(formula.tex.empty());
    CHECK_THAT(sections, Contains("\n" + std::string(formula.section) + "\n"));
    CHECK((formula.metric == "kv_bytes_per_token" || find_metric(formula.metric) != nullptr));
  }
  for (const Metric& metric : metrics())
    for (const Fidelity fidelity : {Fidelity::ideal, Fidelity::roofline, Fidelity::calibrated}) {
      int lines = 0;
      for (const Formula& formula : formulas())
        lines += formula.metric == metric.key && formula.fidelity.value_or(fidelity) == fidelity;
      CAPTURE(metric.key);
      CHECK(lines == 1);
    }
}

TEST_CASE("steps end at the printed value, and parts add up to it") {
  const ScenarioEntry entries[] = {entry(step),
                                   entry(closed),
                                   entry(open),
                                   entry(drafting),
                                   entry(wide + closed, "llama-3.1-70b"),
                                   entry(wide + step, "deepseek-v3"),
                                   entry(wide + step, "gemma-3-27b")};
  const KernelEntry kernels = Catalog().kernels();
  for (const ScenarioEntry& one : entries) {
    for (const Fidelity fidelity : {Fidelity::ideal, Fidelity::roofline, Fidelity::calibrated}) {
      const Answer answer = estimate(one.scenario, fidelity, kernels.constants);
      for (const Metric& metric : metrics()) {
        CAPTURE(metric.key, to_string(fidelity), one.scenario.model.id);
        const Explanation e = explain(one, fidelity, kernels, metric.key);
        CHECK(e.value == reported_number(answer, metric));
        if (!e.value) {
          CHECK_FALSE(e.reason.empty());
          continue;
        }
        REQUIRE_FALSE(e.steps.empty());
        CHECK(e.steps.back().value == Approx(*e.value).epsilon(1e-12));
        double sum = 0;
        bool any = false;
        for (const ExplainedStep& line : e.steps) {
          sum += line.is_part ? line.value : 0;
          any = any || line.is_part;
        }
        if (any) CHECK(sum == Approx(*e.value).epsilon(1e-9).margin(1e-15));
        for (const ExplainedInput& input : e.inputs) CHECK_FALSE(input.origin.empty());
      }
    }
  }
}

TEST_CASE("KV bytes per token: layers x 2 x KV heads x head size x bytes") {
  const KernelEntry kernels = Catalog().kernels();
  const auto kv = [&](const char* model) {
    return explain(entry(step, model), Fidelity::ideal, kernels, "kv").value.value();
  };
  CHECK(kv("llama-3.1-8b") == 131072);
  CHECK(kv("deepseek-v3") == 70272);
}

TEST_CASE("each number says where it is from") {
  const Explanation e =
      explain(entry(step), Fidelity::calibrated, Catalog().kernels(), "decode.step_s");
  const auto origin = [&](const std::string& symbol) {
    for (const ExplainedInput& input : e.inputs)
      if (input.symbol == symbol) return input.origin;
    return std::string("absent");
  };
  CHECK_THAT(origin("BW"), Contains("memory_bandwidth of accelerator h100-sxm-80gb: "));
  CHECK_THAT(origin("B"), Contains("scenario, workload.batch"));
  CHECK_THAT(origin("L"), Contains("num_hidden_layers"));
  CHECK_THAT(origin("t"), Contains("default"));
  CHECK_THAT(origin("matmul_fixed"), Contains("kernels.json"));
  CHECK_THAT(e.formula, Contains("host"));
}

TEST_CASE("rendered as text with TeX, JSON and CSV; unknown names get a suggestion") {
  const Explanation e = explain(entry(step), Fidelity::ideal, Catalog().kernels(), "ridge");
  CHECK_THAT(explanation_text(e, true), Contains("\\[ I^* = P / BW \\]") &&
                                            Contains("docs/formulas.md#roofline") &&
                                            Contains("limits.ridge_flop_per_byte = 295.3"));
  CHECK_THAT(explanation_text(e), !Contains("\\["));
  CHECK_THAT(explanation_json(e, "0"), Contains("\"schema\": \"tokenroof/explain/1\""));
  std::ostringstream out;
  write_explanation_csv(e, out);
  CHECK_THAT(out.str(), Contains("result,limits.ridge_flop_per_byte,"));
  CHECK_THROWS_WITH(explain(entry(step), Fidelity::ideal, Catalog().kernels(), "decode.stp_s"),
                    Contains("decode.step_s"));
  const Explanation missing =
      explain(entry(step), Fidelity::ideal, Catalog().kernels(), "serving.ttft_s.mean");
  CHECK_THAT(explanation_text(missing), Contains("No value: "));
}
