// What the examples share: reading a spec, and giving an answer as text and as CSV.
//
// A spec is a scenario file (io/scenario_io.hpp) with one more section, "question": numbers that
// belong to the question and not to a deployment, such as a claim to check or batches to try.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tokenroof/io/output_file.hpp"
#include "tokenroof/io/scenario_io.hpp"
#include "tokenroof/io/units_text.hpp"
#include "tokenroof/physics/roofline.hpp"
#include "tokenroof/physics/textbook_step.hpp"

namespace example {

/// A scenario and its question. All faults are SpecErrors that name the key.
class Spec {
 public:
  explicit Spec(const std::filesystem::path& file);

  /// The scenario, with `overrides` such as "model=llama-3.1-8b" applied first.
  [[nodiscard]] tokenroof::Scenario scenario(const std::vector<std::string>& overrides = {}) const;

  /// Values of a key of the question: one, or the entries of a list. Text with units is read as the
  /// quantity asked for; double takes "0.5" and "200k".
  template <class T>
  [[nodiscard]] std::vector<T> list(const std::string& key) const {
    std::vector<T> values;
    for (const std::string& text : texts(key)) {
      auto parsed = tokenroof::io::parse_quantity<T>(text, tokenroof::io::Sign::any);
      if (!parsed) fail(key, parsed.reason);
      values.push_back(*parsed.value);
    }
    return values;
  }
  template <class T = double>
  [[nodiscard]] T one(const std::string& key) const {
    return list<T>(key).front();
  }
  [[nodiscard]] const std::vector<std::string>& texts(const std::string& key) const;
  [[nodiscard]] const std::string& text(const std::string& key) const { return texts(key).front(); }

  /// Throws when the question has a key that nobody asked for: a slip of the pen.
  void refuse_unasked() const;

 private:
  [[noreturn]] void fail(const std::string& key, const std::string& reason) const;

  std::string file_;
  tokenroof::io::Catalog catalog_ = tokenroof::io::Catalog::open();
  tokenroof::io::ScenarioDocument document_;
  std::map<std::string, std::vector<std::string>> question_;
  mutable std::set<std::string> asked_;
};

/// A cell of a table: a number (quantities in base units), a text, or nothing.
struct Cell {
  std::optional<double> number;
  std::string text;
  Cell() = default;
  Cell(double value) : number(value) {}
  Cell(int value) : number(value) {}
  template <class D>
  Cell(const tokenroof::Quantity<D>& value) : number(value.base()) {}
  template <class D>
  Cell(const std::optional<tokenroof::Quantity<D>>& value) {
    if (value) number = value->base();
  }
  Cell(std::string_view value) : text(value) {}
  Cell(const std::string& value) : text(value) {}
  Cell(const char* value) : text(value) {}
};
using Columns = std::vector<std::string>;
using Rows = std::vector<std::vector<Cell>>;

/// A share as "6.775 %".
[[nodiscard]] inline std::string percent(double share, int digits = 4) {
  return tokenroof::io::to_text(100 * share, digits) + " %";
}

// How `Report::say` shows a value: four digits, with the unit where there is one.
[[nodiscard]] inline std::string shown(const std::string& text) { return text; }
[[nodiscard]] inline std::string shown(std::string_view text) { return std::string(text); }
[[nodiscard]] inline std::string shown(const char* text) { return text; }
[[nodiscard]] inline std::string shown(int number) { return std::to_string(number); }
[[nodiscard]] inline std::string shown(double number) { return tokenroof::io::to_text(number); }
[[nodiscard]] inline std::string shown(tokenroof::Bytes size) {
  return tokenroof::io::to_text_decimal(size);
}
[[nodiscard]] inline std::string shown(tokenroof::BytesPerToken size) {
  return shown(size * tokenroof::token) + "/token";
}
template <class D>
[[nodiscard]] std::string shown(const tokenroof::Quantity<D>& quantity) {
  if constexpr (requires { tokenroof::io::to_text(quantity); })
    return tokenroof::io::to_text(quantity);
  else
    return tokenroof::io::to_text(quantity.base());  // counts need no unit
}

/// Where an answer goes.
class Report {
 public:
  /// `csv`: a path, "-" for standard output (the text then goes to standard error), empty for none.
  explicit Report(const std::string& csv);

  /// A paragraph, wrapped; each {} is replaced by the next value.
  template <class... Values>
  void say(std::string_view pattern, const Values&... values) {
    paragraph(pattern, {shown(values)...});
  }
  /// A table in the text.
  void text_table(const Columns& columns, const Rows& rows);
  /// A table in the text and as the CSV, at most once. Numbers have twelve digits there: no less
  /// than anyone needs, and the same from every compiler.
  void table(const Columns& columns, const Rows& rows);
  /// Puts the CSV in place.
  void commit();

 private:
  void paragraph(std::string_view pattern, std::initializer_list<std::string> values);

  std::ostream& text_;
  std::optional<tokenroof::io::OutputFile> csv_;
};

/// The main function of an example: argv[1] is the spec, argv[2] (optional) where the CSV goes.
/// Exit codes as the tool's: 0 answered, 2 usage, 3 bad input.
int run(int argc, char** argv, void (*answer)(const Spec&, Report&));

// The scenario as the textbook sees it: every weight in the format of the attention weights, rates
// from the datasheet.
// ------------------------------------------------------------------------------

/// Bytes of one weight, scales included.
[[nodiscard]] tokenroof::Bytes bytes_per_weight(const tokenroof::Scenario& scenario);
/// FLOPs of a token outside attention: 2 per weight that multiplies it.
[[nodiscard]] tokenroof::FlopsPerToken linear_flops(const tokenroof::Model& model);
/// Rates of one device, in the type that the weights multiply in.
[[nodiscard]] tokenroof::Roof<> roof_of(const tokenroof::Scenario& scenario);
/// All weights of one replica, embeddings included.
[[nodiscard]] tokenroof::Bytes resident_weights(const tokenroof::Scenario& scenario);
/// Memory of a replica for the cache: the engine's share of the nominal size, less the weights.
[[nodiscard]] tokenroof::Bytes cache_pool(const tokenroof::Scenario& scenario);
/// Weights that a step of `tokens` reads: dense ones all, of experts the distinct ones expected.
[[nodiscard]] tokenroof::Bytes weights_read(const tokenroof::Scenario& scenario,
                                            tokenroof::Tokens tokens);
/// The model in a step of `tokens`, with two all-reduces per layer.
[[nodiscard]] tokenroof::TextbookModel<> textbook_model(const tokenroof::Scenario& scenario,
                                                        tokenroof::Tokens tokens);
/// The devices of a replica; `latency` is of one all-reduce, whatever their number.
[[nodiscard]] tokenroof::TextbookMachine<> textbook_machine(const tokenroof::Scenario& scenario,
                                                            tokenroof::Seconds latency = {});

}  // namespace example
