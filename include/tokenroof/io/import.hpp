// What other tools wrote, as rows that `validate` and `calibrate` read.
//
//   vllm-bench      JSON of `vllm bench serve` (and of benchmarks shaped like it): one object,
//                   several one after the other or one a line, or an array of them
//   aiperf          JSON of AIPerf and GenAI-Perf, in the units that it states
//   aiperf-csv      their table of the same figures; the load is stated by the user
//   aiperf-jsonl    AIPerf's requests, a line each: the same figures are made of them
//   inferencex      aggregated JSON of InferenceX: an array of runs, times in seconds
//   aiconfigurator  CSV of aiconfigurator: another tool's predictions, of whole deployments or of
//                   separate pools
//   log             start-up log of vLLM, SGLang, TensorRT-LLM or llama.cpp
//
// The kind is told from the content. What a file does not state is inferred where a rule of the
// field allows it (and a note says so), else asked for by the name of the option that states it.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tokenroof/io/catalog.hpp"
#include "tokenroof/io/validate.hpp"

namespace tokenroof::io {

using ImportCell = std::variant<std::string, double>;

/// Cells of one row by column name, in order of first appearance.
class ImportCells {
 public:
  /// Replaces what was there. Empty texts and numbers that are not finite are not stated.
  void set(std::string_view column, std::string_view text);
  void set(std::string_view column, const char* text) { set(column, std::string_view(text)); }
  void set(std::string_view column, double number);
  void set(std::string_view column, std::optional<double> number) {
    if (number) set(column, *number);
  }
  /// Only where the column is not there yet.
  template <class Value>
  void set_default(std::string_view column, const Value& value) {
    if (!has(column)) set(column, value);
  }
  void erase(std::string_view column);
  [[nodiscard]] bool has(std::string_view column) const { return find(column) != nullptr; }
  [[nodiscard]] const ImportCell* find(std::string_view column) const;
  /// "" when it is not there.
  [[nodiscard]] std::string text(std::string_view column) const;
  /// nullopt when it is not there or no number.
  [[nodiscard]] std::optional<double> number(std::string_view column) const;
  [[nodiscard]] const std::vector<std::pair<std::string, ImportCell>>& all() const {
    return cells_;
  }

 private:
  std::vector<std::pair<std::string, ImportCell>> cells_;
};

/// A fact that a user can state for a whole file.
struct StatedFact {
  std::string_view column;  ///< of the rows
  std::string_view option;  ///< of the tool, "--tp"
  std::string_view help;
};
[[nodiscard]] std::span<const StatedFact> stated_facts();

struct ImportOptions {
  std::string from;  ///< kind of the file; empty: told from its content
  std::string as;    ///< kind of rows to keep; empty: all must be of one
  /// Column and value; they overrule what the file says.
  std::vector<std::pair<std::string, std::string>> stated;
  std::filesystem::path models_dir;  ///< as in ValidateOptions
};

/// Names of the kinds of files.
[[nodiscard]] std::vector<std::string_view> import_kinds();

/// What was read.
struct ImportedRows {
  std::string kind;  ///< of the rows: closed_loop, open_loop, measurements, capacity
  std::vector<std::string> columns;
  std::vector<ImportCells> rows;
  std::vector<std::string> notes;  ///< what was inferred
  std::vector<Skipped> skipped;    ///< runs that could not be read, with their place
};

/// Reads `in`; `file` is for messages and ids. Throws SpecError when nothing in it is usable, when
/// its kind is not known, or when a fact is missing (naming the option).
[[nodiscard]] ImportedRows import_stream(std::istream& in, const std::string& file,
                                         const Catalog& catalog, const ImportOptions& options = {});
/// All of `paths` ("-": standard input) as one table; their rows must be of one kind.
[[nodiscard]] ImportedRows import_files(const std::vector<std::filesystem::path>& paths,
                                        const Catalog& catalog, const ImportOptions& options = {});

/// Whether `text` (the beginning of a file suffices) is something that import_stream reads.
[[nodiscard]] bool importable(std::string_view text);

/// The rows as the CSV that validate_file reads.
void write_import_csv(const ImportedRows& rows, std::ostream& out, CsvDialect dialect = {});
/// {"schema", "tokenroof_version", kind, rows[{column: value}], notes[], skipped[{id, reason}]}
[[nodiscard]] std::string import_json(const ImportedRows& rows, std::string_view version);
/// A table for people, notes and skipped runs below it.
[[nodiscard]] std::string import_text(const ImportedRows& rows, Markup markup = Markup::plain);

}  // namespace tokenroof::io
