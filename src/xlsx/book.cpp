#include "xlsx/book.hpp"

#include <cmath>
#include <cstdlib>
#include <stdexcept>

#include "io/json_out.hpp"

namespace tokenroof::io::xlsx {
namespace {

void check(lxw_error error) {
  if (error != LXW_NO_ERROR)
    throw std::runtime_error(std::string("workbook: ") + lxw_strerror(error));
}

/// Names quote files, which need not be UTF-8; a cell holds 32767 characters.
std::string clean(const std::string& text) {
  const std::string valid =
      Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace))
          .get<std::string>();
  constexpr std::size_t most = 8000;  // bytes: below the limit in any alphabet
  if (valid.size() <= most) return valid;
  std::size_t end = most;
  while ((static_cast<unsigned char>(valid[end]) & 0xc0) == 0x80) --end;
  return valid.substr(0, end) + "...";
}

const char* number_format(std::string_view unit) {
  if (unit == "USD/h" || unit == "USD/Mtok" || unit == "USD") return "#,##0.00####";
  if (unit == "USD/month" || unit == "token/s") return "#,##0.00";
  if (unit == "token/month" || unit == "B" || unit == "B/token" || unit == "FLOP") return "#,##0";
  if (unit == "s") return "0.000000###";
  if (unit == "1" || unit == "request/s") return "0.00####";
  return "General";
}

void decorate(lxw_format* format, Style style) {
  switch (style) {
    case Style::plain:
      break;
    case Style::title:
      format_set_bold(format);
      format_set_font_size(format, 14);
      break;
    case Style::section:
      format_set_bold(format);
      format_set_bottom(format, LXW_BORDER_THIN);
      break;
    case Style::header:
      format_set_bold(format);
      format_set_bg_color(format, 0xD9E1F2);
      format_set_border(format, LXW_BORDER_THIN);
      format_set_text_wrap(format);
      format_set_align(format, LXW_ALIGN_VERTICAL_TOP);
      break;
    case Style::input:
      format_set_font_color(format, 0x0000C0);
      format_set_bg_color(format, 0xFFF2CC);
      format_set_border(format, LXW_BORDER_THIN);
      break;
    case Style::fixed:
      format_set_bg_color(format, 0xEDEDED);
      break;
    case Style::result:
      format_set_bold(format);
      break;
    case Style::wrapped_note:
      format_set_text_wrap(format);
      [[fallthrough]];
    case Style::note:
      format_set_font_color(format, 0x595959);
      format_set_italic(format);
      break;
  }
}

/// $SOURCE_DATE_EPOCH where it is a number, else the first date that a zip archive can hold.
std::time_t creation_date() {
  constexpr std::time_t first = 315532800;
  const char* text = std::getenv("SOURCE_DATE_EPOCH");
  if (text == nullptr || *text == '\0') return first;
  char* end = nullptr;
  const long long seconds = std::strtoll(text, &end, 10);
  // Beyond the year 9999 a date has no four digits; 0 would mean "now" to the writer.
  const bool usable = *end == '\0' && seconds > 0 && seconds < 253402300800LL;
  return usable ? static_cast<std::time_t>(seconds) : first;
}

}  // namespace

std::string cell_name(int row, int column, bool absolute) {
  std::string letters;
  for (int c = column; c >= 0; c = c / 26 - 1)
    letters.insert(0, 1, static_cast<char>('A' + c % 26));
  const std::string mark = absolute ? "$" : "";
  return mark + letters + mark + std::to_string(row + 1);
}

Book::Book(const std::filesystem::path& file) : book_(workbook_new(file.c_str())) {
  if (book_ == nullptr) throw std::runtime_error("workbook: out of memory");
}

Book::~Book() {
  if (book_ != nullptr) lxw_workbook_free(book_);
}

void Book::close() { check(workbook_close(std::exchange(book_, nullptr))); }

void Book::properties(const std::string& title, const std::string& subject,
                      const std::string& comment) {
  std::string texts[] = {clean(title), clean(subject), clean(comment), "tokenroof"};
  lxw_doc_properties properties{};
  properties.title = texts[0].data();
  properties.subject = texts[1].data();
  properties.comments = texts[2].data();
  properties.author = texts[3].data();
  properties.created = creation_date();
  check(workbook_set_properties(book_, &properties));
}

lxw_worksheet* Book::add_sheet(const std::string& name, const std::string& footer) {
  lxw_worksheet* sheet = workbook_add_worksheet(book_, name.c_str());
  if (sheet == nullptr) throw std::runtime_error("workbook: no sheet " + name);
  worksheet_set_landscape(sheet);
  worksheet_set_paper(sheet, 9);  // A4
  worksheet_fit_to_pages(sheet, 1, 0);
  std::string text;
  for (const char c : clean(footer)) text += c == '&' ? std::string("&&") : std::string(1, c);
  if (text.size() > 200) text.resize(200);
  check(worksheet_set_footer(sheet, ("&L" + text + "&C&A&R&P / &N").c_str()));
  return sheet;
}

lxw_format* Book::format(Style style, std::string_view unit) {
  lxw_format*& known = formats_[{style, std::string(unit)}];
  if (known == nullptr) {
    known = workbook_add_format(book_);
    decorate(known, style);
    if (!unit.empty()) format_set_num_format(known, number_format(unit));
  }
  return known;
}

void Book::define(const std::string& name, const std::string& sheet, int row, int column) {
  const std::string place = "=" + sheet + "!" + cell_name(row, column, true);
  check(workbook_define_name(book_, name.c_str(), place.c_str()));
}

Sheet::Sheet(Book& book, std::string name, const std::string& footer)
    : book_(book), title_(std::move(name)), sheet_(book.add_sheet(title_, footer)) {}

void Sheet::widths(std::initializer_list<double> columns) {
  lxw_col_t column = 0;
  for (const double width : columns) {
    check(worksheet_set_column(sheet_, column, column, width, nullptr));
    ++column;
  }
}

void Sheet::line(const std::string& text, Style style) {
  this->text(0, text, style);
  ++row;
}

void Sheet::headings(std::initializer_list<const char*> names, bool freeze) {
  int column = 0;
  for (const char* name : names) text(column++, name, Style::header);
  ++row;
  if (!freeze) return;
  worksheet_freeze_panes(sheet_, static_cast<lxw_row_t>(row), 1);
  check(worksheet_repeat_rows(sheet_, static_cast<lxw_row_t>(row - 1),
                              static_cast<lxw_row_t>(row - 1)));
}

void Sheet::text(int column, const std::string& text, Style style) {
  // Written as a string whatever it begins with: "=1+1" stays text.
  check(worksheet_write_string(sheet_, static_cast<lxw_row_t>(row), static_cast<lxw_col_t>(column),
                               clean(text).c_str(), book_.format(style)));
}

void Sheet::number(int column, const std::optional<double>& value, std::string_view unit,
                   Style style) {
  const auto r = static_cast<lxw_row_t>(row);
  const auto c = static_cast<lxw_col_t>(column);
  lxw_format* format = book_.format(style, unit.empty() ? "General" : unit);
  if (value && std::isfinite(*value))
    check(worksheet_write_number(sheet_, r, c, *value, format));
  else
    check(worksheet_write_blank(sheet_, r, c, format));
}

void Sheet::formula(int column, const Formula& formula, std::string_view unit, Style style) {
  const auto r = static_cast<lxw_row_t>(row);
  const auto c = static_cast<lxw_col_t>(column);
  const std::string text = "=" + formula.text;
  lxw_format* format = book_.format(style, unit.empty() ? "General" : unit);
  if (formula.value && std::isfinite(*formula.value))
    check(worksheet_write_formula_num(sheet_, r, c, text.c_str(), format, *formula.value));
  else
    check(worksheet_write_formula_str(sheet_, r, c, text.c_str(), format, ""));
}

void Sheet::text_formula(int column, const std::string& text, const std::string& value) {
  check(worksheet_write_formula_str(sheet_, static_cast<lxw_row_t>(row),
                                    static_cast<lxw_col_t>(column), ("=" + text).c_str(),
                                    book_.format(Style::note), clean(value).c_str()));
}

void Sheet::name(int column, const std::string& name) { book_.define(name, title_, row, column); }

}  // namespace tokenroof::io::xlsx
