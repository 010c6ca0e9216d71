// The one place where answers leave the tool: the format that was asked for, into the file or the
// standard output, whole or not at all.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>

#include "cli/verb.hpp"
#include "tokenroof/io/csv.hpp"
#include "tokenroof/io/validate.hpp"

namespace tokenroof::cli {

enum class OutputFormat { table, json, csv, markdown };

/// --format, else the ending of -o (.json, .csv, .md), else a table.
[[nodiscard]] OutputFormat output_format(const Options& options);

/// An answer in each format; only the one that is asked for is made.
struct Renderings {
  std::function<std::string(io::Markup)> text;  ///< table and markdown
  std::function<std::string()> json;
  std::function<void(std::ostream&, io::CsvDialect)> csv;
};

/// Whether a line that rewrites itself on standard error helps: a terminal that can, no --quiet.
[[nodiscard]] bool progress_welcome(const Options& options);

/// Whether two names, neither of them "-", mean one file, there or not yet.
[[nodiscard]] bool same_file(const std::filesystem::path& a, const std::filesystem::path& b);

/// Writes the answer where --format and -o ask for it. Throws SpecError when it cannot be written.
void deliver(const Options& options, const Renderings& renderings);

}  // namespace tokenroof::cli
