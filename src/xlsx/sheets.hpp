// The sheets of a workbook, in their order.
#pragma once

#include "xlsx/book.hpp"
#include "xlsx/subject.hpp"

namespace tokenroof::io::xlsx {

void write_inputs(Book& book, const Subject& subject);
void write_assumptions(Book& book, const Subject& subject);
void write_calc(Book& book, const Subject& subject);
void write_results(Book& book, const Subject& subject);
void write_sources(Book& book, const Subject& subject);
void write_charts(Book& book, const Subject& subject);

/// "llama-3.1-70b on h100-sxm-80gb, tokenroof 0.1.0": what a page says about itself.
[[nodiscard]] std::string caption(const Subject& subject);

/// The lines of sheet calc: a label, a unit, the value in `ideal` and in the exported fidelity.
class Calc {
 public:
  explicit Calc(Sheet& sheet) : sheet_(sheet) {}

  void section(const std::string& title);
  /// A number that no fidelity changes.
  void one(const std::string& label, const std::string& unit, const std::string& name,
           const Formula& formula, const std::string& note = {});
  /// A number per fidelity: NAME_ideal and NAME. In `formula` an @ after a name stands for the
  /// ending.
  void both(const std::string& label, const std::string& unit, const std::string& name,
            const std::string& formula, const std::optional<double>& ideal,
            const std::optional<double>& shown, const std::string& note = {});
  /// The same with a formula each.
  void each(const std::string& label, const std::string& unit, const std::string& name,
            const Formula& ideal, const Formula& shown, const std::string& note = {});
  /// A formula that says in words why the line above is empty.
  void reason(const std::string& formula, const std::string& value);

  [[nodiscard]] Sheet& sheet() { return sheet_; }

 private:
  Sheet& sheet_;
};

// Parts of sheet calc.
void calc_workload(Calc& calc, const Subject& subject);
void calc_memory(Calc& calc, const Subject& subject);
void calc_steps(Calc& calc, const Subject& subject);
void calc_speed(Calc& calc, const Subject& subject);
void calc_loop(Calc& calc, const Subject& subject);
void calc_landmarks(Calc& calc, const Subject& subject);
void calc_money(Calc& calc, const Subject& subject);
void calc_fleet(Calc& calc, const Subject& subject);

}  // namespace tokenroof::io::xlsx
