// Suggestions for misspelt names.
#include <algorithm>
#include <cctype>
#include <numeric>

#include "json_reader.hpp"

namespace tokenroof::io {
namespace {

std::string folded(std::string_view text) {
  std::string result;
  for (const char c : text)
    result += c == '_' || c == ' ' || c == '.'
                  ? '-'
                  : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

// Insertions, deletions, substitutions and swaps of neighbours that turn a into b (optimal string
// alignment, Wagner-Fischer with the transposition step).
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitution = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, substitution});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

struct Suggestion {
  std::size_t distance;
  std::string name;
};

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  constexpr std::size_t most = 3, longest = 100;
  if (word.size() > longest) return "";
  const std::string asked = folded(word);
  const std::size_t allowed = std::max<std::size_t>(1, asked.size() / 3);
  std::vector<Suggestion> near, partial;
  for (const std::string& candidate : candidates) {
    const std::string name = folded(candidate);
    const std::size_t distance = edits(asked, name);
    if (distance <= allowed && distance < name.size())
      near.push_back({distance, candidate});
    else if (asked.size() >= 3 && name.find(asked) != std::string::npos)
      partial.push_back({name.find(asked), candidate});
  }
  // A close spelling is the better guess; abbreviations come only when there is none.
  std::vector<Suggestion>& chosen = near.empty() ? partial : near;
  std::stable_sort(chosen.begin(), chosen.end(), [](const Suggestion& a, const Suggestion& b) {
    return a.distance < b.distance;
  });
  if (!near.empty())
    while (near.back().distance > near.front().distance) near.pop_back();
  if (chosen.size() > most) chosen.resize(most);
  if (chosen.empty()) return "";
  std::string text = " (did you mean ";
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (i > 0) text += i + 1 == chosen.size() ? " or " : ", ";
    text += '"' + chosen[i].name + '"';
  }
  return text + "?)";
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  const std::vector<std::string> owned(candidates.begin(), candidates.end());
  return did_you_mean(word, std::span<const std::string>(owned));
}

}  // namespace tokenroof::io
