// Lengths from a recorded trace: a CSV file with one request per row.
#include <algorithm>
#include <array>

#include "scenario_parts.hpp"
#include "tokenroof/io/csv.hpp"

namespace tokenroof::io {
namespace {

// What traces call the two lengths; the second of each is the Azure LLM inference trace's.
constexpr std::array<std::string_view, 5> input_names = {
    "input_tokens", "ContextTokens", "context_tokens", "prompt_tokens", "num_prefill_tokens"};
constexpr std::array<std::string_view, 5> output_names = {"output_tokens", "GeneratedTokens",
                                                          "generated_tokens", "completion_tokens",
                                                          "num_decode_tokens"};

std::size_t column_of(const CsvReader& reader, std::span<const std::string_view> names) {
  for (const std::string_view name : names)
    if (const auto column = reader.column(name)) return *column;
  return reader.required_column(names.front());
}

}  // namespace

LengthLaw read_trace_lengths(const std::filesystem::path& path) {
  CsvReader reader = CsvReader::open(path);
  const std::size_t input = column_of(reader, input_names);
  const std::size_t output = column_of(reader, output_names);
  LengthLaw law;
  law.kind = LengthLaw::Kind::empirical;
  const auto length = [&](std::size_t column) {
    const std::optional<double> tokens = reader.number(column);
    if (!tokens || *tokens < 0) reader.fail(column, "expected a number of tokens");
    return *tokens;
  };
  while (reader.next()) {
    // A request without prompt or answer is no request; such rows are in the public traces.
    const double prompt = length(input), answer = length(output);
    if (prompt <= 0 || answer <= 0) continue;
    law.input_samples.push_back(prompt);
    law.output_samples.push_back(answer);
  }
  if (law.input_samples.empty()) throw SpecError(path.string(), "", "holds no request");
  return law;
}

}  // namespace tokenroof::io
