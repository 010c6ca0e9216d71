// JSON Schemas of the files that the readers take and of the answers that the tool gives, for
// editors and for other programs. The readers do not use them: they know more (what depends on two
// keys, or on another file) and say it better.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tokenroof::io {

/// "scenario", "accelerator", "engine", "kernels", "prices".
[[nodiscard]] std::vector<std::string> schema_names();

/// Verbs whose JSON answers have one: "bill", "estimate", "plan", "simulate", "validate".
[[nodiscard]] std::vector<std::string> answer_schema_names();

/// The text of data/schema/NAME.json, of an answer data/schema/answers/NAME.json, as it was built
/// in. Throws SpecError for an unknown name.
[[nodiscard]] std::string schema(std::string_view name);

}  // namespace tokenroof::io
