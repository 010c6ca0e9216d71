// Sheet assumptions: what the formulas of calc take as given, and what the scenario did not state.
#include <fmt/format.h>

#include "tokenroof/io/units_text.hpp"
#include "xlsx/sheets.hpp"

namespace tokenroof::io::xlsx {
namespace {

class Assumptions {
 public:
  Assumptions(Sheet& sheet, const Subject& subject)
      : sheet_(sheet), subject_(subject), from_(subject.explainer) {}

  void write() {
    words();
    ratios();
    sheet_.row += 1;
    sheet_.headings({"what", "value", "unit", "name", "origin"});
    engine();
    memory();
    traffic();
    defaults();
  }

 private:
  void put(const std::string& label, const std::optional<double>& value, const std::string& unit,
           const std::string& name, const std::string& origin) {
    sheet_.text(0, label);
    sheet_.number(1, value, unit, Style::fixed);
    sheet_.text(2, unit);
    sheet_.text(3, name, Style::note);
    sheet_.text(4, origin, Style::note);
    sheet_.name(1, name);
    ++sheet_.row;
  }

  void words() {
    for (const char* text :
         {"Formulas are those of the fidelity \"ideal\": a step takes max((weights + cache) / "
          "bandwidth, FLOPs / dense peak) of one accelerator.",
          "Times of the exported fidelity are the ideal ones times the ratios below. They hold at "
          "the exported point; far from it, export again.",
          "Batch and latency of an open loop come from a queue that no cell formula holds: the "
          "values of sheet results are those of the exported rate.",
          "Memory is that of the device that is fullest at the exported point; its reserves do not "
          "follow other cells.",
          "Utilization is the busy share of paid time; it is neither MFU nor MBU.",
          "Where a number is unknown its cell is empty, and so is what depends on it; the note "
          "beside it says why. Nothing unknown counts as 0."})
      sheet_.line(text);
  }

  void ratios() {
    ++sheet_.row;
    sheet_.headings({"seconds at the exported point", "ideal", "exported", "ratio", "name"});
    const Point& a = subject_.ideal;
    const Point& b = subject_.shown;
    ratio("decode step", "ratio_decode", a.decode.step, b.decode.step);
    ratio("prompt alone", "ratio_prompt", a.prefill.time, b.prefill.time);
    ratio("prompt among prompts on all ranks and stages", "ratio_share", a.prompt_share,
          b.prompt_share);
    ratio("prompt beside the decode step", "ratio_beside", a.prompt_beside, b.prompt_beside);
    ratio("token of one sequence without context", "ratio_floor", a.limits.latency_floor,
          b.limits.latency_floor);
    const std::string shown = to_string(subject_.answer.fidelity);
    sheet_.line("exported fidelity: " + shown, Style::note);
    if (subject_.answer.spread_low != subject_.answer.spread_high)
      sheet_.line(fmt::format("four of five measured times lie between {} and {} of the calibrated "
                              "one",
                              to_text(subject_.answer.spread_low, 3),
                              to_text(subject_.answer.spread_high, 3)),
                  Style::note);
  }
  void ratio(const char* label, const char* name, Seconds ideal, Seconds shown) {
    sheet_.text(0, label);
    sheet_.number(1, ideal.base(), "s", Style::fixed);
    sheet_.number(2, shown.base(), "s", Style::fixed);
    sheet_.formula(3, {cell_name(sheet_.row, 2) + "/" + cell_name(sheet_.row, 1), shown / ideal},
                   "1", Style::fixed);
    sheet_.text(4, name, Style::note);
    sheet_.name(3, name);
    ++sheet_.row;
  }

  void engine() {
    const Engine& engine = subject_.scenario.engine;
    const Deployment& d = subject_.scenario.deployment;
    put("attention ranks of a replica", d.attention_data_parallel, "", "attention_ranks",
        from_.stated("/deployment/attention_data_parallel"));
    put("pipeline stages", d.pipeline_parallel, "", "pipeline_stages",
        from_.stated("/deployment/pipeline_parallel"));
    put("prompts that ranks and stages compute at once", subject_.shown.replica.lanes(), "",
        "lanes", "attention ranks x pipeline stages");
    put("prompts that ride with a decode step, at least",
        subject_.shown.replica.least_prompts_beside(), "", "prompts_beside",
        "all of those where the engine aligns prompts, else one a stage");
    put("sequences that the engine runs, per attention rank", engine.max_sequences, "request",
        "max_sequences", from_.stated("/engine/max_sequences"));
    put("tokens of a step", engine.max_batched_tokens, "token", "max_batched_tokens",
        from_.stated("/engine/max_batched_tokens"));
    put("mean length over the stated one", subject_.scenario.workload.lengths.mean_factor(), "1",
        "length_factor", from_.stated("/workload/lengths"));
  }

  void memory() {
    const MemoryPlan& plan = subject_.memory();
    put("share of the memory that the engine may fill", subject_.scenario.engine.memory_fraction,
        "1", "memory_fraction", from_.stated("/engine/memory_fraction"));
    const std::string logs = "memory plan of the fullest device: reserves of the engine's profile";
    put("weights in memory", plan.weights.base(), "B", "memory_weights_bytes",
        "all weights of the fullest device, also those that multiply nothing");
    put("activations", plan.activations.base(), "B", "memory_activations_bytes", logs);
    put("runtime", plan.runtime.base(), "B", "memory_runtime_bytes", logs);
    put("collectives", plan.collectives.base(), "B", "memory_collectives_bytes", logs);
    put("graphs", plan.graphs.base(), "B", "memory_graphs_bytes", logs);
    put("stated reserve", plan.reserve.base(), "B", "memory_reserve_bytes",
        from_.stated("/engine/reserve"));
    const auto& pages = plan.cache.pages;
    for (std::size_t i = 0; i < pages.size(); ++i) {
      const std::string n = numbered(i, pages.size());
      const std::string from = "cache layout of the engine for this model";
      put("cache pages" + n + ": like groups of layers", pages[i].groups, "", "page_groups" + n,
          from);
      put("cache pages" + n + ": tokens of a block", pages[i].block_tokens, "token",
          "page_tokens" + n, from);
      put("cache pages" + n + ": bytes of a block", pages[i].block_bytes, "B", "page_bytes" + n,
          from);
      if (pages[i].window > 0)
        put("cache pages" + n + ": tokens that a window holds",
            pages[i].window + pages[i].lookahead, "token", "page_window" + n, from);
      if (pages[i].spare_blocks > 0)
        put("cache pages" + n + ": blocks more", pages[i].spare_blocks, "", "page_spare" + n, from);
      if (pages[i].state_blocks > 0)
        put("cache pages" + n + ": blocks of recurrent state", pages[i].state_blocks, "",
            "page_state" + n, from);
    }
    if (plan.cache.sequence_bytes > 0)
      put("recurrent state per sequence outside the blocks", plan.cache.sequence_bytes, "B",
          "sequence_bytes", "cache layout of the engine for this model");
  }

  void traffic() {
    const EngineConstants constants = loop_constants(subject_.shown.replica);
    const std::string profile = "engine profile; 0 where the fidelity has no engine";
    if (subject_.traffic == Traffic::closed) {
      put("transport and first scheduling of a request", constants.request_overhead.base(), "s",
          "request_overhead_s", profile);
      put("tokenising, per prompt token", constants.per_prompt_token.base(), "s",
          "per_prompt_token_s", profile);
      put("prompts served before the own", constants.prompts_ahead, "", "prompts_ahead", profile);
    }
    if (subject_.traffic == Traffic::open) {
      const ServingAnswer& serving = subject_.answer.serving;
      std::optional<double> limit, objective;
      if (serving.limit_rate) limit = serving.limit_rate->base() / subject_.replicas;
      if (serving.objective_rate) objective = serving.objective_rate->base() / subject_.replicas;
      put("largest stable rate of a replica", limit, "request/s", "replica_limit_rate",
          limit ? "queue at the exported point" : "unknown: " + subject_.answer.verdict.reason);
      put("largest rate of a replica within the objective", objective, "request/s",
          "replica_objective_rate",
          objective ? "queue at the exported point"
                    : "no closed form for this traffic: the fleet follows the busy time alone");
    }
  }

  void defaults() {
    ++sheet_.row;
    sheet_.line("Not stated in the scenario", Style::section);
    sheet_.headings({"key", "value taken", "", "", "origin"});
    for (const DefaultUsed& used : subject_.entry.defaults_used) {
      sheet_.text(0, used.pointer);
      sheet_.text(1, used.value);
      sheet_.text(4, used.origin, Style::note);
      ++sheet_.row;
    }
    for (const std::string& note : subject_.answer.notes) sheet_.line(note, Style::note);
  }

  Sheet& sheet_;
  const Subject& subject_;
  const Explainer& from_;
};

}  // namespace

void write_assumptions(Book& book, const Subject& subject) {
  Sheet sheet(book, "assumptions", caption(subject));
  sheet.widths({50, 16, 16, 28, 90});
  sheet.line("Assumptions: " + caption(subject), Style::title);
  Assumptions(sheet, subject).write();
}

}  // namespace tokenroof::io::xlsx
