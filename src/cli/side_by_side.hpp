// Scenarios next to one another: settings and answers, differences marked. For compare and what-if.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "tokenroof/decide/answer.hpp"
#include "tokenroof/io/scenario_io.hpp"
#include "tokenroof/io/validate.hpp"

namespace tokenroof::cli {

/// One scenario with its answer.
struct Candidate {
  std::string name;
  io::ScenarioEntry entry;
  Answer answer;
};

/// Which settings a page shows.
enum class ShownSettings { all, differing };

/// Settings and metrics as a page: one column per candidate, "*" where they are not all alike, and
/// factors over the first one.
[[nodiscard]] std::string side_by_side_text(const std::string& title,
                                            const std::vector<Candidate>& candidates,
                                            ShownSettings shown, io::Markup markup);
/// {"candidates": [{name, settings, verdict, bounds, metrics, factors}], "differing_settings"}
[[nodiscard]] std::string side_by_side_json(std::string_view kind,
                                            const std::vector<Candidate>& candidates);
/// One row per candidate: its name, settings, metrics, status, reason, schema_version.
void write_side_by_side_csv(const std::vector<Candidate>& candidates, std::ostream& out,
                            io::CsvDialect dialect);

}  // namespace tokenroof::cli
