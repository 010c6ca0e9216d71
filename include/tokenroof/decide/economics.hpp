// Economics: what a token costs, whom the cost belongs to, and what speed costs.
//
//   cost per token = price per device and second x devices / (tokens per second x utilisation)
//
// Three numbers that must not be mixed: utilisation of paid time (here), model FLOP utilisation and
// memory bandwidth utilisation. Sources: resource-time accounting; DeepSeek open-infra-index day 6
// for a published check. Symbols: docs/formulas.md.
#pragma once

#include <cmath>

#include "tokenroof/core/scalar.hpp"
#include "tokenroof/core/units.hpp"
#include "tokenroof/physics/batching.hpp"

namespace tokenroof {

/// Prices are quoted per million tokens and per hour of a device.
inline constexpr Tokens million_tokens = 1e6 * token;
inline constexpr DollarsPerToken dollar_per_million_tokens = dollar / million_tokens;
inline constexpr DollarsPerSecond dollar_per_hour = dollar / hour;

/// Cost price x devices / (rate x utilisation) of one token. `price` of one device, >= 0; `rate` of
/// the replica while it is busy, > 0; `utilization` in (0, 1], the share of paid time at that rate.
/// A utilisation or a rate of 0 has no finite cost: refuse it before.
template <Scalar S>
[[nodiscard]] constexpr With<DollarsPerToken, S> cost_per_token(
    const With<DollarsPerSecond, S>& price, double devices, const With<TokensPerSecond, S>& rate,
    const S& utilization) {
  return price * devices / (rate * utilization);
}

/// Replica seconds of one request, or dollars, by class of token; the classes add up to the bill.
template <class Amount>
struct ByClass {
  Amount input{};   ///< tokens that were computed in prefill
  Amount cached{};  ///< tokens found in the cache
  Amount output{};  ///< tokens generated
  [[nodiscard]] constexpr Amount total() const { return input + cached + output; }
};

/// Replica seconds of a request: its prefill, the fetch of its cached prefix, and its share
/// output x step / batch of the decode steps. `batch` > 0.
template <Scalar S>
[[nodiscard]] constexpr ByClass<With<Seconds, S>> request_time(const With<Seconds, S>& prefill,
                                                               const With<Seconds, S>& fetch,
                                                               const With<Tokens, S>& output,
                                                               const With<Seconds, S>& step,
                                                               const With<Tokens, S>& batch) {
  return {prefill, fetch, step * S(output / batch)};
}

/// Dollars of a request by class: seconds x price x devices / utilisation.
template <Scalar S>
[[nodiscard]] constexpr ByClass<With<Dollars, S>> request_cost(
    const ByClass<With<Seconds, S>>& time, const With<DollarsPerSecond, S>& price, double devices,
    const S& utilization) {
  const With<DollarsPerSecond, S> paid = price * devices / utilization;
  return {time.input * paid, time.cached * paid, time.output * paid};
}

/// Cost of an output token relative to an input token:
/// [max(weights / memory, linear x batch / peak) + KV bytes / memory] / batch over body / peak.
/// All rates are sustained ones of the whole replica. `batch` > 0 sequences.
template <Scalar S>
[[nodiscard]] constexpr S output_input_ratio(
    const With<Bytes, S>& weights_read, const With<FlopsPerToken, S>& linear,
    const With<FlopsPerToken, S>& body, const With<BytesPerToken, S>& kv,
    const With<Requests, S>& batch, const With<TokensPerRequest, S>& context,
    const With<FlopsPerSecond, S>& decode_peak, const With<FlopsPerSecond, S>& prefill_peak,
    const With<BytesPerSecond, S>& memory) {
  const With<Tokens, S> tokens = batch * one_token_each;
  const With<Seconds, S> step = max(With<Seconds, S>(weights_read / memory),
                                    With<Seconds, S>(linear * tokens / decode_peak)) +
                                kv * (batch * context) / memory;
  return step / tokens / (body / prefill_peak);
}

/// How the two halves of a decode step share time.
enum class StepOverlap {
  per_operator,  ///< attention runs after the linear layers: their times add
  whole_step,    ///< the textbook's single maximum
};

/// Cost of an output token in units of a compute-bound, short-context one:
/// max(1, B*/B) + S/S_c0 per operator, max(1, B*/B + S/S_c0) over the whole step.
/// `critical_over_batch` B*/B >= 0; `context_over_crossover` S/S_c0 >= 0.
template <Scalar S>
[[nodiscard]] constexpr S relative_output_cost(const S& critical_over_batch,
                                               const S& context_over_crossover,
                                               StepOverlap overlap = StepOverlap::per_operator) {
  if (overlap == StepOverlap::whole_step)
    return max(critical_over_batch + context_over_crossover, S(1));
  return max(critical_over_batch, S(1)) + context_over_crossover;
}

/// Fair price of a long-context tier over a short-context one: the ratio of their relative costs at
/// the MEAN context of each tier, not at its threshold.
template <Scalar S>
[[nodiscard]] constexpr S output_surcharge(const S& critical_over_batch, const S& short_context,
                                           const S& long_context, StepOverlap overlap) {
  return relative_output_cost(critical_over_batch, long_context, overlap) /
         relative_output_cost(critical_over_batch, short_context, overlap);
}

/// Cost of an input token of a prompt of `prompt` tokens relative to a short one:
/// 1 + attention x prompt / (2 body), from causal attention to leading order.
template <Scalar S>
[[nodiscard]] constexpr S input_surcharge(const With<FlopsPerToken, S>& body,
                                          const With<FlopsPerToken, S>& attention,
                                          const With<Tokens, S>& prompt) {
  return 1.0 + S(attention / body) * prompt.base() / 2.0;
}

/// Profit over cost: income / cost - 1. Negative is an answer. `cost` > 0.
template <Scalar S>
[[nodiscard]] constexpr S profit_margin(const With<Dollars, S>& income,
                                        const With<Dollars, S>& cost) {
  return income / cost - 1.0;
}

/// Price of keeping a byte for a second.
using DollarsPerByteSecond = decltype(dollar / (byte * second));

/// Price kv x held for x storage price, in $/token, of keeping a token's cache.
template <Scalar S>
[[nodiscard]] constexpr With<DollarsPerToken, S> storage_cost(
    const With<BytesPerToken, S>& kv, const With<Seconds, S>& held,
    const With<DollarsPerByteSecond, S>& storage) {
  return kv * held * storage;
}

/// Cost body / rate x node price, in $/token, of computing a cached token again. `rate`: sustained
/// FLOP/s of the node; attention is left out.
template <Scalar S>
[[nodiscard]] constexpr With<DollarsPerToken, S> recompute_cost(
    const With<FlopsPerToken, S>& body, const With<FlopsPerSecond, S>& rate,
    const With<DollarsPerSecond, S>& node_price) {
  return body / rate * node_price;
}

/// Seconds recompute / (kv x storage) of holding a prefix after which storing has cost as much as
/// computing it again. `storage` > 0.
template <Scalar S>
[[nodiscard]] constexpr With<Seconds, S> break_even_hold(
    const With<DollarsPerToken, S>& recompute, const With<BytesPerToken, S>& kv,
    const With<DollarsPerByteSecond, S>& storage) {
  return recompute / (kv * storage);
}

}  // namespace tokenroof
