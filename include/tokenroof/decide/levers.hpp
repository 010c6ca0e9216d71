// Levers: which ways to be faster are real, which only turn a shared batch into an exclusive one,
// and what a faster part would do to prices.
//
// Each lever has a speed ratio and a cost ratio against a baseline, and a quality speed / cost:
// about 1 or below the speed is bought, far above 1 it is gained. A smaller batch alone is below 1
// exactly when kv_over_fixed < sqrt(shrink), see frontier.hpp. Symbols: docs/formulas.md.
#pragma once

#include <array>
#include <string_view>

#include "tokenroof/core/scalar.hpp"
#include "tokenroof/physics/textbook_step.hpp"

namespace tokenroof {

/// A way to serve: how long a step takes, whom it serves and on what.
template <Scalar S = double>
struct Way {
  With<Seconds, S> step;
  With<Requests, S> batch;
  double devices = 1;
  With<TokensPerRequest, S> each = one_token_each;  ///< tokens accepted per sequence and step

  /// Tokens per second of one user.
  [[nodiscard]] constexpr auto user_speed() const { return each / step; }
  /// Device seconds of one token: devices x step / tokens; cost up to the price of a device.
  [[nodiscard]] constexpr With<SecondsPerToken, S> device_time() const {
    return devices * step / (batch * each);
  }
};

/// A change against a baseline.
template <Scalar S = double>
struct Lever {
  std::string_view name;
  S speed{};  ///< of a user, times the baseline's
  S cost{};   ///< of a token, times the baseline's
  [[nodiscard]] constexpr S quality() const { return speed / cost; }
};

/// Speed and cost of `changed` over `baseline`, at equal prices per device.
template <Scalar S>
[[nodiscard]] constexpr Lever<S> lever(std::string_view name, const Way<S>& baseline,
                                       const Way<S>& changed) {
  return {name, changed.user_speed() / baseline.user_speed(),
          changed.device_time() / baseline.device_time()};
}

/// Speculation as a lever sees it.
struct Drafting {
  TokensPerRequest verified = 5 * token / request;       ///< drafts + 1
  TokensPerRequest accepted = 3.3616 * token / request;  ///< expected, acceptance 0.8, 4 drafts
  double cost_of_drafts = 0.2;                           ///< time of all drafts over a plain step
};

/// What the table of levers is asked about: a dense model in 16 bits on `machine`.
struct LeverQuestion {
  TextbookModel<> model;
  TextbookModel<> smaller_model;
  TextbookMachine<> machine;
  FlopsPerSecond half_width_peak;  ///< peak of 8-bit multiplies, one device
  Requests batch;
  TokensPerRequest context;
  Requests small_batch = 8 * request;
  Drafting drafting;
  double stacked_draft_overhead = 1.1;  ///< factor on the step of the stacked lever
};

namespace detail {
/// Weights and cache in half the bytes; what travels between devices stays.
[[nodiscard]] constexpr TextbookModel<> in_half_the_bytes(TextbookModel<> model) {
  model.weights_read *= 0.5;
  model.kv *= 0.5;
  return model;
}
}  // namespace detail

/// Seven levers: an exclusive replica, a smaller batch, twice the devices, half the bytes, drafts,
/// a smaller model, and half the bytes with drafts at the smaller batch.
[[nodiscard]] constexpr std::array<Lever<>, 7> lever_table(const LeverQuestion& q) {
  const auto way = [&](const TextbookModel<>& model, const TextbookMachine<>& machine,
                       Requests batch) {
    return Way<>{textbook_step(model, machine, batch, q.context).time(), batch,
                 static_cast<double>(machine.devices)};
  };
  TextbookMachine<> twice = q.machine;
  twice.devices *= 2;
  TextbookMachine<> half_width = q.machine;
  half_width.linear_peak = q.half_width_peak;
  const TextbookModel<> halved = detail::in_half_the_bytes(q.model);

  const Way<> base = way(q.model, q.machine, q.batch);
  Way<> drafted = base;
  drafted.each = q.drafting.accepted;
  drafted.step = textbook_step(q.model, q.machine, q.batch, q.context, q.drafting.verified).time() +
                 q.drafting.cost_of_drafts * base.step;
  Way<> stacked{
      textbook_step(halved, half_width, q.small_batch, q.context, q.drafting.verified).time() *
          q.stacked_draft_overhead,
      q.small_batch, static_cast<double>(q.machine.devices), q.drafting.accepted};

  return {lever("exclusive replica", base, way(q.model, q.machine, request)),
          lever("smaller batch", base, way(q.model, q.machine, q.small_batch)),
          lever("twice the devices", base, way(q.model, twice, q.batch)),
          lever("half the bytes", base, way(halved, half_width, q.batch)),
          lever("speculation", base, drafted),
          lever("smaller model", base, way(q.smaller_model, q.machine, q.batch)),
          lever("all of it at a smaller batch", base, stacked)};
}

/// The machine with memory `factor` times as fast and nothing else changed.
template <Scalar S>
[[nodiscard]] constexpr TextbookMachine<S> with_memory_bandwidth(TextbookMachine<S> machine,
                                                                 const S& factor) {
  machine.weight_bandwidth *= factor;
  machine.kv_bandwidth *= factor;
  return machine;
}

/// Step time before over after a factor on memory bandwidth. 1 at a factor of 1, at most the
/// factor, and at most 1 / (1 - memory share of the step).
template <Scalar S>
[[nodiscard]] constexpr S bandwidth_gain(const TextbookModel<S>& model,
                                         const TextbookMachine<S>& machine,
                                         const With<Requests, S>& batch,
                                         const With<TokensPerRequest, S>& context,
                                         const S& factor) {
  return textbook_step(model, machine, batch, context).time() /
         textbook_step(model, with_memory_bandwidth(machine, factor), batch, context).time();
}

/// Gain 1 / (1 - share + share / gain) of a whole whose part `share` in [0, 1] gains `gain` > 0
/// (Amdahl); an infinite gain gives 1 / (1 - share).
template <Scalar S>
[[nodiscard]] constexpr S whole_gain(const S& share, const S& gain) {
  return 1.0 / (1.0 - share + share / gain);
}

}  // namespace tokenroof
