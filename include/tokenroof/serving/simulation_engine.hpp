// The simulator's machinery; include simulation.hpp. One object runs one simulation.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tokenroof/serving/simulation_kv.hpp"
#include "tokenroof/serving/simulation_recorder.hpp"
#include "tokenroof/serving/simulation_state.hpp"
#include "tokenroof/serving/simulation_types.hpp"
#include "tokenroof/serving/speculative.hpp"

namespace tokenroof::detail {

class EngineRun {
 public:
  EngineRun(const std::vector<SimulatedRequest>& requests, const SimulatedEngine& engine,
            const SimulationPlan& plan)
      : requests_(requests),
        engine_(within_limits(engine)),
        plan_(plan),
        states_(requests.size()),
        kv_(engine.kv_blocks, engine.block_tokens),
        recorder_(plan, requests.size()),
        random_(engine.seed),
        tokens_per_step_(expected_tokens(engine.acceptance, engine.draft_tokens)),
        result_(recorder_.result) {
    if (plan.keep_records) result_.records.resize(requests.size());
    if (plan.concurrency > 0)
      for (int c = 0; c < plan.concurrency && issued_ < requests.size(); ++c) issue(0);
  }

  template <class StepTime>
  SimulationResult operator()(StepTime& step_time) {
    for (;;) {
      arrive();
      if (decoding_ == 0 && prefilling_.empty() && waiting_.empty()) {
        if (issued_ == requests_.size()) break;
        advance(requests_[issued_].arrival.base(), false);
        continue;
      }
      if (admitted_count() == 0) seen_ = clock_;  // an idle engine schedules at once
      admit();
      const SimulatedStep load = compose();
      if (load.decoding == 0 && load.prefill_tokens == 0)
        continue;  // a rejection emptied the queue
      ++result_.steps;
      const double began = clock_;
      advance(clock_ + step_time(load).base(), true);
      seen_ = engine_.scheduled_ahead ? began : clock_;
      if (load.decoding > 0) decode();
      finish_prefills();
    }
    return summary();
  }

 private:
  void issue(double time) {
    states_[issued_].times.arrival = time;
    waiting_.push_back(static_cast<int>(issued_++));
  }
  void arrive() {
    if (plan_.concurrency > 0) return;
    while (issued_ < requests_.size() && requests_[issued_].arrival.base() <= clock_)
      issue(requests_[issued_].arrival.base());
  }

  // Moves the clock, with the time averages. Requests that arrive in between count from then on.
  void advance(double to, bool busy) {
    Occupancy o;
    o.decoding = decoding_;
    o.admitted = admitted_count();
    o.waiting = static_cast<double>(waiting_.size());
    o.kv_blocks = kv_.used();
    if (plan_.concurrency == 0) {
      for (std::size_t i = issued_; i < requests_.size(); ++i) {
        const double at = requests_[i].arrival.base();
        if (at >= to) break;
        o.late += to - std::max(at, clock_);
      }
    }
    const bool measured = recorder_.warm(issued_) && issued_ < requests_.size();
    recorder_.interval(clock_, to, busy, measured, o);
    clock_ = to;
  }

  static SimulatedEngine within_limits(SimulatedEngine engine) {
    engine.max_sequences = std::max(1, engine.max_sequences);
    engine.token_budget = std::max(1, engine.token_budget);
    engine.prompts_per_prefill = std::max(1, engine.prompts_per_prefill);
    return engine;
  }

  // ---- admission --------------------------------------------------------------------------------
  [[nodiscard]] int admitted_count() const {
    return decoding_ + static_cast<int>(prefilling_.size());
  }
  void admit() {
    while (!waiting_.empty() && admitted_count() < engine_.max_sequences) {
      const int id = waiting_.front();
      const SimulatedRequest& r = spec(id);
      RequestState& s = state(id);
      if (s.times.arrival > seen_) return;
      if (kv_.limited() && kv_.blocks(std::int64_t{r.input} + r.output - 1) > kv_.pool()) {
        waiting_.pop_front();
        reject(s);
        continue;
      }
      s.target = r.input + s.done;
      const bool grouped = r.prefix_group >= 0;
      PrefixGroup* group = grouped ? &groups_[r.prefix_group] : nullptr;
      const std::int64_t shared = grouped ? kv_.shared_blocks(r.prefix_tokens) : 0;
      const std::int64_t own = kv_.blocks(s.target) - shared;
      const std::int64_t asked =
          own + (grouped ? std::max<std::int64_t>(0, shared - group->blocks) : 0);
      // One block is kept for the token that follows, else a full pool preempts at once.
      if (kv_.limited() && asked + (admitted_count() > 0 ? 1 : 0) > kv_.free()) return;
      waiting_.pop_front();
      kv_.take(asked);
      s.own_blocks = own;
      int cached = r.cached;
      if (grouped) {
        ++group->users;
        group->blocks = std::max(group->blocks, shared);
        cached = std::max(cached, std::min(r.prefix_tokens, group->computed));
      }
      s.cached = std::min(cached, s.target - 1);  // the last token is always computed
      s.held = s.cached;
      result_.cached_tokens += s.cached;
      if (s.times.admitted < 0) s.times.admitted = clock_;
      s.phase = RequestState::Phase::prefilling;
      prefilling_.push_back(id);
      if (kv_.limited()) admitted_.emplace_back(id, s.epoch);
    }
  }
  void reject(RequestState& s) {
    s.phase = RequestState::Phase::over;
    s.times.finish = clock_;
    result_.residence_sum += clock_ - s.times.arrival;
    ++result_.rejected;
    ended();
  }
  void release(int id) {
    const SimulatedRequest& r = spec(id);
    kv_.give(state(id).own_blocks);
    if (r.prefix_group < 0) return;
    PrefixGroup& group = groups_[r.prefix_group];
    if (--group.users > 0) return;
    kv_.give(group.blocks);
    group.blocks = 0;
  }

  // ---- one step ---------------------------------------------------------------------------------
  [[nodiscard]] SimulatedStep compose() {
    SimulatedStep load;
    const bool alone = !engine_.chunked && !prefilling_.empty();
    if (decoding_ > 0 && !alone) {
      if (kv_.limited()) make_room();
      load.decoding = decoding_;
      context_ += decoding_ * growth();
      load.decode_context = static_cast<double>(context_);
    }
    int budget = engine_.token_budget;
    if (engine_.chunked && engine_.decodes_use_budget)
      budget -= load.decoding * (1 + engine_.draft_tokens);
    // A prompt larger than the budget still runs when prompts run alone: there is no chunking.
    for (const int id : prefilling_) {
      RequestState& s = state(id);
      const int rest = s.target - s.held;
      if (engine_.chunked) {
        s.chunk = std::min(rest, budget);
        if (s.chunk <= 0) break;
      } else {
        if (load.prefill_sequences > 0 &&
            (rest > budget || load.prefill_sequences >= engine_.prompts_per_prefill))
          break;
        s.chunk = rest;
      }
      budget -= s.chunk;
      load.prefill_tokens += s.chunk;
      ++load.prefill_sequences;
      const double n = s.chunk;
      load.prefill_pairs += n * s.held + 0.5 * n * (n + 1);
    }
    chunks_ = load.prefill_sequences;
    return load;
  }

  // Tokens by which every sequence grows in the coming step: with speculation the mean, in whole
  // tokens that add up to it. Only when a request ends is up to its own acceptances.
  [[nodiscard]] std::int64_t growth() const {
    return static_cast<std::int64_t>(static_cast<double>(decodes_ + 1) * tokens_per_step_) -
           length_;
  }
  [[nodiscard]] std::int64_t blocks_needed() const {
    std::int64_t blocks = 0;
    for (std::int64_t i = 0; i < growth(); ++i) blocks += kv_.needed(length_ + i);
    return blocks;
  }

  // Preempts the latest admitted until the coming decode step has its blocks.
  void make_room() {
    while (decoding_ > 0 && blocks_needed() > kv_.free()) {
      const auto [id, epoch] = admitted_.back();
      admitted_.pop_back();
      RequestState& s = state(id);
      if (s.epoch != epoch || s.phase == RequestState::Phase::over) continue;
      if (s.phase == RequestState::Phase::decoding) {
        const bool fresh = s.joined == decodes_;
        if (fresh) fresh_.erase(std::find(fresh_.begin(), fresh_.end(), s.last));
        if (!fresh) s.last = last_decode_;
        leave(id);
      } else {
        prefilling_.erase(std::find(prefilling_.begin(), prefilling_.end(), id));
      }
      release(id);
      ++s.epoch;
      s.phase = RequestState::Phase::waiting;
      waiting_.push_front(id);
      ++result_.preemptions;
      if (plan_.keep_records) ++result_.records[static_cast<std::size_t>(id)].preemptions;
    }
    kv_.take(blocks_needed());
  }

  void decode() {
    length_ += growth();
    ++decodes_;
    // Those that joined since the last decode have waited from their own first token.
    const double fresh = static_cast<double>(fresh_.size());
    const bool measured = recorder_.warm(issued_);
    if (measured) {
      // With speculation a step's tokens come together: the gap is per token.
      const double each = tokens_per_step_;
      if (decoding_ > fresh)
        recorder_.gap((clock_ - last_decode_) / each, (decoding_ - fresh) * each);
      for (const double since : fresh_) recorder_.gap((clock_ - since) / each, each);
    }
    fresh_.clear();
    last_decode_ = clock_;
    while (!endings_.empty() && endings_.front().at <= decodes_) {
      const Ending ending = endings_.front();
      std::pop_heap(endings_.begin(), endings_.end(), std::greater<>{});
      endings_.pop_back();
      RequestState& s = state(ending.id);
      if (s.epoch != ending.epoch || s.phase != RequestState::Phase::decoding) continue;
      leave(ending.id);
      complete(ending.id);
    }
  }

  // Takes a sequence out of the decoding set, with its tokens and grown blocks brought up to date.
  void leave(int id) {
    RequestState& s = state(id);
    const std::int64_t steps = decodes_ - s.joined, rest = spec(id).output - s.done_at_join;
    const std::int64_t made = steps * rest / s.steps;  // all of it at the end
    s.done = s.done_at_join + static_cast<int>(made);
    result_.generated_tokens += made;
    const std::int64_t tokens = s.target + length_ - s.joined_length;
    context_ -= tokens;
    --decoding_;
    if (kv_.limited()) {
      kv_.leave(s.target, s.joined_length);
      s.own_blocks += kv_.blocks(tokens) - kv_.blocks(s.target);
    }
  }

  void finish_prefills() {
    for (int i = 0; i < chunks_; ++i) {
      const int id = prefilling_.front();
      RequestState& s = state(id);
      s.held += s.chunk;
      result_.prefilled_tokens += s.chunk;
      if (s.held < s.target) break;  // only the last chunk can be partial
      prefilling_.pop_front();
      if (const SimulatedRequest& r = spec(id); r.prefix_group >= 0) {
        int& computed = groups_[r.prefix_group].computed;
        computed = std::max(computed, r.prefix_tokens);
      }
      ++result_.generated_tokens;
      ++s.done;
      if (s.times.first < 0) {
        s.times.first = clock_;
      } else if (recorder_.warm(issued_)) {
        recorder_.gap(clock_ - s.last, 1);  // the gap that the preemption tore
      }
      s.last = clock_;
      const int rest = spec(id).output - s.done;
      if (rest <= 0) {
        s.phase = RequestState::Phase::decoding;
        complete(id);
        continue;
      }
      s.phase = RequestState::Phase::decoding;
      s.joined = decodes_;
      s.joined_length = length_;
      s.steps = engine_.draft_tokens == 0 ? rest
                                          : draw_speculative_steps(random_, engine_.acceptance,
                                                                   engine_.draft_tokens, rest);
      s.done_at_join = s.done;
      ++decoding_;
      context_ += s.target;
      if (kv_.limited()) kv_.join(s.target, length_);
      fresh_.push_back(clock_);
      endings_.push_back({decodes_ + s.steps, id, s.epoch});
      std::push_heap(endings_.begin(), endings_.end(), std::greater<>{});
    }
    chunks_ = 0;
  }

  void complete(int id) {
    RequestState& s = state(id);
    release(id);
    s.phase = RequestState::Phase::over;
    s.times.finish = clock_;
    result_.residence_sum += clock_ - s.times.arrival;
    ++result_.completed;
    ended();
  }
  void ended() {
    if (plan_.concurrency > 0 && issued_ < requests_.size()) issue(clock_);
    const std::size_t over = result_.completed + result_.rejected;
    const std::size_t stride = std::max<std::size_t>(1, requests_.size() / 1000);
    if (plan_.progress && (over % stride == 0 || over == requests_.size()))
      plan_.progress(over, requests_.size());
  }

  // ---- the end ----------------------------------------------------------------------------------
  SimulationResult summary() {
    if (plan_.keep_records) {
      for (std::size_t i = 0; i < states_.size(); ++i) {
        const RequestState& s = states_[i];
        RequestRecord& record = result_.records[i];
        record.arrival = s.times.arrival * second;
        record.admitted = s.times.admitted * second;
        record.first_token = s.times.first * second;
        record.finished = s.times.finish * second;
        record.input = requests_[i].input;
        record.output = requests_[i].output;
        record.cached = s.cached;
      }
    }
    return recorder_.finish(
        requests_, clock_, kv_.pool(),
        [this](std::size_t i) -> const RequestTimes& { return states_[i].times; });
  }

  [[nodiscard]] const SimulatedRequest& spec(int id) const {
    return requests_[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] RequestState& state(int id) { return states_[static_cast<std::size_t>(id)]; }

  const std::vector<SimulatedRequest>& requests_;
  const SimulatedEngine engine_;
  const SimulationPlan& plan_;
  std::vector<RequestState> states_;
  BlockLedger kv_;
  SimulationRecorder recorder_;
  Random random_;
  const double tokens_per_step_;
  SimulationResult& result_;
  std::size_t issued_ = 0;
  double clock_ = 0;
  double seen_ = 0;  // arrivals until then are known to the coming step
  std::deque<int> waiting_, prefilling_;
  std::vector<Ending> endings_;                // heap, earliest completion first
  std::vector<std::pair<int, int>> admitted_;  // id and epoch, latest last
  std::unordered_map<int, PrefixGroup> groups_;
  std::vector<double> fresh_;  // first-token times since the last decode step
  std::int64_t decodes_ = 0, context_ = 0;
  std::int64_t length_ = 0;  // tokens by which a sequence would have grown since the start
  int decoding_ = 0, chunks_ = 0;
  double last_decode_ = 0;
};

}  // namespace tokenroof::detail
