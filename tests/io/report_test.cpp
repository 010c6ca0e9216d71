#include "tokenroof/io/report.hpp"

#include <algorithm>
#include <set>

#include "catch2/catch.hpp"
#include "tokenroof/decide/estimate.hpp"
#include "tokenroof/io/answer_io.hpp"

using namespace tokenroof;
using namespace tokenroof::io;
using Catch::Matchers::Contains;

namespace {

ScenarioDocument document(const std::string& rest, const std::string& device = "h100-sxm-80gb",
                          const std::string& model = "llama-3.1-8b") {
  return ScenarioDocument::parse(R"({"model": ")" + model + R"(", "accelerator": ")" + device +
                                     R"(", "price": {"accelerator_hour": "2.50 USD"}, )" + rest +
                                     "}",
                                 "s.json");
}
const std::string step = R"("workload": {"batch": 64, "context_tokens": 4096})";
const std::string closed =
    R"("workload": {"input_tokens": 1024, "output_tokens": 256, "concurrency": 32})";
const std::string open = R"("engine": "vllm",
    "workload": {"input_tokens": 1024, "output_tokens": 256, "arrival_rate": "4 req/s"})";

Report report(const ScenarioDocument& of, Fidelity fidelity = Fidelity::calibrated) {
  return make_report(of, Catalog(), {fidelity, "0"});
}

const ReportSection& section(const Report& of, const std::string& id) {
  const auto found = std::find_if(of.sections.begin(), of.sections.end(),
                                  [&](const ReportSection& one) { return one.id == id; });
  REQUIRE(found != of.sections.end());
  return *found;
}

/// Paragraphs, items and cells of a section, a line each.
std::string text(const ReportSection& of) {
  std::string all;
  for (const ReportBlock& block : of.blocks) {
    if (const auto* paragraph = std::get_if<std::string>(&block)) all += *paragraph + "\n";
    if (const auto* list = std::get_if<ReportList>(&block))
      for (const std::string& item : list->items) all += item + "\n";
    if (const auto* table = std::get_if<ReportTable>(&block))
      for (const auto& row : table->rows) {
        for (const ReportCell& cell : row) all += cell.text + " | ";
        all += "\n";
      }
  }
  return all;
}

std::vector<const ReportTable*> tables(const ReportSection& of) {
  std::vector<const ReportTable*> all;
  for (const ReportBlock& block : of.blocks)
    if (const auto* table = std::get_if<ReportTable>(&block)) all.push_back(table);
  return all;
}

int count(const std::string& where, const std::string& what) {
  int found = 0;
  for (std::size_t at = 0; (at = where.find(what, at)) != std::string::npos; at += what.size())
    ++found;
  return found;
}

const ScenarioDocument asked[] = {
    document(step),
    document(closed),
    document(open),
    document(step, "l4", "llama-3.1-70b"),                                 // does not fit
    document(open + R"(, "deployment": {"tensor_parallel": 3})"),          // no such layout
    document(open + R"(, "objective": {"tpot_mean": "1 ms"})"),            // out of reach
    document(R"("workload": {"batch": 100000, "context_tokens": 4096})"),  // too many
    document(R"("workload": {"input_tokens": 9, "output_tokens": 9, "arrival_rate": "1e5 req/s"})"),
};

}  // namespace

TEST_CASE("every section is there, full, in its order, and both writings have its text") {
  for (const ScenarioDocument& one : asked)
    for (const Fidelity fidelity : {Fidelity::ideal, Fidelity::roofline, Fidelity::calibrated}) {
      const Report made = report(one, fidelity);
      std::string ids;
      for (const ReportSection& s : made.sections) {
        ids += s.id + " ";
        CAPTURE(s.id, made.title, to_string(fidelity));
        CHECK_FALSE(s.blocks.empty());
        for (const ReportTable* table : tables(s)) {
          CHECK_FALSE(table->rows.empty());
          for (const auto& row : table->rows) CHECK(row.size() == table->columns.size());
        }
        for (const char* not_a_number : {" nan", " inf", "-nan", "-inf"})
          CHECK(text(s).find(not_a_number) == std::string::npos);
      }
      CHECK(ids == "question answer results pictures assumptions sources certainty changes words ");
      CHECK_THAT(text(section(made, "answer")),
                 Catch::Matchers::StartsWith(made.verdict.ok() ? "Yes: " : "No: "));
      const std::string html = report_html(made);
      CHECK(html == report_html(report(one, fidelity)));
      for (const ReportSection& s : made.sections)
        CHECK(count(html, "<section id=\"" + s.id + "\"") == 1);
      CHECK(count(html, "<svg ") == static_cast<int>(figures(made).size()));
      CHECK(count(report_markdown(made, "r"), "\n![") == static_cast<int>(figures(made).size()));
    }
}

TEST_CASE("results are the numbers of the answer, each once") {
  for (const ScenarioDocument& one : asked) {
    const Answer answer =
        estimate(one.read(Catalog()).scenario, Fidelity::calibrated, Catalog().kernels().constants);
    const Report made = report(one);
    std::size_t numbers = 0, rows = 0;
    for (const Metric& metric : metrics()) numbers += reported_number(answer, metric).has_value();
    for (const ReportTable* table : tables(section(made, "results")))
      for (const auto& row : table->rows) {
        ++rows;
        const Metric* metric = find_metric(row[2].text);
        REQUIRE(metric != nullptr);
        CHECK(row[1].exact == reported_number(answer, *metric));
      }
    CHECK(rows == numbers);
  }
}

TEST_CASE("a no says why, and a change that is said to help does") {
  const ScenarioDocument small =
      document(R"("workload": {"batch": 1, "context_tokens": 4096})", "l4", "llama-3.1-70b");
  const Report made = report(small);
  CHECK(made.verdict.outcome == Outcome::does_not_fit);
  CHECK_THAT(text(section(made, "answer")),
             Contains(made.verdict.reason) && Contains(made.verdict.remedy));
  int helping = 0;
  for (const auto& row : tables(section(made, "changes")).front()->rows) {
    if (row[1].text.empty() || row[2].text != "yes") continue;
    ++helping;
    ScenarioDocument changed = small;
    changed.set(row[1].text, Catalog());
    CAPTURE(row[1].text);
    CHECK(estimate(changed.read(Catalog()).scenario).verdict.ok());
  }
  CHECK(helping >= 1);
  // 141 GB over cards of 24 GB: four do not hold it, eight do.
  CHECK_THAT(text(section(made, "changes")), Contains("deployment.tensor_parallel=8 | yes"));
}

TEST_CASE("a layout that cannot be gets the smallest one that can") {
  const Report made = report(document(open + R"(, "deployment": {"tensor_parallel": 3})"));
  CHECK(made.verdict.outcome == Outcome::invalid_layout);
  CHECK_THAT(text(section(made, "changes")), Contains("deployment.tensor_parallel=1 | yes | 1 |"));
}

TEST_CASE("an objective is judged over the range of measured times") {
  const Answer answer = estimate(asked[2].read(Catalog()).scenario);
  REQUIRE(answer.spread_high > 1.05);
  const double ms = *answer.serving.tpot.p95 / millisecond;
  const auto judged = [&](double factor) {
    return text(section(report(document(open + R"(, "objective": {"tpot_p95": ")" +
                                        std::to_string(ms * factor) + R"( ms"})")),
                        "certainty"));
  };
  CHECK_THAT(judged(2), Contains("met over the whole range"));
  CHECK_THAT(judged(1.02), Contains("met, but not at the slow end"));
  CHECK_THAT(judged(0.98), Contains("missed, but met at the fast end"));
  CHECK_THAT(judged(0.75), Contains("missed over the whole range"));
}

TEST_CASE("bounds are not called predictions") {
  CHECK_THAT(text(section(report(asked[0], Fidelity::ideal), "certainty")),
             Contains("bounds, not predictions"));
  CHECK_THAT(text(section(report(asked[0]), "certainty")), !Contains("bounds, not predictions"));
}

TEST_CASE("sources name what could not be verified, and the price that was used") {
  const std::string stated = text(section(report(asked[2]), "sources"));
  CHECK_THAT(stated, Contains("L2 cache | 50 MB | Not verified: "));
  CHECK_THAT(stated, Contains("Memory bandwidth | 3.35 TB/s | NVIDIA"));
  CHECK_THAT(stated, !Contains("Price | ") && !Contains("33600") && Contains("per_layer"));
  ScenarioDocument listed = asked[2];
  listed.set("price=null", Catalog());
  CHECK_THAT(text(section(report(listed), "sources")), Contains("Price | 6.16 USD/h as of 2026"));
}

TEST_CASE("texts of others stay texts") {
  ScenarioDocument evil = document(
      open +
      R"(, "question": "# <script>alert('1')</script> & \"*so*\" \u0001", "comment": "a_b")");
  evil.set(R"(accelerator.name=<img src="x" onerror='y'>|&co)", Catalog());
  const Report made = report(evil);
  const std::string html = report_html(made);
  CHECK_THAT(html, Contains("&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;*so*"));
  CHECK_THAT(html, !Contains("<script") && !Contains("<img") && !Contains("\x01"));
  const std::string markdown = report_markdown(made);
  CHECK_THAT(markdown, Contains("\\# \\<script\\>alert('1')\\</script\\> \\& \"\\*so\\*\""));
  CHECK_THAT(markdown, Contains("onerror='y'\\>\\|\\&co |") && Contains(": a_b\n"));
}

TEST_CASE("a question that is no text is left to others") {
  const Report made = report(document(open + R"(, "question": {"batches": [1, 2]})"));
  CHECK_THAT(text(section(made, "question")), Catch::Matchers::StartsWith("Can 1 x NVIDIA H100"));
}

TEST_CASE("pictures have names of their own, and markdown can do without") {
  const Report made = report(asked[2]);
  std::set<std::string> names;
  for (const ReportFigure* figure : figures(made)) names.insert(figure->name);
  CHECK(names == std::set<std::string>{"memory", "load", "batch", "roofline", "kv", "cost"});
  for (const std::string& name : names) {
    CHECK(count(report_html(made), " id=\"picture-" + name + "\"") == 1);
    CHECK_THAT(report_markdown(made, "dir/my report"),
               Contains("](<" + picture_path("my report", name) + ">)"));
  }
  CHECK_THAT(report_markdown(made), !Contains("![") && !Contains("Pictures"));
}
