// The wordings of engine logs: which words come before which figure.
#pragma once

#include <span>
#include <string_view>

#include "tokenroof/io/engine_log.hpp"

namespace tokenroof::io {

/// What a phrase is followed by.
enum class LogValue { size, count, number, text, nothing };
/// What several ranks or devices make of it.
enum class LogMerge { largest, smallest, sum, last };

/// `words` ... `then` VALUE `after`: `then` and `after` may be empty.
struct LogPhrase {
  std::string_view engine;  ///< that speaks so; empty: several do
  std::string_view words;   ///< at least four characters
  std::string_view then;    ///< between the words and the value, on the same line
  std::string_view after;   ///< what must follow the value
  LogValue value = LogValue::size;
  LogQuantity quantity{};
  LogMerge merge = LogMerge::last;
  std::string_view plus{};           ///< a second value after these words is added
  std::string EngineStart::*text{};  ///< LogValue::text goes here
  bool begins = false;               ///< only the start of an engine is announced so
  bool device_only = false;          ///< lines about host buffers do not count
};

[[nodiscard]] std::span<const LogPhrase> log_phrases();

}  // namespace tokenroof::io
