// Where the memory of a device goes: weights, activations, what engine and driver take, and the
// pool that is left for the KV cache. The lines add up to the visible memory, to the byte.
//
//   budget  = fraction x visible                       (or of what is free, for engines that say
//   so) kv pool = budget - weights - activations - runtime - collectives - graphs - stated reserve
//   visible = the sum of those + unclaimed - deficit   (one of pool and deficit is 0)
//
// Of the ranks of a replica the plan shows the one that limits: uneven pipeline stages, embedding
// on the first and head on the last. Source of the reserves: start-up logs, by engine and version
// (data/engines); PagedAttention (2309.06180) for the budget. Symbols: docs/formulas.md#memory.
#pragma once

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "tokenroof/core/error.hpp"
#include "tokenroof/core/units.hpp"
#include "tokenroof/describe/accelerator.hpp"
#include "tokenroof/describe/deployment.hpp"
#include "tokenroof/describe/engine.hpp"
#include "tokenroof/describe/model.hpp"
#include "tokenroof/describe/precision.hpp"
#include "tokenroof/physics/activation_memory.hpp"
#include "tokenroof/physics/kv_policy.hpp"
#include "tokenroof/physics/layout.hpp"
#include "tokenroof/physics/weights_placement.hpp"

namespace tokenroof {

/// A line of the plan.
struct MemoryLine {
  std::string_view name;
  Bytes bytes;
};

/// The memory of the device that limits a replica.
struct MemoryPlan {
  // The lines; see `lines()`.
  Bytes visible;  ///< what the driver shows (or the nominal size, if asked for)
  Bytes budget;   ///< what the engine may fill
  Bytes weights;
  Bytes activations;
  Bytes runtime;
  Bytes collectives;
  Bytes graphs;
  Bytes reserve;    ///< stated by the user in place of the four lines above
  Bytes kv_pool;    ///< 0 when there is a deficit
  Bytes unclaimed;  ///< outside the budget
  Bytes deficit;    ///< by how much the lines exceed the budget; 0: they fit

  RankWeights weights_by_part;
  KvReservation cache;
  int stage = 0;                  ///< pipeline stage of the device
  double blocks = 0;              ///< of the pool; 0 where kinds of pages differ
  Tokens kv_tokens;               ///< of one attention rank, as the engine's log counts them
  Bytes kv_per_sequence;          ///< reserved for a sequence of the asked context
  double concurrency = 0;         ///< sequences of that context per attention rank, a ratio
  Requests max_concurrency;       ///< whole sequences of that context, of the replica
  TokensPerRequest context;       ///< the asked context
  TokensPerRequest max_context;   ///< longest sequence: of the pool, and of the model if it says so
  TokensPerRequest pool_context;  ///< longest sequence of the pool alone
  double least_fraction = 0;      ///< memory fraction at which one sequence fits; > 1: none does
  Verdict verdict;

  [[nodiscard]] std::array<MemoryLine, 8> lines() const {
    return {{{"weights", weights},
             {"activations", activations},
             {"runtime", runtime},
             {"collectives", collectives},
             {"graphs", graphs},
             {"reserve", reserve},
             {"kv_pool", kv_pool},
             {"unclaimed", unclaimed}}};
  }
  /// Everything in the budget but the pool.
  [[nodiscard]] Bytes claimed() const {
    return weights + activations + runtime + collectives + graphs + reserve;
  }
};

/// How to plan, beyond the description of the deployment.
struct MemoryOptions {
  std::optional<Bytes> weights{};  ///< of a rank, stated (from a log) instead of computed
  std::optional<Bytes> kv_pool{};  ///< of a rank, stated
  bool nominal_memory = false;     ///< plan with the memory as sold
  int draft_tokens = 0;            ///< speculation
  Bytes draft_memory{};            ///< of a draft model, per device: counts as reserve
};

namespace detail {

/// The memory lines of a rank of `stage`, in whole bytes so that they sum without rounding.
[[nodiscard]] inline MemoryPlan stage_lines(const Model& model, const Accelerator& device,
                                            const Engine& engine, const Precision& precision,
                                            const Deployment& deployment, TokensPerRequest context,
                                            int stage, const MemoryOptions& options) {
  const auto up = [](Bytes bytes) { return Bytes::from_base(std::ceil(bytes.base())); };
  const auto down = [](Bytes bytes) { return Bytes::from_base(std::floor(bytes.base())); };
  const EngineReserve habits = reserve_of(engine);
  MemoryPlan plan;
  plan.stage = stage;
  plan.context = context;
  plan.visible = down(options.nominal_memory ? device.memory_nominal : device.memory_visible);
  plan.weights_by_part =
      rank_weights(model, precision, deployment, stage, weight_loading(engine, precision));
  plan.weights = up(options.weights.value_or(plan.weights_by_part.total()));
  if (engine.reserve_auto) {
    plan.activations = up(activation_peak(model, precision, engine, deployment, stage,
                                          profiled_tokens(engine, context.base())));
    plan.runtime = up(habits.runtime);
    if (deployment.stage_devices() > 1) plan.collectives = up(habits.collectives);
    plan.graphs = up(habits.graphs);
  } else {
    plan.reserve = up(engine.reserve);
  }
  plan.reserve = plan.reserve + up(options.draft_memory);

  const Bytes claimed = plan.claimed();
  if (options.kv_pool) {
    plan.budget = claimed + down(*options.kv_pool);
  } else if (habits.fraction_of_free) {
    const Bytes left = plan.visible - claimed;
    plan.budget = left > Bytes{} ? claimed + down(engine.memory_fraction * left) : plan.visible;
  } else {
    plan.budget = down(engine.memory_fraction * plan.visible);
  }
  plan.unclaimed = plan.visible - plan.budget;
  const Bytes left = plan.budget - claimed;
  (left < Bytes{} ? plan.deficit : plan.kv_pool) = left < Bytes{} ? -left : left;

  KvLayoutOptions layout;
  layout.tensor_parallel = deployment.tensor_parallel;
  layout.context_parallel = deployment.context_parallel;
  layout.draft_tokens = options.draft_tokens;
  plan.cache =
      kv_reservation(model, engine, precision,
                     stage_group_counts(model, deployment.pipeline_parallel, stage), layout);
  plan.kv_per_sequence = plan.cache.bytes_at(context);
  const Bytes needed = claimed + plan.kv_per_sequence;
  plan.least_fraction =
      habits.fraction_of_free
          ? (plan.visible > claimed ? plan.kv_per_sequence / (plan.visible - claimed) : 2.0)
          : needed / plan.visible;
  return plan;
}

/// Tokens, concurrency and context of a plan's pool.
inline void fill_pool(MemoryPlan& plan, const Model& model, const Deployment& deployment) {
  plan.blocks = plan.cache.blocks(plan.kv_pool);
  plan.kv_tokens = plan.cache.tokens(plan.kv_pool, plan.context);
  plan.concurrency = plan.cache.concurrency(plan.kv_pool, plan.context);
  plan.max_concurrency =
      std::floor(plan.concurrency) * deployment.attention_data_parallel * request;
  plan.pool_context = plan.cache.longest_context(plan.kv_pool);
  plan.max_context = plan.pool_context;
  const double stated = static_cast<double>(model.maximum_context);
  if (stated > 0 && plan.max_context.base() > stated)
    plan.max_context = TokensPerRequest::from_base(stated);
}

}  // namespace detail

/// The plan without its verdict: the device of the pipeline stage with the largest deficit, or else
/// of the one whose pool holds the fewest sequences of `context` tokens. The layout must be valid.
[[nodiscard]] inline MemoryPlan memory_lines(const Model& model, const Accelerator& device,
                                             const Engine& engine, const Precision& precision,
                                             const Deployment& deployment, TokensPerRequest context,
                                             const MemoryOptions& options = {}) {
  MemoryPlan worst;
  for (int stage = 0; stage < deployment.pipeline_parallel; ++stage) {
    MemoryPlan plan =
        detail::stage_lines(model, device, engine, precision, deployment, context, stage, options);
    const TokensPerRequest probe = max(context, TokensPerRequest::from_base(1));
    plan.concurrency = plan.cache.concurrency(plan.kv_pool, probe);
    const bool worse = plan.deficit > worst.deficit ||
                       (plan.deficit == worst.deficit && plan.concurrency < worst.concurrency);
    if (stage == 0 || worse) worst = plan;
  }
  detail::fill_pool(worst, model, deployment);
  return worst;
}

/// Live tokens of a randomly observed running sequence, E[P] + E[O] (1 + c^2) / 2 for prompts
/// independent of outputs: long outputs are seen more often. `squared_cv` of the output length.
[[nodiscard]] constexpr TokensPerRequest mean_live_tokens(TokensPerRequest prompt,
                                                          TokensPerRequest output,
                                                          double squared_cv) {
  return prompt + output * (0.5 * (1 + squared_cv));
}

/// Largest number K of independent sequences with K mean + z sqrt(K) deviation <= capacity, z the
/// normal quantile of the accepted overflow probability (0: none accepted at the mean). A real
/// number; 0 for no capacity. `mean` > 0.
[[nodiscard]] inline double overflow_safe_concurrency(double mean, double deviation,
                                                      double capacity, double z) {
  if (capacity <= 0) return 0;
  const double spread = z * deviation;
  const double root = (std::sqrt(spread * spread + 4 * mean * capacity) - spread) / (2 * mean);
  return root * root;
}

}  // namespace tokenroof
