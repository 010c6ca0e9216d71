#include "cli/output.hpp"

#include <ostream>

#include "tokenroof/io/output_file.hpp"

namespace tokenroof::cli {

OutputFormat output_format(const Options& options) {
  const auto asks_for = [&](std::string_view name, std::string_view ending) {
    return options.format.empty() ? options.output.ends_with(ending) : options.format == name;
  };
  if (asks_for("json", ".json")) return OutputFormat::json;
  if (asks_for("csv", ".csv")) return OutputFormat::csv;
  if (asks_for("markdown", ".md")) return OutputFormat::markdown;
  return OutputFormat::table;
}

void deliver(const Options& options, const Renderings& renderings) {
  io::OutputFile file(options.output);
  switch (output_format(options)) {
    case OutputFormat::table:
      file.stream() << renderings.text(io::Markup::plain);
      break;
    case OutputFormat::markdown:
      file.stream() << renderings.text(io::Markup::markdown);
      break;
    case OutputFormat::json:
      file.stream() << renderings.json();
      break;
    case OutputFormat::csv:
      renderings.csv(file.stream());
      break;
  }
  file.commit();
}

}  // namespace tokenroof::cli
