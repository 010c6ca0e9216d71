#include "tokenroof/io/pictures.hpp"

#include <algorithm>
#include <cmath>

#include "catch2/catch.hpp"
#include "io/plot/layout.hpp"
#include "tokenroof/decide/economics.hpp"
#include "tokenroof/decide/estimate.hpp"
#include "tokenroof/io/fleet_io.hpp"

using namespace tokenroof;
using namespace tokenroof::io;

namespace {

const PictureSettings settings{.version = "1.2.3"};

ScenarioEntry entry_of(const std::string& text) {
  return ScenarioDocument::parse(text, "test").read(Catalog());
}
const std::string open_loop = R"({"model": "llama-3.1-70b", "accelerator": "h100-sxm-80gb",
  "engine": "vllm", "deployment": {"tensor_parallel": 8},
  "workload": {"input_tokens": 1024, "output_tokens": 512, "arrival_rate": "4 req/s"},
  "objective": {"ttft_p95": "1 s", "tpot_p95": "50 ms"},
  "price": {"accelerator_hour": "2.50 USD", "utilization": 0.6}})";
const std::string experts = R"({"model": "deepseek-v3", "accelerator": "h200-sxm-141gb",
  "engine": "sglang", "deployment": {"tensor_parallel": 8},
  "workload": {"input_tokens": 4096, "output_tokens": 1024, "arrival_rate": "0.5 req/s"},
  "objective": {"tokens_per_s_per_user": 20}, "price": {"accelerator_hour": "3 USD"}})";
const std::string small_card = R"({"model": "llama-3.1-8b", "accelerator": "rtx-4090",
  "engine": "vllm", "workload": {"input_tokens": 512, "output_tokens": 256, "concurrency": 16},
  "price": {"accelerator_hour": "0.40 USD"}})";
const std::string long_context = R"({"model": "llama-3.1-70b", "accelerator": "h200-sxm-141gb",
  "engine": "vllm", "precision": {"weights": "fp8", "kv_cache": "fp8"},
  "deployment": {"tensor_parallel": 4, "pipeline_parallel": 2},
  "workload": {"batch": 8, "context_tokens": 100000}, "price": {"accelerator_hour": "3 USD"}})";
const std::string too_large = R"({"model": "llama-3.1-70b", "accelerator": "rtx-4090",
  "workload": {"input_tokens": 512, "output_tokens": 256, "arrival_rate": "1 req/s"}})";

const ChartSeries& series_named(const ChartPanel& panel, const std::string& name) {
  for (const ChartSeries& series : panel.series)
    if (series.name.starts_with(name)) return series;
  FAIL("no series " << name);
  return panel.series.front();
}
const ReferenceLine* reference_named(const ChartPanel& panel, const std::string& word) {
  for (const ReferenceLine& line : panel.references)
    if (line.label.find(word) != std::string::npos) return &line;
  return nullptr;
}

/// Every text inside the drawing, none on another, every name that lies within the axes there.
void check_layout(const Chart& chart) {
  for (const double width : {760.0, 1000.0}) {
    const plot::Layout layout = plot::lay_out(chart, width);
    const plot::Box paper{0, 0, layout.width, layout.height};
    std::size_t inside = 0, named = 0;
    for (std::size_t i = 0; i < layout.texts.size(); ++i) {
      const plot::PlacedText& text = layout.texts[i];
      INFO(chart.name << ": " << text.text);
      CHECK(paper.holds(text.box));
      inside += text.in_plot ? 1 : 0;
      for (std::size_t j = 0; j < i; ++j) {
        INFO("over " << layout.texts[j].text);
        CHECK_FALSE(text.box.overlaps(layout.texts[j].box));
      }
      for (const plot::Swatch& swatch : layout.swatches) CHECK_FALSE(text.box.overlaps(swatch.box));
    }
    for (std::size_t p = 0; p < chart.panels.size(); ++p) {
      const plot::PanelLayout& place = layout.panels[p];
      for (const ChartSeries& series : chart.panels[p].series)
        for (const ChartPoint& point : series.points)
          named += !point.label.empty() && place.x.holds(point.x) && place.y.holds(point.y) ? 1 : 0;
      for (const ReferenceLine& line : chart.panels[p].references) {
        const bool across_x = line.across == ReferenceLine::Across::x;
        named += !line.label.empty() && (across_x ? place.x : place.y).holds(line.at) ? 1 : 0;
      }
    }
    INFO(chart.name);
    CHECK(inside == named);
  }
}

}  // namespace

TEST_CASE("pictures of very different scenarios: no label on another, none missing") {
  for (const std::string& text : {open_loop, experts, small_card, long_context}) {
    const ScenarioEntry entry = entry_of(text);
    const PriceList prices = shipped_prices(Catalog());
    for (const ScenarioPicture& picture : scenario_pictures()) {
      const Picture drawn =
          picture.draw(entry.scenario, settings, find_price(prices, entry.scenario.model.id));
      INFO(entry.scenario.model.id << " " << picture.name << " " << drawn.reason);
      if (text == long_context && picture.name == "load") {
        CHECK(drawn.reason.find("arrival_rate") != std::string::npos);
        continue;
      }
      REQUIRE(drawn.chart);
      CHECK(drawn.chart->name == picture.name);
      CHECK(drawn.chart->caption.starts_with("tokenroof 1.2.3"));
      CHECK(drawn.chart->caption.find(entry.scenario.model.id) != std::string::npos);
      check_layout(*drawn.chart);
      CHECK(svg(*drawn.chart).ends_with("</svg>\n"));
      CHECK_FALSE(drawing(*drawn.chart).empty());
    }
    const Picture cache = model_picture(entry.scenario.model, "1.2.3");
    REQUIRE(cache.chart);
    check_layout(*cache.chart);
  }
}

TEST_CASE("what does not fit has a reason in place of a picture, and its memory is drawn") {
  const Scenario scenario = entry_of(too_large).scenario;
  for (const ScenarioPicture& picture : scenario_pictures()) {
    const Picture drawn = picture.draw(scenario, settings, nullptr);
    INFO(picture.name);
    if (picture.name == "memory") {
      REQUIRE(drawn.chart);
      check_layout(*drawn.chart);
      CHECK(drawn.chart->description.find("does not fit") != std::string::npos);
    } else {
      CHECK_FALSE(drawn.chart);
      CHECK(drawn.reason.find("fit") != std::string::npos);
    }
  }
  // A batch beyond the pool: smaller ones can be shown, its own roofline and cost cannot.
  Scenario crowd = entry_of(long_context).scenario;
  crowd.workload.traffic = SingleStep{5000 * request, TokensPerRequest::from_base(100000)};
  CHECK(batch_picture(crowd, settings));
  CHECK(speed_cost_picture(crowd, settings));
  CHECK(roofline_picture(crowd, settings).reason.find("not the batch") != std::string::npos);
  CHECK(cost_picture(crowd, settings, nullptr).reason.find("not the batch") != std::string::npos);
  Scenario layout = entry_of(open_loop).scenario;
  layout.deployment.tensor_parallel = 7;
  CHECK_FALSE(memory_picture(layout, settings));
  Scenario free = entry_of(open_loop).scenario;
  free.price.accelerator.reset();
  CHECK(cost_picture(free, settings, nullptr).reason.find("price") != std::string::npos);
}

TEST_CASE("roofline: no operator is above its roof, shares do not exceed the step") {
  for (const Fidelity fidelity : {Fidelity::ideal, Fidelity::roofline, Fidelity::calibrated}) {
    PictureSettings in = settings;
    in.fidelity = fidelity;
    const Scenario scenario = entry_of(experts).scenario;
    const Picture drawn = roofline_picture(scenario, in);
    REQUIRE(drawn.chart);
    const double bandwidth = scenario.accelerator.memory_bandwidth.base();
    const double peak = scenario.accelerator.peak(DataType::fp8).base();
    for (const char* phase : {"decode", "prefill"}) {
      const ChartSeries& series = series_named(drawn.chart->panels[0], phase);
      CHECK(series.points.size() >= 5);
      for (const ChartPoint& p : series.points) {
        INFO(p.label);
        CHECK(p.y <= std::min(peak, p.x * bandwidth) * (1 + 1e-9));
      }
    }
  }
}

TEST_CASE("memory: the bar is as long as the memory, and longer by what is missing") {
  for (const std::string& text : {open_loop, too_large}) {
    const Scenario scenario = entry_of(text).scenario;
    const MemoryPlan plan = estimate(scenario).memory;
    const Chart chart = *memory_picture(scenario, settings).chart;
    double sum = 0;
    for (const ChartSeries& series : chart.panels[0].series) sum += series.points.front().x;
    const Bytes expected = plan.deficit > Bytes{} ? plan.claimed() : plan.visible;
    CHECK(sum == Approx(expected / gibibyte));
  }
}

TEST_CASE("batch and cost go through the point that an estimate gives") {
  const Scenario scenario = entry_of(open_loop).scenario;
  const Answer answer = estimate(scenario);
  const Chart batch = *batch_picture(scenario, settings).chart;
  const ChartPoint& now = batch.panels[0].series.back().points.front();
  CHECK(now.x == Approx(answer.decode->batch));
  CHECK(now.y == Approx(answer.decode->total.base()));
  const ChartSeries& fits = series_named(batch.panels[0], "fits");
  CHECK(fits.points.back().x == reference_named(batch.panels[0], "capacity")->at);
  CHECK(std::is_sorted(fits.points.begin(), fits.points.end(),
                       [](const ChartPoint& a, const ChartPoint& b) { return a.y < b.y; }));

  const Chart cost = *cost_picture(scenario, settings, nullptr).chart;
  const ChartPoint& stated = cost.panels[0].series.back().points.front();
  CHECK(stated.x == Approx(60));
  CHECK(stated.y == Approx(*answer.economics.total / dollar_per_million_tokens));
}

TEST_CASE("cost breaks even where the curve of a request crosses the price of an API") {
  const Scenario scenario = entry_of(open_loop).scenario;
  ApiPrice api;
  api.rates.input = api.rates.output = 2 * dollar_per_million_tokens;
  const Chart chart = *cost_picture(scenario, settings, &api).chart;
  const ReferenceLine* level = reference_named(chart.panels[0], "API");
  const ReferenceLine* even = reference_named(chart.panels[0], "break even");
  REQUIRE(level);
  REQUIRE(even);
  CHECK(level->at == Approx(2));
  // Cost is inverse to utilisation: at 100 % it is the cost of a device that is always busy.
  const double busy = series_named(chart.panels[0], "all tokens").points.back().y;
  CHECK(even->at == Approx(100 * busy / 2));
  api.rates.input = api.rates.output = 0.01 * dollar_per_million_tokens;
  const Chart cheap = *cost_picture(scenario, settings, &api).chart;
  CHECK_FALSE(reference_named(cheap.panels[0], "break even"));
  CHECK(cheap.description.find("more than the API at any") != std::string::npos);
}

TEST_CASE("load: latencies rise towards the limit, which an estimate gives") {
  const Scenario scenario = entry_of(open_loop).scenario;
  const Chart chart = *load_picture(scenario, settings).chart;
  const double limit = estimate(scenario).serving.limit_rate->base();
  CHECK(reference_named(chart.panels[0], "limit")->at == Approx(limit));
  const ChartSeries& mean = series_named(chart.panels[0], "mean");
  CHECK(mean.points.back().x < limit);
  CHECK(mean.points.back().y > 2 * mean.points.front().y);
  CHECK(reference_named(chart.panels[0], "within the objective"));
  CHECK(reference_named(chart.panels[1], "objective")->at == Approx(0.05));
}

TEST_CASE("plan: the frontier is joined and labelled") {
  const ScenarioEntry entry = entry_of(
      R"({"model": "llama-3.1-8b", "accelerator": "h100-sxm-80gb", "engine": "vllm",
          "workload": {"input_tokens": 1024, "output_tokens": 256, "arrival_rate": "10 req/s"},
          "objective": {"ttft_p95": "1 s", "tpot_mean": "50 ms"}})");
  FleetRequest wanted = fleet_request(entry, Catalog(), {{"h100-sxm-80gb", "l40s"}, {}});
  wanted.most_devices = 8;
  const FleetPlan plan = plan_fleet(wanted);
  const Picture drawn = plan_picture(wanted, plan, "1.2.3");
  REQUIRE(drawn.chart);
  check_layout(*drawn.chart);
  std::size_t points = 0;
  for (const ChartSeries& series : drawn.chart->panels[0].series)
    if (series.mark == Mark::points) points += series.points.size();
  CHECK(points == plan.deployments.size());
  CHECK(series_named(drawn.chart->panels[0], "frontier").points.size() == plan.pareto.size());
  CHECK_FALSE(
      plan_picture(wanted, FleetPlan{{}, {}, {}, {Outcome::objective_missed, "no", ""}}, ""));
}

TEST_CASE("validation: coloured by the first dimension with groups, the rare ones together") {
  ValidationReport report;
  report.file = "runs.csv";
  report.kind = "closed_loop";
  CHECK_FALSE(validation_picture(report, "", "1"));
  for (int i = 1; i <= 40; ++i)
    report.predictions.push_back({"row",
                                  1,
                                  "tpot_ms",
                                  1.0 * i,
                                  1.1 * i,
                                  {{"engine", "vllm"}, {"gpu", i % 2 == 0 ? "h100" : "l40s"}}});
  report.predictions.push_back({"row", 1, "ttft_ms", 5, 6, {}});
  const Picture drawn = validation_picture(report, "", "1");
  REQUIRE(drawn.chart);
  check_layout(*drawn.chart);
  CHECK(series_named(drawn.chart->panels[0], "h100").mark == Mark::points);
  CHECK(series_named(drawn.chart->panels[0], "l40s").points.size() == 20);
  CHECK(drawn.chart->caption.find("median error 10.0 %") != std::string::npos);
  CHECK(validation_picture(report, "ttft_ms", "1").chart);
  CHECK(validation_picture(report, "nosuch", "1").reason.find("tpot_ms, ttft_ms") !=
        std::string::npos);
  for (int i = 0; i < 40; ++i)
    report.predictions[static_cast<std::size_t>(i)].groups = {{"gpu", std::to_string(i % 10)}};
  const Chart many = *validation_picture(report, "", "1").chart;
  CHECK(series_named(many.panels[0], "others").points.size() == 16);  // 4 of 10 groups
}

TEST_CASE("sweep: a line for each value of the second axis, bars for names") {
  const Metric& metric = *choose_metrics({"decode.step_s"}).front();
  Grid grid{{parse_axis("batch=1,2,4"), parse_axis("context=1k,2k")}};
  std::vector<SweepRow> rows;
  for (const char* batch : {"1", "2", "4"})
    for (const char* context : {"1000", "2000"})
      rows.push_back({{batch, context}, {0.01 * std::stod(batch)}, {}, Outcome::feasible, ""});
  const Picture lines = sweep_picture(grid, metric, rows, "s.json", "1");
  REQUIRE(lines.chart);
  check_layout(*lines.chart);
  REQUIRE(lines.chart->panels[0].series.size() == 2);
  CHECK(lines.chart->panels[0].series[1].points.size() == 3);
  CHECK(lines.chart->panels[0].series[1].points[2].y == Approx(0.04));

  Grid names{{parse_axis("accelerator=h100,h200")}};
  const std::vector<SweepRow> two = {{{"h100"}, {0.02}, {}, Outcome::feasible, ""},
                                     {{"h200"}, {0.01}, {}, Outcome::feasible, ""}};
  const Picture bars = sweep_picture(names, metric, two, "s.json", "1");
  REQUIRE(bars.chart);
  CHECK(bars.chart->panels[0].series[0].mark == Mark::bars);
  CHECK(bars.chart->panels[0].y.categories == std::vector<std::string>{"h100", "h200"});

  const std::vector<SweepRow> none = {
      {{"1", "1000"}, {std::nullopt}, {}, Outcome::does_not_fit, "why"}};
  CHECK(sweep_picture(grid, metric, none, "s.json", "1").reason.find("why") != std::string::npos);
  grid.axes.push_back(parse_axis("deployment.replicas=1,2"));
  CHECK_FALSE(sweep_picture(grid, metric, rows, "s.json", "1"));
}

TEST_CASE("simulation: the distribution passes through the run's own quantiles") {
  const Scenario scenario = entry_of(small_card).scenario;
  ScenarioRun how;
  how.requests = 400;
  how.plan.keep_records = true;
  how.plan.warm_up = 0;
  const ScenarioRunResult result = simulate_scenario(scenario, how, Fidelity::calibrated, {});
  const Picture drawn = simulation_picture(result, scenario, settings);
  REQUIRE(drawn.chart);
  check_layout(*drawn.chart);
  const auto& points = drawn.chart->panels[0].series[0].points;
  const auto median = std::find_if(points.begin(), points.end(),
                                   [](const ChartPoint& p) { return p.y >= 50 - 1e-9; });
  CHECK(median->x == Approx(result.run.ttft.p50.base()));
  CHECK_FALSE(simulation_picture(ScenarioRunResult{}, scenario, settings));
}
