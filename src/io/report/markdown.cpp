// A report as markdown.
#include <fmt/format.h>

#include <cctype>

#include "io/page.hpp"
#include "tokenroof/io/report.hpp"

namespace tokenroof::io {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// Plain text as markdown shows it: no mark in it means anything. An underscore inside a word means
/// nothing already. Bars are for TextTable to see to.
std::string escaped(std::string_view text, bool begins_line = false) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (static_cast<unsigned char>(c) < 0x20) {
      out += ' ';
      continue;
    }
    const bool inside =
        i > 0 && i + 1 < text.size() && is_word(text[i - 1]) && is_word(text[i + 1]);
    const bool mark = std::string_view("\\`*[]<>&#~").find(c) != std::string_view::npos;
    const bool first = begins_line && i == 0 && (c == '-' || c == '+' || c == '=');
    if (mark || first || (c == '_' && !inside)) out += '\\';
    out += c;
  }
  return out;
}

class Writer {
 public:
  explicit Writer(std::string_view stem) : stem_(stem) {}

  std::string text(const Report& report) {
    page_.title(escaped(report.title));
    page_.line(escaped(report.subtitle));
    for (const ReportSection& section : report.sections) {
      if (section.id == "pictures" && stem_.empty() && !figures(report).empty()) continue;
      page_.section(escaped(section.heading));
      for (const ReportBlock& block : section.blocks)
        std::visit([this](const auto& one) { put(one); }, block);
    }
    return page_.text();
  }

 private:
  void put(const std::string& paragraph) { page_.line(escaped(paragraph, true)); }

  void put(const ReportList& list) {
    std::string text;
    for (const std::string& item : list.items)
      text += (text.empty() ? "- " : "\n- ") + escaped(item, true);
    page_.line(text);
  }

  void put(const ReportTable& table) {
    std::vector<std::string> header;
    std::vector<Align> align;
    for (const ReportColumn& column : table.columns) {
      header.push_back(escaped(column.name));
      align.push_back(column.numbers ? Align::right : Align::left);
    }
    TextTable out(std::move(header), std::move(align));
    for (const auto& row : table.rows) {
      std::vector<std::string> cells;
      for (const ReportCell& cell : row) cells.push_back(escaped(cell.text));
      out.row(std::move(cells));
    }
    page_.line("**" + escaped(table.caption) + "**");
    page_.table(out);
  }

  void put(const ReportFigure& figure) {
    // The file is beside the report, wherever both are.
    const std::string path = picture_path(stem_, figure.name);
    page_.line(
        fmt::format("![{}](<{}>)", escaped(figure.chart.title), path.substr(path.rfind('/') + 1)));
    page_.line(escaped(figure.reading));
  }

  Page page_{Markup::markdown};
  std::string_view stem_;
};

}  // namespace

std::string report_markdown(const Report& report, std::string_view stem) {
  return Writer(stem).text(report);
}

}  // namespace tokenroof::io
