// Matching of the ignore lists of quantised checkpoints.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tokenroof::io {

/// Whether `pattern` of an ignore list (a dotted path, a glob, or "re:" and a regular expression)
/// covers the module `name`. Takes its work off `steps` and gives up, uncovered, at 0.
[[nodiscard]] bool covers_module(std::string_view pattern, std::string_view name,
                                 std::int64_t& steps);
[[nodiscard]] bool covers_module(std::string_view pattern, std::string_view name);

/// A whole list: patterns by the layer they name, so that a list of thousands is searched once per
/// layer, and with a bound on all the work, because a file may hold any list.
class ModulePatterns {
 public:
  explicit ModulePatterns(const std::vector<std::string>& patterns);

  /// Whether any pattern covers any of the `names` of a module of `layer`.
  [[nodiscard]] bool cover(const std::vector<std::string>& names, int layer);
  [[nodiscard]] bool empty() const { return general_.empty() && by_layer_.empty(); }
  /// The list was too much to follow; answers are not to be trusted.
  [[nodiscard]] bool exhausted() const { return steps_ <= 0; }

 private:
  std::map<int, std::vector<std::string>> by_layer_;
  std::vector<std::string> general_;
  std::int64_t steps_ = 20'000'000;
};

}  // namespace tokenroof::io
