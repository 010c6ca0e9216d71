// The operators of one device summed into the few coefficients that an ideal step depends on, so
// that a spreadsheet can hold them: every operator's FLOPs and bytes are linear in rows, visible
// tokens, pairs or distinct experts.
#pragma once

#include <vector>

#include "tokenroof/physics/step.hpp"

namespace tokenroof::io::xlsx {

/// Dense multiplies of one data type.
struct LinearGroup {
  DataType type = DataType::bf16;
  double per_token = 0;  ///< FLOP
  double per_logit = 0;  ///< FLOP per row that needs logits
};

/// Attention of layers that see the same share of a context.
struct AttentionGroup {
  OperatorKind kind = OperatorKind::attention;
  DataType type = DataType::bf16;
  double window = 0, top_k = 0, compress = 1;
  double cache_bytes = 0;   ///< per visible token
  double flops = 0;         ///< per query and visible token
  double prompt_flops = 0;  ///< per query-key pair of a prompt
  double expand_flops = 0;  ///< per cached token of a prompt
};

/// Routed experts of like layers.
struct ExpertGroup {
  DataType type = DataType::bf16;
  double experts = 0, top_k = 0;
  double bytes = 0;  ///< on this device, per distinct expert of the layer
  double flops = 0;  ///< per token that passes the layer
};

struct Coefficients {
  double weight_bytes = 0;  ///< of dense multiplies, read by any step
  std::vector<LinearGroup> linear;
  std::vector<AttentionGroup> attention;
  std::vector<ExpertGroup> experts;
  double state_bytes = 0;      ///< read and written per sequence and step
  double recurrent_flops = 0;  ///< per token
};
[[nodiscard]] Coefficients coefficients(const StepOperators& operators);

/// The data types that something multiplies in, each once.
[[nodiscard]] std::vector<DataType> multiply_types(const Coefficients& c, DataType wide);

/// An ideal step under one load, taken apart as the sheet does it.
struct LoadValues {
  StepLoad<double> rank;                          ///< what one device sees
  double stage_sequences = 0, stage_prompts = 0;  ///< of a micro-batch over all attention ranks
  std::vector<double> distinct;                   ///< experts, by group
  std::vector<double> visible;                    ///< tokens, by attention group
  std::vector<double> pairs;                      ///< of one prompt, by attention group
  std::vector<double> prompt_read;  ///< cached tokens read for one prompt, by attention group
  double expert_bytes = 0, cache_bytes = 0;
  double memory = 0;                                             ///< s
  double linear = 0, attention = 0, experts = 0, recurrent = 0;  ///< s
  double step = 0;                                               ///< s
};
[[nodiscard]] LoadValues load_values(const StepModel<double>& model, const Coefficients& c,
                                     const StepLoad<double>& load);

}  // namespace tokenroof::io::xlsx
