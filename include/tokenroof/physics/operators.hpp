// A step as a short list of operators on one rank, and what each asks of the machine.
//
// The list is made once per model and layout (`step_operators`); a load (batch, context, prompt
// tokens) turns each operator into FLOPs, bytes and messages (`cost`). All three fidelities read
// the same list. Shapes are of ONE rank of one tensor-parallel group, summed over pipeline stages.
#pragma once

#include <vector>

#include "tokenroof/core/scalar.hpp"
#include "tokenroof/describe/precision.hpp"
#include "tokenroof/physics/experts.hpp"

namespace tokenroof {

enum class OperatorKind {
  query_key_value,
  latent_query,
  latent_compress,
  latent_expand,
  indexer,
  attention,
  recurrent_input,
  recurrent_core,
  attention_output,
  gate_up,
  down,
  router,
  routed_experts,
  shared_experts,
  head,
  all_reduce,
  context_combine,
  dispatch,
  combine,
  gather_logits,
  stage_transfer,
  small_kernels,
  host,
  draft,
};
inline constexpr const char* operator_names[] = {"query_key_value",
                                                 "latent_query",
                                                 "latent_compress",
                                                 "latent_expand",
                                                 "indexer",
                                                 "attention",
                                                 "recurrent_input",
                                                 "recurrent_core",
                                                 "attention_output",
                                                 "gate_up",
                                                 "down",
                                                 "router",
                                                 "routed_experts",
                                                 "shared_experts",
                                                 "head",
                                                 "all_reduce",
                                                 "context_combine",
                                                 "dispatch",
                                                 "combine",
                                                 "gather_logits",
                                                 "stage_transfer",
                                                 "small_kernels",
                                                 "host",
                                                 "draft"};
[[nodiscard]] constexpr const char* to_string(OperatorKind kind) {
  return operator_names[static_cast<int>(kind)];
}

/// What runs in one step of one replica. Decode and prefill may be mixed in one step.
template <Scalar S = double>
struct StepLoad {
  S sequences = S(0);      ///< decoding sequences of the replica
  S context = S(0);        ///< their mean live context, tokens
  S query_tokens = S(1);   ///< tokens verified per decoding sequence (speculation: draft + 1)
  S prompts = S(0);        ///< sequences that prefill in this step
  S prompt_tokens = S(0);  ///< new tokens per prefilling sequence
  S prefix_tokens = S(0);  ///< tokens already cached per prefilling sequence
  S group_tokens = S(0);   ///< of a micro-batch over all attention ranks; set by rank_load

  /// Tokens that pass the linear layers.
  [[nodiscard]] S tokens() const { return sequences * query_tokens + prompts * prompt_tokens; }
  /// Rows that need logits: every decoded token, the last token of a prompt.
  [[nodiscard]] S logit_rows() const { return sequences * query_tokens + prompts; }
};

/// A decode step.
template <Scalar S>
[[nodiscard]] StepLoad<S> decode_load(const S& sequences, const S& context) {
  StepLoad<S> load;
  load.sequences = sequences;
  load.context = context;
  return load;
}
/// A step that prefills `prompts` prompts of `tokens` new tokens after `prefix` cached ones.
template <Scalar S>
[[nodiscard]] StepLoad<S> prefill_load(const S& prompts, const S& tokens, const S& prefix = S(0)) {
  StepLoad<S> load;
  load.prompts = prompts;
  load.prompt_tokens = tokens;
  load.prefix_tokens = prefix;
  return load;
}

/// What an operator asks of one rank, all its layers together.
template <Scalar S = double>
struct OperatorCost {
  S flops = S(0);
  S weight_bytes = S(0);
  S cache_bytes = S(0);  ///< KV cache and recurrent state read
  S activation_bytes = S(0);
  S message_bytes = S(0);  ///< of the full, unsharded tensor

  OperatorCost& operator+=(const OperatorCost& other) {
    flops += other.flops;
    weight_bytes += other.weight_bytes;
    cache_bytes += other.cache_bytes;
    activation_bytes += other.activation_bytes;
    message_bytes += other.message_bytes;
    return *this;
  }
};

/// rows x k times k x n on one rank.
struct Matmul {
  OperatorKind kind;
  Part part;
  DataType multiply = DataType::bf16;
  int layers = 0;
  double n = 0;
  double k = 0;
  double bytes_per_weight = 2;
  double input_bytes = 2;       ///< per element of the rows that are multiplied
  bool dynamic_scales = false;  ///< activations are quantised by a kernel of their own
  bool weight_only = false;     ///< weights are unpacked to 16 bits before the multiply
  bool beside = false;          ///< runs beside another operator: no fixed time of its own
  bool logit_rows = false;      ///< runs on logit rows instead of all tokens

  [[nodiscard]] bool unpacked() const { return weight_only && bytes_per_weight < 0.75; }
};

/// The attention core of one rank: scores and their sum over values.
struct AttentionCore {
  OperatorKind kind = OperatorKind::attention;
  DataType multiply = DataType::bf16;
  int layers = 0;
  /// Query heads that meet this rank's share of the cache: its own, times context_parallel where
  /// ranks gather each other's queries.
  double query_heads = 0;
  double kv_heads = 0;           ///< on this rank
  double score_dim = 0;          ///< multiplied per pair for scores, decode form
  double value_dim = 0;          ///< and for values
  double prefill_score_dim = 0;  ///< latent attention is not absorbed in prefill
  double prefill_value_dim = 0;
  double prefill_kv_heads = 0;  ///< and its keys stand expanded, one per query head
  double cache_bytes_per_token = 0;
  bool small_cache = false;  ///< cache entries of one byte or less
  double window = 0;         ///< 0: all
  double top_k = 0;          ///< sparse: tokens that the indexer lets through; 0: all
  double compress_ratio = 1;
  double context_parallel = 1;               ///< ranks that hold a share of the tokens each
  double expand_flops_per_cached_token = 0;  ///< latent prefill re-expands the cached prefix
  /// Scores that do not stay on chip: an indexer's, written once and read about three times by the
  /// selection of the top k.
  double bytes_per_pair = 0;
};

/// A recurrent mixer's core: its state is read and written once per sequence and step.
struct RecurrentCore {
  int layers = 0;
  double state_bytes = 0;  ///< per sequence on this rank
  double flops_per_token = 0;
};

/// Routed experts of one rank.
struct Experts {
  Part part = Part::routed_experts;
  DataType multiply = DataType::bf16;
  int layers = 0;
  double experts = 0;        ///< of the layer
  double local_experts = 0;  ///< on this rank
  double top_k = 0;
  double input = 0;  ///< width read
  double width = 0;  ///< inner width on this rank
  double matrices = 3;
  double bytes_per_weight = 2;
  double input_bytes = 2;  ///< per element of the rows that are multiplied
  bool weight_only = false;
  bool fast_unpack = false;  ///< unpacked once for all rows of an expert, beside the multiply
  double expert_parallel = 1;
  /// Share of the layer's tokens whose rows reach this rank: 1 where every rank holds all of them,
  /// less where rows are dispatched to the ranks of their experts.
  double reach = 1;

  /// Expected distinct experts of the layer that `tokens` touch, independent routing.
  template <Scalar S>
  [[nodiscard]] S distinct(const S& tokens) const {
    return distinct_experts<S>(experts, top_k, With<Tokens, S>::from_base(tokens));
  }
  [[nodiscard]] bool unpacked() const { return weight_only && bytes_per_weight < 0.75; }
  [[nodiscard]] double weights_per_expert() const { return matrices * input * width; }
};

/// A message between ranks per layer.
struct Message {
  OperatorKind kind = OperatorKind::all_reduce;
  int layers = 0;
  double ranks = 1;
  double bytes_per_row = 0;  ///< of the full tensor
  bool logit_rows = false;
  bool decode_rows = false;    ///< of decoding sequences alone
  bool crosses_nodes = false;  ///< a pipeline hop between nodes
  double fanout = 1;           ///< dispatch, combine: copies of a row that leave the rank

  /// Rows of `rank` that it carries.
  template <Scalar S>
  [[nodiscard]] S rows(const StepLoad<S>& rank) const {
    if (decode_rows) return rank.sequences * rank.query_tokens;
    return logit_rows ? rank.logit_rows() : rank.tokens();
  }
};

/// The operators of one rank.
struct StepOperators {
  std::vector<Matmul> matmuls;
  std::vector<AttentionCore> attentions;
  std::vector<RecurrentCore> recurrents;
  std::vector<Experts> experts;
  std::vector<Message> messages;
  double layers = 0;
  double activation_bytes = 2;  ///< per element
  double hidden = 0;
  double attention_ranks = 1;  ///< attention data parallel: rows are split over these
  double mixture_layers = 0;
  double latent_layers = 0;
  double recurrent_layers = 0;
  double index_layers = 0;        ///< layers whose attention picks tokens by an indexer
  double weight_only_layers = 0;  ///< layers with weights narrower than their multiply
  double stages = 1;              ///< pipeline stages: rows are split into as many micro-batches
};

/// Tokens of a context of `context` that a decode query of this core looks at.
template <Scalar S>
[[nodiscard]] S visible_tokens(const AttentionCore& core, const S& context) {
  S seen = context * (1.0 / core.compress_ratio);
  if (core.top_k > 0) seen = min(seen, S(core.top_k));
  if (core.window > 0) {
    const S near = min(context, S(core.window));
    // Compressed attention looks at the near tokens beside the compressed ones.
    seen = core.compress_ratio > 1 ? seen + near : min(seen, near);
  }
  return seen;
}

/// Query-key pairs of `n` new tokens after `c` cached ones, causal, each query seeing at most `w`
/// (0: all). Exact for whole numbers: n c + n (n + 1) / 2 without a window.
template <Scalar S>
[[nodiscard]] S causal_pairs(const S& n, const S& c, double w) {
  if (w <= 0) return n * c + n * (n + 1.0) * 0.5;
  const S growing = max(S(0), min(n, S(w) - c));  // queries that still see everything
  return growing * c + growing * (growing + 1.0) * 0.5 + (n - growing) * w;
}

/// The load as one micro-batch of one attention rank sees it: at least one sequence or prompt, for
/// those are not cut. Experts see the rows of all ranks of the micro-batch together.
template <Scalar S>
[[nodiscard]] StepLoad<S> rank_load(const StepOperators& operators, StepLoad<S> load) {
  const auto share = [](S& of, double parts) {
    if (parts > 1 && value_of(of) > 0) of = max(S(1), of * (1 / parts));
  };
  share(load.sequences, operators.stages);
  share(load.prompts, operators.stages);
  load.group_tokens = load.tokens();
  share(load.sequences, operators.attention_ranks);
  share(load.prompts, operators.attention_ranks);
  return load;
}

template <Scalar S>
[[nodiscard]] OperatorCost<S> cost(const StepOperators&, const Matmul& op,
                                   const StepLoad<S>& rank) {
  const S rows = op.logit_rows ? rank.logit_rows() : rank.tokens();
  const double count = op.layers;
  OperatorCost<S> result;
  if (value_of(rows) <= 0) return result;
  result.flops = rows * (2 * op.n * op.k * count);
  result.weight_bytes = S(op.n * op.k * op.bytes_per_weight * count);
  result.activation_bytes = rows * ((op.k * op.input_bytes + 2 * op.n) * count);
  return result;
}

template <Scalar S>
[[nodiscard]] OperatorCost<S> cost(const StepOperators& all, const AttentionCore& op,
                                   const StepLoad<S>& rank) {
  OperatorCost<S> result;
  const double shared = op.layers / op.context_parallel;
  const double act = all.activation_bytes * op.query_heads * op.layers;
  if (value_of(rank.sequences) > 0) {
    const S queries = rank.sequences * rank.query_tokens;
    const S seen = visible_tokens(op, rank.context);
    result.flops += queries * seen * (2 * op.query_heads * (op.score_dim + op.value_dim) * shared);
    result.cache_bytes += rank.sequences * seen * (op.cache_bytes_per_token * shared);
    result.activation_bytes += queries * (act * (op.score_dim + op.value_dim));
  }
  if (value_of(rank.prompts) > 0) {
    const double limit = op.top_k > 0 ? op.top_k : op.window;
    const S pairs =
        causal_pairs(rank.prompt_tokens, rank.prefix_tokens, limit) * (1.0 / op.compress_ratio);
    result.flops += rank.prompts * pairs *
                    (2 * op.query_heads * (op.prefill_score_dim + op.prefill_value_dim) * shared);
    result.flops +=
        rank.prompts * rank.prefix_tokens * (op.expand_flops_per_cached_token * op.layers);
    const S held = rank.prefix_tokens + rank.prompt_tokens;
    const S read = op.window > 0 ? min(held, rank.prompt_tokens + op.window) : held;
    result.cache_bytes +=
        rank.prompts * read * (op.cache_bytes_per_token * shared / op.compress_ratio);
    result.activation_bytes +=
        rank.prompts * rank.prompt_tokens *
        (act / op.context_parallel * (op.prefill_score_dim + op.prefill_value_dim));
  }
  return result;
}

template <Scalar S>
[[nodiscard]] OperatorCost<S> cost(const StepOperators& all, const RecurrentCore& op,
                                   const StepLoad<S>& rank) {
  OperatorCost<S> result;
  result.flops = rank.tokens() * (op.flops_per_token * op.layers);
  result.cache_bytes = (rank.sequences + rank.prompts) * (2 * op.state_bytes * op.layers);
  result.activation_bytes = rank.tokens() * (4 * all.hidden * all.activation_bytes * op.layers);
  return result;
}

/// Tokens that reach the experts of a stage: those of all attention ranks together.
template <Scalar S>
[[nodiscard]] const S& expert_tokens(const StepLoad<S>& rank) {
  return rank.group_tokens;
}

template <Scalar S>
[[nodiscard]] OperatorCost<S> cost(const StepOperators&, const Experts& op,
                                   const StepLoad<S>& rank) {
  OperatorCost<S> result;
  const S tokens = expert_tokens(rank);
  if (value_of(tokens) <= 0) return result;
  const double one = op.weights_per_expert();
  const S touched = op.distinct(tokens) * (op.local_experts / op.experts);
  const S assignments = tokens * (op.top_k / op.expert_parallel);
  result.flops = assignments * (2 * one * op.layers);
  result.weight_bytes = touched * (one * op.bytes_per_weight * op.layers);
  result.activation_bytes = assignments * (2 * (op.input + op.width) * op.input_bytes * op.layers);
  return result;
}

template <Scalar S>
[[nodiscard]] OperatorCost<S> cost(const StepOperators&, const Message& op,
                                   const StepLoad<S>& rank) {
  OperatorCost<S> result;
  if (op.ranks <= 1 && op.kind != OperatorKind::stage_transfer) return result;
  result.message_bytes = op.rows(rank) * (op.bytes_per_row * op.layers);
  return result;
}

/// Calls `visit(operator)` for every operator of the list.
template <class Visit>
void for_each_operator(const StepOperators& all, Visit visit) {
  for (const Matmul& op : all.matmuls) visit(op);
  for (const AttentionCore& op : all.attentions) visit(op);
  for (const RecurrentCore& op : all.recurrents) visit(op);
  for (const Experts& op : all.experts) visit(op);
  for (const Message& op : all.messages) visit(op);
}

}  // namespace tokenroof
