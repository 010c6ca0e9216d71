#include "tokenroof/io/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <sstream>

#include "io/import/aiconfigurator.hpp"
#include "io/import/aiperf.hpp"
#include "io/import/file_kind.hpp"
#include "io/import/run_rows.hpp"

namespace tokenroof::io {
namespace {

/// Collects what the sources deliver.
class Import {
 public:
  Import(const Catalog& catalog, const ImportOptions& options)
      : options_(options), facts_(catalog, options) {}

  void read(std::istream& in, const std::string& file) {
    file_ = file;
    std::string head(head_bytes, '\0');
    in.read(head.data(), static_cast<std::streamsize>(head.size()));
    head.resize(static_cast<std::size_t>(in.gcount()));
    if (head.find_first_not_of(" \t\r\n") == std::string::npos)
      throw SpecError(file, "", "is empty");
    const std::size_t rows_before = runs_.size(), skipped_before = result_.skipped.size();
    const std::string kind(options_.from.empty() ? file_kind(head) : options_.from);
    // The head again, then what follows it.
    std::istringstream first(head);
    Rejoined rejoined(first, in);
    std::istream whole(&rejoined);
    if (const JsonSource* source = json_source(kind)) {
      read_objects(whole, *source);
    } else if (kind == aiperf_table_source) {
      add_run(read_aiperf_table(whole, file), "line 1", Load::required);
    } else if (kind == aiperf_requests_source) {
      add_run(read_aiperf_requests(whole, file), "line 1", Load::required);
    } else if (kind == table_source) {
      read_aiconfigurator(
          whole, file,
          [this](ImportCells cells, const std::string& place) { add_run(std::move(cells), place); },
          [this](const std::string& place, const std::string& reason) { skip(place, reason); });
    } else if (kind == log_source || !begins_as_json(head)) {
      read_log(whole, kind.empty());
    } else {
      throw SpecError(file, "",
                      fmt::format("is none of the kinds that can be imported: {}",
                                  fmt::join(import_kinds(), ", ")));
    }
    facts_.throw_if_missing(file);
    if (runs_.size() == rows_before) refuse(skipped_before);
  }

  ImportedRows finish() && {
    choose_kind();
    result_.columns = leading_columns(result_.kind);
    for (Run& run : runs_) {
      if (run.kind != result_.kind) {
        result_.skipped.push_back({run.cells.text("id"), "is a run of kind " + run.kind, {}});
        continue;
      }
      for (const auto& [column, value] : run.cells.all())
        if (std::find(result_.columns.begin(), result_.columns.end(), column) ==
            result_.columns.end())
          result_.columns.push_back(column);
      result_.rows.push_back(std::move(run.cells));
    }
    result_.notes = facts_.notes();
    return std::move(result_);
  }

 private:
  struct Run {
    std::string kind;
    ImportCells cells;
  };

  /// A buffer over two streams, one after the other.
  class Rejoined : public std::streambuf {
   public:
    Rejoined(std::istream& first, std::istream& second)
        : first_(first), second_(second), block_(head_bytes, '\0') {}

   protected:
    int_type underflow() override {
      for (std::istream* in : {&first_, &second_}) {
        in->read(block_.data(), static_cast<std::streamsize>(block_.size()));
        if (in->gcount() == 0) continue;
        setg(block_.data(), block_.data(), block_.data() + in->gcount());
        return traits_type::to_int_type(block_.front());
      }
      return traits_type::eof();
    }

   private:
    std::istream &first_, &second_;
    std::string block_;
  };

  [[nodiscard]] std::string id(const std::string& place) const {
    const std::string name = std::filesystem::path(file_).filename().string();
    const std::string_view at = place;
    return name + ":" + std::string(at.substr(at.starts_with("line ") ? 5 : 1));
  }
  void skip(const std::string& place, const std::string& reason) {
    result_.skipped.push_back({id(place), place + ": " + reason, {}});
  }

  void read_objects(std::istream& in, const JsonSource& source) {
    for_each_object(
        in, file_,
        [&](const Json& object, const std::string& place) {
          ImportCells cells;
          try {
            source.read(object, cells);
          } catch (const SpecError& error) {
            return skip(place, located(error));
          }
          add_run(std::move(cells), place,
                  source.name == aiperf_source_name ? Load::required : Load::optional);
        },
        [&](const std::string& place, const std::string& reason) { skip(place, reason); });
  }

  static std::string located(const SpecError& error) {
    const Fault& fault = error.faults().front();
    return fault.json_pointer + (fault.json_pointer.empty() ? "" : ": ") + fault.reason;
  }

  /// What it means that a run states neither a concurrency nor a rate: that all requests were sent
  /// at once, or nothing.
  enum class Load { optional, required };

  void add_run(ImportCells cells, const std::string& place, Load load = Load::optional) {
    try {
      facts_.complete_run(cells, place);
      if (load == Load::required) facts_.require_load(cells, place);
      if (!cells.has("input_tokens") || !cells.has("output_tokens")) return;  // asked for
      cells.set("id", id(place));
      std::string kind = shape_run(cells, facts_);
      runs_.push_back({std::move(kind), std::move(cells)});
    } catch (const SpecError& error) {
      skip(place, located(error));
    }
  }

  void read_log(std::istream& in, bool unsure) {
    const EngineLog log = read_engine_log(in, file_);
    for (const Fault& fault : log.faults) skip(fault.json_pointer, fault.reason);
    if (log.starts.empty() && log.broken == 0)
      throw SpecError(file_, "",
                      unsure ? fmt::format("nothing in it is known; what can be imported: {}",
                                           fmt::join(import_kinds(), ", "))
                             : "no line says what vLLM, SGLang, TensorRT-LLM or llama.cpp say "
                               "about memory");
    for (const EngineStart& start : log.starts) {
      const std::string place = fmt::format("line {}", start.line);
      ImportCells cells = log_row(start);
      try {
        facts_.complete_log(cells, place);
      } catch (const SpecError& error) {
        skip(place, located(error));
        continue;
      }
      cells.set("id", id(place));
      runs_.push_back({"capacity", std::move(cells)});
    }
  }

  /// Nothing was usable: the reasons become the faults of the file.
  [[noreturn]] void refuse(std::size_t skipped_before) const {
    std::vector<Fault> faults;
    for (std::size_t i = skipped_before; i < result_.skipped.size() && faults.size() < 20; ++i)
      faults.push_back({file_, "", result_.skipped[i].reason});
    if (faults.empty()) faults.push_back({file_, "", "holds no run"});
    throw SpecError(faults);
  }

  void choose_kind() {
    std::map<std::string, std::size_t> counts;
    for (const Run& run : runs_) ++counts[run.kind];
    if (!options_.as.empty()) {
      if (counts.count(options_.as) == 0)
        throw SpecError(file_, "", "no run is of kind " + options_.as);
      result_.kind = options_.as;
      return;
    }
    if (counts.size() > 1) {
      std::string kinds;
      for (const auto& [kind, count] : counts)
        kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", count, kind);
      throw SpecError(file_, "", "runs of several kinds (" + kinds + "); choose one with --as");
    }
    result_.kind = counts.begin()->first;
  }

  const ImportOptions& options_;
  FactCompleter facts_;
  std::string file_;
  std::vector<Run> runs_;
  ImportedRows result_;
};

}  // namespace

ImportedRows import_stream(std::istream& in, const std::string& file, const Catalog& catalog,
                           const ImportOptions& options) {
  Import import(catalog, options);
  import.read(in, file);
  return std::move(import).finish();
}

ImportedRows import_files(const std::vector<std::filesystem::path>& paths, const Catalog& catalog,
                          const ImportOptions& options) {
  Import import(catalog, options);
  for (const std::filesystem::path& path : paths) {
    if (path == "-") {
      import.read(std::cin, "standard input");
      continue;
    }
    std::ifstream in = open_file(path);
    import.read(in, path.string());
  }
  return std::move(import).finish();
}

}  // namespace tokenroof::io
