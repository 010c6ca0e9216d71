// Sheet charts: two tables of formulas and the charts that they feed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "xlsx/sheets.hpp"

namespace tokenroof::io::xlsx {
namespace {

struct Series {
  int column;
  const char* name;
  std::uint32_t colour;
};

/// Lines over column `x` of rows `first`..`last`.
void add_chart(Book& book, Sheet& sheet, const char* title, const char* x_title,
               const char* y_title, int x, int first, int last, std::initializer_list<Series> lines,
               bool logarithmic, int at_row) {
  lxw_chart* chart = workbook_add_chart(book.workbook(), LXW_CHART_SCATTER_STRAIGHT_WITH_MARKERS);
  const auto range = [&](int column) {
    return fmt::format("={}!{}:{}", sheet.title(), cell_name(first, column, true),
                       cell_name(last, column, true));
  };
  for (const Series& line : lines) {
    lxw_chart_series* series =
        chart_add_series(chart, range(x).c_str(), range(line.column).c_str());
    chart_series_set_name(series, line.name);
    lxw_chart_line style{};
    style.color = line.colour;
    style.width = 2;
    chart_series_set_line(series, &style);
    lxw_chart_fill fill{};
    fill.color = line.colour;
    chart_series_set_marker_type(series, LXW_CHART_MARKER_CIRCLE);
    chart_series_set_marker_size(series, 5);
    chart_series_set_marker_fill(series, &fill);
  }
  chart_title_set_name(chart, title);
  chart_axis_set_name(chart->x_axis, x_title);
  chart_axis_set_name(chart->y_axis, y_title);
  chart_axis_set_num_format(chart->x_axis, "General");
  chart_axis_set_num_format(chart->y_axis, "General");
  if (logarithmic) {
    chart_axis_set_log_base(chart->x_axis, 2);
  } else {
    chart_axis_set_min(chart->x_axis, 0);
    chart_axis_set_max(chart->x_axis, 1);
  }
  chart_axis_set_min(chart->y_axis, 0);
  chart_legend_set_position(chart, LXW_CHART_LEGEND_BOTTOM);
  lxw_chart_options options{};
  options.x_scale = 1.5;
  options.y_scale = 1.4;
  worksheet_insert_chart_opt(sheet.worksheet(), static_cast<lxw_row_t>(at_row), 8, chart, &options);
}

int cost_table(Sheet& sheet, const Subject& subject) {
  sheet.headings({"utilization", "output tokens, USD/Mtok", "all tokens, USD/Mtok",
                  "API, all tokens, USD/Mtok"});
  const double now = subject.scenario.price.utilization;
  const EconomicsAnswer& cost = subject.shown.economics;
  const auto at = [&](const std::optional<DollarsPerToken>& price, double share) {
    return price && subject.priced() ? std::optional<double>(price->base() * 1e6 * now / share)
                                     : std::nullopt;
  };
  std::optional<double> api;
  if (subject.options.api) {
    const WorkloadLengths& l = subject.lengths();
    const auto price = api_cost(*subject.options.api,
                                {l.prompt * token, l.cached() * token, l.output * token, {}});
    if (price) api = price->base() / (l.prompt + l.output) * 1e6;
  }
  for (int percent = 10; percent <= 100; percent += 5) {
    const double share = percent / 100.0;
    const std::string here = cell_name(sheet.row, 0);
    const auto scaled = [&](const char* name) {
      return fmt::format("IF(ISNUMBER({0}),{0}*utilization/{1},\"\")", name, here);
    };
    sheet.number(0, share, "1", Style::input);
    sheet.formula(1, {scaled("usd_per_mtok_output"), at(cost.output, share)}, "USD/Mtok",
                  Style::plain);
    sheet.formula(2, {scaled("usd_per_mtok_total"), at(cost.total, share)}, "USD/Mtok",
                  Style::plain);
    sheet.formula(3,
                  {"IF(ISNUMBER(api_request_usd),api_request_usd/(prompt_tokens+output_mean)*10^6,"
                   "\"\")",
                   api},
                  "USD/Mtok", Style::plain);
    ++sheet.row;
  }
  return sheet.row - 1;
}

/// A decode step of each batch, from the cache and the arithmetic of one sequence.
int batch_table(Sheet& sheet, const Subject& subject) {
  const Coefficients& c = subject.c;
  const LoadValues& plain = subject.values("plain");
  const StepModel<double>& model = subject.ideal.replica.model;
  const double batch = plain.rank.sequences;
  const std::string shown = to_string(subject.answer.fidelity);
  const std::string exported = shown + ", exported, s";
  sheet.headings({"batch", "ideal, s", exported.c_str(), "sequences on a device",
                  "tokens of a micro-batch", "memory side, s", "compute side, s"});
  for (double n = 1; n <= 1024; n *= 2) {
    const StepLoad<double> load = decode_load(n, subject.lengths().live);
    const LoadValues v = load_values(model, c, load);
    const auto cell = [&](int column) { return cell_name(sheet.row, column); };
    sheet.number(0, n, "request", Style::input);
    const std::string staged = fmt::format("MAX(1,{}/pipeline_stages)", cell(0));
    const std::string group = fmt::format("IF(pipeline_stages>1,{},{})", staged, cell(0));
    std::string experts;
    for (std::size_t i = 0; i < c.experts.size(); ++i)
      experts += fmt::format(
          "+IF(experts_per_token{0}>=experts{0},experts{0},experts{0}*(1-(1-experts_per_token{0}/"
          "experts{0})^{1}))*expert_gb{0}*10^9",
          numbered(i, c.experts.size()), cell(4));
    sheet.formula(1, {fmt::format("MAX({},{})", cell(5), cell(6)), v.step}, "s", Style::result);
    sheet.number(2, subject.shown.replica.step(load).total().base(), "s", Style::fixed);
    sheet.formula(3,
                  {fmt::format("IF(attention_ranks>1,MAX(1,{0}/attention_ranks),{0})", cell(4)),
                   v.rank.sequences},
                  "request", Style::plain);
    sheet.formula(4, {group, v.rank.group_tokens}, "token", Style::plain);
    sheet.formula(5,
                  {fmt::format("(weights_gb*10^9{}+{}*sequence_cache_bytes)/"
                               "(memory_bandwidth_tb_s*10^12)",
                               experts, cell(3)),
                   v.memory},
                  "s", Style::plain);
    const double compute = v.linear + v.attention + v.experts + v.recurrent;
    sheet.formula(
        6, {fmt::format("{}*sequence_compute_s+{}*expert_token_s", cell(3), cell(4)), compute}, "s",
        Style::plain);
    ++sheet.row;
  }
  const int last = sheet.row - 1;
  ++sheet.row;
  const auto put = [&](const char* label, const char* name, const Formula& formula,
                       const char* unit) {
    sheet.text(0, label);
    sheet.formula(1, formula, unit, Style::plain);
    sheet.text(2, name, Style::note);
    sheet.name(1, name);
    ++sheet.row;
  };
  put("cache of a sequence", "sequence_cache_bytes",
      {"cache_bytes_plain_ideal/rank_sequences_plain_ideal", plain.cache_bytes / batch}, "B");
  put("arithmetic of it", "sequence_compute_s",
      {"dense_s_plain_ideal/rank_sequences_plain_ideal",
       (plain.linear + plain.attention + plain.recurrent) / batch},
      "s");
  put("experts of a token", "expert_token_s",
      {c.experts.empty() ? "0" : "expert_s_plain_ideal/group_tokens_plain_ideal",
       c.experts.empty() ? 0 : plain.experts / plain.rank.group_tokens},
      "s");
  return last;
}

}  // namespace

void write_charts(Book& book, const Subject& subject) {
  Sheet sheet(book, "charts", caption(subject));
  sheet.widths({22, 25, 26, 28, 26, 18, 18});
  sheet.line("Charts: " + caption(subject), Style::title);
  sheet.line("The tables follow the input cells; their first columns may be changed too.",
             Style::note);
  ++sheet.row;
  int first = sheet.row + 1;
  int last = cost_table(sheet, subject);
  add_chart(book, sheet, "Cost against utilization of paid time", "utilization",
            "USD per million tokens", 0, first, last,
            {{1, "output tokens", 0x0072B2},
             {2, "all tokens", 0xD55E00},
             {3, "API, all tokens", 0x009E73}},
            false, 1);
  sheet.row += 1;
  sheet.line(subject.drafts() ? "Decode step against batch, one token of each sequence"
                              : "Time per token against batch",
             Style::section);
  first = sheet.row + 1;
  last = batch_table(sheet, subject);
  const std::string shown = std::string(to_string(subject.answer.fidelity)) + ", as exported";
  add_chart(book, sheet, "Time per token against batch", "sequences of a replica", "seconds", 0,
            first, last, {{1, "ideal", 0x0072B2}, {2, shown.c_str(), 0xCC79A7}}, true, 24);
}

}  // namespace tokenroof::io::xlsx
