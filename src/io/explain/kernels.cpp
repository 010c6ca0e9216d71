// A calibrated step kernel by kernel, so that each time can be worked out by hand. The texts spell
// the forms of physics/kernels.hpp and physics/messages.hpp; the values come from there.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "explainer.hpp"
#include "tokenroof/io/units_text.hpp"

namespace tokenroof::io {
namespace {

std::string words(OperatorKind kind) {
  std::string name = to_string(kind);
  for (char& c : name)
    if (c == '_') c = ' ';
  return name;
}
std::string exact(double value) { return to_text(value, 8); }
/// "2 ", to be written before a product; empty for 1.
std::string times(double value) { return value == 1 ? "" : exact(value) + " "; }
std::string time(double seconds) { return amount(seconds, "s"); }

/// Writes the kernels of one kind of operator under the load of a rank.
class KernelLines {
 public:
  KernelLines(Explainer& explainer, const StepLoad<double>& whole)
      : to(explainer),
        model(explainer.replica.model),
        load(whole),
        rank(rank_load(model.operators, whole)),
        context{model.kernels, model.engine, model.machine,
                rank.prompts > 0 ? model.engine.prompt_efficiency : 1.0} {
    if (model.operators.mixture_layers > 0 && model.operators.attention_ranks == 1)
      slowdown = model.engine.mixture_slowdown;
  }

  void write(OperatorKind kind) {
    name = words(kind);
    for_each_operator(model.operators, [&](const auto& op) {
      if (detail::kind_of(op) == kind && op.layers > 0) kernel(op);
    });
    if (kind == OperatorKind::small_kernels) small_kernels();
    if (kind == OperatorKind::host) host();
    flush();
  }

 private:
  Explainer& to;
  const StepModel<double>& model;
  const StepLoad<double>& load;
  const StepLoad<double> rank;
  const KernelContext<double> context;
  double slowdown = 1;
  std::string name;
  std::vector<ExplainedStep> kernel_lines, earlier;

  void line(const std::string& text, double value, const char* unit = "s") {
    kernel_lines.push_back({fmt::format("{}: {}", name, text), value, unit, false});
  }
  /// Writes the lines of a kernel, unless the kernel before had the same.
  void flush() {
    const bool same = std::equal(kernel_lines.begin(), kernel_lines.end(), earlier.begin(),
                                 earlier.end(), [](const ExplainedStep& a, const ExplainedStep& b) {
                                   return a.text == b.text && a.value == b.value;
                                 });
    if (!same)
      for (const ExplainedStep& one : kernel_lines) to.step(one.text, one.value, one.unit);
    earlier = std::move(kernel_lines);
    kernel_lines.clear();
  }
  void total(double layers, const std::string& sum, double one) {
    flush();
    const std::string slowed = slowdown > 1 ? fmt::format(" x mixture_slowdown {}", slowdown) : "";
    to.step(fmt::format("{}: {} x ({}){}", name, layers, sum, slowed), layers * one * slowdown,
            "s");
  }

  void kernel(const Matmul& op) {
    const double rows = op.logit_rows ? rank.logit_rows() : rank.tokens();
    if (rows <= 0) return;
    const KernelConstants& c = model.kernels;
    const double share = model.engine.separate_quantization;
    const KernelTime<double> one = kernel::matmul(context, op, rows, share);
    const double peak = kernel::matmul_rate(context, op.multiply, false) /
                        (model.machine.peak_of(op.multiply) * context.compute);
    std::string rate =
        fmt::format("{}{} P_{}", exact(peak), prompt_share(), to_string(op.multiply));
    if (op.unpacked())
      rate = fmt::format("min({}, {} processors)", rate, amount(c.unpack_flops, "FLOP/s"));
    line(fmt::format("compute = 2 R k n / ({}), R = {}, k = {}, n = {}", rate, exact(rows), op.k,
                     op.n),
         one.compute);
    line(fmt::format("memory = [R ({}k{} + 2 n) + {}{}k n] / ({} x {} BW)", times(op.input_bytes),
                     op.n > kernel::reuse_block ? " n / 2048" : "",
                     rows > kernel::reuse_block ? "R / 2048 x " : "", times(op.bytes_per_weight),
                     c.weight_stream, model.engine.weight_stream),
         one.memory);
    if (op.beside) {
      total(op.layers, "sqrt(compute^2 + memory^2)", one.busy + one.fixed);
      return;
    }
    const double f = model.machine.latency_factor;
    const double loop = c.matmul_loop_s * f * op.k / (op.k + kernel::loop_half);
    line(fmt::format("loop = {} f k / (k + 1536)", time(c.matmul_loop_s)), loop);
    line(fmt::format("fixed = {} f", time(c.matmul_fixed_s)), c.matmul_fixed_s * f);
    const bool quantizes = op.dynamic_scales && share > 0;
    if (quantizes)
      line(fmt::format("quantize = {} x {} (k + 4000) (1 + R / ({} processors))", share,
                       time(c.quantize_element_s), op.multiply == DataType::fp4 ? 8 : 2),
           one.busy + one.fixed - c.matmul_fixed_s * f -
               std::sqrt(one.compute * one.compute + one.memory * one.memory + loop * loop));
    total(op.layers,
          fmt::format("fixed + sqrt(compute^2 + memory^2 + loop^2){}",
                      quantizes ? " + quantize" : ""),
          one.busy + one.fixed);
  }
  [[nodiscard]] std::string prompt_share() const {
    return context.compute != 1 ? fmt::format(" x {}", context.compute) : "";
  }

  void kernel(const AttentionCore& op) {
    if (rank.sequences > 0) decode_attention(op);
    if (rank.prompts > 0) prefill_attention(op);
  }

  void decode_attention(const AttentionCore& op) {
    const KernelConstants& c = model.kernels;
    const Machine<double>& machine = model.machine;
    const KernelTime<double> one = kernel::decode_attention(context, op, rank);
    const double queries = rank.query_tokens, rows = model.engine.attention_rows;
    const double seen = visible_tokens(op, rank.context) * (1 / op.context_parallel);
    const double width = op.score_dim + op.value_dim;
    const double f = std::min(1.0, machine.latency_factor);
    const double items = rank.sequences *
                         std::max(1.0, queries * (op.query_heads / op.kv_heads / rows)) *
                         op.kv_heads;
    const double start =
        items * (c.attention_item_s * f / machine.processors * (0.5 * width + 64) / 192);
    const double flops = 2 * rank.sequences * queries * seen * op.query_heads * width;
    const double tiled = items * seen * rows / (kernel::tile * kernel::tile * machine.processors) *
                         (2 * kernel::tile * kernel::tile * (width + 2 * kernel::softmax_width)) /
                         (machine.peak_of(op.multiply) * c.attention_compute / machine.processors);
    line(fmt::format("work items I = B max(1, {} x {} / ({} x {})) x {} KV heads, B = {}", queries,
                     op.query_heads, op.kv_heads, rows, op.kv_heads, exact(rank.sequences)),
         items, "");
    line(fmt::format("compute = 2 I s x {} ({} + 64) / ({} P_{}), s = {} tokens seen", rows, width,
                     c.attention_compute, to_string(op.multiply), exact(seen)),
         tiled);
    line(fmt::format("memory = [2 R x {} x {} + B s x {} B] / ({} BW), R = {}", op.query_heads,
                     width, exact(op.cache_bytes_per_token), c.attention_stream,
                     exact(rank.sequences * queries)),
         one.memory);
    line(fmt::format("start = I x {}{} / processors x ({} / 2 + 64) / 192",
                     time(c.attention_item_s), factor(), width),
         start);
    const double root = std::sqrt(tiled * tiled + one.memory * one.memory + start * start);
    const bool vector = model.engine.vector_attention > 0 && one.compute > (1 + 1e-9) * tiled;
    line(fmt::format("write = R [({} + 2 x {} x {}) B / ({} BW) + {}{} x {} / processors]",
                     exact(op.cache_bytes_per_token), op.kv_heads, width, c.attention_stream,
                     time(c.attention_write_s), factor(), op.kv_heads),
         one.busy - root - (vector ? one.compute - tiled : 0));
    if (vector)
      line(fmt::format("vector = 2 R s x {} x {} / ({} P_{}) - compute", op.query_heads, width,
                       model.engine.vector_attention, to_string(op.multiply)),
           flops / (machine.peak_of(op.multiply) * model.engine.vector_attention) - tiled);
    attention_fixed(op, "s", one.fixed);
    total(op.layers,
          fmt::format("fixed + sqrt(compute^2 + memory^2 + start^2) + write{}",
                      vector ? " + vector" : ""),
          one.busy + one.fixed);
  }
  /// Attention starts no slower than with factor 1.
  [[nodiscard]] std::string factor() const { return model.machine.latency_factor < 1 ? " f" : ""; }
  void attention_fixed(const AttentionCore& op, const char* context_symbol, double value) {
    const KernelConstants& c = model.kernels;
    line(fmt::format("fixed = ({}{} + {} x {} / ({} + 256)){}", time(c.attention_fixed_s),
                     op.small_cache ? " + " + time(c.attention_fixed_8bit_s) : "",
                     time(c.attention_context_s), context_symbol, context_symbol, factor()),
         value);
  }

  void prefill_attention(const AttentionCore& op) {
    const KernelTime<double> one = kernel::prefill_attention(context, op, rank);
    line(fmt::format("compute: causal score tiles of 64 x 64 on the busiest processor at {}{} x {} "
                     "P_{}",
                     model.kernels.attention_compute, prompt_share(), model.engine.prompt_attention,
                     to_string(op.multiply)),
         one.compute);
    line(fmt::format("memory: queries, results and cache at {} BW", model.kernels.attention_stream),
         one.memory);
    line("starts and writes: what work items and new cache entries add",
         one.busy - std::hypot(one.compute, one.memory));
    attention_fixed(op, "(N + C)", one.fixed);
    total(op.layers, "fixed + sqrt(compute^2 + memory^2) + starts and writes",
          one.busy + one.fixed);
  }

  void kernel(const RecurrentCore& op) {
    const KernelTime<double> all = kernel_time(context, model.operators, op, rank);
    line(fmt::format("compute = FLOP / ({} P_{})", model.kernels.recurrent_compute,
                     to_string(model.machine.wide)),
         all.compute / op.layers);
    line(fmt::format("memory = (state in and out + activations) / ({} BW)",
                     model.kernels.recurrent_stream),
         all.memory / op.layers);
    total(op.layers, "sqrt(compute^2 + memory^2)", all.busy / op.layers);
  }

  void kernel(const Experts& op) {
    if (expert_tokens(rank) <= 0) return;
    const KernelTime<double> all = kernel_time(context, model.operators, op, rank);
    const double layers = op.layers, compute = all.compute / layers, memory = all.memory / layers;
    const EngineConstants& e = model.engine;
    const double stream = e.expert_stream > 0 ? e.expert_stream : model.kernels.weight_stream;
    const double read = memory * model.machine.memory_bandwidth * stream;
    const double distinct = read / (op.weights_per_expert() * op.bytes_per_weight);
    line(fmt::format("distinct experts D that the busiest rank reads for {} tokens, {} of {} each",
                     exact(expert_tokens(rank)), op.top_k, op.experts),
         distinct, "");
    line(fmt::format("compute: rows of those experts, in tiles of 16, at {} x {}{} P_{}{}",
                     model.kernels.experts_compute, e.expert_rate, prompt_share(),
                     to_string(op.multiply), op.unpacked() ? ", weights unpacked" : ""),
         compute);
    line(fmt::format("memory = D x {} weights x {} B / ({} BW)", exact(op.weights_per_expert()),
                     exact(op.bytes_per_weight), stream),
         memory);
    line(fmt::format("move: rows permuted, gathered and added up, at {} BW",
                     model.kernels.weight_stream),
         all.busy / layers - std::hypot(compute, memory));
    const bool spread = op.unpacked() && op.expert_parallel > 1;
    line(fmt::format("fixed = f ({}{}) + D x {} x {}", time(model.kernels.experts_fixed_s),
                     spread ? " + " + time(model.kernels.experts_unpack_spread_s) : "",
                     time(model.kernels.experts_each_s), e.expert_overhead),
         all.fixed / layers);
    total(layers, "fixed + sqrt(compute^2 + memory^2) + move", (all.busy + all.fixed) / layers);
  }

  void kernel(const Message& op) {
    const EngineConstants& e = model.engine;
    const Machine<double>& machine = model.machine;
    const MessageTime<double> all = message_time(model.kernels, machine, op, rank, e.bus_sharing);
    if (all.transfer + all.latency <= 0) return;
    const double layers = op.layers, n = op.ranks, bytes = op.rows(rank) * op.bytes_per_row;
    const double nodes = message::nodes_of(machine, n), near = n / nodes;
    const auto channel = message::inside(model.kernels, machine, near, e.bus_sharing);
    const double share = channel.bandwidth.base() / machine.link_bandwidth;
    const bool reduces = op.kind == OperatorKind::all_reduce;
    const std::string step = time(channel.latency.base()), ring = time(model.kernels.ring_step_s);
    std::string volume, latency;
    if (op.kind == OperatorKind::stage_transfer) {
      volume = "m over the link to the next stage";
      latency = "one exchange";
    } else if (nodes > 1) {
      const auto across = message::between(model.kernels, machine);
      const bool network = machine.network_bandwidth > 0;
      const double links = network ? machine.network_bandwidth : machine.link_bandwidth;
      const double sent = reduces ? 2 * (nodes - 1) / n : std::min(op.fanout, nodes - 1);
      volume =
          fmt::format("{} m / ({} beta) + {} m / ({} beta{})",
                      exact((reduces ? 2 : op.fanout) * (near - 1) / near), exact(share),
                      exact(sent), exact(across.bandwidth.base() / links), network ? "_net" : "");
      latency = fmt::format("1.5 ({} + {}) + {} x {}", step, time(across.latency.base()),
                            reduces ? 2 * (near + nodes - 2) : 2, ring);
    } else if (!reduces || (machine.host_bus && n > 2)) {
      volume = fmt::format("({}(n - 1) / n) m / ({} beta)", times(reduces ? 2.0 : op.fanout),
                           exact(share));
      latency = fmt::format("1.5 x {} + {} x {}", step, reduces ? 2 * (n - 1) : 1, ring);
    } else {
      const bool two = all.latency / layers > 1.5 * channel.latency.base();
      volume = fmt::format("{} m / ({} beta)", two ? "(2 (n - 1) / n)" : "(n - 1)", exact(share));
      latency = two ? "2 x " + step + ", two-shot" : step + ", one-shot";
    }
    line(fmt::format("links = {}, m = {} B, n = {}", volume, exact(bytes), n),
         all.transfer / layers);
    line("latency = " + latency, all.latency / layers);
    double own = 0;
    if (reduces)
      own = machine.host_bus ? e.per_bus_all_reduce.base() * std::log2(n) : e.per_all_reduce.base();
    if (own > 0) line("engine: beside what the link takes", own);
    total(layers,
          fmt::format("links + latency{}{}", own > 0 ? " + engine" : "",
                      e.communication_overlap > 0
                          ? fmt::format(", {} of it hidden", e.communication_overlap)
                          : ""),
          ((all.transfer + all.latency) / layers + own) * (1 - e.communication_overlap));
  }

  void small_kernels() {
    const EngineConstants& e = model.engine;
    const StepOperators& all = model.operators;
    const StepTime<double> part = detail::small_kernels_part(model, rank);
    std::string launches;
    const auto term = [&](Seconds each, double layers) {
      if (each.base() * layers > 0)
        launches +=
            fmt::format("{}{} x {}", launches.empty() ? "" : " + ", time(each.base()), layers);
    };
    const bool four_bit =
        std::any_of(all.experts.begin(), all.experts.end(),
                    [](const Experts& op) { return op.multiply == DataType::fp4; });
    const double kept = four_bit ? e.four_bit_launches : 1;
    term(e.per_layer, all.layers + 3 * all.index_layers);
    term(e.per_mixture_layer, kept * all.mixture_layers);
    term(e.per_latent_layer, kept * all.latent_layers);
    term(e.per_recurrent_layer, all.recurrent_layers);
    term(e.per_weight_only_layer, all.weight_only_layers);
    std::string sum = "f (" + (launches.empty() ? "0 s" : launches) + ")";
    if (rank.prompts > 0)
      sum +=
          fmt::format(" + min(1, R / 512) x {} x {}", time(e.per_prompt_layer.base()), all.layers);
    line("launches = " + sum, part.latency);
    line(fmt::format("passes = R x {} x {} layers x {} x {} B / ({} BW)", e.layer_passes,
                     all.layers, all.hidden, all.activation_bytes, model.kernels.weight_stream),
         part.weights);
    if (slowdown > 1) total(1, "launches + passes", part.latency + part.weights);
  }

  void host() {
    const EngineConstants& e = model.engine;
    const double hops = model.operators.stages - 1;
    if (e.step.base() > 0) line("step", e.step.base());
    if (hops > 0)
      line(fmt::format("hops = {} x per_pipeline_hop", hops), e.per_pipeline_hop.base() * hops);
    line(fmt::format("sequences = {} x {} / {} attention ranks",
                     exact(load.sequences + load.prompts), time(e.per_sequence.base()),
                     model.operators.attention_ranks),
         (load.sequences + load.prompts) * e.per_sequence.base() / model.operators.attention_ranks);
    if (load.prompts > 0 && e.per_prompt_step.base() > 0)
      line("prompts in the step", e.per_prompt_step.base());
    double device = 0;
    visit_calibrated(model, load,
                     [&](OperatorKind kind, const auto&, const StepTime<double>& part) {
                       if (kind != OperatorKind::host) device += part.total().base();
                     });
    if (model.async_scheduling)
      line(fmt::format("hidden behind {} of the kernels: the next step is scheduled meanwhile",
                       time(device)),
           -std::min(device, detail::host_part(model, load).latency));
    const double beyond = detail::launches_beyond(model, load, device);
    if (beyond > 0)
      line(fmt::format("launches beyond graphs = {} x {} layers - {} of the kernels",
                       time(e.per_eager_layer.base()), model.operators.layers, time(device)),
           beyond);
  }
};

}  // namespace

void explain_kernels(Explainer& to, const StepLoad<double>& load, OperatorKind kind) {
  KernelLines(to, load).write(kind);
}

}  // namespace tokenroof::io
