// Conversations over shared system prompts: how long prompts are, and what the prefix cache finds.
//
//   prompt of turn k = system + (k - 1) (question + answer) + question
//   found            = system + (k - 1) (question + answer)     all but the new question
// The first request under a system prompt and the first turn of a user pay for what nobody computed
// before; with thousands of requests over tens of prompts that share vanishes and is left out.
// Source: block-wise prefix caching as in vLLM and SGLang; the conversation stays cached between
// turns.
#pragma once

#include "tokenroof/describe/workload.hpp"

namespace tokenroof {

/// Mean tokens of a request of a conversation.
struct SessionLengths {
  double prompt = 0;  ///< system prompt, earlier turns and the question
  double cached = 0;  ///< of these, found in the prefix cache
  double shared = 0;  ///< of these, stored once for all users of a system prompt
};

/// Means over the turns of `sessions` with new questions of `question` and answers of `answer`
/// tokens. One turn: the system prompt alone is found. `turns` >= 1; without `multi_turn` every
/// request is a first turn.
[[nodiscard]] constexpr SessionLengths session_lengths(const Sessions& sessions, double question,
                                                       double answer) {
  const double turns = sessions.multi_turn ? sessions.turns : 1;
  const double history = 0.5 * (turns - 1) * (question + answer);
  SessionLengths lengths;
  lengths.cached = sessions.system_prompt_tokens + history;
  lengths.prompt = lengths.cached + question;
  lengths.shared = sessions.system_prompt_tokens;
  // Whole blocks are found; of the last one half is computed in the mean.
  constexpr double half_block = 8;
  if (sessions.same_question && lengths.prompt > half_block)
    lengths.cached = lengths.prompt - half_block;
  return lengths;
}

/// Tokens that the prefix cache must keep for every turn to find what it may: each system prompt
/// once, and of each user the conversation so far (or the question that is sent again) at its end.
[[nodiscard]] inline double conversation_tokens(const Sessions& sessions,
                                                const Workload& workload) {
  const double factor = workload.lengths.mean_factor();
  const double question = factor * workload.input.base(), answer = factor * workload.output.base();
  double own = sessions.multi_turn ? (sessions.turns - 1) * (question + answer) : 0;
  if (sessions.same_question) own += question;
  return sessions.distinct_system_prompts *
         (sessions.system_prompt_tokens + sessions.users_per_system_prompt * own);
}

}  // namespace tokenroof
