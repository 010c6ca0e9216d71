// A report as one HTML file, written so that it is XML as well.
#include <fmt/format.h>

#include "io/json_out.hpp"
#include "io/xml_text.hpp"
#include "tokenroof/io/report.hpp"

namespace tokenroof::io {
namespace {

// Screen colours light and dark; paper is always white. Wide things scroll by themselves, so that
// the page does not on a telephone.
constexpr std::string_view style = R"css(
:root{color-scheme:light dark;--paper:#fff;--ink:#1b1f24;--muted:#57606a;--line:#d0d7de;
--band:#f4f6f8;--yes:#00694b;--no:#a33b00;--link:#0060a0}
@media (prefers-color-scheme:dark){:root{--paper:#15191e;--ink:#e8eaed;--muted:#a4adb8;
--line:#3a424c;--band:#1d232a;--yes:#4cc9a0;--no:#ff9a5c;--link:#7cc0f5}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);
font:1rem/1.5 Helvetica,Arial,'Liberation Sans',sans-serif}
header,nav,main,footer{max-width:58rem;margin:0 auto;padding:0 1rem}
h1{font-size:1.6rem;line-height:1.25;margin:1.5rem 0 .25rem;overflow-wrap:anywhere}
h2{font-size:1.25rem;margin:2.25rem 0 .5rem;padding-top:.5rem;border-top:1px solid var(--line)}
p{margin:.5rem 0;overflow-wrap:anywhere}
.subtitle,footer,figcaption{color:var(--muted);font-size:.9rem}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.25rem 1rem;margin:.75rem 0;padding:0}
a{color:var(--link)}
ul{padding-left:1.25rem}li{margin:.25rem 0;overflow-wrap:anywhere}
.verdict{border-left:.4rem solid var(--no);background:var(--band);padding:.6rem .9rem;
font-size:1.08rem}
.verdict.yes{border-color:var(--yes)}
.wide{overflow-x:auto;margin:.9rem 0}
table{border-collapse:collapse;width:100%;font-size:.92rem}
caption{text-align:left;font-weight:bold;padding:.3rem 0}
th,td{text-align:left;vertical-align:top;padding:.3rem 1.1rem .3rem 0;
border-bottom:1px solid var(--line)}
thead th{color:var(--muted);border-bottom-width:2px;vertical-align:bottom}
tbody th{font-weight:normal;min-width:7.5rem}
td,tbody th{overflow-wrap:break-word}
.number{text-align:right}td.number{white-space:nowrap}
@media (max-width:40rem){td:not(.number){overflow-wrap:anywhere}}
figure{margin:1.25rem 0}
figure svg{display:block;max-width:100%;min-width:32rem;height:auto}
footer{margin-top:2rem;padding-bottom:2rem}
@page{size:A4;margin:16mm}
@media print{
:root{color-scheme:light;--paper:#fff;--ink:#000;--muted:#444;--line:#bbb;--band:#fff;
--yes:#00694b;--no:#a33b00;--link:#000}
html{font-size:12.5px}
header,nav,main,footer{max-width:none;padding:0}
nav{display:none}
h2{break-after:avoid}
tr,figure,li,.verdict,.short,#words{break-inside:avoid}
thead{display:table-header-group;break-after:avoid}
.wide{overflow:visible}
figure svg{min-width:0;max-height:104mm;width:auto}
#pictures,#assumptions{break-before:page}
}
)css";

/// What is not UTF-8, from the names of files, becomes U+FFFD.
std::string valid(const std::string& text) {
  return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace))
      .get<std::string>();
}

class Writer {
 public:
  std::string text(const Report& report) {
    const bool yes = report.verdict.ok();
    out_ = fmt::format(
        "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\" "
        "xml:lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'unsafe-inline'\"/>\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
        "<meta name=\"generator\" content=\"{1}\"/>\n<title>{0}</title>\n<style>{2}</style>\n"
        "</head>\n<body>\n<header>\n<h1>{0}</h1>\n<p class=\"subtitle\">{1}</p>\n</header>\n",
        escaped(report.title), escaped(report.subtitle), style);
    out_ += "<nav aria-label=\"Contents\">\n<ul>\n";
    for (const ReportSection& section : report.sections)
      out_ +=
          fmt::format("<li><a href=\"#{}\">{}</a></li>\n", section.id, escaped(section.heading));
    out_ += "</ul>\n</nav>\n<main>\n";
    for (const ReportSection& section : report.sections) {
      // The first sentence of the answer is what people came for.
      paragraph_class_ = section.id != "answer" ? "" : yes ? "verdict yes" : "verdict no";
      out_ += fmt::format(
          "<section id=\"{0}\" aria-labelledby=\"{0}-heading\">\n"
          "<h2 id=\"{0}-heading\">{1}</h2>\n",
          section.id, escaped(section.heading));
      for (const ReportBlock& block : section.blocks)
        std::visit([this](const auto& one) { put(one); }, block);
      out_ += "</section>\n";
    }
    out_ += fmt::format("</main>\n<footer>\n<p>{}</p>\n</footer>\n</body>\n</html>\n",
                        escaped(report.subtitle));
    return valid(out_);
  }

 private:
  void put(const std::string& paragraph) {
    out_ += paragraph_class_.empty() ? "<p>" : fmt::format("<p class=\"{}\">", paragraph_class_);
    out_ += escaped(paragraph) + "</p>\n";
    paragraph_class_ = {};
  }

  void put(const ReportList& list) {
    out_ += "<ul>\n";
    for (const std::string& item : list.items) out_ += "<li>" + escaped(item) + "</li>\n";
    out_ += "</ul>\n";
  }

  void put(const ReportTable& table) {
    // What scrolls must be reachable by keyboard, and then needs a name.
    // In print a short table stays on one page.
    const char* extent = table.rows.size() > 12 ? "wide" : "wide short";
    out_ += fmt::format(
        "<div class=\"{1}\" role=\"region\" tabindex=\"0\" aria-label=\"{0}\">\n"
        "<table>\n<caption>{0}</caption>\n<thead>\n<tr>",
        escaped(table.caption), extent);
    for (const ReportColumn& column : table.columns)
      out_ +=
          fmt::format("<th scope=\"col\"{}>{}</th>", column_class(column), escaped(column.name));
    out_ += "</tr>\n</thead>\n<tbody>\n";
    for (const auto& row : table.rows) {
      out_ += "<tr>";
      for (std::size_t c = 0; c < row.size(); ++c) {
        const char* tag = c == 0 ? "th" : "td";
        out_ += fmt::format("<{}{}{}>{}</{}>", tag, c == 0 ? " scope=\"row\"" : "",
                            column_class(table.columns[c]), cell(row[c]), tag);
      }
      out_ += "</tr>\n";
    }
    out_ += "</tbody>\n</table>\n</div>\n";
  }

  void put(const ReportFigure& figure) {
    out_ += fmt::format(
        "<figure>\n<div class=\"wide\" role=\"region\" tabindex=\"0\" "
        "aria-label=\"{}\">\n{}</div>\n<figcaption>{}</figcaption>\n</figure>\n",
        escaped(figure.chart.title), svg(figure.chart, {.id = "picture-" + figure.name}),
        escaped(figure.reading));
  }

  static const char* column_class(const ReportColumn& column) {
    return column.numbers ? " class=\"number\"" : "";
  }

  static std::string cell(const ReportCell& cell) {
    if (!cell.exact) return escaped(cell.text);
    return fmt::format("<data value=\"{}\">{}</data>", number(cell.exact).dump(),
                       escaped(cell.text));
  }

  std::string out_;
  std::string_view paragraph_class_;
};

}  // namespace

std::string report_html(const Report& report) { return Writer().text(report); }

}  // namespace tokenroof::io
