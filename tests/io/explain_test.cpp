#include "tokenroof/io/explain.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
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

TEST_CASE("a dense multiply can be worked out by hand") {
  const Explanation e = explain(
      entry(R"("engine": "vllm", "deployment": {"tensor_parallel": 8}, )" + step, "llama-3.1-70b"),
      Fidelity::calibrated, Catalog().kernels(), "decode");
  // R x k times k x n on one of eight ranks, constants of kernels.json and of the vLLM profile.
  const double f = std::pow(5e12 * 132 / 989.4e12, 0.25);
  const auto by_hand = [&](double k, double n) {
    const double rows = 64, compute = 2 * rows * k * n / (0.793 * 989.4e12);
    const double memory =
        (rows * (2 * k * std::max(1.0, n / 2048) + 2 * n) + 2 * k * n) / (0.8 * 1.10 * 3.35e12);
    const double loop = 5.04e-6 * f * k / (k + 1536);
    return 80 * (2.84e-6 * f + std::sqrt(compute * compute + memory * memory + loop * loop));
  };
  const auto part = [&](const std::string& name) {
    for (const ExplainedStep& line : e.steps)
      if (line.is_part && line.text.starts_with(name + ":")) return line.value;
    return 0.0;
  };
  CHECK(part("query key value") == Approx(by_hand(8192, 1280)).epsilon(1e-9));
  CHECK(part("gate up") == Approx(by_hand(8192, 7168)).epsilon(1e-9));
  CHECK_THAT(e.formula, Contains("sqrt(compute^2 + memory^2 + loop^2)"));
}

TEST_CASE("terms of a calibrated step make its kernels, and kernels its parts") {
  const KernelEntry kernels = Catalog().kernels();
  const std::string engine = R"("engine": "sglang", )";
  const ScenarioEntry entries[] = {
      entry(step), entry(drafting), entry(wide + engine + closed, "deepseek-v3"),
      entry(wide + engine + step, "gemma-3-27b"), entry(wide + open, "llama-3.1-70b")};
  const auto adds = [](const std::string& term) {
    for (const char* one : {"fixed", "quantize", "write", "starts and writes", "vector", "move",
                            "links", "latency", "engine"})
      if (term == one) return true;
    return false;
  };
  for (const ScenarioEntry& one : entries)
    for (const char* metric : {"decode", "prefill"}) {
      double sum = 0, root = 0, whole = 0, loose = 0;
      int totals = 0;
      for (const ExplainedStep& line : explain(one, Fidelity::calibrated, kernels, metric).steps) {
        CAPTURE(metric, one.scenario.model.id, line.text);
        if (line.is_part) {
          if (!line.text.starts_with("drafting"))
            CHECK(line.value == Approx(totals > 0 ? whole : loose).epsilon(1e-9));
          sum = root = whole = loose = 0;
          totals = 0;
          continue;
        }
        const std::size_t begin = line.text.find(": ");
        if (begin == std::string::npos) continue;  // the sum
        const std::string text = line.text.substr(begin + 2);
        if (const std::size_t bracket = text.find(" x ("); std::isdigit(text[0]) != 0) {
          CHECK(line.value == Approx(std::stod(text.substr(0, bracket)) * (sum + std::sqrt(root))));
          whole += line.value;
          ++totals;
          continue;
        }
        const std::string term =
            text.substr(0, text.find_first_of("=:") == std::string::npos
                               ? text.size()
                               : text.find_first_of("=:") - (text.find(" =") < text.find(':')));
        if (term == "compute" || term == "links") sum = root = 0;  // another kernel
        if (adds(term)) sum += line.value;
        if (term == "compute" || term == "memory" || term == "loop" || term == "start")
          root += line.value * line.value;
        if (line.unit == "s") loose += line.value;
      }
    }
}

TEST_CASE("only constants that play a part are listed, each by a name of its own") {
  const auto symbols = [](const std::string& rest, const char* model) {
    std::string all = "\n";
    for (const ExplainedInput& input : explain(entry(R"("engine": "vllm", )" + rest + step, model),
                                               Fidelity::calibrated, Catalog().kernels(), "decode")
                                           .inputs) {
      CHECK(all.find("\n" + input.symbol + "\n") == std::string::npos);
      all += input.symbol + "\n";
    }
    return all;
  };
  const std::string plain = symbols("", "llama-3.1-8b");
  for (const char* used : {"f", "processors", "matmul_loop", "matmul_compute_16bit",
                           "weight_stream (engine)", "weight_stream (kernels)"})
    CHECK_THAT(plain, Contains("\n" + std::string(used) + "\n"));
  for (const char* idle : {"matmul_compute_8bit", "quantize_element", "attention_fixed_8bit",
                           "ring_step", "exchange", "experts_fixed", "beta"})
    CHECK_THAT(plain, !Contains("\n" + std::string(idle) + "\n"));
  const std::string narrow = symbols(wide, "llama-3.1-70b");
  for (const char* used : {"matmul_compute_8bit", "exchange", "beta"})
    CHECK_THAT(narrow, Contains("\n" + std::string(used) + "\n"));
}

TEST_CASE("KV bytes and the pool name every number they are made of") {
  const KernelEntry kernels = Catalog().kernels();
  const auto values = [&](const char* model) {
    std::string all;
    for (const ExplainedInput& input :
         explain(entry(step, model), Fidelity::ideal, kernels, "kv").inputs)
      all += input.symbol + " = " + input.shown + "\n";
    return all;
  };
  CHECK_THAT(values("llama-3.1-8b"), Contains("n_kv = 8\n") && Contains("d_h = 128\n"));
  CHECK_THAT(values("deepseek-v3"), Contains("d_c = 512\n") && Contains("d_r = 64\n"));
  const Explanation pool = explain(entry(R"("engine": "vllm", )" + wide + step, "llama-3.1-70b"),
                                   Fidelity::ideal, kernels, "memory");
  CHECK(pool.metric == "memory.kv_pool_bytes_per_device");
  std::string lines;
  for (const ExplainedStep& line : pool.steps) lines += line.is_part ? line.text + "\n" : "";
  for (const char* part : {"budget", "weights", "activations", "runtime", "collectives", "graphs"})
    CHECK_THAT(lines, Contains(part));
}

TEST_CASE("the rate under an objective says which limit binds there") {
  const auto last = [](const std::string& rest) {
    const Explanation e =
        explain(entry(R"("engine": "vllm", )" + rest + open), Fidelity::calibrated,
                Catalog().kernels(), "serving.objective_rate_per_s");
    return e;
  };
  const Explanation tight = last(R"("objective": {"ttft_p95": "100 s", "tpot_p95": "12 ms"}, )");
  CHECK_THAT(tight.steps.back().text, Contains("binds: tpot_p95") && !Contains("ttft"));
  for (const ExplainedStep& line : tight.steps)
    if (line.text.starts_with("tpot_p95")) CHECK(line.value == Approx(0.012).epsilon(1e-4));
  CHECK(std::any_of(tight.inputs.begin(), tight.inputs.end(), [](const ExplainedInput& input) {
    return input.symbol == "ttft_p95" && input.value == 100 &&
           input.origin == "scenario, objective.ttft_p95";
  }));
  const Explanation first = last(R"("objective": {"ttft_p95": "300 ms", "tpot_p95": "9 s"}, )");
  CHECK_THAT(first.steps.back().text, Contains("binds: ttft_p95") && !Contains("tpot"));
  const Explanation idle = last(R"("objective": {"tpot_p95": "1 ms"}, )");
  CHECK(idle.value == 0);
  CHECK_THAT(idle.steps.back().text, Contains("binds: tpot_p95"));
  CHECK_THAT(last("").steps.back().text, Contains("no objective"));
  const Explanation loose = last(R"("objective": {"tpot_p95": "100 s"}, )");
  CHECK_THAT(loose.steps.back().text, Contains("largest stable rate"));
}

TEST_CASE("waiting for a first token: overheads, place, running step, other prompts") {
  const KernelEntry kernels = Catalog().kernels();
  const auto parts = [&](const std::string& rest) {
    return explain(entry(R"("engine": "vllm", )" + rest), Fidelity::calibrated, kernels, "ttft")
        .steps;
  };
  const auto open_parts = parts(open);
  std::string texts;
  for (const ExplainedStep& line : open_parts) {
    texts += line.text + "\n";
    if (line.is_part) CHECK(line.value >= 0);
  }
  for (const char* part : {"request_overhead", "per_prompt_token", "admission", "scheduling",
                           "prefill_queue", "prefill: "})
    CHECK_THAT(texts, Contains(part));
  // 1,024 prompt tokens of 7.586 us, whatever the traffic.
  for (const auto& lines : {open_parts, parts(closed)})
    CHECK(std::any_of(lines.begin(), lines.end(), [](const ExplainedStep& line) {
      return line.text.starts_with("per_prompt_token") &&
             line.value == Approx(1024 * 7.586e-6).epsilon(1e-6);
    }));
  const auto pools =
      parts(R"("disaggregation": {"prefill_replicas": 1, "decode_replicas": 1}, )" + open);
  double sum = 0;
  for (const ExplainedStep& line : pools) {
    if (line.is_part) CHECK(line.value >= 0);
    sum += line.is_part ? line.value : 0;
  }
  CHECK(sum == Approx(pools.back().value));
  CHECK(std::any_of(pools.begin(), pools.end(), [](const ExplainedStep& line) {
    return line.text.starts_with("transfer") && line.value > 0;
  }));
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
