// Reduction: a model, its precision and a layout become the operators of one rank.
//
// Sharding. Tensor parallel cuts query heads, feed-forward width and vocabulary; KV heads are
// copied when there are fewer heads than ranks; the latent projections and the latent cache stand
// whole on every rank. Context parallel cuts a sequence's tokens over ranks of the tensor group,
// which gather each other's queries and combine their partial results. Attention data parallel
// splits the rows of attention and dense layers and joins them again for the experts. Pipeline
// stages appear as micro-batches (operators.hpp).
#pragma once

#include "tokenroof/describe/accelerator.hpp"
#include "tokenroof/describe/deployment.hpp"
#include "tokenroof/describe/model.hpp"
#include "tokenroof/describe/precision.hpp"
#include "tokenroof/physics/context_parallel.hpp"
#include "tokenroof/physics/kv_cache.hpp"
#include "tokenroof/physics/layout.hpp"
#include "tokenroof/physics/operators.hpp"

namespace tokenroof {

namespace detail {

/// Collects the operators of one layer group.
class OperatorBuilder {
 public:
  OperatorBuilder(const Model& model, const Accelerator& device, const Precision& precision,
                  const Deployment& deployment)
      : model_(model), device_(device), precision_(precision), deployment_(deployment) {
    all_.layers = model.layers();
    all_.activation_bytes = precision.activations.bytes_per_element;
    all_.hidden = static_cast<double>(model.hidden);
    all_.attention_ranks = deployment.attention_data_parallel;
    all_.stages = deployment.pipeline_parallel;
  }

  [[nodiscard]] StepOperators build() {
    for (const LayerGroup& group : model_.groups) {
      layers_ = group.count;
      if (group.count == 0) continue;
      add_attention(group.attention);
      add_feed_forward(group.feed_forward);
    }
    count_layers();
    if (model_.has_head) add_head();
    add_stage_transfers();
    return std::move(all_);
  }

 private:
  [[nodiscard]] double t() const { return deployment_.tensor_parallel; }
  [[nodiscard]] double c() const { return deployment_.context_parallel; }
  /// Ranks over which the heads of a cache are cut.
  [[nodiscard]] int cache_ranks() const {
    return head_ranks(deployment_.tensor_parallel, deployment_.context_parallel);
  }

  /// The type a format multiplies in on this device; a scenario's `compute` wins for formats that
  /// quantise (fp8 weights with bf16 compute are w8a16).
  [[nodiscard]] DataType multiply(const Format& format) const {
    if (precision_.compute && format.bytes_per_element < 2)
      return multiply_type(device_, *precision_.compute);
    return multiply_type(device_, format);
  }
  [[nodiscard]] bool is_weight_only(const Format& format, DataType type) const {
    return format.bytes_per_element < 2 && (type == DataType::bf16 || type == DataType::fp16 ||
                                            type == DataType::fp32 || type == DataType::tf32);
  }

  /// Bytes of a multiplied activation: the format's own where it quantises, else 16 bits.
  [[nodiscard]] double input_bytes(const Format& format, DataType type) const {
    if (format == formats::mxfp4 && type == DataType::fp8) return formats::mxfp8.bytes_per_element;
    return format.quantizes_activations && !is_weight_only(format, type)
               ? std::min(format.bytes_per_element, all_.activation_bytes)
               : all_.activation_bytes;
  }

  void matmul(OperatorKind kind, Part part, double n, double k, bool logit_rows = false) {
    if (n <= 0 || k <= 0) return;
    const Format& format = precision_.of(part);
    Matmul op{.kind = kind, .part = part};
    op.multiply = multiply(format);
    op.layers = logit_rows ? 1 : layers_;
    op.n = n;
    op.k = k;
    op.bytes_per_weight = format.bytes_per_element;
    op.input_bytes = input_bytes(format, op.multiply);
    op.weight_only = is_weight_only(format, op.multiply);
    op.dynamic_scales = format.dynamic_scales && !op.weight_only;
    op.beside = part == Part::shared_experts;
    op.logit_rows = logit_rows;
    all_.matmuls.push_back(op);
  }

  /// Weights known only as a count, multiplied with rows of the hidden size.
  void matmul_of(OperatorKind kind, Part part, double weights) {
    matmul(kind, part, weights / all_.hidden, all_.hidden);
  }

  void reduce_rows(double ranks) {
    if (ranks > 1)
      all_.messages.push_back(
          {OperatorKind::all_reduce, layers_, ranks, all_.hidden * all_.activation_bytes});
  }

  void add_attention(const Attention& attention) {
    if (attention.kind == AttentionKind::grouped) add_grouped(attention);
    if (attention.kind == AttentionKind::latent) add_latent(attention);
    if (attention.input_weights > 0) add_recurrent(attention);
    matmul_of(OperatorKind::indexer, Part::attention, static_cast<double>(attention.extra_weights));
    if (attention.index_heads > 0) add_indexer(attention);
    if (attention.kind != AttentionKind::none) reduce_rows(t());
  }

  /// Output projection, whole or in two low-rank steps whose first is block-diagonal.
  void add_output(const Attention& attention, double values) {
    if (attention.output_rank == 0) {
      matmul(OperatorKind::attention_output, Part::attention, all_.hidden, values);
      return;
    }
    const double rank = attention.output_rank;
    matmul(OperatorKind::attention_output, Part::attention, rank, values);
    matmul(OperatorKind::attention_output, Part::attention, all_.hidden,
           rank * attention.output_groups / t());
  }

  /// A core, and what ranks that share a sequence tell each other in decode: queries before it, and
  /// output, maximum and sum of every head after it.
  void add_core(const AttentionCore& core) {
    all_.attentions.push_back(core);
    if (c() <= 1) return;
    const double combined =
        context_combine_bytes(token, 1, core.query_heads, core.value_dim,
                              all_.activation_bytes * byte, deployment_.context_parallel) /
        byte * c() / (c() - 1);
    for (const double row : {core.query_heads * core.score_dim * all_.activation_bytes, combined}) {
      Message message{.kind = OperatorKind::context_combine,
                      .layers = layers_,
                      .ranks = c(),
                      .bytes_per_row = row};
      message.decode_rows = true;
      all_.messages.push_back(message);
    }
  }

  void add_grouped(const Attention& attention) {
    const double hidden = all_.hidden;
    const double queries = attention.has_query ? attention.query_heads / t() : 0;
    const double heads = kv_heads_per_rank(attention.kv_heads, deployment_.tensor_parallel);
    const double kv_columns =
        attention.has_kv_projection
            ? heads * (attention.key_dim + (attention.values_are_keys ? 0 : attention.value_dim))
            : 0;
    const double columns = kv_columns + attention.output_gate_dim / t();
    if (attention.query_rank > 0 && queries > 0) {
      matmul(OperatorKind::latent_compress, Part::attention, attention.query_rank + columns,
             hidden);
      matmul(OperatorKind::latent_query, Part::attention, queries * attention.key_dim,
             attention.query_rank);
    } else {
      matmul(OperatorKind::query_key_value, Part::attention, queries * attention.key_dim + columns,
             hidden);
    }
    if (queries == 0) return;
    AttentionCore core;
    core.layers = layers_;
    core.multiply = attention_type();
    core.query_heads = queries * c();
    core.kv_heads = kv_heads_per_rank(attention.kv_heads, cache_ranks());
    core.prefill_kv_heads = heads;
    core.score_dim = core.prefill_score_dim = attention.key_dim;
    core.value_dim = core.prefill_value_dim = attention.value_dim;
    Attention read = attention;  // layers that reuse a cache still read it
    read.stores_kv = !attention.cross_attention;
    core.cache_bytes_per_token = layer_kv_bytes_per_token(read, precision_.kv_cache, cache_ranks());
    core.small_cache = precision_.kv_cache.bytes_per_element <= 1;
    core.window = attention.window;
    core.top_k = attention.index_top_k;
    core.compress_ratio = attention.compress_ratio;
    core.context_parallel = deployment_.context_parallel;
    if (!attention.cross_attention) add_core(core);
    add_output(attention, queries * attention.value_dim);
  }

  void add_latent(const Attention& attention) {
    const double hidden = all_.hidden;
    const double heads = attention.query_heads / t();
    const double query_width = heads * (attention.key_dim + attention.rotary_dim);
    const double latent = attention.latent_rank;
    if (attention.query_rank > 0) {
      matmul(OperatorKind::latent_compress, Part::attention,
             attention.query_rank + latent + attention.rotary_dim, hidden);
      matmul(OperatorKind::latent_query, Part::attention, query_width, attention.query_rank);
    } else {
      matmul(OperatorKind::latent_compress, Part::attention, latent + attention.rotary_dim, hidden);
      matmul(OperatorKind::latent_query, Part::attention, query_width, hidden);
    }
    matmul(OperatorKind::latent_expand, Part::attention,
           heads * (attention.key_dim + attention.value_dim), latent);
    AttentionCore core;
    core.layers = layers_;
    core.multiply = attention_type();
    core.query_heads = heads * c();
    core.kv_heads = 1;
    core.prefill_kv_heads = heads;
    core.score_dim = latent + attention.rotary_dim;  // absorbed: queries meet the latent itself
    core.value_dim = latent;
    core.prefill_score_dim = attention.key_dim + attention.rotary_dim;
    core.prefill_value_dim = attention.value_dim;
    core.cache_bytes_per_token = layer_kv_bytes_per_token(attention, precision_.kv_cache);
    core.small_cache = precision_.kv_cache.bytes_per_element <= 1;
    core.window = attention.window;
    core.top_k = attention.index_top_k;
    core.compress_ratio = attention.compress_ratio;
    core.context_parallel = deployment_.context_parallel;
    core.expand_flops_per_cached_token =
        2 * latent * heads * (attention.key_dim + attention.value_dim);
    add_core(core);
    add_output(attention, heads * attention.value_dim);
  }

  /// The indexer scores every cached token with a few small heads; every rank does all of it.
  void add_indexer(const Attention& attention) {
    AttentionCore core;
    core.kind = OperatorKind::indexer;
    core.layers = layers_;
    core.multiply = multiply_type(device_, DataType::fp8);
    core.query_heads = attention.index_heads;
    core.kv_heads = core.prefill_kv_heads = 1;
    core.score_dim = core.prefill_score_dim = attention.index_dim;
    core.cache_bytes_per_token = layer_index_bytes_per_token(attention);
    core.bytes_per_pair = 16;  // four passes over fp32 scores
    core.compress_ratio = attention.compress_ratio;
    core.context_parallel = deployment_.context_parallel;
    all_.attentions.push_back(core);
  }

  void add_recurrent(const Attention& attention) {
    matmul_of(OperatorKind::recurrent_input, Part::attention,
              static_cast<double>(attention.input_weights) / t());
    RecurrentCore core;
    core.layers = layers_;
    core.state_bytes =
        layer_state_bytes(attention, precision_.activations, deployment_.tensor_parallel);
    core.flops_per_token = 6.0 * static_cast<double>(attention.state_elements) / t();
    all_.recurrents.push_back(core);
    matmul_of(OperatorKind::attention_output, Part::attention,
              static_cast<double>(attention.output_weights) / t());
  }

  void add_dense(Part part, double width, bool gated, OperatorKind kind_up,
                 OperatorKind kind_down) {
    if (width <= 0) return;
    matmul(kind_up, part, (gated ? 2 : 1) * width / t(), all_.hidden);
    matmul(kind_down, part, all_.hidden, width / t());
  }

  void add_feed_forward(const FeedForward& network) {
    if (network.kind == FeedForwardKind::none) return;
    if (network.kind == FeedForwardKind::dense) {
      add_dense(Part::dense_feed_forward, static_cast<double>(network.width), network.gated,
                OperatorKind::gate_up, OperatorKind::down);
      reduce_rows(t());
      return;
    }
    matmul_of(OperatorKind::router, Part::router, static_cast<double>(network.router_weights));
    matmul_of(OperatorKind::router, Part::dense_feed_forward,
              static_cast<double>(network.extra_weights));
    add_dense(Part::shared_experts, static_cast<double>(network.shared_width), network.shared_gated,
              OperatorKind::shared_experts, OperatorKind::shared_experts);
    add_experts(network);
  }

  void add_experts(const FeedForward& network) {
    const double ranks = t() * deployment_.attention_data_parallel;
    const double cut = expert_tensor_parallel(deployment_);
    const Format& format = precision_.of(Part::routed_experts);
    Experts op;
    op.multiply = multiply(format);
    op.layers = layers_;
    op.experts = network.experts;
    op.local_experts = static_cast<double>(network.experts) / deployment_.expert_parallel;
    op.top_k = network.top_k;
    op.input = network.expert_input > 0 ? static_cast<double>(network.expert_input) : all_.hidden;
    op.width = static_cast<double>(network.expert_width) / cut;
    op.matrices = network.gated ? 3 : 2;
    op.bytes_per_weight = format.bytes_per_element;
    op.input_bytes = input_bytes(format, op.multiply);
    op.weight_only = is_weight_only(format, op.multiply);
    op.fast_unpack = unpacks_fast(device_, format);
    op.expert_parallel = deployment_.expert_parallel;
    // Rows live on different attention ranks: they travel to the experts and back.
    const double copies = std::min<double>(network.top_k * cut, ranks - 1);
    if (deployment_.attention_data_parallel > 1) op.reach = (copies + 1) / ranks;
    all_.experts.push_back(op);
    if (deployment_.attention_data_parallel == 1) return reduce_rows(ranks);
    const double row = op.input * all_.activation_bytes;
    for (const OperatorKind kind : {OperatorKind::dispatch, OperatorKind::combine}) {
      Message message{.kind = kind, .layers = layers_, .ranks = ranks, .bytes_per_row = row};
      message.fanout = copies;
      all_.messages.push_back(message);
    }
  }

  void add_head() {
    const double weights = static_cast<double>(
        model_.head_weights > 0 ? model_.head_weights : model_.vocabulary * model_.hidden);
    matmul(OperatorKind::head, Part::head, weights / all_.hidden / t(), all_.hidden, true);
    if (t() > 1)
      all_.messages.push_back({OperatorKind::gather_logits, 1, t(),
                               static_cast<double>(model_.vocabulary) * all_.activation_bytes,
                               true});
  }

  /// Layers by what their small kernels are.
  void count_layers() {
    for (const LayerGroup& group : model_.groups) {
      const bool mixture = group.feed_forward.kind == FeedForwardKind::mixture;
      if (mixture) all_.mixture_layers += group.count;
      if (group.attention.kind == AttentionKind::latent) all_.latent_layers += group.count;
      if (group.attention.input_weights > 0) all_.recurrent_layers += group.count;
      if (group.attention.index_heads > 0) all_.index_layers += group.count;
      const Format& narrow =
          precision_.of(mixture ? Part::routed_experts : Part::dense_feed_forward);
      if (is_weight_only(narrow, multiply(narrow))) all_.weight_only_layers += group.count;
    }
  }

  /// Hops between pipeline stages: inside a node where it has room for more than one stage.
  void add_stage_transfers() {
    const int hops = deployment_.pipeline_parallel - 1;
    const int nodes = (deployment_.devices_per_replica() + deployment_.devices_per_node - 1) /
                      deployment_.devices_per_node;
    const int between = std::min(hops, nodes - 1);
    for (const bool crosses : {false, true}) {
      Message op{.kind = OperatorKind::stage_transfer, .ranks = 2};
      op.layers = crosses ? between : hops - between;
      op.bytes_per_row = all_.hidden * all_.activation_bytes;
      op.crosses_nodes = crosses;
      if (op.layers > 0) all_.messages.push_back(op);
    }
  }

  /// Attention multiplies in 16 bits even when the cache is stored in 8.
  [[nodiscard]] DataType attention_type() const {
    return multiply_type(device_, precision_.activations.multiply);
  }

  const Model& model_;
  const Accelerator& device_;
  const Precision& precision_;
  const Deployment& deployment_;
  StepOperators all_;
  int layers_ = 0;
};

}  // namespace detail

/// The operators of one rank for any step of `model` on `device`. Allocates; done once per layout.
[[nodiscard]] inline StepOperators step_operators(const Model& model, const Accelerator& device,
                                                  const Precision& precision,
                                                  const Deployment& deployment) {
  return detail::OperatorBuilder(model, device, precision, deployment).build();
}

}  // namespace tokenroof
