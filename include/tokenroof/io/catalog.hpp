// What ships: accelerators, models and engines by name, embedded in the library or in a folder of
// the same layout (accelerators/ID.json, models/NAME.json, engines/NAME.json).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenroof/describe/model.hpp"
#include "tokenroof/io/accelerator_io.hpp"
#include "tokenroof/io/engine_io.hpp"
#include "tokenroof/io/kernels_io.hpp"

namespace tokenroof::io {

/// The folders of a catalogue.
enum class Shelf { accelerators, models, engines };

/// Names to descriptions. Immutable, cheap to copy; any number of threads may ask. A name is an
/// id, an alias of an accelerator, or either in other capitals. Lookups throw SpecError for an
/// unknown name (with suggestions) and for a faulty file.
class Catalog {
 public:
  /// The data that was embedded when the library was built.
  Catalog() = default;
  /// The files below `folder`. Throws SpecError when it is no directory.
  explicit Catalog(std::filesystem::path folder);
  /// For programs: `folder` if not empty, else $TOKENROOF_DATA, else the embedded data.
  [[nodiscard]] static Catalog open(const std::string& folder = {});

  /// Ids, sorted.
  [[nodiscard]] std::vector<std::string> names(Shelf shelf) const;
  [[nodiscard]] AcceleratorEntry accelerator(std::string_view name) const;
  [[nodiscard]] Model model(std::string_view name) const;
  /// As of `version`; empty: the newest.
  [[nodiscard]] EngineEntry engine(std::string_view name, const std::string& version = {}) const;
  /// As engine(), but a name without a profile gets the constants of `default` and has_profile
  /// false: for measurements of engines that nobody has calibrated.
  [[nodiscard]] EngineEntry engine_or_default(std::string_view name,
                                              const std::string& version = {}) const;
  /// Constants of kernels and links: kernels.json, or what is built in without that file.
  [[nodiscard]] KernelEntry kernels() const;

  /// The id that `name` stands for, none when unknown.
  [[nodiscard]] std::optional<std::string> find(Shelf shelf, std::string_view name) const;
  /// The sentence about an unknown name: suggestions and how to list what there is.
  [[nodiscard]] std::string unknown(Shelf shelf, std::string_view name) const;
  /// Text of a file below data/, such as "kernels.json" or "models/NAME.json"; none when absent.
  [[nodiscard]] std::optional<std::string> text(const std::string& path) const;
  /// `path` as messages show it.
  [[nodiscard]] std::string shown(const std::string& path) const;
  /// "accelerators/ID.json"
  [[nodiscard]] static std::string path(Shelf shelf, std::string_view id);

 private:
  [[nodiscard]] std::string required_id(Shelf shelf, std::string_view name) const;

  std::filesystem::path folder_;  // empty: embedded
};

}  // namespace tokenroof::io
