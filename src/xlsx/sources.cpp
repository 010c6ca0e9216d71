// Sheet sources: where each number came from.
#include <fmt/format.h>

#include <algorithm>

#include "tokenroof/io/units_text.hpp"
#include "xlsx/sheets.hpp"

namespace tokenroof::io::xlsx {
namespace {

void constants(Sheet& sheet, const std::string& title, const std::vector<ConstantNote>& notes) {
  if (notes.empty()) return;
  ++sheet.row;
  sheet.line(title, Style::section);
  sheet.headings({"constant", "value", "date", "fit error", "meaning", "source"});
  for (const ConstantNote& note : notes) {
    sheet.text(0, note.name);
    sheet.text(1, note.value);
    sheet.text(2, note.date);
    sheet.number(3, note.fit_error, "1", Style::plain);
    sheet.text(4, note.meaning);
    sheet.text(5, note.source +
                      (note.rows ? fmt::format("; {} measurements", *note.rows) : std::string()));
    ++sheet.row;
  }
}

}  // namespace

void write_sources(Book& book, const Subject& subject) {
  const Accelerator& device = subject.scenario.accelerator;
  const Explainer& from = subject.explainer;
  Sheet sheet(book, "sources", caption(subject));
  sheet.widths({30, 20, 14, 10, 60, 100});
  sheet.line("Sources: " + caption(subject), Style::title);
  sheet.headings({"what", "name", "date", "", "meaning", "source"}, true);
  const auto line = [&](const std::string& what, const std::string& name, const std::string& date,
                        const std::string& meaning, const std::string& source) {
    const std::string* texts[] = {&what, &name, &date, nullptr, &meaning, &source};
    for (int column = 0; column < 6; ++column)
      if (texts[column] != nullptr) sheet.text(column, *texts[column]);
    ++sheet.row;
  };
  line("model", subject.scenario.model.id, "", "layers, heads, widths, experts",
       from.model("all keys"));
  line("accelerator", device.id, "", device.name, "data sheet; by number below");
  line("engine", subject.scenario.engine.name, "",
       subject.scenario.engine.version.empty() ? "newest version"
                                               : "version " + subject.scenario.engine.version,
       subject.scenario.engine.has_profile ? "engine profile; by constant below"
                                           : "no profile of its own: constants of default");
  line("tokenroof", subject.options.version, "", "formulas", "docs/formulas.md");
  if (subject.options.api)
    line("API price", subject.options.api->model, subject.options.api->as_of,
         "of " + subject.options.api->provider,
         subject.options.api->source + (subject.options.api->unverified ? " (unverified)" : ""));

  ++sheet.row;
  sheet.line("Accelerator", Style::section);
  sheet.headings({"number", "", "date", "", "verified", "source"});
  for (const auto& [key, source] : subject.entry.accelerator_sources) {
    const auto& doubtful = subject.entry.accelerator_unverified;
    const bool unverified = std::find(doubtful.begin(), doubtful.end(), key) != doubtful.end();
    line(key, "", key == "price" ? device.price_as_of : "",
         unverified ? "no: no source that could be checked" : "yes", source);
  }
  if (subject.entry.accelerator_sources.empty())
    sheet.line("stated in the scenario without sources", Style::note);
  constants(sheet, "Engine constants", subject.entry.engine_constants);
  if (subject.answer.fidelity == Fidelity::calibrated)
    constants(sheet, "Kernel and link constants", from.kernels.notes);
}

}  // namespace tokenroof::io::xlsx
