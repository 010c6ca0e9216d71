// Decode step times over batch x context: the fast path of sweeps. Equal to one call of `step_time`
// per point, to rounding.
//
// Linear layers, experts, messages and the host depend on the batch alone; only attention also
// depends on the context. So everything but attention is taken once per batch. In `ideal` even
// attention is a product of sequences and a function of the context:
//
//   T(B, S) = max(w(B) + n(B) k(S), c(B) + n(B) a(S))        n: sequences of one rank
//
// and a point costs two multiply-adds, a maximum and a store.
#pragma once

#include <Eigen/Core>
#include <span>

#include "tokenroof/decide/replica.hpp"
#include "tokenroof/physics/step.hpp"

namespace tokenroof {

/// Seconds of a decode step: one column per batch, one row per context.
using DecodeGrid = Eigen::ArrayXXd;

namespace detail {

/// The load of one attention rank, without context.
[[nodiscard]] inline StepLoad<double> batch_load(double batch, double query_tokens) {
  StepLoad<double> load = decode_load(batch, 0.0);
  load.query_tokens = query_tokens;
  return load;
}

/// Seconds that one sequence's attention adds to either side of the ideal maximum, by context.
struct IdealAttention {
  Eigen::ArrayXd memory, compute;
};
[[nodiscard]] inline IdealAttention ideal_attention(const StepModel<double>& model,
                                                    std::span<const double> contexts,
                                                    double query_tokens) {
  const auto rows = static_cast<Eigen::Index>(contexts.size());
  IdealAttention sum{Eigen::ArrayXd::Zero(rows), Eigen::ArrayXd::Zero(rows)};
  StepLoad<double> load = batch_load(1, query_tokens);
  for (Eigen::Index row = 0; row < rows; ++row) {
    load.context = contexts[static_cast<std::size_t>(row)];
    for (const AttentionCore& op : model.operators.attentions) {
      const OperatorCost<double> c = cost(model.operators, op, load);
      sum.memory[row] += c.cache_bytes / model.machine.memory_bandwidth;
      sum.compute[row] += compute_seconds(model, op, c);
    }
  }
  return sum;
}

inline void fill_ideal(const StepModel<double>& model, std::span<const double> batches,
                       std::span<const double> contexts, double query_tokens,
                       Eigen::Ref<DecodeGrid> seconds) {
  const IdealAttention attention = ideal_attention(model, contexts, query_tokens);
  for (std::size_t column = 0; column < batches.size(); ++column) {
    const StepLoad<double> rank =
        rank_load(model.operators, batch_load(batches[column], query_tokens));
    double memory = 0, compute = 0;
    for_each_operator(model.operators, [&](const auto& op) {
      if constexpr (!is_message<std::remove_cvref_t<decltype(op)>>) {
        const OperatorCost<double> c = cost(model.operators, op, rank);  // attention: 0
        memory += (c.weight_bytes + c.cache_bytes) / model.machine.memory_bandwidth;
        compute += compute_seconds(model, op, c);
      }
    });
    seconds.col(static_cast<Eigen::Index>(column)) =
        (memory + rank.sequences * attention.memory)
            .max(compute + rank.sequences * attention.compute);
  }
}

/// Roofline and calibrated: what depends on the batch once per batch, attention at each point.
inline void fill_by_operator(const StepModel<double>& model, Fidelity fidelity,
                             std::span<const double> batches, std::span<const double> contexts,
                             double query_tokens, Eigen::Ref<DecodeGrid> seconds) {
  StepModel<double> rest = model, cores = model;
  rest.async_scheduling = false;  // the host hides behind attention too: below
  rest.operators.attentions.clear();
  cores.operators.matmuls.clear();
  cores.operators.recurrents.clear();
  cores.operators.experts.clear();
  cores.operators.messages.clear();
  const auto is_engine = [](OperatorKind kind) {
    return kind == OperatorKind::small_kernels || kind == OperatorKind::host;
  };
  for (std::size_t column = 0; column < batches.size(); ++column) {
    StepLoad<double> load = batch_load(batches[column], query_tokens);
    double device = 0, host = 0;
    visit_step(rest, load, fidelity, [&](OperatorKind kind, const auto&, const auto& time) {
      (kind == OperatorKind::host ? host : device) += time.total().base();
    });
    for (std::size_t row = 0; row < contexts.size(); ++row) {
      load.context = contexts[row];
      double attention = 0;
      visit_step(cores, load, fidelity, [&](OperatorKind kind, const auto&, const auto& time) {
        if (!is_engine(kind)) attention += time.total().base();
      });
      const double kernels = device + attention;
      double step = model.async_scheduling ? std::max(kernels, host) : kernels + host;
      if (fidelity == Fidelity::calibrated && load.sequences > 0)
        step += launches_beyond(model, load, kernels);
      seconds(static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(column)) = step;
    }
  }
}

}  // namespace detail

/// Fills `seconds` (contexts x batches) with step times; `query_tokens` as in StepLoad. Batches and
/// contexts >= 0. Nothing of the size of the grid is allocated.
inline void fill_decode_grid(const StepModel<double>& model, Fidelity fidelity,
                             std::span<const double> batches, std::span<const double> contexts,
                             Eigen::Ref<DecodeGrid> seconds, double query_tokens = 1) {
  if (fidelity == Fidelity::ideal) {
    detail::fill_ideal(model, batches, contexts, query_tokens, seconds);
  } else if (fidelity == Fidelity::calibrated && model.local_runtime) {
    for (std::size_t column = 0; column < batches.size(); ++column) {
      StepLoad<double> load = detail::batch_load(batches[column], query_tokens);
      for (std::size_t row = 0; row < contexts.size(); ++row) {
        load.context = contexts[row];
        seconds(static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(column)) =
            calibrated_step(model, load).total().base();
      }
    }
  } else {
    detail::fill_by_operator(model, fidelity, batches, contexts, query_tokens, seconds);
  }
}

/// The grid of a replica, drafting and verification included: `replica.decode` at every point.
[[nodiscard]] inline DecodeGrid decode_grid(const Replica& replica, std::span<const double> batches,
                                            std::span<const double> contexts) {
  DecodeGrid seconds(static_cast<Eigen::Index>(contexts.size()),
                     static_cast<Eigen::Index>(batches.size()));
  fill_decode_grid(replica.model, replica.fidelity, batches, contexts, seconds,
                   replica.draft_tokens + 1);
  if (replica.draft_tokens > 0) {
    DecodeGrid plain(seconds.rows(), seconds.cols());
    fill_decode_grid(replica.model, replica.fidelity, batches, contexts, plain);
    seconds += (replica.draft_tokens * replica.draft_cost) * plain;
  }
  return seconds;
}

}  // namespace tokenroof
