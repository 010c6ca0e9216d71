#include "xlsx/coefficients.hpp"

#include <algorithm>

namespace tokenroof::io::xlsx {
namespace {

template <class Group, class Alike>
Group& group_of(std::vector<Group>& groups, const Group& fresh, Alike alike) {
  for (Group& known : groups)
    if (alike(known, fresh)) return known;
  groups.push_back(fresh);
  return groups.back();
}

void add(Coefficients& c, const AttentionCore& op) {
  AttentionGroup fresh;
  fresh.kind = op.kind;
  fresh.type = op.multiply;
  fresh.window = op.window;
  fresh.top_k = op.top_k;
  fresh.compress = op.compress_ratio;
  AttentionGroup& group =
      group_of(c.attention, fresh, [](const AttentionGroup& a, const AttentionGroup& b) {
        return a.kind == b.kind && a.type == b.type && a.window == b.window && a.top_k == b.top_k &&
               a.compress == b.compress;
      });
  const double shared = op.layers / op.context_parallel;
  group.cache_bytes += op.cache_bytes_per_token * shared;
  group.flops += 2 * op.query_heads * (op.score_dim + op.value_dim) * shared;
  group.prompt_flops += 2 * op.query_heads * (op.prefill_score_dim + op.prefill_value_dim) * shared;
  group.expand_flops += op.expand_flops_per_cached_token * op.layers;
}

void add(Coefficients& c, const Experts& op) {
  ExpertGroup fresh;
  fresh.type = op.multiply;
  fresh.experts = op.experts;
  fresh.top_k = op.top_k;
  ExpertGroup& group = group_of(c.experts, fresh, [](const ExpertGroup& a, const ExpertGroup& b) {
    return a.type == b.type && a.experts == b.experts && a.top_k == b.top_k;
  });
  const double one = op.weights_per_expert() * op.layers;
  group.bytes += one * op.bytes_per_weight * op.local_experts / op.experts;
  group.flops += 2 * one * op.top_k / op.expert_parallel;
}

/// Cached tokens that a prompt of `rank` reads.
double prompt_read(const AttentionGroup& group, const StepLoad<double>& rank) {
  const double held = rank.prefix_tokens + rank.prompt_tokens;
  return group.window > 0 ? std::min(held, rank.prompt_tokens + group.window) : held;
}

}  // namespace

Coefficients coefficients(const StepOperators& operators) {
  Coefficients c;
  for (const Matmul& op : operators.matmuls) {
    c.weight_bytes += op.n * op.k * op.bytes_per_weight * op.layers;
    LinearGroup& group =
        group_of(c.linear, LinearGroup{op.multiply, 0, 0},
                 [](const LinearGroup& a, const LinearGroup& b) { return a.type == b.type; });
    (op.logit_rows ? group.per_logit : group.per_token) += 2 * op.n * op.k * op.layers;
  }
  for (const AttentionCore& op : operators.attentions) add(c, op);
  for (const Experts& op : operators.experts) add(c, op);
  for (const RecurrentCore& op : operators.recurrents) {
    c.state_bytes += 2 * op.state_bytes * op.layers;
    c.recurrent_flops += op.flops_per_token * op.layers;
  }
  return c;
}

std::vector<DataType> multiply_types(const Coefficients& c, DataType wide) {
  std::vector<DataType> types;
  const auto use = [&](DataType type) {
    if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
  };
  for (const LinearGroup& group : c.linear) use(group.type);
  for (const AttentionGroup& group : c.attention) use(group.type);
  for (const ExpertGroup& group : c.experts) use(group.type);
  if (c.recurrent_flops > 0) use(wide);
  return types;
}

LoadValues load_values(const StepModel<double>& model, const Coefficients& c,
                       const StepLoad<double>& load) {
  LoadValues values;
  const StepLoad<double> rank = values.rank = rank_load(model.operators, load);
  const auto staged = [&](double of) {
    const double stages = model.operators.stages;
    return stages > 1 && of > 0 ? std::max(1.0, of / stages) : of;
  };
  values.stage_sequences = staged(load.sequences);
  values.stage_prompts = staged(load.prompts);
  const double bandwidth = model.machine.memory_bandwidth;
  for (const LinearGroup& group : c.linear)
    values.linear += (rank.tokens() * group.per_token + rank.logit_rows() * group.per_logit) /
                     model.machine.peak_of(group.type);
  for (const ExpertGroup& group : c.experts) {
    const double tokens = rank.group_tokens;
    values.distinct.push_back(
        distinct_experts(group.experts, group.top_k, Tokens::from_base(tokens)));
    values.expert_bytes += values.distinct.back() * group.bytes;
    values.experts += tokens * group.flops / model.machine.peak_of(group.type);
  }
  for (const AttentionGroup& group : c.attention) {
    AttentionCore core;
    core.window = group.window;
    core.top_k = group.top_k;
    core.compress_ratio = group.compress;
    const double seen = visible_tokens(core, rank.context);
    const double pairs = causal_pairs(rank.prompt_tokens, rank.prefix_tokens,
                                      group.top_k > 0 ? group.top_k : group.window);
    const double read = prompt_read(group, rank);
    values.visible.push_back(seen);
    values.pairs.push_back(pairs);
    values.prompt_read.push_back(read);
    values.cache_bytes +=
        group.cache_bytes * (rank.sequences * seen + rank.prompts * read / group.compress);
    values.attention += (rank.sequences * rank.query_tokens * seen * group.flops +
                         rank.prompts * (pairs / group.compress * group.prompt_flops +
                                         rank.prefix_tokens * group.expand_flops)) /
                        model.machine.peak_of(group.type);
  }
  values.cache_bytes += (rank.sequences + rank.prompts) * c.state_bytes;
  values.recurrent = rank.tokens() * c.recurrent_flops / model.machine.peak_of(model.machine.wide);
  values.memory = (c.weight_bytes + values.expert_bytes + values.cache_bytes) / bandwidth;
  values.step = ideal_step(model, load).total().base();
  return values;
}

}  // namespace tokenroof::io::xlsx
