// The reference step of the oracle table: Llama models in bf16 on H100, efficiency 1, all-reduces
// of 6 us each.
#pragma once

#include "theory_fixtures.hpp"
#include "tokenroof/physics/textbook_step.hpp"

namespace tokenroof::test {

inline TextbookModel<> textbook(const TheoryModel& model, double bytes_per_weight = 2) {
  return {model.weights(bytes_per_weight),
          model.linear_flops(),
          model.attention_flops(),
          model.kv(),
          2 * model.layers,
          BytesPerToken::from_base(model.hidden * 2)};
}

inline TextbookMachine<> h100s(int devices) {
  return TextbookMachine<>::of(devices, h100.bf16_roof().math, h100.bf16_roof().memory,
                               6 * microsecond, BytesPerSecond::from_base(h100.link));
}

inline TextbookStep<> step_70b(int devices, double batch, double context) {
  return textbook_step(textbook(llama_70b), h100s(devices), batch * request,
                       TokensPerRequest::from_base(context));
}

}  // namespace tokenroof::test
