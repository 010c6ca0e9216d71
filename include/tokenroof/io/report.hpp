// A report on a scenario for those who decide and read no JSON: the question, the answer in a
// sentence, results, pictures, assumptions, sources, how sure it is and what would change it.
//
// The content is a plain value; HTML and markdown are two ways to write it. Every text in it is
// plain text: the writers escape. The same inputs give the same bytes: there is no date of today.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tokenroof/core/error.hpp"
#include "tokenroof/describe/scenario.hpp"
#include "tokenroof/io/catalog.hpp"
#include "tokenroof/io/chart.hpp"
#include "tokenroof/io/scenario_io.hpp"

namespace tokenroof::io {

struct ReportCell {
  std::string text;
  std::optional<double> exact{};  ///< the number as the JSON answer has it; `text` is it rounded
};

struct ReportColumn {
  std::string name;
  bool numbers = false;  ///< lined up at the right
};

/// A table whose first column names the rows.
struct ReportTable {
  std::string caption;
  std::vector<ReportColumn> columns;
  std::vector<std::vector<ReportCell>> rows{};
};

struct ReportFigure {
  std::string name;  ///< a word, each once in a report
  Chart chart;
  std::string reading;  ///< how to read it
};

struct ReportList {
  std::vector<std::string> items;
};

/// A paragraph, a list, a table or a picture.
using ReportBlock = std::variant<std::string, ReportList, ReportTable, ReportFigure>;

struct ReportSection {
  std::string id;  ///< a word: question, answer, results, ...
  std::string heading;
  std::vector<ReportBlock> blocks;
};

struct Report {
  std::string title;
  std::string subtitle;  ///< version and fidelity
  Verdict verdict;
  std::vector<ReportSection> sections;
};

struct ReportSettings {
  Fidelity fidelity = Fidelity::calibrated;
  std::string version;
};

/// The report on `document`. A scenario without a good answer gets one too, which says why and what
/// helps. Sections: question, answer, results, pictures, assumptions, sources, certainty, changes,
/// words. Throws SpecError for a faulty scenario.
[[nodiscard]] Report make_report(const ScenarioDocument& document, const Catalog& catalog,
                                 const ReportSettings& settings);

/// One file that needs no other: pictures and style inside, no script, nothing from a network.
/// Well-formed XML (polyglot XHTML5), light or dark as the reader prefers, A4 pages in print.
[[nodiscard]] std::string report_html(const Report& report);

/// Markdown of the GitHub kind. Pictures are referred to as picture_path(stem, name); with an empty
/// `stem` they are left out.
[[nodiscard]] std::string report_markdown(const Report& report, std::string_view stem = {});

/// "STEM-NAME.svg"
[[nodiscard]] std::string picture_path(std::string_view stem, std::string_view name);

/// The pictures of a report, in their order. Valid as long as the report.
[[nodiscard]] std::vector<const ReportFigure*> figures(const Report& report);

}  // namespace tokenroof::io
