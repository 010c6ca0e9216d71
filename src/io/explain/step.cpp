// Decode step and prefill, operator by operator.
#include <fmt/format.h>

#include "explainer.hpp"
#include "tokenroof/physics/parameters.hpp"

namespace tokenroof::io {
namespace {

/// An operator of a step, all its layers together.
struct Line {
  OperatorKind kind;
  OperatorCost<double> cost;
  StepTime<double> time;
};

std::vector<Line> lines_of(const Replica& replica, const StepLoad<double>& load) {
  std::vector<Line> lines;
  visit_step(
      replica.model, load, replica.fidelity,
      [&](OperatorKind kind, const OperatorCost<double>& cost, const StepTime<double>& time) {
        for (Line& line : lines) {
          if (line.kind != kind) continue;
          line.cost += cost;
          line.time += time;
          return;
        }
        lines.push_back({kind, cost, time});
      });
  return lines;
}

/// "down: 123 GFLOP; weights 2.19 GiB, activations 3 MiB; bound by memory bandwidth"
std::string words_of(const Line& line) {
  std::string name = to_string(line.kind);
  for (char& c : name)
    if (c == '_') c = ' ';
  std::vector<std::string> amounts;
  if (line.cost.flops > 0) amounts.push_back(amount(line.cost.flops, "FLOP"));
  const auto bytes = [&](const char* what, double size) {
    if (size > 0) amounts.push_back(fmt::format("{} {}", what, amount(size, "B")));
  };
  bytes("weights", line.cost.weight_bytes);
  bytes("cache", line.cost.cache_bytes);
  bytes("activations", line.cost.activation_bytes);
  bytes("messages", line.cost.message_bytes);
  std::vector<std::string> times;
  const auto time = [&](const char* what, double seconds) {
    if (seconds > 0) times.push_back(fmt::format("{} {}", what, amount(seconds, "s")));
  };
  time("arithmetic", line.time.compute);
  time("weights", line.time.weights);
  time("cache", line.time.cache);
  time("links", line.time.network);
  time("fixed", line.time.latency);
  return fmt::format("{}{}{}{}{}", name, amounts.empty() ? "" : ": ", fmt::join(amounts, ", "),
                     times.empty() ? "" : " -> ", fmt::join(times, " + "));
}

/// Parts of a step under `load`; those of a calibrated step term by term.
void add_parts(Explainer& to, const StepLoad<double>& load) {
  const bool kernels =
      to.replica.fidelity == Fidelity::calibrated && !to.replica.model.local_runtime;
  for (const Line& line : lines_of(to.replica, load)) {
    const double seconds = line.time.total().base();
    if (!(seconds > 0)) continue;
    if (kernels) explain_kernels(to, load, line.kind);
    to.part(words_of(line), seconds, "s");
  }
}

/// A local runtime has kernels of its own.
void set_local_formula(Explainer& to) {
  if (to.replica.fidelity != Fidelity::calibrated || !to.replica.model.local_runtime) return;
  to.result.formula = "T = sum over operators of fixed + time of a local runtime's kernel + hops";
  to.result.tex = R"(T = \sum_i (\tau_i + T_i) + T_{hops})";
  to.result.section = "local-runtime";
}

/// The two sides of the ideal maximum.
void add_ideal_sides(Explainer& to, const StepLoad<double>& load) {
  double bytes = 0, seconds = 0, flops = 0;
  const auto& model = to.replica.model;
  const StepLoad<double> rank = rank_load(model.operators, load);
  for_each_operator(model.operators, [&](const auto& op) {
    if constexpr (!detail::is_message<std::remove_cvref_t<decltype(op)>>) {
      const auto c = cost(model.operators, op, rank);
      bytes += c.weight_bytes + c.cache_bytes;
      flops += c.flops;
      seconds += detail::compute_seconds(model, op, c);
    }
  });
  to.step(fmt::format("memory side (W + K) / BW = {} / {}", amount(bytes, "B"),
                      amount(model.machine.memory_bandwidth, "B/s")),
          bytes / model.machine.memory_bandwidth, "s");
  to.step(fmt::format("compute side F / P = {} at the peak of each type", amount(flops, "FLOP")),
          seconds, "s");
}

void add_model(Explainer& to) {
  const Model& model = to.scenario.model;
  to.input("L", "layers", model.layers(), "", to.model("num_hidden_layers"));
  to.input("d", "hidden size", static_cast<double>(model.hidden), "", to.model("hidden_size"));
  to.input("N_mm", "weights that multiply a token",
           static_cast<double>(parameter_count(model).matmul), "",
           to.model("heads, widths, experts and vocabulary"));
  to.input("t", "tensor parallel degree", to.scenario.deployment.tensor_parallel, "",
           to.stated("/deployment/tensor_parallel"));
  to.input("b_w", "bytes per weight, attention",
           to.scenario.precision.of(Part::attention).bytes_per_element, "B",
           to.stated("/precision/weights"));
}

void decode_step(Explainer& to) {
  const DecodeAnswer& decode = *to.answer.decode;
  to.batch();
  to.context();
  add_model(to);
  to.bandwidth();
  to.peaks();
  to.links_and_processors();
  to.constants(false);
  set_local_formula(to);
  StepLoad<double> load = decode_load(decode.batch, decode.context.base());
  const Replica& replica = to.replica;
  load.query_tokens = replica.draft_tokens + 1;
  if (replica.fidelity == Fidelity::ideal) add_ideal_sides(to, load);
  add_parts(to, load);
  if (replica.draft_tokens > 0) {
    load.query_tokens = 1;
    const double drafts = replica.draft_tokens * replica.draft_cost;
    to.part(fmt::format("drafting: {} steps of {} each", replica.draft_tokens,
                        amount(replica.draft_cost, "1")),
            drafts * replica.step(load).total().base(), "s");
  }
  to.step("sum", decode.step.base(), "s");
}

void prefill_time(Explainer& to) {
  const WorkloadLengths& lengths = to.replica.lengths;
  to.input("N", "prompt tokens computed", lengths.computed(), "token",
           to.stated("/workload/input_tokens"));
  to.input("C", "prompt tokens found in the prefix cache", lengths.cached(), "token",
           to.stated("/workload/prefix_hit_rate"));
  add_model(to);
  to.bandwidth();
  to.peaks();
  to.links_and_processors();
  to.constants(true);
  set_local_formula(to);
  const StepLoad<double> load = prefill_load(1.0, lengths.computed(), lengths.cached());
  if (to.replica.fidelity == Fidelity::ideal) add_ideal_sides(to, load);
  add_parts(to, load);
  to.step("sum", to.answer.prefill->time.base(), "s");
}

/// Seconds of one step that datasheet rates need for its arithmetic or its weights and cache.
void utilization(Explainer& to, bool compute) {
  const DecodeAnswer& decode = *to.answer.decode;
  const double share = compute ? decode.compute_utilization : decode.bandwidth_utilization;
  to.input("T", "decode step", decode.step.base(), "s", "explain decode.step_s");
  compute ? to.peaks() : to.bandwidth();
  const double own = share * decode.step.base();
  to.step(compute ? "F / P: arithmetic of a rank at the dense peaks"
                  : "(W + K) / BW: weights and cache of a rank at the data sheet's bandwidth",
          own, "s");
  to.step(fmt::format("{} / {}", amount(own, "s"), amount(decode.step.base(), "s")), share, "1");
}

}  // namespace

bool explain_step(Explainer& to, std::string_view metric) {
  const DecodeAnswer& decode = *to.answer.decode;
  const double tokens = to.replica.tokens_per_step;
  const auto step_input = [&] {
    to.input("T", "decode step", decode.step.base(), "s", "explain decode.step_s");
    const bool speculates = to.scenario.speculation.has_value();
    to.input("g", "tokens per sequence and step", tokens, "",
             speculates ? to.stated("/speculation/acceptance") : "no speculation");
  };
  if (metric == "decode.step_s") {
    decode_step(to);
  } else if (metric == "prefill.time_s") {
    prefill_time(to);
  } else if (metric == "decode.compute_utilization" || metric == "decode.bandwidth_utilization") {
    utilization(to, metric == "decode.compute_utilization");
  } else if (metric == "decode.tokens_per_s_per_sequence") {
    step_input();
    to.step(fmt::format("g / T = {} / {}", amount(tokens, "1"), amount(decode.step.base(), "s")),
            decode.per_sequence.base(), "token/s");
  } else if (metric == "decode.tokens_per_s_total") {
    step_input();
    to.batch();
    to.input("r", "replicas", to.scenario.deployment.replicas, "",
             to.stated("/deployment/replicas"));
    to.step(
        fmt::format("g B / T r = {} x {} / {} x {}", amount(tokens, "1"), amount(decode.batch, "1"),
                    amount(decode.step.base(), "s"), to.scenario.deployment.replicas),
        decode.total.base(), "token/s");
  } else if (metric == "prefill.tokens_per_s") {
    const PrefillAnswer& prefill = *to.answer.prefill;
    to.input("N", "prompt tokens computed", prefill.prompt.base(), "token",
             to.stated("/workload/input_tokens"));
    to.input("T_p", "prefill time", prefill.time.base(), "s", "explain prefill.time_s");
    to.step(fmt::format("N / T_p = {} / {}", amount(prefill.prompt.base(), "1"),
                        amount(prefill.time.base(), "s")),
            prefill.rate.base(), "token/s");
  } else {
    return false;
  }
  return true;
}

}  // namespace tokenroof::io
