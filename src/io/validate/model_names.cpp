#include "io/validate/model_names.hpp"

#include <algorithm>
#include <cctype>

namespace tokenroof::io {
namespace {

// How a checkpoint was tuned or quantised, not what it is.
constexpr std::string_view endings[] = {
    "-instruct",
    "-chat",
    "-hf",
    "-it",
    "-base",
    "-gptq",
    "-awq",
    "-int4",
    "-int8",
    "-4bit",
    "-fp8",
    "-nvfp4",
    "-mxfp4",
    "-dynamic",
    "-quantized.w8a8",
    "-quantized.w4a16",
};
// Owners that repeat themselves in the name.
constexpr std::string_view beginnings[] = {"nvidia-", "meta-"};

bool same(char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; }

bool begins(std::string_view text, std::string_view with) {
  return text.size() > with.size() && std::equal(with.begin(), with.end(), text.begin(),
                                                 [](char known, char c) { return same(c, known); });
}

// Length of an ending of `text` that does not belong to the name; 0: none.
std::size_t tail(std::string_view text) {
  for (const std::string_view ending : endings)
    if (text.size() > ending.size() &&
        std::equal(ending.rbegin(), ending.rend(), text.rbegin(),
                   [](char known, char c) { return same(c, known); }))
      return ending.size();
  // A release date of four digits: "-2503".
  const auto digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  if (text.size() > 5 && text[text.size() - 5] == '-' &&
      std::all_of(text.end() - 4, text.end(), digit))
    return 5;
  return 0;
}

}  // namespace

std::vector<std::string> model_names(std::string_view text) {
  std::vector<std::string> names;
  const auto add = [&](std::string_view name) {
    if (!name.empty() && (names.empty() || names.back() != name)) names.emplace_back(name);
  };
  add(text);
  text = text.substr(0, text.find(' '));
  add(text);
  text = text.substr(text.rfind('/') == std::string_view::npos ? 0 : text.rfind('/') + 1);
  add(text);
  for (std::size_t length = tail(text); length > 0; length = tail(text)) {
    text.remove_suffix(length);
    add(text);
  }
  for (const std::string_view beginning : beginnings)
    if (begins(text, beginning)) add(text.substr(beginning.size()));
  return names;
}

const Model& named_model(Lookups& lookups, std::string_view config, std::string_view name) {
  std::vector<std::string> names = model_names(name);
  if (!config.empty()) names.emplace(names.begin(), config);
  for (const std::string& each : names) {
    try {
      return lookups.model(each);
    } catch (const SpecError&) {
      continue;
    }
  }
  return lookups.model(names.empty() ? std::string() : names.front());
}

}  // namespace tokenroof::io
