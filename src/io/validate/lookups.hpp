// What rows name, found once and kept: devices, models, engines. Failures are kept too.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenroof/core/error.hpp"
#include "tokenroof/io/catalog.hpp"
#include "tokenroof/io/validate.hpp"
#include "tokenroof/physics/machine.hpp"

namespace tokenroof::io {

/// Values by name, made on first use.
template <class Value>
class Cache {
 public:
  /// The value called `name`; throws what `make` threw.
  template <class Make>
  const Value& get(std::string_view name, Make make) {
    auto found = entries_.find(name);
    if (found == entries_.end()) {
      Entry entry;
      try {
        entry.value = make();
      } catch (const SpecError& error) {
        entry.faults = error.faults();
      }
      found = entries_.emplace(std::string(name), std::move(entry)).first;
    }
    if (!found->second.value) throw SpecError(found->second.faults);
    return *found->second.value;
  }

 private:
  struct Entry {
    std::optional<Value> value;
    std::vector<Fault> faults;
  };
  std::map<std::string, Entry, std::less<>> entries_;
};

/// A device and its rates in a node of eight.
struct Device {
  Accelerator accelerator;
  Machine<double> machine;
};

/// Everything that a run looks up. All functions throw SpecError for unknown names.
class Lookups {
 public:
  Lookups(const Catalog& catalog, ValidateOptions options, std::filesystem::path beside);

  [[nodiscard]] const Device& device(std::string_view id);
  /// By `config`, a file name as in data/README.md; see ValidateOptions::models_dir.
  [[nodiscard]] const Model& model(std::string_view config);
  /// The profile that the options ask for, else `name` as of `version` (empty: the newest);
  /// `default` for names without one.
  [[nodiscard]] const EngineEntry& engine(std::string_view name, std::string_view version = {});
  [[nodiscard]] const KernelConstants& kernels() const { return kernels_; }

 private:
  [[nodiscard]] Model find_model(const std::string& config);
  [[nodiscard]] std::optional<std::string> catalogue_name(const std::string& config);

  const Catalog& catalog_;
  ValidateOptions options_;
  std::filesystem::path beside_;
  KernelConstants kernels_;
  Cache<Device> devices_;
  Cache<Model> models_;
  Cache<EngineEntry> engines_;
  std::optional<std::map<std::string, std::string>> by_hugging_face_id_;
};

}  // namespace tokenroof::io
