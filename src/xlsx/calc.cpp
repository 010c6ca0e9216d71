// Sheet calc: its lines, lengths and memory.
#include <fmt/format.h>

#include "xlsx/sheets.hpp"

namespace tokenroof::io::xlsx {
namespace {

std::string filled(std::string formula, const char* ending) {
  for (std::size_t at = 0; (at = formula.find('@', at)) != std::string::npos;)
    formula.replace(at, 1, ending);
  return formula;
}

/// Bytes that a sequence of `context` (a name) holds, whole blocks.
std::string reserved(const KvReservation& cache, const std::string& context) {
  std::string sum;
  for (std::size_t i = 0; i < cache.pages.size(); ++i) {
    const KvPages& kind = cache.pages[i];
    const std::string n = numbered(i, cache.pages.size());
    std::string held = context;
    if (kind.window > 0) held = fmt::format("MIN({},page_window{})", context, n);
    std::string blocks = fmt::format("ROUNDUP({}/page_tokens{},0)", held, n);
    if (kind.spare_blocks > 0) blocks += fmt::format("+IF({}>0,page_spare{},0)", context, n);
    if (kind.state_blocks > 0) blocks = fmt::format("IF({}>0,page_state{},0)", context, n);
    sum += fmt::format("{}page_groups{}*({})*page_bytes{}", sum.empty() ? "" : "+", n, blocks, n);
  }
  if (cache.sequence_bytes > 0)
    sum += fmt::format("{}IF({}>0,sequence_bytes,0)", sum.empty() ? "" : "+", context);
  return sum.empty() ? "0" : sum;
}

/// Sequences of `bytes` (a name) each that the pool holds.
std::string concurrency(const KvReservation& cache, const std::string& bytes) {
  const bool blocks = cache.one_pool || (cache.pages.size() == 1 && cache.sequence_bytes == 0);
  const std::string page = "page_bytes" + numbered(0, cache.pages.size());
  const std::string held = blocks && !cache.pages.empty()
                               ? fmt::format("INT(kv_pool_bytes/{0})/({1}/{0})", page, bytes)
                               : fmt::format("kv_pool_bytes/{}", bytes);
  return fmt::format("IF(kv_pool_bytes<=0,0,IF({}<=0,1E12,{}))", bytes, held);
}

std::string pool_tokens(const KvReservation& cache) {
  if (cache.pages.empty()) return "0";
  int groups = 0;
  double smallest = cache.pages.front().block_tokens;
  std::size_t smallest_at = 0;
  for (std::size_t i = 0; i < cache.pages.size(); ++i) {
    groups += cache.pages[i].groups;
    if (cache.pages[i].state_blocks == 0 && cache.pages[i].block_tokens < smallest) {
      smallest = cache.pages[i].block_tokens;
      smallest_at = i;
    }
  }
  const std::string page = "page_bytes" + numbered(0, cache.pages.size());
  const std::string block = "page_tokens" + numbered(smallest_at, cache.pages.size());
  if (groups == 1 && cache.sequence_bytes == 0)
    return fmt::format("INT(kv_pool_bytes/{})*{}", page, block);
  const std::string asked = "INT(kv_concurrency*longest_context)";
  if (!cache.one_pool) return asked;
  const std::string shared = fmt::format("INT(INT(kv_pool_bytes/{})/{})*{}", page, groups, block);
  return cache.reports_capacity ? fmt::format("IF(longest_context>0,{},{})", asked, shared)
                                : shared;
}

}  // namespace

void Calc::section(const std::string& title) {
  ++sheet_.row;
  sheet_.line(title, Style::section);
}

void Calc::one(const std::string& label, const std::string& unit, const std::string& name,
               const Formula& formula, const std::string& note) {
  sheet_.text(0, label);
  sheet_.text(1, unit);
  sheet_.formula(2, formula, unit, Style::plain);
  sheet_.name(2, name);
  sheet_.text(4, name, Style::note);
  if (!note.empty()) sheet_.text(5, note, Style::note);
  ++sheet_.row;
}

void Calc::each(const std::string& label, const std::string& unit, const std::string& name,
                const Formula& ideal, const Formula& shown, const std::string& note) {
  sheet_.text(0, label);
  sheet_.text(1, unit);
  sheet_.formula(2, ideal, unit, Style::plain);
  sheet_.formula(3, shown, unit, Style::result);
  sheet_.name(2, name + "_ideal");
  sheet_.name(3, name);
  sheet_.text(4, name, Style::note);
  if (!note.empty()) sheet_.text(5, note, Style::note);
  ++sheet_.row;
}

void Calc::both(const std::string& label, const std::string& unit, const std::string& name,
                const std::string& formula, const std::optional<double>& ideal,
                const std::optional<double>& shown, const std::string& note) {
  each(label, unit, name, {filled(formula, "_ideal"), ideal}, {filled(formula, ""), shown}, note);
}

void Calc::reason(const std::string& formula, const std::string& value) {
  --sheet_.row;
  sheet_.text_formula(5, formula, value);
  ++sheet_.row;
}

void calc_workload(Calc& calc, const Subject& subject) {
  const WorkloadLengths& lengths = subject.lengths();
  const Workload& workload = subject.scenario.workload;
  const bool single = subject.traffic == Traffic::single;
  calc.section("Lengths");
  calc.one("prompt, mean", "token", "prompt_tokens",
           {workload.sessions || single ? "input_tokens" : "input_tokens*length_factor",
            lengths.prompt});
  calc.one("output, mean", "token", "output_mean",
           {single ? "output_tokens" : "MAX(1,output_tokens*length_factor)", lengths.output});
  calc.one("prompt tokens computed", "token", "computed_tokens",
           {"MAX(1,prompt_tokens*(1-prefix_hit_rate))", lengths.computed()});
  calc.one("prompt tokens found in the cache", "token", "cached_tokens",
           {"prompt_tokens-computed_tokens", lengths.cached()});
  if (single) {
    calc.one("context of a sequence", "token", "live_context", {"context_tokens", lengths.live});
    calc.one("its end", "token", "longest_context", {"context_tokens", lengths.longest});
    return;
  }
  const double cv = workload.lengths.squared_cv(lengths.output);
  const bool geometric = workload.lengths.kind == LengthLaw::Kind::geometric;
  calc.one("squared coefficient of variation of outputs", "1", "output_squared_cv",
           {geometric ? "IF(output_mean>1,1-1/output_mean,0)" : fmt::format("{}", cv), cv},
           "length law of the scenario");
  calc.one("mean context of a running sequence", "token", "live_context",
           {"prompt_tokens+output_mean*0.5*(1+output_squared_cv)", lengths.live},
           "long outputs are seen more often");
  calc.one("context at the end of a request", "token", "longest_context",
           {"prompt_tokens+output_mean", lengths.longest});
}

void calc_memory(Calc& calc, const Subject& subject) {
  const MemoryPlan& plan = subject.memory();
  const KvReservation& cache = plan.cache;
  calc.section("Memory of the fullest device");
  calc.one("taken before any cache", "B", "claimed_bytes",
           {"memory_weights_bytes+memory_activations_bytes+memory_runtime_bytes+"
            "memory_collectives_bytes+memory_graphs_bytes+memory_reserve_bytes",
            plan.claimed().base()});
  calc.one("visible", "B", "visible_bytes", {"INT(memory_visible_gib*2^30)", plan.visible.base()});
  const bool of_free = reserve_of(subject.scenario.engine).fraction_of_free;
  calc.one("what the engine may fill", "B", "budget_bytes",
           {of_free ? "IF(visible_bytes>claimed_bytes,claimed_bytes+INT(memory_fraction*"
                      "(visible_bytes-claimed_bytes)),visible_bytes)"
                    : "INT(memory_fraction*visible_bytes)",
            plan.budget.base()},
           of_free ? "a fraction of what weights and reserves leave free"
                   : "a fraction of the visible memory");
  calc.one("KV pool", "B", "kv_pool_bytes",
           {"MAX(0,budget_bytes-claimed_bytes)", plan.kv_pool.base()});
  calc.one("cache of a whole request", "B", "request_kv_bytes",
           {reserved(cache, "longest_context"), plan.kv_per_sequence.base()}, "whole blocks");
  calc.one("requests that the pool of a rank holds", "request", "kv_concurrency",
           {concurrency(cache, "request_kv_bytes"), plan.concurrency});
  calc.one("requests that a replica holds", "request", "max_concurrency",
           {"INT(kv_concurrency)*attention_ranks", plan.max_concurrency.base()});
  calc.one("tokens that the pool holds", "token", "kv_tokens",
           {pool_tokens(cache), plan.kv_tokens.base()});
  const double live = std::max(1.0, subject.lengths().live);
  const auto at = TokensPerRequest::from_base(live);
  calc.one("mean context, at least one token", "token", "held_context",
           {"MAX(1,live_context)", live});
  calc.one("cache of a running sequence", "B", "running_kv_bytes",
           {reserved(cache, "held_context"), cache.bytes_at(at).base()});
  calc.one("running sequences that the pool of a rank holds", "request", "running_fit",
           {concurrency(cache, "running_kv_bytes"), cache.concurrency(plan.kv_pool, at)});
  calc.one("sequences that a replica admits", "request", "admission",
           {"MIN(MAX(max_concurrency,INT(running_fit)*attention_ranks),"
            "max_sequences*attention_ranks)",
            subject.shown.replica.admission});
  if (subject.traffic == Traffic::closed)
    calc.one("sequences of a replica's step", "request", "batch",
             {"IF(admission<1,1,MIN(concurrency/replicas,admission))", subject.batch});
  const std::string most = subject.traffic == Traffic::single ? ",batch<=max_concurrency" : "";
  calc.one("it fits: 1, else 0", "", "fits",
           {"IF(AND(claimed_bytes<=budget_bytes,OR(longest_context<=0,kv_concurrency>=1)" + most +
                "),1,0)",
            subject.fits() ? 1.0 : 0.0},
           subject.fits() ? "" : subject.answer.verdict.reason);
}

void write_calc(Book& book, const Subject& subject) {
  Sheet sheet(book, "calc", caption(subject));
  sheet.widths({52, 12, 18, 18, 24, 24, 18, 18, 18, 60});
  sheet.line("Calculation: " + caption(subject), Style::title);
  sheet.line("Everything here is a formula over the sheets inputs and assumptions.", Style::note);
  const std::string shown = to_string(subject.answer.fidelity);
  sheet.headings({"what", "unit", "ideal", shown.c_str(), "name", "note"}, true);
  Calc calc(sheet);
  calc_workload(calc, subject);
  calc_memory(calc, subject);
  calc_steps(calc, subject);
  calc_speed(calc, subject);
  calc_loop(calc, subject);
  calc_landmarks(calc, subject);
  calc_money(calc, subject);
  calc_fleet(calc, subject);
}

}  // namespace tokenroof::io::xlsx
