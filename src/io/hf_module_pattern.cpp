// Matching of ignore lists. They mix dotted paths, globs and Python regular expressions; the last
// are matched by a small backtracking matcher of our own with a bound on its work, because a file
// may hold any pattern.
#include "io/hf_module_pattern.hpp"

#include <algorithm>
#include <functional>
#include <string>

namespace tokenroof::io {
namespace {

/// The matcher descends once per atom; no module has a name like that.
constexpr std::size_t longest_pattern = 1000;

/// Matches the subset that appears in such lists: literals, '.', \d \. and other escapes,
/// [classes], (alternatives), and * + ? behind any of them. `steps` bounds the work.
class Matcher {
 public:
  Matcher(std::string_view pattern, std::int64_t& steps) : pattern_(pattern), steps_(&steps) {}

  /// Python's re.match: from the beginning, not necessarily to the end.
  bool match_prefix(std::string_view text) {
    text_ = text;
    return alternatives(0, pattern_.size(), 0, [](std::size_t) { return true; });
  }

 private:
  struct Atom {
    std::size_t begin = 0;
    std::size_t end = 0;  ///< without the quantifier
    std::size_t next = 0;
    char quantifier = 0;
  };

  [[nodiscard]] Atom atom_at(std::size_t at, std::size_t end) const {
    Atom atom{at, at + 1, 0, 0};
    if (pattern_[at] == '\\') atom.end = std::min(at + 2, end);
    if (pattern_[at] == '(' || pattern_[at] == '[') atom.end = closing(at, end);
    atom.next = atom.end;
    if (atom.next < end && std::string_view("*+?").find(pattern_[atom.next]) != std::string::npos) {
      atom.quantifier = pattern_[atom.next++];
      // Lazy quantifiers accept the same texts.
      if (atom.next < end && pattern_[atom.next] == '?') ++atom.next;
    }
    return atom;
  }

  /// One behind the bracket that closes the one at `at`.
  [[nodiscard]] std::size_t closing(std::size_t at, std::size_t end) const {
    if (pattern_[at] == '[') {
      const std::size_t close = pattern_.find(']', at + 1);
      return close < end ? close + 1 : end;
    }
    int depth = 0;
    for (std::size_t i = at; i < end; ++i) {
      if (pattern_[i] == '\\') {
        ++i;
      } else if (pattern_[i] == '(') {
        ++depth;
      } else if (pattern_[i] == ')' && --depth == 0) {
        return i + 1;
      }
    }
    return end;
  }

  template <class Next>
  bool alternatives(std::size_t begin, std::size_t end, std::size_t at, const Next& next) {
    std::size_t start = begin;
    int depth = 0;
    for (std::size_t i = begin; i <= end; ++i) {
      if (i < end && pattern_[i] == '\\') {
        ++i;
        continue;
      }
      if (i < end && pattern_[i] == '(') ++depth;
      if (i < end && pattern_[i] == ')') --depth;
      if (i == end || (pattern_[i] == '|' && depth == 0)) {
        if (sequence(start, i, at, std::function<bool(std::size_t)>(next))) return true;
        start = i + 1;
      }
    }
    return false;
  }

  bool sequence(std::size_t begin, std::size_t end, std::size_t at,
                const std::function<bool(std::size_t)>& next) {
    if (--*steps_ < 0) return false;
    if (begin >= end) return next(at);
    const Atom atom = atom_at(begin, end);
    const auto rest = [&](std::size_t i) { return sequence(atom.next, end, i, next); };
    if (atom.quantifier == 0) return one(atom, at, rest);
    if (atom.quantifier == '?') return one(atom, at, rest) || rest(at);
    if (atom.quantifier == '*') return repeat(atom, at, rest);
    return one(atom, at, [&](std::size_t i) { return repeat(atom, i, rest); });
  }

  bool repeat(const Atom& atom, std::size_t at, const std::function<bool(std::size_t)>& next) {
    if (--*steps_ < 0) return false;
    if (next(at)) return true;
    return one(atom, at, [&](std::size_t i) { return i > at && repeat(atom, i, next); });
  }

  bool one(const Atom& atom, std::size_t at, const std::function<bool(std::size_t)>& next) {
    const char kind = pattern_[atom.begin];
    if (kind == '(') {
      std::size_t inner = atom.begin + 1;
      if (pattern_.substr(inner, 2) == "?:") inner += 2;
      return alternatives(inner, atom.end - 1, at, next);
    }
    if (kind == '^') return at == 0 && next(at);
    if (kind == '$') return at == text_.size() && next(at);
    return at < text_.size() && fits(atom, text_[at]) && next(at + 1);
  }

  [[nodiscard]] bool fits(const Atom& atom, char c) const {
    const char kind = pattern_[atom.begin];
    if (kind == '.') return true;
    if (kind == '\\') {
      const char escaped = atom.end - atom.begin > 1 ? pattern_[atom.begin + 1] : '\\';
      if (escaped == 'd') return c >= '0' && c <= '9';
      if (escaped == 'w')
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               c == '_';
      return c == escaped;
    }
    if (kind != '[') return c == kind;
    const bool negated = pattern_.substr(atom.begin + 1, 1) == "^";
    bool inside = false;
    for (std::size_t i = atom.begin + (negated ? 2 : 1); i + 1 < atom.end; ++i) {
      if (i + 3 < atom.end && pattern_[i + 1] == '-') {
        inside = inside || (c >= pattern_[i] && c <= pattern_[i + 2]);
        i += 2;
      } else {
        inside = inside || c == pattern_[i];
      }
    }
    return inside != negated;
  }

  std::string_view pattern_;
  std::string_view text_;
  std::int64_t* steps_;
};

bool glob_matches(std::string_view glob, std::string_view name) {
  std::size_t g = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;
  std::size_t mark = 0;
  while (n < name.size()) {
    if (g < glob.size() && (glob[g] == name[n] || glob[g] == '?')) {
      ++g;
      ++n;
    } else if (g < glob.size() && glob[g] == '*') {
      star = g++;
      mark = n;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      n = ++mark;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

/// `path` as whole steps of `name`: "gate" is in "mlp.gate", not in "mlp.gate_proj".
bool has_path(std::string_view name, std::string_view path) {
  for (std::size_t at = name.find(path); at != std::string_view::npos;
       at = name.find(path, at + 1)) {
    const bool starts = at == 0 || name[at - 1] == '.';
    const std::size_t end = at + path.size();
    if (starts && (end == name.size() || name[end] == '.')) return true;
  }
  return false;
}

/// The number behind "layers." of a pattern that is no regular expression.
std::optional<int> layer_of(const std::string& pattern) {
  const std::size_t at = pattern.find("layers.");
  if (at == std::string::npos || pattern.starts_with("re:")) return std::nullopt;
  int layer = 0;
  std::size_t i = at + 7;
  for (; i < pattern.size() && i < at + 12 && pattern[i] >= '0' && pattern[i] <= '9'; ++i)
    layer = 10 * layer + (pattern[i] - '0');
  const bool whole = i > at + 7 && (i == pattern.size() || pattern[i] == '.');
  return whole ? std::optional(layer) : std::nullopt;
}

}  // namespace

bool covers_module(std::string_view pattern, std::string_view name, std::int64_t& steps) {
  if (pattern.empty() || pattern.size() > longest_pattern || --steps < 0) return false;
  if (pattern.starts_with("re:")) return Matcher(pattern.substr(3), steps).match_prefix(name);
  if (pattern.find('*') == std::string_view::npos) return has_path(name, pattern);
  // A glob may stand for a module whose parts are meant ("model.layers.*.self_attn").
  return glob_matches(pattern, name) || glob_matches(std::string(pattern) + ".*", name);
}

bool covers_module(std::string_view pattern, std::string_view name) {
  std::int64_t steps = 20000;
  return covers_module(pattern, name, steps);
}

ModulePatterns::ModulePatterns(const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    if (pattern.size() > longest_pattern) steps_ = 0;
    const std::optional<int> layer = layer_of(pattern);
    (layer ? by_layer_[*layer] : general_).push_back(pattern);
  }
}

bool ModulePatterns::cover(const std::vector<std::string>& names, int layer) {
  const auto found = by_layer_.find(layer);
  const auto covered = [&](const std::vector<std::string>& patterns, const std::string& name) {
    return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
      return covers_module(pattern, name, steps_);
    });
  };
  for (const std::string& name : names) {
    if (steps_ <= 0) return false;
    if (covered(general_, name)) return true;
    if (found != by_layer_.end() && covered(found->second, name)) return true;
  }
  return false;
}

}  // namespace tokenroof::io
