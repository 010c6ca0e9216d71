// A workbook as the sheets of an export need it: cells with a style and a unit, names, formulas
// with their cached value. The one place that knows libxlsxwriter.
#pragma once

#include <xlsxwriter.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tokenroof::io::xlsx {

/// How a cell looks; numbers also follow their unit.
enum class Style { plain, title, section, header, input, fixed, result, note, wrapped_note };

/// A formula and its value as the library has it; no value: the formula gives an empty text.
struct Formula {
  std::string text;  ///< without "="
  std::optional<double> value;
};

/// "B7" for row 6, column 1; "$B$7" when `absolute`.
[[nodiscard]] std::string cell_name(int row, int column, bool absolute = false);

class Book {
 public:
  explicit Book(const std::filesystem::path& file);
  Book(const Book&) = delete;
  Book& operator=(const Book&) = delete;
  ~Book();

  /// Writes the file. Throws std::runtime_error when that fails.
  void close();
  void properties(const std::string& title, const std::string& subject, const std::string& comment);

  [[nodiscard]] lxw_worksheet* add_sheet(const std::string& name, const std::string& footer);
  [[nodiscard]] lxw_format* format(Style style, std::string_view unit = {});
  [[nodiscard]] lxw_workbook* workbook() { return book_; }
  void define(const std::string& name, const std::string& sheet, int row, int column);

 private:
  lxw_workbook* book_;
  std::map<std::pair<Style, std::string>, lxw_format*> formats_;
};

/// A sheet that is written from top to bottom.
class Sheet {
 public:
  Sheet(Book& book, std::string name, const std::string& footer);

  int row = 0;  ///< the next one

  void widths(std::initializer_list<double> columns);
  /// A line across the sheet.
  void line(const std::string& text, Style style = Style::plain);
  /// Headings of columns; what is above and this line stay in sight, and repeat on each page.
  void headings(std::initializer_list<const char*> names, bool freeze = false);

  void text(int column, const std::string& text, Style style = Style::plain);
  /// An empty cell when there is no number.
  void number(int column, const std::optional<double>& value, std::string_view unit, Style style);
  void formula(int column, const Formula& formula, std::string_view unit, Style style);
  /// A formula that gives a text.
  void text_formula(int column, const std::string& text, const std::string& value);
  /// Names the cell in `column` of the current row.
  void name(int column, const std::string& name);

  [[nodiscard]] lxw_worksheet* worksheet() { return sheet_; }
  [[nodiscard]] const std::string& title() const { return title_; }

 private:
  Book& book_;
  std::string title_;
  lxw_worksheet* sheet_;
};

}  // namespace tokenroof::io::xlsx
