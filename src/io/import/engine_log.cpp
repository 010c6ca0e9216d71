#include "tokenroof/io/engine_log.hpp"

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <cstring>

#include "io/import/line_reader.hpp"
#include "io/import/log_phrases.hpp"
#include "io/import/log_values.hpp"

namespace tokenroof::io {
namespace {

/// Finds all phrases of a text in one pass: a table of the first four characters of their words
/// tells where to look closer, which few places of a log ask for.
class PhraseFinder {
 public:
  PhraseFinder() {
    for (const LogPhrase& phrase : log_phrases()) {
      const std::size_t hash = hash_at(phrase.words.data());
      marks_.set(hash);
      buckets_[hash & 63].push_back(&phrase);
    }
  }
  /// Calls take(phrase, text after its words) until it returns false.
  template <class Take>
  void find(std::string_view text, Take take) const {
    if (text.size() < 4) return;
    const std::size_t last = text.size() - 4;
    for (std::size_t at = 0; at <= last; ++at) {
      const std::size_t hash = hash_at(text.data() + at);
      if (!marks_[hash]) continue;
      for (const LogPhrase* phrase : buckets_[hash & 63])
        if (text.compare(at, phrase->words.size(), phrase->words) == 0 &&
            !take(*phrase, text.substr(at + phrase->words.size())))
          return;
    }
  }

 private:
  static std::size_t hash_at(const char* four) {
    std::uint32_t word = 0;
    std::memcpy(&word, four, sizeof word);
    return (word * 2654435761U) >> 18;
  }
  std::bitset<1 << 14> marks_;
  std::array<std::vector<const LogPhrase*>, 64> buckets_;
};

const PhraseFinder& finder() {
  static const PhraseFinder all;
  return all;
}

class LogReader {
 public:
  explicit LogReader(std::string file) : file_(std::move(file)) {}

  void read(std::string_view line, std::size_t number, bool torn) {
    line = without_colours(line, scratch_);
    finder().find(line, [&](const LogPhrase& phrase, std::string_view rest) {
      const std::size_t begin = line.size() - rest.size() - phrase.words.size();
      take(phrase, rest, {line, line.substr(begin), number, torn});
      return true;
    });
  }
  EngineLog finish() {
    close();
    return std::move(log_);
  }

 private:
  struct Line {
    std::string_view text;
    std::string_view wording;  ///< from the phrase on, without timestamps and ranks
    std::size_t number;
    bool torn;
  };

  void take(const LogPhrase& phrase, std::string_view rest, const Line& line) {
    if (!phrase.then.empty()) {
      const std::size_t at = rest.find(phrase.then);
      if (at == std::string_view::npos) return;
      rest.remove_prefix(at + phrase.then.size());
    }
    if (phrase.device_only && (line.text.find("CPU") != std::string_view::npos ||
                               line.text.find("Host") != std::string_view::npos))
      return;
    if (phrase.value == LogValue::text) {
      std::string word = take_text(rest);
      if (!rest.starts_with(phrase.after)) return;
      if (phrase.begins) begin(phrase, line.number);
      if (!word.empty()) start_.*phrase.text = std::move(word);
      return;
    }
    if (phrase.value == LogValue::nothing) {
      start_.refused = true;
      return;
    }
    std::string_view value_text = rest;
    auto value = value_of(phrase, rest);
    // Digits at the very end of a file that ends within the line may not be all of them.
    if (value && rest.empty() && line.torn && phrase.value != LogValue::size) value.reset();
    if (value && !phrase.plus.empty()) {
      const std::size_t at = rest.find(phrase.plus);
      std::string_view more =
          at == std::string_view::npos ? std::string_view{} : rest.substr(at + phrase.plus.size());
      const auto second = value_of(phrase, more);
      value = second ? std::optional(*value + *second) : std::nullopt;
    }
    if (value && rest.starts_with(phrase.after)) return keep(phrase, *value, line);
    // Other sentences may begin with the same words; those without an ending are unmistakable.
    const bool meant = phrase.then.empty() && phrase.after.empty() && is_memory(phrase.quantity);
    if (meant || (line.torn && is_memory(phrase.quantity))) broken(phrase, value_text, line.number);
  }

  static std::optional<double> value_of(const LogPhrase& phrase, std::string_view& rest) {
    if (phrase.value == LogValue::size) return take_size(rest);
    const auto value = take_number(rest);
    return value && *value > 0 ? value : std::nullopt;
  }
  static bool is_memory(LogQuantity quantity) {
    return quantity <= LogQuantity::kv_blocks || quantity == LogQuantity::visible;
  }

  void keep(const LogPhrase& phrase, double value, const Line& line) {
    name_engine(phrase);
    if (start_.line == 0) start_.line = line.number;
    auto& slot = start_.figures[static_cast<std::size_t>(phrase.quantity)];
    const auto shown = [&] { return std::string(line.wording.substr(0, 300)); };
    if (!slot) {
      slot = LogFigure{value, line.number, shown(), 1, value, value};
      return;
    }
    ++slot->times;
    slot->low = std::min(slot->low, value);
    slot->high = std::max(slot->high, value);
    const bool better = phrase.merge == LogMerge::last ||
                        (phrase.merge == LogMerge::largest && value > slot->value) ||
                        (phrase.merge == LogMerge::smallest && value < slot->value);
    if (phrase.merge == LogMerge::sum) {
      slot->value += value;
    } else if (better) {
      slot->value = value;
      slot->line = line.number;
      slot->text = shown();
    }
  }

  void name_engine(const LogPhrase& phrase) {
    if (start_.engine.empty() && is_memory(phrase.quantity)) start_.engine = phrase.engine;
  }

  void begin(const LogPhrase& phrase, std::size_t number) {
    if (start_.has_memory()) close();
    if (start_.line == 0) start_.line = number;
    start_.engine = phrase.engine;
  }

  void close() {
    if (start_.has_memory()) log_.starts.push_back(std::move(start_));
    start_ = {};
  }

  void broken(const LogPhrase& phrase, std::string_view found, std::size_t number) {
    constexpr std::size_t most = 50;
    if (++log_.broken > most) return;
    const char* expected = phrase.value == LogValue::size ? "a size such as 12.5 GiB" : "a number";
    found = found.substr(0, std::min<std::size_t>(found.find_first_of(",;)"), 30));
    log_.faults.push_back({file_, "line " + std::to_string(number),
                           "\"" + std::string(phrase.words) + "...\": expected " + expected +
                               ", found \"" + std::string(found) + "\""});
  }

  std::string file_, scratch_;
  EngineStart start_;
  EngineLog log_;
};

}  // namespace

bool EngineStart::has_memory() const {
  return std::any_of(figures.begin(), figures.begin() + 8,
                     [](const auto& figure) { return figure.has_value(); });
}

std::optional<double> EngineStart::kv_tokens() const {
  if (const auto logged = value(LogQuantity::kv_tokens)) return logged;
  const auto blocks = value(LogQuantity::kv_blocks);
  if (!blocks) return std::nullopt;
  return *blocks * value(LogQuantity::block_tokens).value_or(16);
}

EngineLog read_engine_log(std::istream& in, const std::string& file) {
  LineReader lines(in);
  LogReader reader(file);
  while (lines.next()) {
    const std::string_view line = lines.line();
    if (lines.number() == 1 && (line.starts_with("\xFF\xFE") || line.starts_with("\xFE\xFF")))
      throw SpecError(file, "line 1", "is UTF-16; save the log as UTF-8");
    if (line.find('\0') != std::string_view::npos)
      throw SpecError(file, "line " + std::to_string(lines.number()),
                      "is binary: a log has no zero bytes");
    reader.read(line, lines.number(), lines.torn());
  }
  return reader.finish();
}

bool mentions_engine_memory(std::string_view text) {
  bool found = false;
  finder().find(text, [&](const LogPhrase& phrase, std::string_view) {
    found = phrase.begins || phrase.value == LogValue::size;
    return !found;
  });
  return found;
}

}  // namespace tokenroof::io
