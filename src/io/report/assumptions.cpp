// What an answer rests on that its asker did not state: defaults, constants, notes, gaps.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "io/page.hpp"
#include "io/report/parts.hpp"
#include "tokenroof/io/answer_io.hpp"

namespace tokenroof::io::report {
namespace {

std::string fidelity_text(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::ideal:
      return "Fidelity ideal, the textbook: a step takes as long as its memory traffic or its "
             "arithmetic at the device's full rates, whichever is longer. No kernel, engine or "
             "network loses anything.";
    case Fidelity::roofline:
      return "Fidelity roofline: every operator takes its memory traffic or its arithmetic at the "
             "device's full rates, whichever is longer, and messages their least volume.";
    case Fidelity::calibrated:
      break;
  }
  return "Fidelity calibrated: operator by operator, with the efficiencies and fixed times that "
         "were measured for kernels, links and the engine.";
}

ReportTable defaults_table(const ScenarioEntry& entry) {
  ReportTable table{"Values that the scenario does not state", {{"Setting"}, {"Value"}, {"From"}}};
  for (const DefaultUsed& used : entry.defaults_used) {
    std::string key = used.pointer.substr(used.pointer.starts_with('/') ? 1 : 0);
    std::replace(key.begin(), key.end(), '/', '.');
    table.rows.push_back({{std::move(key)}, {used.value}, {used.origin}});
  }
  return table;
}

/// Constants of the engine; those of its residuals are said under how sure the answer is.
ReportTable constants_table(const ScenarioEntry& entry) {
  ReportTable table{fmt::format("Constants of the engine {}", entry.scenario.engine.name),
                    {{"Constant"}, {"Value"}, {"Meaning"}}};
  for (const ConstantNote& note : entry.engine_constants)
    if (!note.name.starts_with("spread_"))
      table.rows.push_back({{note.name}, {note.value}, {note.meaning}});
  return table;
}

/// Metrics without a value, those with the same reason together.
ReportList gaps(const Subject& subject) {
  std::vector<std::pair<std::string, std::string>> by_reason;
  for (const Missing& missing : missing_numbers(subject.answer, subject.scenario())) {
    const auto known = std::find_if(by_reason.begin(), by_reason.end(), [&](const auto& entry) {
      return entry.first == missing.reason;
    });
    if (known == by_reason.end())
      by_reason.emplace_back(missing.reason, missing.metric);
    else
      known->second += ", " + missing.metric;
  }
  ReportList list;
  for (const auto& [reason, metrics] : by_reason)
    list.items.push_back(fmt::format("Not given: {}. Reason: {}", metrics, sentence(reason)));
  return list;
}

}  // namespace

ReportSection assumptions_section(const Subject& subject) {
  ReportSection section{"assumptions", "Assumptions", {}};
  section.blocks.emplace_back(fidelity_text(subject.answer.fidelity));
  const auto add = [&](ReportTable table) {
    if (!table.rows.empty()) section.blocks.emplace_back(std::move(table));
  };
  add(defaults_table(subject.entry));
  if (subject.answer.fidelity == Fidelity::calibrated) add(constants_table(subject.entry));
  ReportList notes;
  for (const std::string& note : subject.answer.notes) notes.items.push_back(sentence(note));
  for (const std::string& note : subject.scenario().model.notes)
    notes.items.push_back(sentence(note));
  for (std::string& item : gaps(subject).items) notes.items.push_back(std::move(item));
  if (!notes.items.empty()) section.blocks.emplace_back(std::move(notes));
  return section;
}

}  // namespace tokenroof::io::report
