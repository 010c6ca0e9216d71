// Every number of the answer with its meaning, from the metric table.
#include <fmt/format.h>

#include <utility>

#include "io/report/parts.hpp"
#include "tokenroof/io/answer_io.hpp"
#include "tokenroof/io/units_text.hpp"

namespace tokenroof::io::report {
namespace {

struct Group {
  std::string_view prefix;  ///< of the keys
  const char* caption;
};
constexpr Group groups[] = {
    {"memory.", "Memory: how much fits"},
    {"decode.", "Decode: one step, which gives every running request its next token"},
    {"prefill.", "Prefill: reading one prompt"},
    {"serving.", "Traffic: what users wait for"},
    {"limits.", "Landmarks: where one limit takes over from another"},
    {"economics.", "Cost"},
};

std::string_view unit_words(std::string_view unit) {
  constexpr std::pair<std::string_view, std::string_view> words[] = {
      {"token", "tokens"},         {"token/s", "tokens/s"},     {"request", "requests"},
      {"request/s", "requests/s"}, {"FLOP/B", "FLOP per byte"}, {"USD/Mtok", "USD per million"},
      {"USD/h", "USD an hour"},    {"J/token", "J per token"}};
  for (const auto& [symbol, text] : words)
    if (symbol == unit) return text;
  return unit;
}

std::string value_text(const Metric& metric, double value) {
  if (metric.unit == "s") return to_text(value * second);
  if (metric.unit == "B") return to_text(value * byte);
  if (metric.unit == "1") return to_text(100 * value) + " %";
  return fmt::format("{} {}", number_text(value),
                     value == 1 ? metric.unit : unit_words(metric.unit));
}

}  // namespace

ReportSection results_section(const Subject& subject) {
  const Answer& answer = subject.answer;
  ReportSection section{"results", "Results", {}};
  if (!runs(answer.verdict) && answer.decode)
    section.blocks.emplace_back(
        "It does not run as asked: times below are what they would be, were there room.");
  for (const Group& group : groups) {
    ReportTable table{group.caption, {{"Result"}, {"Value", true}, {"Key"}}};
    for (const Metric& metric : metrics()) {
      if (!metric.key.starts_with(group.prefix)) continue;
      if (const auto value = reported_number(answer, metric))
        table.rows.push_back({{capitalised(std::string(metric.meaning))},
                              {value_text(metric, *value), value},
                              {std::string(metric.key)}});
    }
    if (!table.rows.empty()) section.blocks.emplace_back(std::move(table));
  }
  if (section.blocks.empty())
    section.blocks.emplace_back("There are none: " + sentence(answer.verdict.reason));
  return section;
}

ReportSection words_section() {
  return {"words",
          "Words",
          {ReportList{{
              "Token: the piece of text a model reads or writes at once, about three quarters of "
              "an English word.",
              "First token (TTFT, time to first token): from sending a request to the first piece "
              "of the answer.",
              "Time per further token (TPOT, time per output token): the pace of the answer after "
              "that.",
              "Prefill: the model reads the prompt. Decode: it writes the answer, one step per "
              "token for all running requests together, which are the batch.",
              "KV cache: what the model keeps in memory of every token it has read or written, so "
              "that it need not read it again. Context: the tokens of one request kept there. "
              "Pool: the memory set aside for it.",
              "Replica: one complete copy of the model on its devices.",
              "Memory bandwidth: how fast a device reads its own memory. Small batches are limited "
              "by it, for every step reads all weights whatever the batch.",
              "MFU, MBU: share of the device's arithmetic peak and of its memory bandwidth that a "
              "step uses. Ridge: arithmetic per byte at which both are used in full.",
              "Resource time: devices x time that a token occupies them, at the price of the "
              "devices.",
          }}}};
}

}  // namespace tokenroof::io::report
