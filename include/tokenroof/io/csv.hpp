// CSV that opens right in spreadsheets, and a streaming reader for what they and others write.
//
// Written (RFC 4180): CRLF, one header, equal width, quotes doubled, point decimals, the shortest
// digits that read back to the same double, TRUE and FALSE, an empty cell for what is missing or
// not finite. Text cells that a spreadsheet would take for a formula (first character = + - @ TAB
// CR NUL) get a leading apostrophe, which the reader takes off again; numbers never do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tokenroof::io {

/// What separates cells and decimals.
struct CsvDialect {
  char separator = ',';
  char decimal = '.';
  bool byte_order_mark = false;  ///< Excel on Windows needs it for non-ASCII; others dislike it

  [[nodiscard]] static constexpr CsvDialect rfc4180() { return {}; }
  /// For spreadsheets whose decimals have a comma (German, French, Spanish, ...).
  [[nodiscard]] static constexpr CsvDialect semicolon() {
    return {.separator = ';', .decimal = ','};
  }
  [[nodiscard]] static constexpr CsvDialect tabs() { return {.separator = '\t'}; }
};

/// Writes rows cell by cell into a stream, through a buffer of its own.
class CsvWriter {
 public:
  explicit CsvWriter(std::ostream& out, CsvDialect dialect = {});
  CsvWriter(const CsvWriter&) = delete;
  CsvWriter& operator=(const CsvWriter&) = delete;
  ~CsvWriter();  ///< flushes

  /// The first row; its width is that of all rows.
  void header(const std::vector<std::string>& names);
  CsvWriter& cell(double number);  ///< not finite: an empty cell
  CsvWriter& cell(std::int64_t number);
  CsvWriter& cell(int number) { return cell(static_cast<std::int64_t>(number)); }
  CsvWriter& cell(bool truth);
  CsvWriter& cell(std::string_view text);
  CsvWriter& cell(const std::string& text) { return cell(std::string_view(text)); }
  CsvWriter& cell(const char* text) { return cell(std::string_view(text)); }
  /// A value as a file or a person wrote it: a plain number becomes one with the same digits, all
  /// else text.
  CsvWriter& value(std::string_view text);
  /// nullopt: an empty cell.
  template <class T>
  CsvWriter& cell(const std::optional<T>& value) {
    return value ? cell(*value) : missing();
  }
  CsvWriter& missing();
  /// Ends the row. A short one is filled up with empty cells; one wider than the header throws
  /// std::logic_error.
  void end_row();
  void flush();

 private:
  void separate();
  char* room(std::size_t bytes);
  /// Takes over a number that was written into room(), its point as the dialect has it.
  void take_number(char* begin, std::size_t length);

  std::ostream& out_;
  CsvDialect dialect_;
  std::string buffer_;
  std::size_t used_ = 0;
  std::size_t width_ = 0;  // 0: no header yet
  std::size_t column_ = 0;
};

/// Reads row by row; holds one row at a time. The separator (comma, semicolon or tab) is told from
/// the header; with semicolons, decimals may have a comma. Takes CRLF and LF, a byte-order mark,
/// blank lines, a missing last newline. All errors are SpecErrors with the line, and the column
/// where there is one.
class CsvReader {
 public:
  /// Reads the header. `file` is for messages; `in` must outlive the reader.
  CsvReader(std::istream& in, std::string file);
  /// Opens `path`, "-" for standard input.
  [[nodiscard]] static CsvReader open(const std::filesystem::path& path);
  CsvReader(CsvReader&&) noexcept;
  CsvReader& operator=(CsvReader&&) noexcept;
  ~CsvReader();

  [[nodiscard]] const std::vector<std::string>& header() const;
  [[nodiscard]] char separator() const;
  /// Index of the column called `name`.
  [[nodiscard]] std::optional<std::size_t> column(std::string_view name) const;
  /// As column(); a SpecError with did-you-mean when there is none.
  [[nodiscard]] std::size_t required_column(std::string_view name) const;

  /// Moves to the next row; false at the end. The first call gives the first row after the header.
  bool next();
  /// Line of the file on which the row starts, from 1.
  [[nodiscard]] std::size_t line() const;
  /// The cell; valid until next().
  [[nodiscard]] std::string_view text(std::size_t column) const;
  /// The cell as a number; nullopt when it is empty. Text that is no finite number is an error.
  [[nodiscard]] std::optional<double> number(std::size_t column) const;
  /// The same for a whole number.
  [[nodiscard]] std::optional<std::int64_t> integer(std::size_t column) const;
  /// Throws a SpecError at this row and column.
  [[noreturn]] void fail(std::size_t column, const std::string& reason) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tokenroof::io
