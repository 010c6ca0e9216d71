// Time to first token of an engine under load, given the law of its batch: the parts of the mean,
// and the tail for the quantiles. engine_estimate.hpp assembles them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "tokenroof/core/units.hpp"
#include "tokenroof/serving/engine_batch.hpp"
#include "tokenroof/serving/engine_load.hpp"
#include "tokenroof/serving/engine_prompt_queue.hpp"
#include "tokenroof/serving/tail_point.hpp"
#include "tokenroof/serving/wait_law.hpp"

namespace tokenroof {
namespace detail {

/// What a prompt of one point of the prefill law meets, in s.
struct PromptWait {
  double own_steps = 0;  ///< decode parts of its steps
  double shared = 0;     ///< prompts behind it that share its last step
  WaitLaw others;        ///< other prompts, before it or sharing its step
};

/// Parts of the TTFT of a request that finds a place, in s.
struct FreeArrival {
  double residual = 0;  ///< mean rest of the running step
  double queue = 0;     ///< mean work of other prompts before the own one
  std::array<PromptWait, PrefillLaw::most> prompts{};
  double mean_own_steps = 0, mean_shared = 0;
  double exposed = 0;  ///< mean time in which the prompts arrive that follow the own one
  double blocked = 0;  ///< for a request that had to wait: what follows its admission, but t_p
};

/// `limit` is the rate at which decode places run out, `budget_load` the arrivals over the rate at
/// which the token budget does (0: later than places).
[[nodiscard]] inline FreeArrival free_arrival(const EngineWork& w, const DecodeLaw& law,
                                              double limit, double budget_load) {
  FreeArrival f;
  const double busy = 1 - law.empty, rho = w.rho_p;
  const double T = law.step * w.load.step_tokens;  // of a whole step
  f.residual = law.step > 0 ? busy * 0.5 * T * law.step_square / (law.step * law.step) : 0;
  // Requests that leave together at the end of a step are replaced together.
  const double full = w.step(static_cast<double>(w.steps.size()));
  const double leaving = w.decodes > 0 ? limit * full / std::max(0.02, 1 - limit * w.tp) : 0;
  const double alone = 0.5 * w.spread / (1 - rho);  // Pollaczek-Khinchine
  const double bursts = (w.load.arrival_squared_cv + w.cp2) / (1 + w.cp2);
  // Bursts that are short against a step meet inside it, at any load: half the excess dispersion if
  // all are (batch arrivals); 0.4 of that fits gamma arrivals in the simulator.
  const double clustered =
      w.lambda > 0 ? 0.4 * 0.5 * std::max(0.0, w.load.arrival_squared_cv - 1) : 0;
  if (!w.chunked) {
    // Packed prompts: a break is a chain of packs, each of the arrivals during the one before.
    const double packing = w.packing();
    const double stage = (busy * T * (1 - rho) + w.spread) / (1 - rho * rho);
    const double packed = std::max(0.0, 0.5 * (1 + 2 * rho) * stage - f.residual);
    f.queue = packing * packed + (1 - packing) * alone + clustered * w.tp;
    f.exposed =
        packing * rho * stage + (1 - packing) * (alone + f.residual) + (1 + clustered) * w.tp;
    f.blocked = 0.5 * (1 + packing) * leaving * w.tp;
    const double some = 1 - (1 - rho) * std::exp(-packing * w.lambda * T) / (1 + clustered);
    const double in_turn =  // Takacs
        alone * alone + w.lambda * w.cube * bursts * bursts / (3 * (1 - rho));
    const double together = f.queue * w.tp * (1 + w.cp2) + f.queue * f.queue * rho;
    const double mates = clustered * (1 + clustered + w.cp2) * w.tp * w.tp;
    const double square = f.queue * f.queue + (1 - packing) * in_turn + packing * together + mates;
    const WaitLaw others = wait_law(f.queue, square, some);
    for (std::size_t i = 0; i < w.prompts.size(); ++i) f.prompts[i].others = others;
    return f;
  }
  const double c = w.room(law.running);
  const EngineWork::Service s = w.service(c, law.step);
  double load = std::min(0.999, w.lambda * s.mean);
  const VariedWait varied = varied_wait(w, law, c, s, bursts);
  double others = 0.5 * w.lambda * s.square * bursts / (1 - load) * varied.mean;
  if (budget_load > 0) {
    // Near saturation of the budget a queue outlives a batch: then a request takes P + D tokens of
    // the budget, not P of what the batch leaves, and waits E[(P + D)^2] / E[P^2] (P / (P + D))^2
    // times what the load of the limit says. In between by the times that both take to settle.
    const double share = w.load.prompt.base() / (w.load.prompt.base() + w.decodes);
    const double ratio = (1 - share) / share;
    const double squares =
        1 + (2 * ratio + ratio * ratio * (1 + w.load.output_squared_cv)) / (1 + w.cp2);
    const double settled =
        0.5 * w.lambda * s.square * bursts / (1 - budget_load) * squares * share * share;
    const double queue_settles = 0.5 * s.square / s.mean / ((1 - load) * (1 - load));
    const double batch_settles = 2 * w.decodes * law.step / (1 - rho);
    const double slow = queue_settles / (queue_settles + batch_settles);
    others += slow * (settled - others);
    load = std::max(load, load + slow * (budget_load - load));
  }
  const double fits = std::max(0.0, 1 - w.load.prompt.base() / c);
  f.queue = others + fits * busy * T * rho / (1 - rho) + clustered * s.mean;
  const double none = (1 - load) * std::exp(-w.lambda * (f.residual + f.queue)) / (1 + clustered);
  // One prompt after the other (Takacs), or all that came during a step in the next.
  const double in_turn = (2 * varied.square - 1) * others * others +
                         w.lambda * s.cube * bursts * bursts / (3 * (1 - load));
  const double mates = clustered * (s.square + clustered * s.mean * s.mean);
  const double square = f.queue * f.queue + (1 - fits) * in_turn +
                        (fits > 0 ? fits * gated_variance(w, T) : 0) + mates;
  for (std::size_t i = 0; i < w.prompts.size(); ++i) {
    PromptWait& prompt = f.prompts[i];
    const double t = w.prompts[i].time.base(), weight = w.prompts[i].weight;
    const double steps = w.prompt_steps(t, c);
    const double under_way = (steps - 1) * (T + c * w.token_time);  // before the last step
    const double room = steps * c * w.token_time - t;               // left over in that
    const double piece = std::min(w.tp, room);
    prompt.own_steps = steps * T;
    double joined = 0;
    if (room > 0) {
      const double exposed = f.residual + f.queue + under_way;
      prompt.shared = room * -std::expm1(-w.lambda * exposed * piece / room);
      joined = -std::expm1(-w.lambda * under_way);
    }
    prompt.others =
        wait_law(f.queue + prompt.shared,
                 square + 2 * f.queue * prompt.shared + prompt.shared * (prompt.shared + piece),
                 1 - none * (1 - joined));
    f.mean_own_steps += weight * prompt.own_steps;
    f.mean_shared += weight * prompt.shared;
  }
  f.blocked = 0.5 * (1 + fits) * leaving * w.tp + f.mean_own_steps;
  // Scheduled ahead, the step behind the own one takes what came before that began.
  const double own = w.load.scheduled_ahead ? 0 : w.tp;
  f.exposed = fits * (T + own + rho * gated_step_met(w, T)) + (1 - fits) * (f.queue + s.mean);
  return f;
}

/// P(TTFT > t). Of the requests that wait for a place the wait is exponential.
[[nodiscard]] inline double first_token_tail(const EngineWork& w, const EngineBatch& batch,
                                             const FreeArrival& f, double t) {
  const double step = batch.law.step * w.load.step_tokens;
  const double empty = batch.law.empty, blocked = batch.waiting_probability;
  const double drain = batch.waiting > 0 ? blocked * w.lambda / batch.waiting : 0;
  double tail = 0;
  for (std::size_t i = 0; i < w.prompts.size(); ++i) {
    const PromptWait& prompt = f.prompts[i];
    const double weight = w.prompts[i].weight;
    const double past = t - w.prompts[i].time.base() - prompt.own_steps;
    if (past < 0) {
      tail += weight;
      continue;
    }
    const double free = (1 - empty) * residual_tail(prompt.others, step, past) +
                        empty * residual_tail(prompt.others, 0, past);
    const double after = past - (f.blocked - f.mean_own_steps);
    tail += weight * ((1 - blocked) * free + blocked * std::min(1.0, std::exp(-drain * after)));
  }
  return tail;
}

/// TTFT that a share p in (0, 1) does not exceed; `guess` of its scale, in s.
[[nodiscard]] inline Seconds first_token_quantile(const EngineWork& w, const EngineBatch& batch,
                                                  const FreeArrival& f, double p, double guess) {
  const auto tail = [&](double t) { return first_token_tail(w, batch, f, t); };
  return tail_point(tail, 1 - p, std::max(1e-6, guess)) * second;
}

}  // namespace detail
}  // namespace tokenroof
