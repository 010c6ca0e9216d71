// Sheet calc: ideal steps, a column per load: what a device sees, what it reads, what it
// multiplies.
#include <fmt/format.h>

#include <functional>

#include "xlsx/sheets.hpp"

namespace tokenroof::io::xlsx {
namespace {

using Value = std::function<double(const NamedLoad&, const LoadValues&)>;

/// The table: rows of formulas that refer to earlier rows of their own column as {key}. The rows
/// that other lines need are named KEY_LOAD_ideal.
class StepTable {
 public:
  StepTable(Sheet& sheet, const Subject& subject) : sheet_(sheet), subject_(subject) {
    sheet_.text(0, "load", Style::header);
    sheet_.text(1, "unit", Style::header);
    int column = first;
    for (const NamedLoad& load : subject_.loads) sheet_.text(column++, load.label, Style::header);
    ++sheet_.row;
  }

  /// A row whose formula differs by load.
  void put(const std::string& key, const std::string& label, const std::string& unit,
           const std::function<std::string(const NamedLoad&)>& text, const Value& value) {
    sheet_.text(0, label);
    sheet_.text(1, unit);
    int column = first;
    for (const NamedLoad& load : subject_.loads) {
      const double number = value(load, subject_.values(load.key));
      sheet_.formula(column, {in_column(text(load), column), number}, unit,
                     key == "step" ? Style::result : Style::plain);
      for (const char* named : {"step", "memory_s", "multiply_s", "expert_bytes", "cache_bytes",
                                "rank_sequences", "group_tokens", "expert_s", "dense_s"})
        if (key == named) sheet_.name(column, key + "_" + load.key + "_ideal");
      ++column;
    }
    rows_[key] = sheet_.row++;
  }
  void put(const std::string& key, const std::string& label, const std::string& unit,
           const std::string& text, const Value& value) {
    put(
        key, label, unit, [&](const NamedLoad&) { return text; }, value);
  }

 private:
  static constexpr int first = 2;

  [[nodiscard]] std::string in_column(const std::string& text, int column) const {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '{') {
        result += text[i];
        continue;
      }
      const std::size_t end = text.find('}', i);
      result += cell_name(rows_.at(text.substr(i + 1, end - i - 1)), column);
      i = end;
    }
    return result;
  }

  Sheet& sheet_;
  const Subject& subject_;
  std::map<std::string, int> rows_;
};

/// `of` cut into `parts`, but whole sequences and prompts are not cut.
std::string shared(const std::string& of, const std::string& parts) {
  return fmt::format("IF(AND({1}>1,{0}>0),MAX(1,{0}/{1}),{0})", of, parts);
}

void load_rows(StepTable& table) {
  table.put(
      "sequences", "sequences that decode", "request",
      [](const NamedLoad& l) { return l.sequences; },
      [](const NamedLoad& l, const LoadValues&) { return l.load.sequences; });
  table.put(
      "context", "context of each", "token", [](const NamedLoad& l) { return l.context; },
      [](const NamedLoad& l, const LoadValues&) { return l.load.context; });
  table.put(
      "query", "tokens of each", "token", [](const NamedLoad& l) { return l.query; },
      [](const NamedLoad& l, const LoadValues&) { return l.load.query_tokens; });
  table.put(
      "prompts", "prompts", "request", [](const NamedLoad& l) { return l.prompts; },
      [](const NamedLoad& l, const LoadValues&) { return l.load.prompts; });
  table.put(
      "new", "new tokens of a prompt", "token", [](const NamedLoad& l) { return l.prompt_tokens; },
      [](const NamedLoad& l, const LoadValues&) { return l.load.prompt_tokens; });
  table.put(
      "prefix", "cached tokens of a prompt", "token", [](const NamedLoad& l) { return l.prefix; },
      [](const NamedLoad& l, const LoadValues&) { return l.load.prefix_tokens; });
  table.put("stage_sequences", "sequences of a stage's micro-batch", "request",
            shared("{sequences}", "pipeline_stages"),
            [](const NamedLoad&, const LoadValues& v) { return v.stage_sequences; });
  table.put("stage_prompts", "prompts of it", "request", shared("{prompts}", "pipeline_stages"),
            [](const NamedLoad&, const LoadValues& v) { return v.stage_prompts; });
  table.put("group_tokens", "tokens of it", "token",
            "{stage_sequences}*{query}+{stage_prompts}*{new}",
            [](const NamedLoad&, const LoadValues& v) { return v.rank.group_tokens; });
  table.put("rank_sequences", "sequences on a device", "request",
            shared("{stage_sequences}", "attention_ranks"),
            [](const NamedLoad&, const LoadValues& v) { return v.rank.sequences; });
  table.put("rank_prompts", "prompts on a device", "request",
            shared("{stage_prompts}", "attention_ranks"),
            [](const NamedLoad&, const LoadValues& v) { return v.rank.prompts; });
  table.put("tokens", "tokens on a device", "token",
            "{rank_sequences}*{query}+{rank_prompts}*{new}",
            [](const NamedLoad&, const LoadValues& v) { return v.rank.tokens(); });
  table.put("logits", "tokens that are sampled", "token", "{rank_sequences}*{query}+{rank_prompts}",
            [](const NamedLoad&, const LoadValues& v) { return v.rank.logit_rows(); });
}

void expert_rows(StepTable& table, const Coefficients& c) {
  std::string bytes, seconds;
  for (std::size_t i = 0; i < c.experts.size(); ++i) {
    const std::string n = numbered(i, c.experts.size());
    table.put("distinct" + n, "distinct experts" + n + " of a layer", "",
              fmt::format("IF(experts_per_token{0}>=experts{0},experts{0},experts{0}*"
                          "(1-(1-experts_per_token{0}/experts{0})^{{group_tokens}}))",
                          n),
              [i](const NamedLoad&, const LoadValues& v) { return v.distinct[i]; });
    const std::string plus = i > 0 ? "+" : "";
    bytes += fmt::format("{0}{{distinct{1}}}*expert_gb{1}*10^9", plus, n);
    seconds += fmt::format("{}{{group_tokens}}*expert_gflop{}*10^9/(peak_{}_tflop_s*10^12)", plus,
                           n, to_string(c.experts[i].type));
  }
  if (c.experts.empty()) return;
  table.put("expert_bytes", "expert weights read", "B", bytes,
            [](const NamedLoad&, const LoadValues& v) { return v.expert_bytes; });
  table.put("expert_s", "expert multiplies", "s", seconds,
            [](const NamedLoad&, const LoadValues& v) { return v.experts; });
}

/// Tokens of a context that a query looks at.
std::string visible(const AttentionGroup& group, const std::string& n) {
  std::string seen = "{context}";
  if (group.compress != 1) seen += "/attention_compress" + n;
  if (group.top_k > 0) seen = fmt::format("MIN({},attention_top_k{})", seen, n);
  if (group.window <= 0) return seen;
  const std::string near = fmt::format("MIN({{context}},attention_window{})", n);
  return group.compress > 1 ? seen + "+" + near : fmt::format("MIN({},{})", seen, near);
}

/// Query-key pairs of a prompt, causal.
std::string pairs(const AttentionGroup& group, const std::string& n) {
  if (group.top_k <= 0 && group.window <= 0) return "{new}*{prefix}+{new}*({new}+1)/2";
  const std::string most = (group.top_k > 0 ? "attention_top_k" : "attention_window") + n;
  const std::string growing = fmt::format("MAX(0,MIN({{new}},{}-{{prefix}}))", most);
  return fmt::format("{0}*{{prefix}}+{0}*({0}+1)/2+({{new}}-{0})*{1}", growing, most);
}

void attention_rows(StepTable& table, const Coefficients& c) {
  std::string bytes, seconds;
  for (std::size_t i = 0; i < c.attention.size(); ++i) {
    const AttentionGroup& group = c.attention[i];
    const std::string n = numbered(i, c.attention.size());
    const std::string what = group.kind == OperatorKind::indexer ? "indexer" : "attention";
    table.put("visible" + n, what + n + ": tokens that a query sees", "token", visible(group, n),
              [i](const NamedLoad&, const LoadValues& v) { return v.visible[i]; });
    table.put("pairs" + n, what + n + ": query-key pairs of a prompt", "", pairs(group, n),
              [i](const NamedLoad&, const LoadValues& v) { return v.pairs[i]; });
    const std::string held = "{prefix}+{new}";
    table.put("read" + n, what + n + ": cached tokens that a prompt reads", "token",
              group.window > 0 ? fmt::format("MIN({},{{new}}+attention_window{})", held, n) : held,
              [i](const NamedLoad&, const LoadValues& v) { return v.prompt_read[i]; });
    const std::string compress = group.compress != 1 ? "/attention_compress" + n : "";
    const std::string plus = i > 0 ? "+" : "";
    bytes += fmt::format(
        "{0}kv_bytes_per_token{1}*({{rank_sequences}}*{{visible{1}}}+{{rank_prompts}}*"
        "{{read{1}}}{2})",
        plus, n, compress);
    const std::string expand =
        group.expand_flops > 0 ? fmt::format("+{{prefix}}*attention_expand_flop{}", n) : "";
    seconds += fmt::format(
        "{0}({{rank_sequences}}*{{query}}*{{visible{1}}}*attention_flop_per_token{1}+"
        "{{rank_prompts}}*({{pairs{1}}}{2}*attention_flop_per_pair{1}{3}))/"
        "(peak_{4}_tflop_s*10^12)",
        plus, n, compress, expand, to_string(group.type));
  }
  if (c.state_bytes > 0)
    bytes +=
        std::string(bytes.empty() ? "" : "+") + "({rank_sequences}+{rank_prompts})*state_bytes";
  table.put("cache_bytes", "cache and state read", "B", bytes.empty() ? "0" : bytes,
            [](const NamedLoad&, const LoadValues& v) { return v.cache_bytes; });
  table.put("attention_s", "attention arithmetic", "s", seconds.empty() ? "0" : seconds,
            [](const NamedLoad&, const LoadValues& v) { return v.attention; });
}

}  // namespace

void calc_steps(Calc& calc, const Subject& subject) {
  const Coefficients& c = subject.c;
  calc.section("Ideal steps: max(bytes / bandwidth, FLOPs / peak) of one accelerator");
  StepTable table(calc.sheet(), subject);
  load_rows(table);
  expert_rows(table, c);
  attention_rows(table, c);
  std::string linear;
  for (const LinearGroup& group : c.linear) {
    const std::string type(to_string(group.type));
    linear += fmt::format("{}({{tokens}}*linear_{}_gflop", linear.empty() ? "" : "+", type);
    if (group.per_logit > 0) linear += fmt::format("+{{logits}}*head_{}_gflop", type);
    linear += fmt::format(")*10^9/(peak_{}_tflop_s*10^12)", type);
  }
  table.put("linear_s", "dense multiplies", "s", linear.empty() ? "0" : linear,
            [](const NamedLoad&, const LoadValues& v) { return v.linear; });
  std::string recurrent;
  if (c.recurrent_flops > 0) {
    const DataType wide = subject.explainer.replica.model.machine.wide;
    table.put(
        "recurrent_s", "recurrent core", "s",
        fmt::format("{{tokens}}*recurrent_gflop*10^9/(peak_{}_tflop_s*10^12)", to_string(wide)),
        [](const NamedLoad&, const LoadValues& v) { return v.recurrent; });
    recurrent = "+{recurrent_s}";
  }
  const std::string experts = c.experts.empty() ? "" : "+{expert_bytes}";
  table.put("memory_s", "memory side", "s",
            "(weights_gb*10^9" + experts + "+{cache_bytes})/(memory_bandwidth_tb_s*10^12)",
            [](const NamedLoad&, const LoadValues& v) { return v.memory; });
  table.put(
      "dense_s", "all arithmetic but experts", "s", "{linear_s}+{attention_s}" + recurrent,
      [](const NamedLoad&, const LoadValues& v) { return v.linear + v.attention + v.recurrent; });
  // What counts as used compute is that of multiplies: a recurrent core is no matrix.
  const std::string expert_s = c.experts.empty() ? "" : "+{expert_s}";
  table.put(
      "multiply_s", "multiplies", "s", "{linear_s}+{attention_s}" + expert_s,
      [](const NamedLoad&, const LoadValues& v) { return v.linear + v.attention + v.experts; });
  table.put("step", "step, ideal", "s", "MAX({memory_s},{multiply_s}" + recurrent + ")",
            [](const NamedLoad&, const LoadValues& v) { return v.step; });
}

}  // namespace tokenroof::io::xlsx
